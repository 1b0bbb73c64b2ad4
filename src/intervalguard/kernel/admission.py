"""Admission: may a call begin, and may it end as it says? Pure functions of the log.

Checking a write's premises and recording the write in one step is not enough: between the step and the effect another
call may be let through that writes what this one rests on. So while a write is pending everything that it rests on, with
the closure of it, is *pinned*: no other call may write it. With that, no admitted write takes effect on a superseded
premise (law L7), as long as every writer goes through one log and suspects are refused.

A decision is one of a closed union. The log records the event of an `Admit` in the same step; the shell does the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

from .staleness import EXPIRED, IN_FLIGHT, Claims, Grade, Raw, ancestors, judge
from .views import Entry, Id, Key, Position, Spared, View

Refusal: TypeAlias = Literal["suspect", "stale"]

LEAST: dict[str, Grade] = {"suspect": 0, "stale": EXPIRED}
"""The least grade that each policy refuses."""


class Admit(NamedTuple):
    """Let it through. ``findings`` are those that the policy bears with."""

    findings: Sequence[Raw]


class Wait(NamedTuple):
    """Not now: ``blocker`` is in its way. ``patient`` says whether waiting for it cannot close a circle."""

    blocker: Entry
    name: str
    findings: Sequence[Raw]
    patient: bool


class Refuse(NamedTuple):
    """Do not let it through; of a read that has run, withhold what it returned."""

    findings: Sequence[Raw]


Decision: TypeAlias = Admit | Wait | Refuse

Settlement: TypeAlias = Admit | Refuse | None
"""Of a call that ends: record it; record it as ``refused`` and withhold what it returned; it is too late for it."""

ADMITTED = Admit(())

Touch: TypeAlias = tuple[str, str, int | None]
"""What a call touches: the name, the kind, and the validity window in microseconds."""


class LogView(View, Protocol):
    """What admission asks beyond a rule: what is in flight, and what that rests on."""

    def in_flight(self) -> bool:
        """Whether any write is pending, or was lost and may still land. What is pinned is pinned by a pending one."""

    def first_pinning(self, name: str, spared: Spared) -> tuple[Entry, str] | None:
        """Of the pending calls that write and rest on something, the first by start that pins what conflicts with ``name``.

        A call is given by an event that it writes, with the pin beside it. What a call pins is what `pinned` says.
        """


def admit(
    view: LogView,
    claim: Claims,
    touches: Sequence[Touch],
    least: Grade | None,
    at: Position,
    time: int,
    waited: bool = False,
) -> Decision:
    """Whether a call that touches these names may begin at ``at``.

    ``least`` is the least grade that is refused, ``None`` when nothing is and nothing waits. A call that has ``waited``
    long enough goes ahead where only a read is in question. Costs what `judge` costs, and two questions for each name.
    """
    findings = judge(view, claim, at, time) if claim.depends_on else ()
    if least is None or not (findings or view.in_flight()):
        return Admit(findings) if findings else ADMITTED
    refused = those_refused(findings, least)
    if refused:
        by = refused[0].by
        if by is None or any(each.grade != IN_FLIGHT for each in refused):
            return Refuse(findings)
        return Wait(by, by.name, findings, _patient(view, claim, by))
    writes = [name for name, kind, _ in touches if kind == "write"]
    reads = () if waited else [name for name, kind, _ in touches if kind == "read"]
    blocked = _blocked(view, claim, writes, reads, at)
    if blocked is not None:
        blocker, name = blocked
        return Wait(blocker, name, findings, _patient(view, claim, blocker))
    return Admit(findings) if findings else ADMITTED


def settle(
    view: View, first: Entry, claim: Claims, outcome: str, least: Grade | None, at: Position, time: int
) -> Settlement:
    """Whether a call, given by its first event, may end at ``at`` with this outcome.

    Only a pending call may, and so each does once; one whose lease has run out is pending no more. A derived read that
    returns is judged again as of its end, for the log has moved on while it ran. Costs what `judge` costs then.
    """
    if first.outcome != "pending":
        return None
    if outcome != "ok" or not claim.depends_on or first.kind == "write":
        return ADMITTED
    for each in view.call(first.call):
        if each.kind == "write":
            return ADMITTED
    findings = judge(view, claim, at, time)
    if not findings:
        return ADMITTED
    return Refuse(findings) if least is not None and those_refused(findings, least) else Admit(findings)


def those_refused(findings: Iterable[Raw], least: Grade) -> list[Raw]:
    """The findings that are refused where ``least`` is the least grade that is."""
    return [raw for raw in findings if raw.grade >= least]


def pinned(view: View, keys: Iterable[Key]) -> Sequence[str]:
    """The names of everything that a call with these dependencies rests on, through reads. O(closure)."""
    names: dict[str, None] = {}
    seen: set[Id] = set()
    stack = list(keys)
    while stack:
        key = stack.pop()
        id, name = key if type(key) is tuple else (key, None)
        source = view.find(id)
        if source is None:
            continue
        names[name or source.name] = None
        if source.kind == "read" and source.call not in seen:
            seen.add(source.call)
            stack += view.rests_on(source.call)
    return tuple(names)


def _blocked(
    view: LogView, claim: Claims, writes: Sequence[str], reads: Sequence[str], at: Position
) -> tuple[Entry, str] | None:
    """A pending call that this one must wait for: it writes what this one touches, or pins what this one writes."""
    spared: Spared | None = None
    for name in (*writes, *reads):
        if not view.undisturbed(name, at, at):
            spared = spared or _own(view, claim)
            blocker = view.first_open(name, at, spared)
            if blocker is not None:
                return blocker, name
    for name in writes:
        spared = spared or _own(view, claim)
        pinning = view.first_pinning(name, spared)
        if pinning is not None:
            return pinning
    return None


def _own(view: View, claim: Claims) -> Spared:
    """Whether an event is of the call itself or of one that it is nested in: these never block it."""
    line = ancestors(view, claim.parent)
    return lambda event: event.call in line or event.call == claim.call


def _patient(view: View, claim: Claims, blocker: Entry) -> bool:
    """Whether the call may wait: a nested one only for calls whose outermost call is younger than its own (wait-die)."""
    if claim.parent is None:
        return True
    theirs, own = _outermost(view, blocker.call), _outermost(view, claim.parent)
    return theirs is not None and own is not None and bool(theirs.start > own.start)


def _outermost(view: View, call: Id) -> Entry | None:
    """The first event of the outermost call that ``call`` is nested in, as far as the log holds it."""
    line = ancestors(view, call)
    return next((events[0] for events in (view.call(each) for each in reversed(list(line))) if events), None)
