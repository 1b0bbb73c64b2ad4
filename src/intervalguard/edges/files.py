"""Event files: JSON Lines, one event a line, read for an audit or as `Event` objects, and written.

What a file says is checked here once, whichever way it is read: each field by itself with the kernel's own checks, then
what only the whole can tell (ids given twice, cycles, numbers given to some and not to others). Nothing is skipped but
blank lines. What is malformed is an `EventFileError`.
"""

from __future__ import annotations

import gc
import gzip
import json
import os
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import accumulate
from typing import Any, cast

import attrs

from intervalguard.kernel.events import (
    KINDS,
    OUTCOMES,
    Dependency,
    Event,
    check_name,
    check_window,
    contradiction,
    covers,
    micros,
    moment,
    window_micros,
)
from intervalguard.kernel.explain import LONGEST, Party, quoted
from intervalguard.kernel.views import Entry, Extra, Key

from .lines import EventFileError, Fault, Path, Progress, Record, decoder, fault, given, pieces
from .times import LARGEST, Axis, TimeError, Times, quick_micros, shown, written

__all__ = ["EventFile", "EventFileError", "Loaded", "load", "read_events", "uncollected", "write_events"]

FIELDS: tuple[str, ...] = (
    "id",
    "name",
    "kind",
    "start_time",
    "end_time",
    "validity_window_seconds",
    "depends_on",
    "seq",
    "end_seq",
    "outcome",
    "call",
    "parent",
    "session",
    "batch",
    "tool",
    "run",
    "agent",
    "observed_at",
    "version",
    "may_land_until",
)
"""The fields of an event, in the order in which they are written."""

_PLACE = 32
"""Below so many bits of a position stands what tells apart the endpoints of one time."""
_BARE = (1 << _PLACE) - 1
"""There a bare time stands: after every endpoint of its time."""


@attrs.frozen
class EventFile:
    """What a file holds: its events in the order of the lines, of each the fields that are not an event's, its axis.

    On an axis of plain numbers a time is as many seconds after 1970-01-01T00:00Z.
    """

    events: tuple[Event, ...]
    unknown: tuple[Mapping[str, Any], ...]
    axis: Axis


@attrs.frozen(eq=False)
class Loaded:
    """A file as the audit reads it: entries with positions, and the axis that their times are on."""

    file: str
    entries: list[Entry]
    axis: Axis | None

    def describe(self, entry: Entry) -> Party:
        """An entry for `intervalguard.kernel.explain.finding`."""
        tool, agent, session = entry.origin
        start = entry.start_time
        return Party(
            entry.id,
            entry.name,
            entry.kind,
            entry.outcome,
            self.shown(start),
            None if entry.took is None else self.shown(start + entry.took),
            tool,
            agent,
            session,
        )

    def shown(self, at: int) -> Any:
        """Microseconds as a time of this file."""
        return shown(self.axis, at)


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage collection meanwhile: what is loaded has no cycles, and looking for some would take half the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def load(path: Path, progress: Progress | None = None, keep: Callable[[Record], object] | None = None) -> Loaded:
    """The events of a file, checked, as entries in the file's order, in the order of the lines. O(n log n).

    ``keep`` is handed each line's object. Raises `EventFileError` for what cannot be read or is malformed.
    """
    file = os.fspath(path)
    reader = _Reader()
    with uncollected():
        try:
            reader.read(reader.records(pieces(path, progress), keep))
            reader.finish()
        except Fault as found:
            raise EventFileError(found.words, file, found.line or reader.line, found.field, found.value) from None
    return Loaded(file, reader.entries, reader.times.axis)


def read_events(path: Path) -> EventFile:
    """The events of a file, and what else its lines say. O(n log n).

    Times finer than a microsecond are rounded outward, as for an audit. Raises `EventFileError` for what cannot be
    read, is malformed, or is no time that a `datetime` can hold.
    """
    records: list[Record] = []
    loaded = load(path, keep=records.append)
    events: list[Event] = []
    for entry, record in zip(loaded.entries, records, strict=True):
        try:
            events.append(_event(entry, record))
        except OverflowError:
            start = record["start_time"]
            words = f"start_time={given(start)} or a time after it is outside the years 1 to 9999, counted from 1970"
            raise EventFileError(words, loaded.file, None, "start_time", start) from None
    unknown = tuple({key: value for key, value in record.items() if key not in FIELDS} for record in records)
    return EventFile(tuple(events), unknown, loaded.axis or "iso")


def _event(entry: Entry, record: Record) -> Event:
    extra = entry.extra or Extra()
    return Event(
        entry.name,
        moment(entry.start_time),
        None if entry.took is None else moment(entry.start_time + entry.took),
        record.get("validity_window_seconds"),
        [Dependency(*key) if type(key) is tuple else Dependency(key) for key in entry.depends_on],
        cast(Any, entry.kind),
        entry.id,
        record.get("seq"),
        end_seq=record.get("end_seq"),
        outcome=cast(Any, entry.outcome),
        call=entry.call,
        parent=entry.parent,
        session=record.get("session"),
        batch=record.get("batch"),
        run=record.get("run"),
        agent=record.get("agent"),
        tool=record.get("tool"),
        observed_at=None if extra.seen_time is None else moment(extra.seen_time),
        version=record.get("version"),
        may_land_until=None if extra.until_time is None else moment(extra.until_time),
    )


def write_events(
    path: Path, events: Iterable[Event], *, unknown: Sequence[Mapping[str, Any]] = (), axis: Axis = "iso"
) -> None:
    """Write events as a file that `read_events` gives back. O(n).

    ``unknown`` holds, event by event, further fields; ``axis="number"`` writes times as seconds since
    1970-01-01T00:00Z. A name that ends in ``.gz`` is packed, ``-`` is standard output. Raises ``ValueError`` for a
    further field with the name of an event's own, ``TypeError`` for a ``version`` or a further field that JSON does not
    have, and ``OSError`` as `open` does.
    """
    with _created(os.fspath(path)) as out:
        for place, event in enumerate(events):
            more = unknown[place] if place < len(unknown) else {}
            clash = [key for key in more if key in FIELDS]
            if clash:
                raise ValueError(f"unknown[{place}] has {clash[0]!r}, which is a field of the event: set it there")
            line = json.dumps({**_record(event, axis), **more}, allow_nan=False, separators=(",", ":"))
            out.write(line.encode("ascii") + b"\n")


def _created(file: str) -> AbstractContextManager[Any]:
    if file == "-":
        return nullcontext(sys.stdout.buffer)
    return gzip.GzipFile(file, "wb", mtime=0) if file.endswith(".gz") else open(file, "wb")


def _record(event: Event, axis: Axis) -> Record:
    """An event as a line gives it: what it does not have is left out."""
    record: Record = {}
    for field in FIELDS:
        value = getattr(event, field)
        if field in ("start_time", "end_time", "observed_at", "may_land_until"):
            value = None if value is None else written(axis, micros(value))
        elif field == "depends_on":
            value = [each.id if each.name is None else {"id": each.id, "name": each.name} for each in value]
        if value is not None:
            record[field] = value
    return record


# -- one line, then the whole


class _Given:
    """A time that compares as its microseconds and reads as the file gives it."""

    def __init__(self, at: int, value: Any) -> None:
        self.at = at
        self.value = value

    def __lt__(self, other: _Given) -> bool:
        return self.at < other.at

    def __gt__(self, other: _Given) -> bool:
        return self.at > other.at

    def __repr__(self) -> str:
        return given(self.value)


class _Reader:
    """Makes entries of records, each checked, and checks and places them as a whole in `finish`.

    A file repeats itself: names, windows and origins that were seen before are known to be right, and are shared.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.line = 0
        self.blank: list[int] = []
        self.times = Times()
        self._ids: dict[str, Entry] = {}
        self._names: dict[str, str] = {}
        self._windows: dict[float, int | None] = {}
        self._origins: dict[Any, tuple[str | None, str | None, str | None]] = {}
        self._seqs: list[int | None] = []
        self._end_seqs: dict[int, int] = {}
        self._settled = 0
        self._extras: list[Extra] = []
        # The places of the entries that have to be looked at again when all are there.
        self._forward: list[int] = []
        self._narrowed: list[int] = []
        self._nested: list[int] = []

    def records(self, parts: Iterable[tuple[int, bytes]], keep: Callable[[Record], object] | None) -> Iterator[Record]:
        """The objects of the lines, while ``line`` says which line it is."""
        decode = decoder()
        for first, part in parts:
            self.line = first - 1
            try:
                for self.line, record in enumerate(decode(part), first):
                    if record is None:
                        self.blank.append(self.line)
                        continue
                    yield record
                    if keep is not None:
                        keep(record)
            except Fault as found:
                found.line = self.line + 1
                raise

    def read(self, records: Iterable[Record]) -> None:
        """Make an entry of each record. Raises `Fault`. O(length of the lines).

        The one hot loop of a load: what is usual is told apart here, by look-ups; all else is for the methods below.
        """
        ids, names, origins, windows = self._ids, self._names, self._origins, self._windows
        entries, seqs, times = self.entries, self._seqs, self.times
        is_iso = False
        for record in records:
            get = record.get

            id = get("id")
            if type(id) is not str or not id or id in ids:
                raise self._no_id(record)
            name = get("name")
            name = (names.get(name) if type(name) is str else None) or self._name(record)
            kind = get("kind", "read")
            kind = "read" if kind == "read" else "write" if kind == "write" else self._kind(kind)

            time = get("start_time")
            start = quick_micros(time) if is_iso and type(time) is str else None
            if start is None:
                start = self._time(record, "start_time", up=False)
                is_iso = times.axis == "iso"
            time = get("end_time")
            if time is None:
                end = took = None
            else:
                end = quick_micros(time) if is_iso and type(time) is str else None
                if end is None:
                    end = self._time(record, "end_time", up=True)
                took = end - start
                self._settled += 1

            seq, end_seq, seen, until = get("seq"), get("end_seq"), get("observed_at"), get("may_land_until")
            extra = None
            if seen is not None or until is not None:
                extra = self._extra(record)
            outcome = get("outcome", "ok")
            if outcome == "ok" and took is not None and took >= 0 and end_seq is None and extra is None:
                outcome = "ok"
            else:
                outcome = self._outcome(record, start, end, extra)
            if seq is not None and type(seq) is not int:
                raise fault("seq", seq, "is no whole number")
            if end_seq is not None:
                self._end_seqs[len(entries)] = end_seq

            window = get("validity_window_seconds")
            if window is not None:
                known = windows.get(window) if type(window) is int or type(window) is float else None
                window = self._window(window) if known is None else known
            call, parent, run = get("call", id), get("parent"), get("run")
            if type(call) is not str or not call:
                raise fault("call", call, "is no id: it must be a text that is not empty")
            if (run is not None and type(run) is not str) or parent is not None or get("batch") is not None:
                self._texts(record, "parent", "batch", "run")
                if parent is not None:
                    self._nested.append(len(entries))
            origin = (get("tool"), get("agent"), get("session"))
            try:
                origin = origins[origin]
            except (KeyError, TypeError):
                origin = self._origin(record, origin)

            listed = get("depends_on")
            if type(listed) is list and len(listed) == 1 and type(listed[0]) is str and listed[0] in ids:
                keys: tuple[Key, ...] = (ids[listed[0]].id,)
            else:
                keys = self._keys(listed) if listed or type(listed) is not list else ()
            call = id if call == id else call
            entry = Entry(id, name, kind, outcome, None, None, start, took, keys, window, call, parent, origin, extra)
            ids[id] = entry
            entries.append(entry)
            seqs.append(seq)

    # -- a field

    def _no_id(self, record: Record) -> Fault:
        id = record.get("id")
        if type(id) is str and id in self._ids:
            first = self._line(self.entries.index(self._ids[id]))
            return fault("id", id, f"is also the id of line {first}: an id names one event of a file")
        if "id" not in record:
            return Fault("id", None, "id is missing: every event of a file has one")
        return fault("id", id, "is no id: it must be a text that is not empty")

    def _name(self, record: Record) -> str:
        name: Any = record.get("name")
        if "name" not in record:
            raise Fault("name", None, "name is missing: every event names the resource that it touched")
        return self._names.setdefault(_checked("name", name), name)

    def _kind(self, kind: Any) -> str:
        raise fault("kind", kind, f"is not one of {', '.join(sorted(map(repr, KINDS)))}")

    def _time(self, record: Record, field: str, up: bool) -> int:
        value = record.get(field)
        if value is None and field not in record:
            raise Fault(field, None, f"{field} is missing: every event has a beginning")
        try:
            return self.times.read(value, up)
        except TimeError as error:
            raise fault(field, value, str(error)) from None

    def _extra(self, record: Record) -> Extra:
        """What few events have. The version is left out: an audit has no probe to compare it with."""
        seen = until = None
        if record.get("observed_at") is not None:
            seen = self._time(record, "observed_at", up=False)
        if record.get("may_land_until") is not None:
            until = self._time(record, "may_land_until", up=True)
        extra = Extra(None, seen, None, None, until)
        self._extras.append(extra)
        return extra

    def _outcome(self, record: Record, start: int, end: int | None, extra: Extra | None) -> str:
        """The outcome, where it and the times do not contradict each other."""
        outcome = record.get("outcome")
        if "outcome" not in record:
            outcome = "pending" if end is None else "ok"
        if type(outcome) is not str or len(outcome) > LONGEST:
            raise fault("outcome", outcome, f"is not one of {', '.join(sorted(map(repr, OUTCOMES)))}")
        seq, end_seq = record.get("seq"), record.get("end_seq")
        for field, number in (("seq", seq), ("end_seq", end_seq)):
            if number is not None and type(number) is not int:
                raise fault(field, number, "is no whole number")
        seen, until = (None, None) if extra is None else (extra.seen_time, extra.until_time)
        if contradiction(outcome, start, end, seq, end_seq, seen, until) is None:
            return sys.intern(outcome)

        def told(at: int | None, field: str) -> Any:
            return None if at is None else _Given(at, record.get(field))

        problem = contradiction(
            outcome,
            told(start, "start_time"),
            told(end, "end_time"),
            seq,
            end_seq,
            told(seen, "observed_at"),
            told(until, "may_land_until"),
        )
        assert problem is not None
        raise Fault(problem[0], record.get(problem[0]), problem[1])

    def _window(self, window: Any) -> int | None:
        field = "validity_window_seconds"
        if type(window) is not int and type(window) is not float:
            raise fault(field, window, "is no number of seconds: leave it out for no limit")
        if not -LARGEST < window < LARGEST:
            raise fault(field, window, "is not finite, or too large for a window: leave it out for no limit")
        try:
            check_window(window)
        except ValueError as error:
            raise Fault(field, window, str(error)) from None
        whole = self._windows[window] = window_micros(window)
        return whole

    def _origin(self, record: Record, origin: Any) -> tuple[str | None, str | None, str | None]:
        self._texts(record, "tool", "agent", "session")
        self._origins[origin] = origin
        return cast("tuple[str | None, str | None, str | None]", origin)

    def _texts(self, record: Record, *fields: str) -> None:
        for field in fields:
            value = record.get(field)
            if value is not None and type(value) is not str:
                raise fault(field, value, "is no text")

    def _keys(self, listed: Any) -> tuple[Key, ...]:
        """What a call rests on. Ids that no line before has are looked at again, and so are narrower names."""
        if listed is None:
            return ()
        if type(listed) is not list:
            raise fault("depends_on", listed, "is no list: write a list of ids, as in ['e7']")
        keys: list[Key] = []
        for each in listed:
            id, narrower = each, None
            if type(each) is dict:
                id, narrower = each.get("id"), each.get("name")
                if not each.keys() <= {"id", "name"}:
                    raise fault("depends_on", each, "has more than an id and a name")
            if type(id) is not str:
                raise fault("depends_on", each, "is no dependency: write an id, or an object with an id and a name")
            held = self._ids.get(id)
            if held is not None:
                id = held.id
            else:
                self._forward.append(len(self.entries))
            if narrower is None:
                keys.append(id)
            else:
                keys.append((id, _checked("depends_on", narrower)))
                self._narrowed.append(len(self.entries))
        return tuple(keys)

    # -- the whole

    def finish(self) -> None:
        """Check what only the whole can tell, and give every entry its positions. Raises `Fault`. O(n log n)."""
        self._check_numbers()
        self._check_narrowed()
        self._check_cycles()
        if self._end_seqs:
            self._place_by_number()
        else:
            self._place_by_time()

    def _line(self, place: int) -> int:
        line = place + 1
        for blank in self.blank:
            if blank > line:
                break
            line += 1
        return line

    def _check_numbers(self) -> None:
        without = [seq is None for seq in self._seqs]
        if any(without) and not all(without):
            place = without.index(not without[0])
            first = f"line {self._line(0)} has {'none' if without[0] else 'one'}"
            what = "seq is missing" if without[place] else f"seq={given(self._seqs[place])}"
            words = f"{what}, but {first}: number all events of a file, or none"
            raise Fault("seq", self._seqs[place], words, self._line(place))
        if self._end_seqs and len(self._end_seqs) < self._settled:
            place = next(
                place for place, entry in enumerate(self.entries) if entry.took is not None and place not in self._end_seqs
            )
            numbered = self._line(next(iter(self._end_seqs)))
            words = f"end_seq is missing, but line {numbered} has one: number the ends of all settled events, or of none"
            raise Fault("end_seq", None, words, self._line(place))

    def _check_narrowed(self) -> None:
        for place in self._narrowed:
            for key in self.entries[place].depends_on:
                held = self._ids.get(key[0]) if type(key) is tuple else None
                if held is not None and not covers(held.name, key[1]):
                    words = (
                        f"depends_on has name={quoted(key[1])} for id={quoted(key[0])}, whose name={quoted(held.name)}"
                        " does not cover it: name the event itself or a part below it"
                    )
                    raise Fault("depends_on", {"id": key[0], "name": key[1]}, words, self._line(place))

    def _check_cycles(self) -> None:
        """A cycle has an edge that does not lead to a line before, so it is enough to start from these."""
        entries, ids = self.entries, self._ids

        def sources(id: str) -> Iterator[str]:
            for key in ids[id].depends_on:
                source = key[0] if type(key) is tuple else key
                if source in ids:
                    yield source

        cycle = _cycle((entries[place].id for place in self._forward), sources)
        if cycle:
            words = f"depends_on is a cycle: {_told(cycle, 'rests on')}; an event rests on earlier ones"
            raise Fault("depends_on", cycle, words, self._line(entries.index(ids[cycle[0]])))

        parents: dict[str, dict[str, None]] = {}
        for place in self._nested:
            parents.setdefault(entries[place].call, {})[entries[place].parent] = None
        cycle = _cycle(parents, lambda call: iter(parents.get(call, ())))
        if cycle:
            words = f"parent is a cycle: {_told(cycle, 'was made in')}; a call is made in one that began before it"
            place = next(place for place in self._nested if entries[place].call == cycle[0])
            raise Fault("parent", entries[place].parent, words, self._line(place))

    def _place_by_time(self) -> None:
        """Positions of (time, number), as one integer each: the number of an endpoint is below that of a bare time."""
        numbers: Sequence[Any] = self._seqs
        if not numbers or numbers[0] is None:
            numbers = range(len(self.entries))
        elif min(numbers) < 0 or max(numbers) >= _BARE:
            ranks = {number: rank for rank, number in enumerate(sorted(set(numbers)))}
            numbers = [ranks[number] for number in numbers]
        for entry, number in zip(self.entries, numbers, strict=True):
            entry.start = start = (entry.start_time << _PLACE) + number
            if entry.took is not None:
                entry.end = start + (entry.took << _PLACE)
        for extra in self._extras:
            if extra.seen_time is not None:
                extra.seen = (extra.seen_time << _PLACE) + _BARE
            if extra.until_time is not None:
                extra.until = (extra.until_time << _PLACE) + _BARE

    def _place_by_number(self) -> None:
        """Positions by number. A bare time stands after the highest number up to that time, and after earlier times."""
        ends: list[tuple[int, int]] = []
        for place, (entry, seq) in enumerate(zip(self.entries, cast("list[int]", self._seqs), strict=True)):
            entry.start = seq << _PLACE
            ends.append((entry.start_time, seq))
            end_seq = self._end_seqs.get(place)
            if end_seq is not None:
                entry.end = end_seq << _PLACE
                ends.append((entry.start_time + entry.took, end_seq))
        if not self._extras:
            return
        ends.sort()
        times = [time for time, _ in ends]
        highest = list(accumulate((number for _, number in ends), max))
        lowest = min(number for _, number in ends) - 1
        bare = sorted({time for extra in self._extras for time in (extra.seen_time, extra.until_time) if time is not None})
        placed: dict[int | None, int | None] = {None: None}
        for rank, time in enumerate(bare, start=1):
            index = bisect_right(times, time)
            placed[time] = ((highest[index - 1] if index else lowest) << _PLACE) + rank
        for extra in self._extras:
            extra.seen, extra.until = placed[extra.seen_time], placed[extra.until_time]


def _checked(field: str, name: Any) -> str:
    if type(name) is not str:
        raise fault(field, name, "is no name: it must be a text")
    try:
        return check_name(name)
    except ValueError as error:
        raise Fault(field, name, str(error).replace(repr(name), given(name))) from None


def _cycle(roots: Iterable[str], following: Callable[[str], Iterator[str]]) -> list[str]:
    """The nodes of some cycle that can be reached from ``roots``, in its order; empty if there is none. Linear."""
    done: dict[str, bool] = {}
    for root in roots:
        if root in done:
            continue
        path, walks = [root], [following(root)]
        done[root] = False
        while path:
            for node in walks[-1]:
                state = done.get(node)
                if state is None:
                    done[node] = False
                    path.append(node)
                    walks.append(following(node))
                    break
                if state is False:
                    return path[path.index(node) :]
            else:
                done[path.pop()] = True
                walks.pop()
    return []


def _told(cycle: list[str], how: str) -> str:
    """A cycle in words, a long one shortened."""
    nodes = [*cycle, cycle[0]]
    if len(nodes) > 6:
        nodes = [*nodes[:3], "...", *nodes[-2:]]
    return f" {how} ".join(each if each == "..." else quoted(each) for each in nodes)
