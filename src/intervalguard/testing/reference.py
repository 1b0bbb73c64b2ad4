"""The reference that a log is held against: it looks at every event for every question, and is written to be read.

A log may answer faster, never otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from ..kernel.admission import pinned
from ..kernel.events import Event, conflict, covers, micros
from ..kernel.views import Entry, Id, Key, Position, SequenceView, Spared, standing


class SequenceLogView(SequenceView):
    """A sequence of events as a `LogView`: `SequenceView`, and what is in flight and pinned. O(n) to O(n^2) a question."""

    def __init__(self, events: Iterable[Event], now: datetime, number: int) -> None:
        """``now`` and ``number`` are the time and the next number of the log, which make its position ``at``."""
        asker = Event("asker", now, now, id="asker", seq=number, end_seq=number)
        super().__init__([*events, asker])
        self.at: Position = self.entries.pop().start
        del self._by_id["asker"]
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


class ForgetfulView(SequenceLogView):
    """The same for a log that has dropped some of its events, and knows exactly what it has dropped."""

    def __init__(self, events: Iterable[Event], dropped: Collection[Event], now: datetime, number: int) -> None:
        super().__init__(events, now, number)
        self._gone = SequenceLogView(dropped, now, number)

    def was_dropped(self, id: Id) -> bool:
        """Whether it is one of those that were dropped."""
        return self._gone.find(id) is not None

    def undisturbed(self, name: str, since: Position, at: Position, but: Id = None) -> bool:
        """Dropped writes count, too."""
        return super().undisturbed(name, since, at, but) and not self.dropped_since(name, since)

    def dropped_since(self, name: str, since: Position) -> bool:
        """Whether a write that was dropped ended at or after ``since``; each of them had ended."""
        return not self._gone.undisturbed(name, since, self.at)


def sources(own: Sequence[Event], name: str) -> list[Event] | None:
    """What a session whose ``ok`` events these are knows of ``name``: the last one that covers it, and every later one
    that conflicts with it. Of the events of one call, which end together, it is the nearest name that covers it, and then
    the last that it touched. ``None``: nothing covers it.
    """
    covering = [each for each in own if covers(each.name, name)]
    if not covering:
        return None
    last = max(each.end_seq or 0 for each in covering)
    found = [max((each for each in reversed(covering) if each.end_seq == last), key=lambda each: len(each.name))]
    return found + [each for each in own if (each.end_seq or 0) > last and conflict(each.name, name)]


def rests(own: Sequence[Event], name: str) -> set[tuple[str, str]] | None:
    """The same, each as its call and the part that counts: of what covers the name no more than that."""
    found = sources(own, name)
    return None if found is None else {(each.call, max(each.name, name, key=len)) for each in found}


def rests_by_itself(own: Sequence[Event], name: str) -> set[tuple[str, str]]:
    """What a write rests on: its own resource; where nothing covers that, each part of it that is known."""
    itself = rests(own, name)
    if itself is not None:
        return itself
    return {each for part in own if covers(name, part.name) for each in rests(own, part.name) or ()}


def simplest(parts: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Without the parts of what the same call is relied on for as a whole."""
    return {(call, name) for call, name in parts if not any(c == call and n != name and covers(n, name) for c, n in parts)}


def key_of(event: Event, part: str) -> Key:
    """A dependency on an event, or on the ``part`` of it where its name covers that."""
    return (event.id, part) if part != event.name and covers(event.name, part) else event.id
