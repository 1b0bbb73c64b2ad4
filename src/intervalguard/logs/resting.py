"""What the pending calls rest on: which of them pins a name, and which events are in use.

Both are functions of the pending calls, kept beside the log for the speed of the answer. A call that settles before
anything was asked is never looked at, so what nothing runs beside costs next to nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from operator import attrgetter
from typing import TypeVar, cast

from ..kernel.admission import pinned
from ..kernel.events import conflict, prefixes
from ..kernel.views import Entry, Id, Key, Spared, View

_start = attrgetter("start")

_One = TypeVar("_One", str, Entry)


class Pins:
    """The pending calls that write and rest on something, by the names that they pin and the names above these.

    Adding a call costs what it pins, a question O(depth + spared calls), and what the answer pins. ``new`` are those
    that began since the last question, by call and in the order of their starts. What is one is kept without a list, for
    most calls pin one name, and most names are pinned by one call.
    """

    def __init__(self, view: View) -> None:
        self.new: dict[Id, Entry] = {}
        self._view = view
        self._pins: dict[Id, str | Sequence[str]] = {}
        self._at: dict[str, Entry | list[Entry]] = {}
        self._below: dict[str, Entry | list[Entry]] = {}

    def first(self, name: str, spared: Spared) -> tuple[Entry, str] | None:
        """Of the calls that are not spared the first by start that pins what conflicts with ``name``, and that pin."""
        if self.new:
            for call in self.new.values():
                self._add(call)
            self.new.clear()
        if not self._pins:
            return None
        first: Entry | None = None
        for calls in (self._below.get(name), *map(self._at.get, (name, *prefixes(name)))):
            found = None if calls is None else next((each for each in _all(calls) if not spared(each)), None)
            if found is not None and (first is None or found.start < first.start):
                first = found
        if first is None:
            return None
        return first, next(pin for pin in _all(self._pins[first.call]) if conflict(pin, name))

    def end(self, call: Entry) -> None:
        """A call has settled; it may be none of these."""
        if self.new.pop(call.id, None) is not None or call.id not in self._pins:
            return
        pins = _all(self._pins.pop(call.id))
        for pin in pins:
            _take_out(self._at, pin, call)
        for name in _above(pins):
            _take_out(self._below, name, call)

    def _add(self, call: Entry) -> None:
        pins = pinned(self._view, call.depends_on)
        self._pins[call.call] = pins[0] if len(pins) == 1 else pins
        for pin in pins:
            _put_in(self._at, pin, call)
        for name in _above(pins):
            _put_in(self._below, name, call)


def _all(what: _One | Sequence[_One]) -> Sequence[_One]:
    return what if isinstance(what, list | tuple) else (cast(_One, what),)


def _above(names: Sequence[str]) -> set[str]:
    return {above for name in names for above in prefixes(name)}


def _put_in(calls_by_name: dict[str, Entry | list[Entry]], name: str, call: Entry) -> None:
    calls = calls_by_name.setdefault(name, call)
    if isinstance(calls, list):
        calls.append(call)
    elif calls is not call:
        calls_by_name[name] = [calls, call]


def _take_out(calls_by_name: dict[str, Entry | list[Entry]], name: str, call: Entry) -> None:
    calls = calls_by_name[name]
    if isinstance(calls, list) and len(calls) > 1:
        del calls[bisect_left(calls, call.start, key=_start)]
    else:
        del calls_by_name[name]


class Uses:
    """The events that pending calls rest on, through reads: how many calls, and reads in use, rest on each.

    Adding a call and taking it out costs what nothing else uses of its closure. ``new`` are the calls that began since
    the last question.
    """

    def __init__(self, view: View) -> None:
        self.new: dict[Id, Entry] = {}
        self._view = view
        self._counted: set[Id] = set()
        self._counts: dict[Id, int] = {}

    def any(self, events: Sequence[Entry]) -> bool:
        """Whether one of these is in use."""
        if self.new:
            for call in self.new.values():
                self._add(call)
            self.new.clear()
        counts = self._counts
        return bool(counts) and any(each.id in counts for each in events)

    def end(self, call: Entry) -> Sequence[Entry]:
        """A call has settled; the events that are out of use by that."""
        if self.new.pop(call.id, None) is not None or call.id not in self._counted:
            return ()
        self._counted.remove(call.id)
        freed = []
        stack = list(call.depends_on)
        while stack:
            source = self._source(stack.pop())
            count = 0 if source is None else self._counts.get(source.id, 0)
            if source is not None and count == 1:
                del self._counts[source.id]
                freed.append(source)
                if source.kind == "read":
                    stack += source.depends_on
            elif source is not None and count:
                self._counts[source.id] = count - 1
        return freed

    def _add(self, call: Entry) -> None:
        self._counted.add(call.id)
        stack = list(call.depends_on)
        while stack:
            source = self._source(stack.pop())
            if source is not None:
                count = self._counts.get(source.id, 0)
                self._counts[source.id] = count + 1
                if not count and source.kind == "read":
                    stack += source.depends_on

    def _source(self, key: Key) -> Entry | None:
        return self._view.find(key[0] if type(key) is tuple else key)
