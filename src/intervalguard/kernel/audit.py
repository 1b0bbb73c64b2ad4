"""A whole log held against the rule in one pass: played again into an `Index`, each call judged at its start.

What is found is what `judge` finds call by call against a `SequenceView` (law L6).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from functools import reduce
from operator import attrgetter, itemgetter

from .events import INEFFECTIVE, Event, micros
from .index import Index
from .memos import Roots, with_root
from .staleness import EXPIRED, Claim, Raw, judge
from .views import Entry, Id, Key, Order, Position, by_id, entry, standing

_start = attrgetter("start")

_FEW = 4
"""So many roots are kept of a read. Others are remembered as what their closure says."""


class Replay(Index):
    """The past of a log, played forward: `advance` to a position, then ask. O(n log n) for the whole log.

    It is given the log's events by their ids, in the log's order.
    """

    def __init__(self, held: dict[Id, Entry]) -> None:
        super().__init__()
        entries = held.values()
        self._entries = held
        for each in entries:
            each.memo = None
        self._alone: dict[Id, Entry] = dict(zip(map(attrgetter("call"), entries), entries, strict=True))
        self._calls: dict[Id, list[Entry]] = {}
        if len(self._alone) < len(entries):
            self._gather(entries)
        self._starts = sorted(
            (each for each in entries if each.kind == "write" and each.outcome not in INEFFECTIVE), key=_start
        )
        self._ends = sorted(self._endings(), key=itemgetter(0))
        self._own: list[Entry] = []
        self._next: Position = None
        for write in self._starts:
            self._node_at(write.name)
        self._starts.reverse()
        self._ends.reverse()
        self._look_ahead()

    def _look_ahead(self) -> None:
        """Note where the next write begins or ends."""
        starts, ends = self._starts, self._ends
        if starts and ends:
            self._next = min(starts[-1].start, ends[-1][0])
        else:
            self._next = starts[-1].start if starts else ends[-1][0] if ends else None

    def _gather(self, entries: Collection[Entry]) -> None:
        """The events of each call that has several, by start, and of one start in the order of the log."""
        calls = self._calls
        for each in entries:
            if self._alone[each.call] is not each:
                calls[each.call] = []
        for each in entries:
            if each.call in calls:
                calls[each.call].append(each)
        for call, events in calls.items():
            events.sort(key=_start)
            del self._alone[call]

    def _endings(self) -> Iterator[tuple[Position, Entry]]:
        for write in self._starts:
            extra = write.extra
            if write.outcome == "unknown" and extra is not None and extra.until is not None:
                if write.end is None or write.end < extra.until:
                    yield write.start if write.end is None else write.end, write
                yield extra.until, write
            elif write.end is not None:
                yield write.end, write
            elif write.outcome == "unknown":
                yield write.start, write

    def find(self, id: Id) -> Entry | None:
        return self._entries.get(id)

    def was_dropped(self, id: Id) -> bool:
        return False

    def call(self, call: Id) -> Sequence[Entry]:
        events = self._calls.get(call)
        if events is not None:
            return events
        single = self._alone.get(call)
        return () if single is None else (single,)

    def rests_on(self, call: Id) -> Sequence[Key]:
        events = self._calls.get(call)
        if events is not None:
            return list(dict.fromkeys(key for each in events for key in each.depends_on))
        single = self._alone.get(call)
        return () if single is None else single.depends_on

    def is_derived(self, read: Entry) -> bool:
        return bool(read.depends_on) or bool(self._calls and self.rests_on(read.call))

    def advance(self, at: Position, call: Id = None) -> None:
        """Play the log up to ``at``. Writes of ``call`` that are in flight there are left out until the next time."""
        starts, ends = self._starts, self._ends
        held, self._own = self._own, []
        while starts and starts[-1].start <= at:
            held.append(starts.pop())
        for write in held:
            if write.end is not None and write.end <= at:
                continue
            if write.call == call:
                self._own.append(write)
            else:
                stands = standing(write, at)
                if stands is not None and stands[0] == "open":
                    self.begin(write)
        while ends and ends[-1][0] <= at:
            position, write = ends.pop()
            extra = write.extra
            if extra is not None and extra.until is not None and extra.until <= position and write.outcome == "unknown":
                self.lapse(write)
            else:
                self.finish(write)
        self._look_ahead()

    def judged(self) -> list[Entry]:
        """The calls that rest on something and were not refused: their first events, in the order of their starts."""
        calls = [events[0] for events in self._calls.values() if any(each.depends_on for each in events)]
        calls += [each for each in self._entries.values() if each.depends_on and each.call not in self._calls]
        return sorted((first for first in calls if first.outcome != "refused"), key=_start)

    def findings(self, first: Entry) -> Sequence[Raw]:
        """What is wrong with the call of this first event as of its start. Ask in the order of `judged`."""
        if self._own or (self._next is not None and self._next <= first.start):
            self.advance(first.start, first.call)
        plain = self._plain(first)
        if plain is not None:
            return plain
        claim = Claim(first.call, first.parent, self.rests_on(first.call))
        return judge(self, claim, first.start, first.start_time)

    def _plain(self, first: Entry) -> Sequence[Raw] | None:
        """What is wrong with a call where it can be nothing but the age of what it rests on, or ``None``. O(dependencies).

        So it is where nothing but the roots of all that it rests on was written since these began. A read with calm
        sources keeps their roots and itself as its ``memo``, if these are few.
        """
        calls, at = self._calls, first.start
        if calls and first.call in calls:
            return None
        aged: dict[Id, Raw] = {}
        roots: Roots | None = ()
        for key in first.depends_on:
            source = self._entries.get(key)
            if source is None or source.outcome != "ok" or source.end is None or source.end > at:
                return None
            if source.extra is not None or (calls and source.call in calls):
                return None
            below: Roots = (source,)
            if source.kind == "read" and source.depends_on:
                if type(source.memo) is not tuple:
                    return None
                below = source.memo
            if not self.is_calm(below, at):
                return None
            if source.window is not None and first.start_time - source.start_time - source.took > source.window:
                aged[key] = Raw(key, source, EXPIRED, None, None)
            if roots is not None:
                roots = reduce(with_root, below, roots) if roots else below
                roots = roots if len(roots) <= _FEW else None
        if roots and first.kind == "read":
            first.memo = with_root(roots, first)
        return [*aged.values()]


def findings(held: dict[Id, Entry]) -> Iterator[tuple[Entry, Raw]]:
    """Each call's findings as of its start, with its first event, in the order of the starts, from the events by id.

    O(n log n) for n events with a bounded number of dependencies each; hot resources, derived reads and acknowledged
    writes cost no more. Raises ``ValueError`` for a narrower name that is not covered.
    """
    replay = Replay(held)
    for first in replay.judged():
        for raw in replay.findings(first):
            yield first, raw


def findings_of(event: Event, events: Iterable[Event], now: datetime | None = None) -> list[Raw]:
    """The findings of one call against a plain sequence, as of ``now``, by default of the event's own start.

    The call is the event's; where the sequence does not hold it, the event alone. One pass: O(n log n). Raises
    ``ValueError`` for two events with one id.
    """
    sequence = tuple(events)
    order = Order(sequence)
    entries = [entry(each, order, place) for place, each in enumerate(sequence)]
    replay = Replay(by_id(entries))
    mine = replay.find(event.id) or entry(event, order, None)
    at, time = (mine.start, mine.start_time) if now is None else (order.bare(micros(now)), micros(now))
    replay.advance(at, event.call)
    keys = list(dict.fromkeys([*replay.rests_on(event.call), *mine.depends_on]))
    return judge(replay, Claim(event.call, event.parent, keys), at, time)
