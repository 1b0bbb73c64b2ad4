"""An assertion that no call of a log rested on something stale, explained as the audit explains it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, Protocol, TypeAlias

from ..edges.cli import line
from ..kernel.audit import findings
from ..kernel.events import Event
from ..kernel.explain import Finding, Party, finding, party_of, whose
from ..kernel.views import Entry, Order, by_id, entry


class HasEvents(Protocol):
    """A log, as far as an audit needs it."""

    def events(self) -> Iterable[Event]:
        """The events that are held, oldest first."""


FailOn: TypeAlias = Literal["stale", "suspect"]


def assert_fresh(log_or_events: HasEvents | Iterable[Event], *, fail_on: FailOn = "suspect") -> None:
    """Assert that no call of a log, or of a sequence of events, rested on something that was not fresh at its start.

    Each call is judged by the rule, whatever the mode of the guard that let it through; refused calls are not judged.
    ``fail_on`` is that of ``intervalguard audit``: ``"suspect"`` fails for what is suspect or unverifiable too,
    ``"stale"`` for what is certainly stale alone. Only what the log holds is judged, so a log that has dropped events
    tells less. O(n log n) for n events.

    Raises ``AssertionError`` with a line for each finding, and ``TypeError`` for what holds no events.
    """
    __tracebackhide__ = True
    if fail_on not in ("stale", "suspect"):
        raise ValueError(f"fail_on={fail_on!r} is not one of 'stale', 'suspect'")
    said = report(audited(_events(log_or_events)), fail_on)
    if said:
        raise AssertionError(said)


def audited(events: Iterable[Event]) -> Iterator[tuple[Entry, Finding]]:
    """Each finding of a whole log with its call's first event, in the order of the starts. O(n log n)."""
    held = tuple(events)
    order = Order(held)

    def party(known: Entry) -> Party:
        return party_of(known.origin)

    for first, raw in findings(by_id([entry(each, order, place) for place, each in enumerate(held)])):
        yield first, finding(raw, first.id, first.start_time, party)


def report(found: Iterable[tuple[Entry, Finding]], fail_on: FailOn) -> str:
    """What the findings say that count, a line each, under a heading; empty where none counts."""
    counted = [(call, each) for call, each in found if fail_on == "suspect" or each.verdict == "stale"]
    if not counted:
        return ""
    calls = len({call.id for call, _ in counted})
    heading = f"{calls} call{'s' if calls > 1 else ''} rested on something that was not fresh:"
    return "\n".join([heading, *(line(call, each) + _whose(call, each) for call, each in counted)])


def _whose(call: Entry, found: Finding) -> str:
    """A line of whose the call and its witness were, for an id tells nobody where to look; empty where that is not known."""
    parties = (("the call", party_of(call.origin)), ("the read", found.read), ("the write", found.by))
    said = [f"{what} by {named}" for what, party in parties if party is not None and (named := whose(party))]
    return f"\n    {'; '.join(said)}" if said else ""


def _events(given: Any) -> Iterable[Event]:
    events = given.events() if callable(getattr(given, "events", None)) else given
    try:
        held = tuple(events)
    except TypeError:
        held = (None,)
    if not all(isinstance(each, Event) for each in held):
        raise TypeError(f"{given!r} is no log and no sequence of events: pass guard.log, registry, or a list of Event")
    return held
