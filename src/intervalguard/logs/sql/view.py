"""The questions of a view, asked of a database.

`SqlView` answers for the present of a log, over ``ask(sql, parameters) -> rows``. Each question is a few look-ups in an
index: the writes that conflict with a name are those at the names above it and at the name itself, and those that are
kept below it. No rule is here; what only asks has no side to take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import lru_cache
from typing import Any, TypeAlias

from ...kernel.admission import pinned
from ...kernel.events import conflict, prefixes
from ...kernel.views import Entry, Id, Key, Position, Spared
from ..places import past_endpoint
from .meta import Meta
from .rows import COLUMNS, entry_of

Ask: TypeAlias = Callable[[str, Sequence[Any]], Sequence[Sequence[Any]]]
"""Rows for a query and its parameters."""

FIND = f"SELECT {COLUMNS} FROM event WHERE id = ?"
_CALL = f"SELECT {COLUMNS} FROM event WHERE id = ?1 UNION ALL SELECT {COLUMNS} FROM event WHERE call = ?1 AND id <> call"
_PINNING = "SELECT id, call FROM flight WHERE pins = 1 ORDER BY start, id"
_IN_FLIGHT = "SELECT EXISTS (SELECT 1 FROM flight)"
_FEW = 4
"""So many witnesses are fetched at first; more only where all of them are spared."""


class SqlView:
    """A log in a database as a `LogView` of the present, for the length of one step.

    ``pins`` remembers what the pending calls pin, by call, over many steps: what a call rests on never changes.
    """

    def __init__(self, ask: Ask, meta: Meta, pins: dict[Id, Sequence[str]]) -> None:
        self.ask = ask
        self.meta = meta
        self._pins = pins
        self._found: dict[Id, Entry | None] = {}
        self._calls: dict[Id, Sequence[Entry]] = {}

    # -- events

    def find(self, id: Id) -> Entry | None:
        if type(id) is not int:
            return None
        if id not in self._found:
            rows = self.ask(FIND, (id,))
            self._found[id] = entry_of(rows[0]) if rows else None
        return self._found[id]

    def was_dropped(self, id: Id) -> bool:
        return type(id) is int and 0 < id < self.meta.next and self.find(id) is None

    def call(self, call: Id) -> Sequence[Entry]:
        if type(call) is not int:
            return ()
        if call not in self._calls:
            entries = sorted(map(entry_of, self.ask(_CALL, (call,))), key=lambda each: bool(each.id != call))
            self._found.update((each.id, self._found.get(each.id) or each) for each in entries)
            self._calls[call] = [self._found[each.id] or each for each in entries]
        return self._calls[call]

    def rests_on(self, call: Id) -> Sequence[Key]:
        first = self.find(call)
        return () if first is None else first.depends_on

    def is_derived(self, read: Entry) -> bool:
        return bool(read.depends_on)

    # -- writes

    def undisturbed(self, name: str, since: Position, at: Position, but: Id = None) -> bool:
        if self.meta.dropped >= since and self.dropped_since(name, since):
            return False
        places = _places(name)
        asked = [*_flat(places), *(each for place in places for each in (*place, since, but))]
        return not self.ask(_disturbing(len(places)), asked)

    def first_after(self, name: str, after: Position, at: Position, spared: Spared) -> Entry | None:
        return self._first("written", "outcome = 'ok' AND start > ?", name, (after,), spared)

    def first_ended(self, name: str, outcome: str, since: Position, at: Position, spared: Spared) -> Entry | None:
        found = self._first(
            "written INDEXED BY written_ended", 'outcome = ? AND "end" >= ?', name, (outcome, since), spared
        )
        return found if found is None or found.outcome != "unknown" else _lapsed(found)

    def first_open(self, name: str, at: Position, spared: Spared) -> Entry | None:
        return self._first("flight", "outcome = 'pending'", name, (), spared)

    def first_lost(self, name: str, at: Position, spared: Spared) -> Entry | None:
        return self._first("flight", "outcome = 'unknown'", name, (), spared)

    def dropped_since(self, name: str, since: Position) -> bool:
        if self.meta.dropped < since:
            return False
        if self.meta.dropped_unnamed >= since:
            return True
        places = _places(name)
        asked = [each for place in places for each in (*place, since)]
        return bool(self.ask(_each('SELECT 1 FROM dropped WHERE name = ? AND below = ? AND "end" >= ?', len(places)), asked))

    def memory(self) -> None:
        return None

    # -- what is in flight

    def in_flight(self) -> bool:
        return bool(self.ask(_IN_FLIGHT, ())[0][0])

    def first_pinning(self, name: str, spared: Spared) -> tuple[Entry, str] | None:
        rows = self.ask(_PINNING, ())
        if len(self._pins) > 2 * len(rows) + 64:
            calls = {call for _, call in rows}
            for call in [each for each in self._pins if each not in calls]:
                del self._pins[call]
        for id, call in rows:
            pin = next((each for each in self._pinned(call) if conflict(each, name)), None)
            write = None if pin is None else self.find(id)
            if pin is not None and write is not None and not spared(write):
                return write, pin
        return None

    def _pinned(self, call: Id) -> Sequence[str]:
        if call not in self._pins:
            self._pins[call] = pinned(self, self.rests_on(call))
        return self._pins[call]

    def _first(self, table: str, where: str, name: str, asked: Sequence[Any], spared: Spared) -> Entry | None:
        """The first by start of the writes that conflict with ``name``, as ``where`` says, and are not spared."""
        places = _places(name)
        sql = _in_order(table, where, len(places))
        parameters = [each for place in places for each in (*place, *asked)]
        few, seen = _FEW, 0
        while True:
            rows = self.ask(sql, (*parameters, few, seen))
            for _, id in rows:
                write = self.find(id)
                assert write is not None, f"the index knows a write #{id} that is no event"
                if not spared(write):
                    return write
            if len(rows) < few:
                return None
            seen += len(rows)
            few *= 4

    # -- times

    def place(self, time: int) -> Position:
        """Where a bare time stands: after every endpoint of that time, and of two of them the later one later."""
        last, its_time = 0, self.meta.swept_time
        if time >= its_time:
            last = self.meta.swept
        for number, at in (*self.ask(_LAST_ENDED, (time,)), *self._last_begun(time)):
            if number > last:
                last, its_time = number, at
        if last == 0:
            return 0.5
        return past_endpoint(last, time - its_time)

    def earliest(self, time: int) -> Position:
        """The same, but before everything for a time of which the log no longer holds what was before and after it."""
        return 0.5 if time <= self.meta.swept_time else self.place(time)

    def time_after(self, place: Position, time: int, now: int) -> int:
        """When the first endpoint after a bare ``time`` was, which stands at ``place``; ``now`` where there is none."""
        ended = self.ask(_NEXT_ENDED, (time,))
        begun = self.ask(_BEGUN, (int(place) + 1, self.meta.next))
        return min([(number, at) for number, at in (*ended, *begun) if number > place], default=(0, now))[1]

    def _last_begun(self, time: int) -> list[tuple[int, int]]:
        """The number and the time of the last call that had begun by ``time``. O(log n) look-ups."""
        low, high = 0, self.meta.next
        last: list[tuple[int, int]] = []
        while low < high:
            middle = (low + high) // 2
            rows = self.ask(_BEGUN, (middle, high))
            if not rows or rows[0][1] > time:
                high = middle
            else:
                last = [(rows[0][0], rows[0][1])]
                low = rows[0][0] + 1
        return last


_LAST_ENDED = 'SELECT "end", end_time FROM event WHERE end_time <= ? ORDER BY end_time DESC, "end" DESC LIMIT 1'
_NEXT_ENDED = 'SELECT "end", end_time FROM event WHERE end_time > ? ORDER BY end_time, "end" LIMIT 1'
_BEGUN = "SELECT id, start_time FROM event WHERE id >= ? AND id < ? AND start = id ORDER BY id LIMIT 1"


def _lapsed(write: Entry) -> Entry:
    """A lost write that can land no longer, as what it counts as: an error that ended then."""
    assert write.extra is not None
    stands = copy(write)
    stands.outcome, stands.end = "error", write.extra.until
    return stands


def _places(name: str) -> list[tuple[str, int]]:
    """Where the writes are kept that conflict with ``name``."""
    return [(name, 0), (name, 1), *((above, 0) for above in prefixes(name))]


def _flat(places: Iterable[tuple[str, int]]) -> list[Any]:
    return [each for place in places for each in place]


def _each(one: str, count: int) -> str:
    return " UNION ALL ".join([one] * count) + " LIMIT 1"


@lru_cache(256)
def _disturbing(count: int) -> str:
    """Whether anything is in flight at ``count`` places, or ended there since a position and is not of one call."""
    open_ones = ["SELECT 1 FROM flight WHERE name = ? AND below = ?"] * count
    ended = [
        'SELECT 1 FROM written INDEXED BY written_ended WHERE name = ? AND below = ? AND "end" >= ? AND call IS NOT ?'
    ] * count
    return " UNION ALL ".join([*open_ones, *ended]) + " LIMIT 1"


@lru_cache(1024)
def _in_order(table: str, where: str, count: int) -> str:
    one = f"SELECT start, id FROM {table} WHERE name = ? AND below = ? AND {where}"
    return " UNION ALL ".join([one] * count) + " ORDER BY start, id LIMIT ? OFFSET ?"
