"""The events that a memory log holds, as a view of the present.

Every endpoint has a slot, so that an event is found by its number, and a time among the endpoints, without a table.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..kernel.index import Index
from ..kernel.memos import Memo
from ..kernel.views import GONE, Entry, Id, Key, Position, Spared
from .places import past_endpoint
from .resting import Pins, Uses
from .settling import may_land

_SWEPT = Entry(0, "", "read", "failed", 0, None, -(1 << 62), None, (), None, 0, None)
_SWEPT.memo = GONE
"""What stands in the slot of an endpoint that was swept: older than all that is held."""


class Held(Index):
    """The events that a memory log holds, as a view of the present.

    ``resting`` are the pending calls that rest on something and began since what is pinned or in use was last asked for.
    """

    def __init__(self, names: int | None, first: int = 1) -> None:
        super().__init__(names)
        self.slots: list[Entry] = []
        self.base = first
        self.swept = 0
        self.older: dict[int, Entry] = {}
        self.calls: dict[int, list[Entry]] = {}
        self.resting: dict[int, Entry] = {}
        self._within: dict[int, list[Entry]] = {}
        self._pins = Pins(self)
        self._uses = Uses(self)

    @property
    def next(self) -> int:
        """The number that the next endpoint takes."""
        return self.base + len(self.slots)

    def find(self, id: Id) -> Entry | None:
        if type(id) is not int:
            return None
        slots, place = self.slots, id - self.base
        if 0 <= place < len(slots):
            entry = slots[place]
            if entry.id == id and entry.memo is not GONE:
                return entry
        return self.older.get(id) if self.older else None

    def sweep(self) -> Entry:
        """The oldest endpoint that was not swept yet; its slot lets go of it, and ``older`` has it. Amortized O(1)."""
        slots, number = self.slots, self.base + self.swept
        is_half = self.swept > 1024 and self.swept * 2 > len(slots)
        entry = slots[self.swept]
        if entry.memo is not GONE and entry.id == number:
            self.older[number] = entry
        slots[self.swept] = _SWEPT
        self.swept += 1
        if is_half:
            del self.slots[: self.swept]
            self.base += self.swept
            self.swept = 0
        return entry

    def was_dropped(self, id: Id) -> bool:
        return type(id) is int and 0 < id < self.next and self.find(id) is None

    def call(self, call: Id) -> Sequence[Entry]:
        events = self.calls.get(call)
        if events is not None:
            return events
        first = self.find(call)
        return () if first is None else (first,)

    def rests_on(self, call: Id) -> Sequence[Key]:
        first = self.find(call)
        return () if first is None else first.depends_on

    def is_derived(self, read: Entry) -> bool:
        return bool(read.depends_on)

    def in_flight(self) -> bool:
        return bool(self._unsettled)

    def first_pinning(self, name: str, spared: Spared) -> tuple[Entry, str] | None:
        if self.resting:
            self._look_at_resting()
        return self._pins.first(name, spared)

    def in_use(self, events: Sequence[Entry]) -> bool:
        """Whether a pending call rests on one of these, through reads."""
        if self.resting:
            self._look_at_resting()
        return self._uses.any(events)

    def nest(self, first: Entry) -> None:
        """A call was made in another one. It is noted while that one has no name, for then it may never be an event."""
        outer = self.find(first.parent)
        if outer is not None and not outer.name:
            self._within.setdefault(outer.id, []).append(first)

    def named(self, first: Entry) -> None:
        """A call got a name: it is an event from now on."""
        self._within.pop(first.id, None)

    def pass_on(self, nameless: Entry) -> None:
        """A call never got a name: the calls made in it were made in the one that it was made in. O(those calls)."""
        for first in self._within.pop(nameless.id, ()):
            for each in self.calls.get(first.id, (first,)):
                each.parent = nameless.parent
            if nameless.parent is not None:
                self.nest(first)

    def rests_no_more(self, first: Entry) -> Sequence[Entry]:
        """A call has settled that was looked at while it was pending; the events that are out of use by that."""
        self._pins.end(first)
        return self._uses.end(first)

    def mend(self) -> None:
        """Make anew, from the events, all that only speeds up answers and may have been left half done. O(n)."""
        self._found.clear()
        self.forget_closures()
        self._pins, self._uses, self.resting = Pins(self), Uses(self), {}
        for each in (*self.older.values(), *self.slots):
            if type(each.memo) is Memo:
                each.memo = None
            if each.outcome == "pending" and each.depends_on and each.memo is not GONE:
                self.resting[each.call] = self.call(each.call)[0]

    def _look_at_resting(self) -> None:
        for first in self.resting.values():
            write = next((each for each in self.call(first.id) if each.kind == "write"), None)
            if write is not None:
                self._pins.new[first.id] = write
            if self._names is not None:  # else nothing is dropped, in use or not
                self._uses.new[first.id] = first
        self.resting.clear()

    def may_land(self, first: Entry) -> bool:
        """Whether a lost call may still change something: it writes, and its time to land has not run out."""
        return may_land(self.call(first.call))

    def time_of(self, number: int) -> int:
        """When the endpoint with this number was."""
        entry = self.slots[number - self.base]
        at_end = entry.end is not None and number >= entry.end
        time: int = entry.start_time + entry.took if at_end else entry.start_time
        return time

    def place(self, time: int) -> Position:
        """Where a bare time stands: after every endpoint of that time, and of two of them the later one later.

        As far as a float tells them apart; two that it does not stand in one place.
        """
        low, high = self.base, self.next
        while low < high:
            middle = (low + high) // 2
            if self.time_of(middle) <= time:
                low = middle + 1
            else:
                high = middle
        if low <= self.base + self.swept:
            return low - 0.5
        past = time - self.time_of(low - 1)
        return past_endpoint(low - 1, past)

    def earliest(self, time: int) -> Position:
        """The same, but before everything for a time of which the log no longer holds what was before and after it."""
        place = self.place(time)
        return place if place > self.base + self.swept else 0.5

    def entries(self) -> list[Entry]:
        """What is held, oldest first."""
        older = sorted(self.older.items())
        numbered = [*older, *enumerate(self.slots, self.base)]
        return [each for number, each in numbered if each.id == number and each.memo is not GONE and each.name]


def was_end(event: Entry) -> Entry:
    """What stands at the number of an end that was put off: its time, and no event."""
    mark = Entry(0, "", "read", "failed", event.end, None, event.start_time + event.took, 0, (), None, 0, None)
    mark.memo = GONE
    return mark
