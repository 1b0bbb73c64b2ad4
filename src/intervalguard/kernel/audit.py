"""A whole log held against the rule in one pass: played again into an `Index`, each call judged at its start.

What is found is what `judge` finds call by call against a `SequenceView` (law L6).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import reduce
from operator import attrgetter, itemgetter

from .events import INEFFECTIVE, Event, micros
from .index import Index
from .memos import Roots, with_root
from .staleness import Claim, Raw, judge
from .views import Entry, Id, Key, Order, Position, by_id, entry, standing

_start = attrgetter("start")

_FEW = 4
"""So many roots are kept of a read. Others are remembered as what their closure says."""


class Replay(Index):
    """The past of a log, played forward: `advance` to a position, then ask. O(n log n) for the whole log.

    Raises ``ValueError`` for two events with one id.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        super().__init__()
        self._entries = by_id(entries)
        self._alone: dict[Id, Entry] = {each.call: each for each in entries}
        self._calls: dict[Id, list[Entry]] = {}
        if len(self._alone) < len(entries):
            self._gather(entries)
        self._starts = sorted(
            (each for each in entries if each.kind == "write" and each.outcome not in INEFFECTIVE), key=_start
        )
        self._ends = sorted(self._endings(), key=itemgetter(0))
        self._own: list[Entry] = []
        for write in self._starts:
            self._node_at(write.name)
        self._starts.reverse()
        self._ends.reverse()

    def _gather(self, entries: Sequence[Entry]) -> None:
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
        if not self._own and not (starts and starts[-1].start <= at) and not (ends and ends[-1][0] <= at):
            return
        held, self._own = self._own, []
        while starts and starts[-1].start <= at:
            held.append(starts.pop())
        for write in held:
            if write.end is None or write.end > at:
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

    def judged(self) -> list[Entry]:
        """The calls that rest on something and were not refused: their first events, in the order of their starts."""
        calls = [events[0] for events in self._calls.values() if any(each.depends_on for each in events)]
        calls += [each for each in self._entries.values() if each.depends_on and each.call not in self._calls]
        return sorted((first for first in calls if first.outcome != "refused"), key=_start)

    def findings(self, first: Entry) -> Sequence[Raw]:
        """What is wrong with the call of this first event as of its start. Ask in the order of `judged`."""
        self.advance(first.start, first.call)
        if self._is_plain(first):
            return ()
        claim = Claim(first.call, first.parent, self.rests_on(first.call))
        return judge(self, claim, first.start, first.start_time)

    def _is_plain(self, first: Entry) -> bool:
        """Whether it is plain that nothing is wrong with a call. It may say no where it is so. O(dependencies).

        It is plain where nothing but the roots of all that the call rests on was written since these began, and each
        dependency is within its window. A read with calm sources keeps their roots as its ``memo``, if they are few.
        """
        calls, at, is_aged = self._calls, first.start, False
        if calls and first.call in calls:
            return False
        roots: Roots | None = ()
        for key in first.depends_on:
            source = self._entries.get(key)
            if source is None or source.outcome != "ok" or source.end is None or source.end > at:
                return False
            if source.extra is not None or (calls and source.call in calls):
                return False
            if source.window is not None and first.start_time - source.start_time - source.took > source.window:
                is_aged = True
            below: Roots = (source,)
            if source.kind == "read" and source.depends_on:
                if type(source.memo) is not tuple:
                    return False
                below = with_root(source.memo, source)
            if not self.is_calm(below, at):
                return False
            if roots is not None:
                roots = reduce(with_root, below, roots) if roots else below
                roots = roots if len(roots) <= _FEW else None
        if first.kind == "read" and roots is not None:
            first.memo = roots
        return not is_aged


def findings(entries: Sequence[Entry]) -> Iterator[tuple[Entry, Raw]]:
    """Each call's findings as of its start, with its first event, in the order of the starts.

    O(n log n) for n events with a bounded number of dependencies each; hot resources, derived reads and acknowledged
    writes cost no more. Raises ``ValueError`` for two events with one id and for a narrower name that is not covered.
    """
    replay = Replay(entries)
    for first in replay.judged():
        for raw in replay.findings(first):
            yield first, raw


def findings_of(event: Event, events: Iterable[Event], now: datetime | None = None) -> list[Raw]:
    """The findings of one call against a plain sequence, as of ``now``, by default of the event's own start.

    The call is the event's; where the sequence does not hold it, the event alone. One pass: O(n log n).
    """
    sequence = tuple(events)
    order = Order(sequence)
    entries = [entry(each, order, place) for place, each in enumerate(sequence)]
    replay = Replay(entries)
    mine = replay.find(event.id) or entry(event, order, None)
    at, time = (mine.start, mine.start_time) if now is None else (order.bare(micros(now)), micros(now))
    replay.advance(at, event.call)
    keys = list(dict.fromkeys([*replay.rests_on(event.call), *mine.depends_on]))
    return judge(replay, Claim(event.call, event.parent, keys), at, time)
