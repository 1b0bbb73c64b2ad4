"""What a conversation has seen: which of its own events a resource that it names resolves to.

A resource resolves to the last own ``ok`` event whose name covers it, narrowed to it, plus every own ``ok`` event that
ended later and conflicts with it: what the conversation knows of the resource, and what it did to it since.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from operator import attrgetter

from .events import covers, prefixes
from .staleness import Claim, Raw, judge
from .views import GONE, Entry, Id, Key, Position, View

_end = attrgetter("end")


class Unread(str):
    """A name that nothing in the session covers, in the place of the id that it did not resolve to."""

    __slots__ = ()


class Own:
    """The ``ok`` events of one session, in the order of their ends, by name and by the names above. O(depth) to add.

    Of what the log dropped the last of each name stays until the name is let go, and the first of those in a row: what
    was known once and can be verified no longer is not taken for what was never known, nor for what was known before it,
    be it asked as of now or as of a turn's beginning.
    """

    __slots__ = ("_at", "_below", "_gone", "_limit", "_parts")

    def __init__(self) -> None:
        self._at: dict[str, list[Entry]] = {}
        self._below: dict[str, list[Entry]] = {}
        self._parts: dict[str, dict[str, None]] = {}
        self._gone = 0
        self._limit = 8

    def add(self, event: Entry) -> None:
        """An event of the session ended well, after all that were added before."""
        events = self._at.get(event.name)
        if events is not None:
            events.append(event)
        else:
            self._at[event.name] = [event]
            for prefix in prefixes(event.name):
                self._parts.setdefault(prefix, {})[event.name] = None
        for prefix in prefixes(event.name):
            self._below.setdefault(prefix, []).append(event)

    def forget(self) -> None:
        """The log dropped one of the events. Amortized O(depth)."""
        self._gone += 1
        if self._gone > self._limit:
            self._prune()

    def is_gone(self, name: str) -> bool:
        """Whether the log has dropped what the session knew last by this name."""
        return self._at[name][-1].memo is GONE

    def let_go(self, name: str) -> None:
        """Take a name of which the log holds nothing for one that was never known. Amortized O(depth)."""
        if all(each.memo is GONE for each in self._at.get(name, ())):
            self._at.pop(name, None)
            self.forget()

    def _prune(self) -> None:
        kept: dict[int, None] = {}
        for events in self._at.values():
            follows_gone = [False, *(each.memo is GONE for each in events[:-1])]
            events[:] = [
                each
                for each, follows in zip(events, follows_gone, strict=True)
                if each.memo is not GONE or not follows or each is events[-1]
            ]
            kept.update(dict.fromkeys(map(id, events)))
        below = {prefix: [each for each in events if id(each) in kept] for prefix, events in self._below.items()}
        self._below = {prefix: events for prefix, events in below.items() if events}
        self._parts = {prefix: dict.fromkeys(each.name for each in events) for prefix, events in self._below.items()}
        self._gone = 0
        self._limit = len(kept) + 8

    def names(self) -> list[str]:
        """The names that the session has touched and knows of."""
        return list(self._at)

    def names_below(self, name: str, until: Position) -> list[str]:
        """Those of them below ``name`` that it had touched by ``until``; ``None`` for no limit. O(names below)."""
        known = [(each, self._at[each][0]) for each in self._parts.get(name, ()) if each in self._at]
        return [each for each, first in known if until is None or first.end <= until]

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


def resting(own: Own, names: Iterable[str], until: Position = None) -> list[Key]:
    """What a call that names these rests on, by what was known at ``until``. O(names x depth x log n + result)."""
    return list(dict.fromkeys(key for name in names for key in _resting(own, name, until)))


def _resting(own: Own, name: str, until: Position) -> list[Key]:
    read = own.covering(name, until)
    if read is None:
        return [Unread(name)]
    return [_key(read, name), *(_key(each, name) for each in own.conflicting(name, read.end, until))]


def resting_by_itself(own: Own, writes: Iterable[str], until: Position = None) -> list[Key]:
    """What a write rests on where it names nothing: its own resources, or what is known of the parts below them.

    O((names below + 1) x depth x log n + result).
    """
    keys: dict[Key, None] = {}
    for name in writes:
        known = [name] if own.covering(name, until) is not None else own.names_below(name, until)
        for each in known:
            keys.update(dict.fromkeys(_resting(own, each, until)))
    return [key for key in keys if type(key) is not tuple or key[0] not in keys]


def stale(view: View, own: Own, until: Position, at: Position, time: int) -> list[Raw]:
    """The findings of a call that would rest on all that was known at ``until``, the worst of each dependency.

    Costs what `judge` costs for each name that the session knows.
    """
    found: dict[Id, Raw] = {}
    for name in own.names():
        for raw in judge(view, Claim(None, None, _resting(own, name, until)), at, time):
            if raw.dependency not in found or found[raw.dependency].grade < raw.grade:
                found[raw.dependency] = raw
    return list(found.values())


def _key(event: Entry, name: str) -> Key:
    return event.id if covers(name, event.name) else (event.id, name)
