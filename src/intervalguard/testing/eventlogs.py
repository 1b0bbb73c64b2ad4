"""What a log of one's own must be able to do, and the reference that it is held against.

The reference is `SequenceLogView`: it looks at every event for every question, and is written to be read. A log may
answer faster, never otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeAlias

from ..kernel.admission import Admit, Decision, LogView, Refuse, Touch, pinned
from ..kernel.events import Event, Outcome, conflict, micros
from ..kernel.staleness import Grade
from ..kernel.views import Entry, Id, Key, Position, SequenceView, Spared, standing
from ..logs.calls import Origin
from ..logs.memory import MemoryLog

Clock: TypeAlias = Callable[[], datetime]


class EventLog(Protocol):
    """A log: it decides on calls and records them, each step as one, and says what it holds.

    Every method is safe to call from any thread. ``Id`` is whatever the log calls an event: the id itself, or a number
    that it makes the id from. Both ends of all events are numbered from one counter.
    """

    def admit(
        self,
        origin: Origin,
        touches: Sequence[Touch],
        depends_on: tuple[Key, ...] = (),
        parent: Any = None,
        least: Grade | None = 0,
        *,
        waited: bool = False,
        wake: Callable[[], None] | None = None,
    ) -> tuple[Decision, Entry | None]:
        """Decide on a call by `intervalguard.kernel.admission.admit`, and record what it touches, in one step.

        An `Admit` is recorded as ``pending``; a `Refuse`, and a `Wait` that has ``waited``, as ``refused``. The answer's
        second is the call's first event, ``None`` for a `Wait` that is to be waited for: then ``wake`` is called once,
        when the blocker has settled.
        """

    def settle(
        self, first: Entry, outcome: Outcome, least: Grade | None = None, *, may_land_for: int | None = None
    ) -> Admit | Refuse | None:
        """Record a call's end and outcome, once; ``None``, with nothing changed, if it had been settled already.

        A derived read that ends ``ok`` is judged again by `intervalguard.kernel.admission.settle`; on a `Refuse` it is
        recorded as ``refused``.
        ``may_land_for`` is how many microseconds from now the writes of an ``unknown`` call may still land.
        """

    def resolve(self, number: Id, outcome: Outcome) -> Sequence[Event]:
        """Settle an ``unknown`` call, by one of its events: it ends now.

        Raises ``LookupError`` for what the log does not hold, ``ValueError`` for a call that is not ``unknown``.
        """

    def write_outside(self, origin: Origin, name: str, since: datetime | None) -> Entry:
        """Record an ``ok`` write that someone else made, at some instant from ``since`` (or now) until now."""

    def events(self) -> Sequence[Event]:
        """The events that are held, oldest first."""

    def present(self) -> tuple[LogView, Position, int]:
        """What rules ask, the position of this moment, and its time in microseconds."""

    def id_of(self, number: Id) -> str:
        """The public id."""

    def number_of(self, id: str) -> Id:
        """The inverse of `id_of`; what is no id of the log's stands for itself."""


class LogFactory(Protocol):
    """Makes an empty log. It may ignore both: a log that tells the time itself, and one that keeps everything."""

    def __call__(self, *, clock: Clock, max_events: int | None) -> EventLog | MemoryLog: ...


def present(log: EventLog | MemoryLog) -> tuple[LogView, Position, int]:
    """`EventLog.present`, also of the memory log, which keeps its view to itself."""
    return (log._view, *log.ticks()) if isinstance(log, MemoryLog) else log.present()


class SequenceLogView(SequenceView):
    """A sequence of events as a `LogView`: `SequenceView`, and what is in flight and pinned. O(n) to O(n^2) a question."""

    def __init__(self, events: Iterable[Event], now: datetime, number: int) -> None:
        """``now`` and ``number`` are the time and the next number of the log, which make its position ``at``."""
        asker = Event("asker", now, now, id="asker", seq=number, end_seq=number)
        super().__init__([*events, asker])
        self.at = self.entries.pop().start
        self.time = micros(now)

    def in_flight(self) -> bool:
        """Whether any write is pending, or was lost and may still land."""
        stands = [standing(each, self.at) for each in self.entries if each.kind == "write"]
        return any(how is not None and how[0] in ("open", "lost") for how in stands)

    def first_pinning(self, name: str, spared: Spared) -> tuple[Entry, str] | None:
        """The first pending call that writes and pins what conflicts with ``name``, by an event of it, and the pin."""
        for each in sorted(self.entries, key=lambda entry: entry.start):
            if each.kind == "write" and each.outcome == "pending" and not spared(each):
                for pin in pinned(self, self.rests_on(each.call)):
                    if conflict(pin, name):
                        return each, pin
        return None

    def in_use(self) -> set[Id]:
        """The events that a pending call rests on, through reads."""
        used: set[Id] = set()
        stack = [key for each in self.entries if each.outcome == "pending" for key in self.rests_on(each.call)]
        while stack:
            key = stack.pop()
            source = self.find(key[0] if type(key) is tuple else key)
            if source is not None and source.id not in used:
                used.add(source.id)
                if source.kind == "read":
                    stack += self.rests_on(source.call)
        return used
