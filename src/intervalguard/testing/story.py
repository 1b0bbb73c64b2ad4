"""A story of several agents, told in plain English: who did what, what they had seen, and what it was by then."""

from __future__ import annotations

import reprlib
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import attrs

from ..kernel.events import Event
from ..kernel.explain import quoted, visible
from .scripts import Move

_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = 80


@attrs.define(eq=False)
class Step:
    """One act of one agent: what it was given, what it rested on, and what became of it."""

    move: Move
    during: Step | None = None
    pauses: int = 0
    premises: dict[Hashable, Any] = attrs.field(factory=dict)
    expects: dict[Hashable, Any] = attrs.field(factory=dict)
    seen: dict[Hashable, Any] = attrs.field(factory=dict)
    changes: list[tuple[Hashable, Any, Any]] = attrs.field(factory=list)
    references: list[str] = attrs.field(factory=list)
    outcome: str = "running"
    logged: list[str] = attrs.field(factory=list)
    wrong: dict[Hashable, tuple[Any, Step | None]] = attrs.field(factory=dict)
    """What it rested on that was something else when it acted: what that was, and the step that had changed it."""

    @property
    def is_worth_telling(self) -> bool:
        """Whether it did anything: an agent that knew nothing to act on did not."""
        return bool(self.outcome != "skipped" or self.changes or self.seen or self.logged)

    @property
    def title(self) -> str:
        given = ", ".join(f"{name}={shown(value)}" for name, value in self.move.arguments.items())
        return f"{visible(self.move.act)}({given})"


def shown(value: object) -> str:
    """A value, on one line, at a bounded length, without a character that moves a cursor."""
    return visible(_repr.repr(value))


def tell(fault: str, steps: Iterable[Step], blamed: Step, is_guarded: bool) -> str:
    """The story of the steps that are worth telling, under what went wrong in it."""
    held = [step for step in steps if step.is_worth_telling]
    numbers = {id(step): number for number, step in enumerate(held, start=1)}
    lines = [f"{visible(blamed.move.agent)} {fault}", ""]
    for step in held:
        lines += _told(step, numbers, is_guarded)
    return "\n".join(lines)


def _told(step: Step, numbers: Mapping[int, int], is_guarded: bool) -> list[str]:
    number = numbers[id(step)]
    said = [f"{visible(step.move.agent)}: {step.title}"]
    if step.during is not None and id(step.during) in numbers:
        said[0] += f", while step {numbers[id(step.during)]} was still running"
    for key, value in step.premises.items():
        said.append(_rested(step, key, value, numbers))
    said += [f"It saw {shown(key)}: {shown(value)}" for key, value in step.seen.items()]
    said += [f"It changed {shown(key)} from {shown(was)} to {shown(now)}" for key, was, now in step.changes]
    if step.references:
        said.append(f"Its effect is {', '.join(map(shown, step.references))}")
    if step.outcome not in ("ok", "running", "skipped"):
        said.append(visible(step.outcome))
    lines = [f"{number}. {'. '.join(said)}."]
    if is_guarded:
        lines.append(f"   The guard's log of it: {'; '.join(step.logged) or 'nothing'}.")
    return lines


def _rested(step: Step, key: Hashable, value: Any, numbers: Mapping[int, int]) -> str:
    told = f"It rested on {shown(key)}: {shown(value)}"
    if key not in step.wrong:
        return told
    now, changer = step.wrong[key]
    who = ""
    if changer is not None and id(changer) in numbers:
        who = f", since {visible(changer.move.agent)} had changed it in step {numbers[id(changer)]}"
    return f"{told}, but it was {shown(now)} when it acted{who}"


def logged(event: Event, names: Mapping[str, str]) -> str:
    """What the guard knew of a step, which tells where to mend it; ``names`` are those of all events by id."""
    told = f"{event.kind} {quoted(event.name)} {event.outcome}"
    if event.depends_on:
        resting = (quoted(each.name or names.get(each.id, each.id)) for each in event.depends_on)
        return f"{told}, rests on {', '.join(resting)}"
    return told if event.kind == "read" else f"{told}, rests on nothing"
