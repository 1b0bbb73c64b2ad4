"""The writes to one name, or below one name, kept by how they count and by start."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from operator import attrgetter

from .memos import Callers
from .views import GONE, Entry, Id, Position, Spared

_start = attrgetter("start")
_end = attrgetter("end")


class Ended(list[Entry]):
    """Writes that ended, by start. ``peaks`` are those that no earlier one outlasts: by start, and by end too.

    ``peaks`` is ``None`` while that is all of them.
    """

    __slots__ = ("gone", "peaks")

    def __init__(self) -> None:
        super().__init__()
        self.peaks: list[Entry] | None = None
        self.gone = 0

    def add(self, write: Entry) -> None:
        """O(1) for a write that began last and ended last, else O(log n) and a move of the later ones."""
        if self.peaks is None:
            if not self or (self[-1].start <= write.start and self[-1].end <= write.end):
                self.append(write)
                return
            self.peaks = list(self)
        insort(self, write, key=_start)
        peaks = self.peaks
        place = bisect_right(peaks, write.start, key=_start)
        if place == 0 or peaks[place - 1].end < write.end:
            stop = bisect_right(peaks, write.end, lo=place, key=_end)
            peaks[place:stop] = [write]

    def first_after(self, after: Position, spared: Spared) -> Entry | None:
        """The first that began after ``after`` and is not spared. O(log n + spared)."""
        if self[-1].start <= after:
            return None
        for index in range(bisect_right(self, after, key=_start), len(self)):
            if not spared(self[index]):
                return self[index]
        return None

    def first_since(self, since: Position, spared: Spared) -> Entry | None:
        """The first by start that ended at or after ``since`` and is not spared. O(log n + spared), if few are nested."""
        peaks = self if self.peaks is None else self.peaks
        place = bisect_left(peaks, since, key=_end)
        if place == len(peaks):
            return None
        first = peaks[place]
        if not spared(first):
            return first
        for index in range(bisect_left(self, first.start, key=_start), len(self)):
            write = self[index]
            if write.end >= since and not spared(write):
                return write
        return None

    def forget(self) -> None:
        """Let go of what was dropped, once it is the half. Amortized O(1) a drop."""
        self.gone += 1
        if self.gone * 2 > len(self):
            self[:] = [write for write in self if write.memo is not GONE]
            if self.peaks is not None:
                self.peaks = [write for write in self.peaks if write.memo is not GONE]
            self.gone = 0


class Node:
    """The writes to one name, or below one name.

    ``latest`` is the last end of all that ended, and ``by`` the call whose write that was. No write of another call
    ended after ``before``.
    """

    __slots__ = (
        "above",
        "all",
        "before",
        "by",
        "dropped",
        "errors",
        "latest",
        "lost",
        "name",
        "names",
        "ok",
        "open",
        "superseded",
        "until",
        "watchers",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.names = 0
        self.above: tuple[Node, ...] = ()
        self.all: tuple[Node, ...] = (self,)
        self.ok: Ended | None = None
        self.errors: Ended | None = None
        self.open: list[Entry] | None = None
        self.lost: list[Entry] | None = None
        self.latest: Position = None
        self.by: Id = None
        self.before: Position = None
        self.dropped: Position = None
        self.watchers: Callers | None = None
        self.superseded: Callers | None = None
        self.until: Position = None

    def end(self, held: Ended, write: Entry) -> None:
        held.add(write)
        if self.latest is None or self.latest < write.end:
            if self.by != write.call:
                self.before, self.by = self.latest, write.call
            self.latest = write.end
        else:
            self.end_earlier(write)

    def end_earlier(self, write: Entry) -> None:
        """A write ended, and not after all others."""
        if self.by != write.call and (self.before is None or self.before < write.end):
            self.before = write.end

    def expunge(self, write: Entry) -> None:
        """Take out a write, wherever it is. O(n)."""
        self.open = [each for each in self.open or () if each is not write] or None
        self.lost = [each for each in self.lost or () if each is not write] or None
        self.ok, self.errors = _without(self.ok, write), _without(self.errors, write)

    def is_single(self) -> bool:
        """Whether one ``ok`` write is all that is known of the name."""
        others = self.errors or self.open or self.lost or self.watchers or self.superseded or self.dropped is not None
        return self.ok is not None and len(self.ok) == 1 and not others

    def empty(self) -> bool:
        return not (self.ok or self.errors or self.open or self.lost)


def _without(held: Ended | None, write: Entry) -> Ended | None:
    if held is None or write not in held:
        return held
    others = Ended()
    for each in held:
        if each is not write:
            others.add(each)
    return others if others else None


def node_of(write: Entry) -> Node:
    """A node for a name that was written once."""
    node = Node(write.name)
    node.ok = Ended()
    node.end(node.ok, write)
    return node


def taken_out(writes: list[Entry], write: Entry) -> bool:
    """Whether ``write`` was among ``writes``, which are by start; it is not any more. O(1) for the last, else O(log n)."""
    if writes[-1] is write:
        writes.pop()
        return True
    for place in range(bisect_left(writes, write.start, key=_start), len(writes)):
        if writes[place] is write:
            del writes[place]
            return True
        if writes[place].start != write.start:
            break
    return False


def first_of(writes: Iterable[Entry | None]) -> Entry | None:
    first: Entry | None = None
    for write in writes:
        if write is not None and (first is None or write.start < first.start):
            first = write
    return first
