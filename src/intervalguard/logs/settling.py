"""What every log checks before it records that a call has ended, or what became of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from ..kernel.events import micros
from ..kernel.views import Entry, View
from .calls import Learned

BUSY = (
    "the log is in the middle of a step on this very thread: a guarded call was made from a finalizer, or from clock=."
    " Close streams whose clean-up makes guarded calls, instead of leaving them to the garbage collector"
)


def check_seen(learned: Learned, now: int) -> None:
    """Raises ``ValueError`` for an instant seen that is yet to come."""
    if learned.observed_at is not None and micros(learned.observed_at) > now:
        raise ValueError(f"observed_at={learned.observed_at!r} is after the read's end: its clock must be the log's")


def lost_events(view: View, event: Entry | None, shown: str) -> Sequence[Entry]:
    """The ``unknown`` events of the call that one of them stands for, whose public id is ``shown``, if it may be settled.

    Raises ``LookupError`` where there is no such event, ``ValueError`` for a call that is not ``unknown``, or can land no
    longer.
    """
    if event is None:
        raise LookupError(f"id={shown!r} is no event that the log holds")
    events = [each for each in view.call(event.call) if each.outcome == "unknown"]
    if not events:
        raise ValueError(f"id={shown!r} is {event.outcome!r}: only an unknown call can be settled")
    if any(each.extra is not None and each.extra.until is not None for each in events):
        raise ValueError(f"id={shown!r} can land no longer since its may_land_until: it counts as an error")
    return events


def landing_until(now: int, may_land_for: int) -> int:
    """Until when the writes of a call that is lost ``now`` may land, which a datetime can say; all in microseconds."""
    return min(now + may_land_for, _LAST)


_LAST = micros(datetime.max.replace(tzinfo=UTC))


def may_land(events: Iterable[Entry]) -> bool:
    """Whether a lost call may still change something: it writes, and its time to land has not run out."""
    return any(each.kind == "write" and (each.extra is None or each.extra.until is None) for each in events)
