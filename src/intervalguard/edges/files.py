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
from contextlib import contextmanager, nullcontext
from typing import IO, Any, cast

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
from .times import LARGEST, Axis, TimeError, Times, shown, written

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


def load(
    path: Path, progress: Progress | None = None, keep: Callable[[Record], object] | None = None
) -> Loaded:
    """The events of a file, checked, as entries in the file's order, in the order of the lines. O(n log n).

    ``keep`` is handed each line's object. Raises `EventFileError` for what cannot be read or is malformed.
    """
    file = os.fspath(path)
    reader = _Reader()
    add, decode = reader.add, decoder()
    number = 0
    with uncollected():
        try:
            for number, lines in pieces(path, progress):
                for line in lines:
                    if line and not line.isspace():
                        record = decode(line)
                        add(record)
                        if keep is not None:
                            keep(record)
                    else:
                        reader.blank.append(number)
                    number += 1
            number = 0
            reader.finish()
        except Fault as found:
            raise EventFileError(found.words, file, number or found.line, found.field, found.value) from None
    return Loaded(file, reader.entries, reader.times.axis)


def read_events(path: Path) -> EventFile:
    """The events of a file, and what else its lines say. O(n log n).

    Times finer than a microsecond are rounded outward, as for an audit. Raises `EventFileError` for what cannot be read,
    is malformed, or is no time that a `datetime` can hold.
    """
    records: list[Record] = []
    loaded = load(path, keep=records.append)
    events: list[Event] = []
    for place, (entry, record) in enumerate(zip(loaded.entries, records, strict=True)):
        try:
            events.append(_event(entry, record))
        except OverflowError:
            start = record["start_time"]
            words = f"start_time={given(start)} is further from 1970 than a datetime can be: an audit reads it, Python cannot"
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


def _created(file: str) -> Any:
    if file == "-":
        return nullcontext(sys.stdout.buffer)
    out: IO[bytes] = open(file, "wb")
    return gzip.GzipFile(filename="", fileobj=out, mode="wb") if file.endswith(".gz") else out


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
        self.blank: list[int] = []
        self.times = Times()
        self._ids: dict[str, Entry] = {}
        self._names: dict[str, str] = {}
        self._windows: dict[float, int | None] = {}
        self._origins: dict[Any, tuple[str | None, str | None, str | None]] = {}
        self._seqs: list[int | None] = []
        self._end_seqs: dict[int, int] = {}
        self._settled = 0
        self._forward: list[Entry] = []
        self._narrowed: list[Entry] = []
        self._nested: list[Entry] = []

    def add(self, record: Record) -> None:
        """The next line's event. Raises `Fault`. O(length), amortized."""
        get = record.get
        quick = self.times.quick

        id = get("id")
        if type(id) is not str or not id or id in self._ids:
            raise self._no_id(record)
        name = get("name")
        name = (self._names.get(name) if type(name) is str else None) or self._name(record)
        kind = get("kind", "read")
        if kind != "read" and kind != "write":
            raise fault("kind", kind, f"is not one of {', '.join(sorted(map(repr, KINDS)))}")

        given_start, given_end = get("start_time"), get("end_time")
        start = quick(given_start) if type(given_start) is str else None
        if start is None:
            start = self._time(record, "start_time", up=False)
        if given_end is None:
            end = None
        else:
            end = quick(given_end) if type(given_end) is str else None
            if end is None:
                end = self._time(record, "end_time", up=True)

        outcome = get("outcome")
        if outcome is None and "outcome" not in record:
            outcome = "pending" if end is None else "ok"
        seq, end_seq = get("seq"), get("end_seq")
        seen, until, version = get("observed_at"), get("may_land_until"), get("version")
        if seq is not None and type(seq) is not int:
            raise fault("seq", seq, "is no whole number")
        extra = None
        if seen is not None or until is not None or version is not None:
            seen = None if seen is None else self._time(record, "observed_at", up=False)
            until = None if until is None else self._time(record, "may_land_until", up=True)
            extra = Extra(None, seen, version, None, until)
        if outcome != "ok" or end is None or end < start or end_seq is not None or seen is not None or until is not None:
            outcome = self._outcome(record, outcome, start, end, seen, until)

        window = get("validity_window_seconds")
        if window is not None:
            known = self._windows.get(window) if type(window) is int or type(window) is float else None
            window = self._window(window) if known is None else known
        call, parent = get("call", id), get("parent")
        if type(call) is not str or not call:
            raise fault("call", call, "is no id: it must be a text that is not empty")
        origin = (get("tool"), get("agent"), get("session"))
        try:
            origin = self._origins[origin]
        except (KeyError, TypeError):
            origin = self._origin(record, origin)
        if parent is not None or get("batch") is not None or get("run") is not None:
            self._texts(record, "parent", "batch", "run")

        depends_on = get("depends_on")
        keys, forward = self._keys(depends_on) if depends_on or type(depends_on) is not list else ((), False)
        entry = Entry(
            id,
            name,
            kind,
            outcome,
            None,
            None,
            start,
            None if end is None else end - start,
            keys,
            window,
            id if call == id else call,
            parent,
            origin,
            extra,
        )
        if forward:
            self._forward.append(entry)
        if parent is not None:
            self._nested.append(entry)
        if end is not None:
            self._settled += 1
        if end_seq is not None:
            self._end_seqs[len(self.entries)] = end_seq
        self._ids[id] = entry
        self._seqs.append(seq)
        self.entries.append(entry)

    # -- a field

    def _no_id(self, record: Record) -> Fault:
        id = record.get("id")
        if type(id) is str and id in self._ids:
            first = self._line(self._ids[id])
            return fault("id", id, f"is also the id of line {first}: an id names one event of a file")
        if "id" not in record:
            return Fault("id", None, "id is missing: every event of a file has one")
        return fault("id", id, "is no id: it must be a text that is not empty")

    def _name(self, record: Record) -> str:
        name = record.get("name")
        if "name" not in record:
            raise Fault("name", None, "name is missing: every event names the resource that it touched")
        return self._names.setdefault(_checked("name", name), name)

    def _time(self, record: Record, field: str, up: bool) -> int:
        value = record.get(field)
        if value is None and field not in record:
            raise Fault(field, None, f"{field} is missing: every event has a beginning")
        try:
            return self.times.read(value, up)
        except TimeError as error:
            raise fault(field, value, str(error)) from None

    def _outcome(
        self, record: Record, outcome: Any, start: int, end: int | None, seen: int | None, until: int | None
    ) -> str:
        """The outcome, where it and the times do not contradict each other."""
        if type(outcome) is not str or len(outcome) > LONGEST:
            raise fault("outcome", outcome, f"is not one of {', '.join(sorted(map(repr, OUTCOMES)))}")
        seq, end_seq = record.get("seq"), record.get("end_seq")
        if end_seq is not None and type(end_seq) is not int:
            raise fault("end_seq", end_seq, "is no whole number")
        if contradiction(outcome, start, end, seq, end_seq, seen, until) is None:
            return outcome

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

    def _keys(self, given_keys: Any) -> tuple[tuple[Key, ...], bool]:
        """What a call rests on, and whether it was not in a line before."""
        if given_keys is None:
            return (), False
        if type(given_keys) is not list:
            raise fault("depends_on", given_keys, "is no list: write a list of ids, as in ['e7']")
        keys: list[Key] = []
        forward = False
        for each in given_keys:
            narrower = None
            id = each
            if type(each) is dict:
                id, narrower = each.get("id"), each.get("name")
                if not each.keys() <= {"id", "name"}:
                    raise fault("depends_on", each, "has more than an id and a name")
            if type(id) is not str:
                raise fault("depends_on", each, "is no dependency: write an id, or an object with an id and a name")
            held = self._ids.get(id)
            if held is None:
                forward = True
            else:
                id = held.id
            keys.append(id if narrower is None else (id, _checked("depends_on", narrower)))
        return tuple(keys), forward
