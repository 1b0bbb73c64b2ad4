"""What a conversation has seen: which of its own events a resource that it names resolves to.

A resource resolves to the last own ``ok`` event whose name covers it, narrowed to it, plus every own ``ok`` event that
ended later and conflicts with it: what the conversation knows of the resource, and what it did to it since.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from operator import attrgetter

from .events import covers, prefixes
from .views import GONE, Entry, Key, Position

_end = attrgetter("end")


class Unread(str):
    """A name that nothing in the session covers, in the place of the id that it did not resolve to."""

    __slots__ = ()


class Own:
    """The ``ok`` events of one session, in the order of their ends, by name and by the names above. O(depth) to add."""

    __slots__ = ("_at", "_below")

    def __init__(self) -> None:
        self._at: dict[str, list[Entry]] = {}
        self._below: dict[str, list[Entry]] = {}

    def add(self, event: Entry) -> None:
        events = self._at.setdefault(event.name, [])
        if events and events[-1].memo is GONE:
            self._remove(events[-1])
        events.append(event)
        for prefix in prefixes(event.name):
            self._below.setdefault(prefix, []).append(event)

    def forget(self, event: Entry) -> None:
        """Let go of an event that the log dropped, unless it is the last that the session knows of its name."""
        if self._at[event.name][-1] is not event:
            self._remove(event)

    def _remove(self, event: Entry) -> None:
        self._at[event.name].remove(event)
        for prefix in prefixes(event.name):
            self._below[prefix].remove(event)

    def names(self) -> list[str]:
        """The names that the session has touched and knows of."""
        return list(self._at)

    def covering(self, name: str, until: Position) -> Entry | None:
        """The last event that ended by ``until`` and whose name covers ``name``; ``None`` for no limit."""
        last: Entry | None = None
        for each in (name, *prefixes(name)):
            events = self._at.get(each)
            if events:
                count = len(events) if until is None else bisect_right(events, until, key=_end)
                if count and (last is None or events[count - 1].end > last.end):
                    last = events[count - 1]
        return last

    def conflicting(self, name: str, after: Position, until: Position) -> list[Entry]:
        """The events on names that conflict with ``name`` which ended after ``after`` and by ``until``, in that order."""
        found: list[Entry] = []
        for events in self._conflicting(name):
            start = 0 if after is None else bisect_right(events, after, key=_end)
            stop = len(events) if until is None else bisect_right(events, until, key=_end)
            found += events[start:stop]
        return sorted(found, key=_end)

    def _conflicting(self, name: str) -> Iterator[list[Entry]]:
        for events in (self._at.get(name), self._below.get(name), *(self._at.get(each) for each in prefixes(name))):
            if events:
                yield events


def resting(own: Own, name: str, until: Position = None) -> list[Key]:
    """What a call that names ``name`` rests on, by what was known at ``until``. O(depth x log n + result)."""
    read = own.covering(name, until)
    if read is None:
        return [Unread(name)]
    return [_key(read, name), *(_key(each, name) for each in own.conflicting(name, read.end, until))]


def resting_by_itself(own: Own, writes: Iterable[str], until: Position = None) -> list[Key]:
    """What a write rests on where it names nothing: its own resources, or what is known of the parts below them."""
    keys: dict[Key, None] = {}
    for name in writes:
        if own.covering(name, until) is not None:
            keys.update(dict.fromkeys(resting(own, name, until)))
        else:
            keys.update(dict.fromkeys(each.id for each in own.conflicting(name, None, until)))
    return list(keys)


def _key(event: Entry, name: str) -> Key:
    return event.id if covers(name, event.name) else (event.id, name)
