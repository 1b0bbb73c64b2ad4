"""A story of several agents, told in plain English: who did what, what they had seen, and what it was by then."""

from __future__ import annotations

import reprlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import attrs

from ..kernel.events import Event
from ..kernel.explain import quoted, visible
from .fibers import Fiber
from .scripts import Move

_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = 80


@attrs.define(eq=False)
class Step:
    """One act of one agent: what it was given, where it stands, what it rests on, and what became of it."""

    move: Move
    fiber: Fiber
    expects: dict[Hashable, Any] = attrs.field(factory=dict)
    """What it rests on, as its agent knows it."""
    references: list[str] = attrs.field(factory=list)
    gave_up: bool = False
    """Whether it said that what it was to do was not carried out."""
    outcome: str = "running"
    logged: list[str] = attrs.field(factory=list)


@attrs.define(eq=False)
class Part:
    """What happened in a step until another agent came in, or it ended."""

    step: Step
    is_late: bool = False
    """Whether it went on because the time that it could wait was up."""
    premises: dict[Hashable, Any] = attrs.field(factory=dict)
    wrong: dict[Hashable, tuple[Any, Any, Part | None]] = attrs.field(factory=dict)
    """What it rested on that was something else when it acted: what was known, what it was, and who had changed it."""
    seen: dict[Hashable, Any] = attrs.field(factory=dict)
    changes: list[tuple[Hashable, Any, Any]] = attrs.field(factory=list)
    stood: str = ""
    """Why others came in after it."""

    @property
    def is_worth_telling(self) -> bool:
        """Whether it did anything: an agent that knew nothing to act on did not."""
        return bool(self.step.outcome != "skipped" or self.changes or self.seen)


def shown(value: object) -> str:
    """A value, on one line, at a bounded length, without a character that moves a cursor."""
    return visible(_repr.repr(value))


def tell(fault: str, parts: Iterable[Part], blamed: Step, is_guarded: bool) -> str:
    """The story of what is worth telling, a line for each part in the order of time, under what went wrong in it.

    Steps are numbered as they began, and the parts of one that others came into have letters.
    """
    held = [part for part in parts if part.is_worth_telling]
    steps = list(dict.fromkeys(part.step for part in held))
    of_step = {step: [part for part in held if part.step is step] for step in steps}
    labels: dict[int, str] = {}
    for number, step in enumerate(steps, start=1):
        for at, part in enumerate(of_step[step]):
            labels[id(part)] = f"{number}{_letters(at)}" if len(of_step[step]) > 1 else f"{number}"
    lines = [f"{visible(blamed.move.agent)} {fault}", ""]
    for part in held:
        lines.append(f"{labels[id(part)]}. {'. '.join(_told(part, of_step[part.step], labels))}.")
        if is_guarded and part is of_step[part.step][-1]:
            lines.append(f"   The guard's log of it: {'; '.join(part.step.logged) or 'nothing'}.")
    return "\n".join(lines)


def _letters(at: int) -> str:
    return (_letters(at // 26 - 1) if at >= 26 else "") + chr(ord("a") + at % 26)


def _told(part: Part, parts: Sequence[Part], labels: Mapping[int, str]) -> list[str]:
    step, is_last = part.step, part is parts[-1]
    given = ", ".join(f"{name}={shown(value)}" for name, value in step.move.arguments.items())
    said = [f"{visible(step.move.agent)}{':' if part is parts[0] else ' went on:'} {visible(step.move.act)}({given})"]
    if part.is_late:
        said.append("Its time to wait was up")
    for key, value in {**part.premises, **{key: known for key, (known, *_) in part.wrong.items()}}.items():
        but = f", but it {_was(part, key, labels)}" if key in part.wrong else ""
        said.append(f"It rested on {shown(key)}: {shown(value)}{but}")
    said += [f"It saw {shown(key)}: {shown(value)}" for key, value in part.seen.items()]
    said += [f"It changed {shown(key)} from {shown(was)} to {shown(now)}" for key, was, now in part.changes]
    if step.references and is_last:
        said.append(f"Its effect is {', '.join(map(shown, step.references))}")
    if not is_last or step.outcome == "running":
        said.append(part.stood)
    elif step.outcome not in ("ok", "skipped"):
        said.append(visible(step.outcome))
    return said


def _was(part: Part, key: Hashable, labels: Mapping[int, str]) -> str:
    _, now, changer = part.wrong[key]
    who = ""
    if changer is not None and id(changer) in labels:
        who = f", since {visible(changer.step.move.agent)} had changed it in step {labels[id(changer)]}"
    return f"was {shown(now)} when it acted{who}"


def logged(event: Event, names: Mapping[str, str]) -> str:
    """What the guard knew of a step, which tells where to mend it; ``names`` are those of all events by id."""
    told = f"{event.kind} {quoted(event.name)} {event.outcome}"
    if event.depends_on:
        resting = (quoted(each.name or names.get(each.id, each.id)) for each in event.depends_on)
        return f"{told}, rests on {', '.join(resting)}"
    return told if event.kind == "read" else f"{told}, rests on nothing"
