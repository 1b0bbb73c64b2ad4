"""Views: what a rule may ask of a log, and the plain sequence of events that answers by looking at each.

An event has its place in an order only within a log, so rules read `Entry`: an event with the *positions* of its
ends. Positions are compared and nothing else, whatever they are made of. `SequenceView` is the executable
specification: every other view answers as it does (law L5), only faster.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

from .events import INEFFECTIVE, Event, check_name, conflict, covers, micros, window_micros

Position: TypeAlias = Any
"""A place in a log's order: a number, or a (time, number) pair; of one kind within one view."""

Id: TypeAlias = Any
"""What a view calls an event or a call: its id, or the number that a log makes the id from."""

Key: TypeAlias = Any
"""A dependency as rules read it: an `Id`, or ``(Id, name)`` where only a part of the event's name counts."""

Spared: TypeAlias = "Callable[[Entry], bool]"
"""Whether a write does not count against the dependency at hand."""


class Extra:
    """What few events have: the instant seen, the version read, the time until which a lost write may land."""

    __slots__ = ("seen", "seen_time", "until", "until_time", "version")

    def __init__(
        self,
        seen: Position = None,
        seen_time: Any = None,
        version: Any = None,
        until: Position = None,
        until_time: Any = None,
    ) -> None:
        self.seen = seen
        self.seen_time = seen_time
        self.version = version
        self.until = until
        self.until_time = until_time


class Entry:
    """An event in a log: positions for order, whole microseconds for ages.

    Slotted and writable, for a log holds millions of them and settles each once; the frozen `Event` is the face that
    people see. ``end`` is ``None`` while the event is open, ``took`` its length in microseconds. ``origin`` is the
    log's own, ``memo`` a view's. The first event of a call is a claim, too: it has what the rule asks of a call.
    """

    probes = None

    __slots__ = (
        "call",
        "depends_on",
        "end",
        "extra",
        "id",
        "kind",
        "memo",
        "name",
        "origin",
        "outcome",
        "parent",
        "start",
        "start_time",
        "took",
        "window",
    )

    def __init__(
        self,
        id: Id,
        name: str,
        kind: str,
        outcome: str,
        start: Position,
        end: Position,
        start_time: Any,
        took: Any,
        depends_on: tuple[Key, ...],
        window: int | None,
        call: Id,
        parent: Id,
        origin: Any = None,
        extra: Extra | None = None,
    ) -> None:
        self.id = id
        self.name = name
        self.kind = kind
        self.outcome = outcome
        self.start = start
        self.end = end
        self.start_time = start_time
        self.took = took
        self.depends_on = depends_on
        self.window = window
        self.call = call
        self.parent = parent
        self.origin = origin
        self.extra = extra
        self.memo: Any = None


def standing(write: Entry, at: Position) -> tuple[str, Position] | None:
    """How a write counts as of ``at``: ``("ok" | "error" | "open" | "lost", its end)``, or ``None`` if not at all.

    *open* had not ended at ``at``; *lost* is an ``unknown`` one that may still land. A lost write that can land no
    longer counts as an error that ended then. O(1).
    """
    outcome = write.outcome
    if outcome in INEFFECTIVE or write.start > at:
        return None
    if outcome == "unknown":
        extra = write.extra
        if extra is not None and extra.until is not None and extra.until <= at:
            return "error", extra.until
        if write.end is None:
            return "lost", None
    if write.end is None or write.end > at:
        return "open", None
    return ("lost", None) if outcome == "unknown" else (outcome, write.end)


class View(Protocol):
    """What rules ask. ``at`` is the position as of which a log is judged; ``name`` stands for all that it conflicts with.

    A view that follows a live log may answer for the present alone: then ``at`` is never before what it has seen.
    """

    def find(self, id: Id) -> Entry | None:
        """The event with this id, if the log holds it."""

    def was_dropped(self, id: Id) -> bool:
        """Whether an event that is not held was held once."""

    def call(self, call: Id) -> Sequence[Entry]:
        """The events of a call, the first one first; none where the log does not hold it."""

    def rests_on(self, call: Id) -> Sequence[Key]:
        """What a call rests on: the union over its events."""

    def is_derived(self, read: Entry) -> bool:
        """Whether the call of ``read`` rests on anything."""

    def undisturbed(self, name: str, since: Position, at: Position, but: Id = None) -> bool:
        """Whether each write that had begun at ``at``, but those of the call ``but``, had ended before ``since``.

        Dropped writes count, too. It may say no where it is so.
        """

    def first_after(self, name: str, after: Position, at: Position, spared: Spared) -> Entry | None:
        """Of the ``ok`` writes that began after ``after`` and had ended at ``at``, the first by start."""

    def first_ended(self, name: str, outcome: str, since: Position, at: Position, spared: Spared) -> Entry | None:
        """Of the ``ok`` or ``error`` writes that ended at or after ``since`` and by ``at``, the first by start."""

    def first_open(self, name: str, at: Position, spared: Spared) -> Entry | None:
        """Of the writes that had begun and not ended at ``at``, the first by start."""

    def first_lost(self, name: str, at: Position, spared: Spared) -> Entry | None:
        """Of the lost writes that may still land at ``at``, the first by start."""

    def dropped_since(self, name: str, since: Position) -> bool:
        """Whether a write that is no longer held ended at or after ``since``."""

    def memory(self) -> Memory | None:
        """Where the closures of derived reads are remembered, if anywhere."""


class Memory(Protocol):
    """What the closures of derived reads said, by call. It forgets what may have changed since."""

    def recall(self, call: Id, at: Position) -> Any:
        """What was kept for ``call``, if it still holds as of ``at``; `MISSING` otherwise."""

    def keep(self, call: Id, said: Any) -> None:
        """Keep what the closure of ``call`` says."""


MISSING: Any = object()

GONE: Any = object()
"""The ``memo`` of an entry that a log has dropped."""


class Order:
    """Where times and endpoints stand in the order of a sequence of events.

    A sequence in which events number both ends is in the order of these numbers; any other is in the order of
    (time, number), the number being ``seq`` where every event has one and the place in the sequence elsewhere. A bare
    time stands after every endpoint of that time. Building it is O(n log n), a place O(log n).
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self.numbered = any(event.end_seq is not None for event in events)
        if self.numbered:
            ends = [(micros(e.start_time), e.seq) for e in events if e.seq is not None and not _by_time(e)]
            ends += [(micros(e.end_time), e.end_seq) for e in events if e.end_time and e.end_seq is not None]
            ends.sort()
            self._times = [time for time, _ in ends]
            self._highest: list[int] = []
            for _, number in ends:
                self._highest.append(max(number, self._highest[-1]) if self._highest else number)
        self._by_seq = not self.numbered and all(event.seq is not None for event in events)

    def bare(self, time: int) -> Position:
        """Where a time stands that is no endpoint."""
        if not self.numbered:
            return (time, _LAST)
        index = bisect_right(self._times, time)
        return (self._highest[index - 1] if index else -_LAST, time)

    def ends(self, event: Event, place: int | None) -> tuple[Position, Position]:
        """Where an event's ends stand; ``place`` is its place in the sequence, ``None`` for one that is not in it."""
        end_time = None if event.end_time is None else micros(event.end_time)
        start_time = micros(event.start_time)
        if self.numbered:
            if place is None or _by_time(event):
                return self.bare(start_time), None if end_time is None else self.bare(end_time)
            return (event.seq, -_LAST), None if end_time is None else (event.end_seq, -_LAST)
        number = _LAST if place is None else (event.seq if self._by_seq else place)
        return (start_time, number), None if end_time is None else (end_time, number)


_LAST = float("inf")


def _by_time(event: Event) -> bool:
    """Whether an event in a numbered log was made by hand: it has an end and no number for it, or no number at all."""
    return event.seq is None or (event.end_time is not None and event.end_seq is None)


def entry(event: Event, order: Order, place: int | None) -> Entry:
    """``event`` with its positions in ``order``. O(log n)."""
    start, end = order.ends(event, place)
    start_time = micros(event.start_time)
    extra = None
    if event.observed_at is not None or event.version is not None or event.may_land_until is not None:
        seen_time = None if event.observed_at is None else micros(event.observed_at)
        until_time = None if event.may_land_until is None else micros(event.may_land_until)
        extra = Extra(
            None if seen_time is None else order.bare(seen_time),
            seen_time,
            event.version,
            None if until_time is None else order.bare(until_time),
            until_time,
        )
    return Entry(
        event.id,
        event.name,
        event.kind,
        event.outcome,
        start,
        end,
        start_time,
        None if event.end_time is None else micros(event.end_time) - start_time,
        tuple(each.id if each.name is None else (each.id, each.name) for each in event.depends_on),
        window_micros(event.validity_window_seconds),
        event.call,
        event.parent,
        event,
        extra,
    )


def by_id(entries: Sequence[Entry]) -> dict[Id, Entry]:
    """The entries by their ids. Raises ``ValueError`` for two events with one id. O(n)."""
    found = {each.id: each for each in entries}
    if len(found) < len(entries):
        twice = next(each for each in entries if found[each.id] is not each)
        raise ValueError(f"two events have id={twice.id!r}: an id names one event of a log")
    return found


class SequenceView:
    """A plain sequence of events as a view, each question answered by looking at every event: O(n) each.

    It is written to be read. Raises ``ValueError`` for two events with one id.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        sequence = tuple(events)
        self.order = Order(sequence)
        self.entries = [entry(event, self.order, place) for place, event in enumerate(sequence)]
        self._by_id = by_id(self.entries)

    def find(self, id: Id) -> Entry | None:
        return self._by_id.get(id)

    def was_dropped(self, id: Id) -> bool:
        return False

    def call(self, call: Id) -> list[Entry]:
        return sorted((each for each in self.entries if each.call == call), key=lambda each: each.start)

    def rests_on(self, call: Id) -> list[Key]:
        return list(dict.fromkeys(key for each in self.call(call) for key in each.depends_on))

    def is_derived(self, read: Entry) -> bool:
        return bool(self.rests_on(read.call))

    def _writes(self, name: str, at: Position, spared: Spared) -> list[tuple[Entry, str, Position]]:
        found = []
        for each in self.entries:
            if each.kind == "write" and conflict(each.name, name) and not spared(each):
                stands = standing(each, at)
                if stands is not None:
                    found.append((each, *stands))
        return sorted(found, key=lambda write: write[0].start)

    def undisturbed(self, name: str, since: Position, at: Position, but: Id = None) -> bool:
        writes = self._writes(name, at, lambda write: bool(write.call == but))
        return all(end is not None and end < since for _, _, end in writes)

    def first_after(self, name: str, after: Position, at: Position, spared: Spared) -> Entry | None:
        writes = self._writes(name, at, spared)
        return next((write for write, how, _ in writes if how == "ok" and write.start > after), None)

    def first_ended(self, name: str, outcome: str, since: Position, at: Position, spared: Spared) -> Entry | None:
        writes = self._writes(name, at, spared)
        return next((write for write, how, end in writes if how == outcome and end >= since), None)

    def first_open(self, name: str, at: Position, spared: Spared) -> Entry | None:
        return next((write for write, how, _ in self._writes(name, at, spared) if how == "open"), None)

    def first_lost(self, name: str, at: Position, spared: Spared) -> Entry | None:
        return next((write for write, how, _ in self._writes(name, at, spared) if how == "lost"), None)

    def dropped_since(self, name: str, since: Position) -> bool:
        return False

    def memory(self) -> None:
        return None


def narrowed(entry: Entry, name: str | None) -> str:
    """The name by which a dependency on ``entry`` counts.

    Raises ``ValueError`` for a narrower name that the event's own does not cover. O(length).
    """
    if name is None:
        return entry.name
    if not covers(entry.name, check_name(name)):
        raise ValueError(
            f"a dependency on name={entry.name!r} cannot be narrowed to {name!r}, which it does not cover:"
            " name the event itself or a part below it"
        )
    return name
