"""From the objects of an event file's lines to entries, each field checked by the kernel's own checks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import suppress
from itertools import count, repeat
from operator import itemgetter
from typing import Any, TypeAlias, cast

from intervalguard.kernel.events import KINDS, OUTCOMES, check_name, check_window, contradiction, window_micros
from intervalguard.kernel.explain import LONGEST
from intervalguard.kernel.views import Entry, Extra

from .lines import Fault, Record, decoder, fault, given
from .times import LARGEST, Axis, TimeError, Times, usual_micros, usual_numbers

Origin: TypeAlias = tuple[str | None, str | None, str | None]
"""The tool, the agent and the session of an event."""

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

_SPELT = {field.replace("_", ""): field for field in FIELDS}
_KINDS = {kind: kind for kind in KINDS}
_TEXT: set[type] = {str, type(None)}
_NUMBER: set[type] = {int, float, type(None)}
_WHOLE: set[type] = {int, type(None)}
_NO_WHOLE = "is no whole number"
_USUAL: dict[Axis | None, Callable[[Sequence[Any]], list[int] | None]] = {"iso": usual_micros, "number": usual_numbers}


class _Given:
    """A time or a number that compares as it is and reads as the file gives it, cut where it is long."""

    def __init__(self, at: int, value: Any) -> None:
        self.at = at
        self.value = value

    def __lt__(self, other: _Given) -> bool:
        return self.at < other.at

    def __gt__(self, other: _Given) -> bool:
        return self.at > other.at

    def __repr__(self) -> str:
        return given(self.value)


class _Columns:
    """Many records, field by field."""

    def __init__(self, records: list[Record]) -> None:
        self.records = records
        self._absent = (None,) * len(records)
        self._known: dict[str, tuple[Any, ...]] | None = None
        fields = [*records[0]]
        if len(fields) > 1 and sum(map(len, records)) == len(fields) * len(records):
            with suppress(KeyError):
                self._known = dict(zip(fields, zip(*map(itemgetter(*fields), records), strict=True), strict=True))

    def fields(self) -> Set[str]:
        """Those that any of the records has."""
        return set().union(*self.records) if self._known is None else self._known.keys()

    def get(self, field: str) -> Sequence[Any]:
        """What each record has in this field, ``None`` where it has nothing."""
        if self._known is None:
            return [record.get(field) for record in self.records]
        return self._known.get(field, self._absent)

    def checked(self, field: str, types: set[type], why: str) -> Sequence[Any]:
        """The same, each of one of these types. Raises `Fault`."""
        values = self.get(field)
        if not types.issuperset(map(type, values)):
            raise fault(field, next(value for value in values if type(value) not in types), why)
        return values


class Reader:
    """Makes entries of records, each checked, and checks and places them as a whole by `whole.finish`.

    A file repeats itself: names, windows and origins that were seen before are known to be right, and are shared. Until
    `whole.finish` gives it a position, the start of an entry is its place in the file.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.times = Times()
        self.ids: dict[str, Entry] = {}
        self.seqs: list[int | None] = []
        self.end_seqs: dict[int, int] = {}
        self.settled = 0
        self.extras: list[Extra] = []
        # The places of the entries that have to be looked at again when all are there.
        self.forward: list[int] = []
        self.narrowed: list[int] = []
        self.nested: list[int] = []
        self.misspelt: dict[str, str] = {}
        self._fields = set(FIELDS)
        self._lines = 0
        self._blank: dict[int, int] = {}
        self._names: dict[str, str] = {}
        self._windows: dict[float | None, int | None] = {None: None}
        self._origins: dict[Origin, Origin] = {}

    def read(self, parts: Iterable[tuple[int, bytes]], keep: Callable[[list[Record]], object] | None) -> None:
        """Make an entry of each line. Raises `Fault` for the first that is wrong. O(length)."""
        decode = decoder()
        for lines, part in parts:
            if not part or part.isspace():
                self._count_blank(len(self.entries), lines)
                self._lines += lines
                continue
            decoded, wrong = decode(lines, part)
            records = self._without_blank(decoded)
            try:
                if records:
                    self._add(records)
            except Fault:
                self.ids = {entry.id: entry for entry in self.entries}
                for record in records:
                    self._add_alone(record)
                raise
            if wrong is not None:
                wrong.line = self._lines + len(decoded) + 1
                raise wrong
            self._lines += lines
            if keep is not None:
                keep(records)

    def _without_blank(self, decoded: list[Record | None]) -> list[Record]:
        """The records, while it is counted how many blank lines stand before the entry at each place."""
        if None not in decoded:
            return cast("list[Record]", decoded)
        records: list[Record] = []
        for record in decoded:
            if record is None:
                self._count_blank(len(self.entries) + len(records), 1)
            else:
                records.append(record)
        return records

    def _count_blank(self, place: int, lines: int) -> None:
        self._blank[place] = self._blank.get(place, 0) + lines

    def line_of(self, place: int) -> int:
        """The number of the line that the event at this place came from. O(blank lines)."""
        return place + 1 + sum(lines for before, lines in self._blank.items() if before <= place)

    def _add_alone(self, record: Record) -> None:
        try:
            self._add([record])
        except Fault as found:
            found.line = self.line_of(len(self.entries))
            raise

    def _add(self, records: list[Record]) -> None:
        """Make an entry of each of these records, or raise the `Fault` of one of them and change nothing but ``ids``.

        The hot part of a load, so it goes field by field: what most records have there is checked for all of them at
        once; what few have, one by one.
        """
        columns = _Columns(records)
        self._note_fields(columns.fields())
        ids = _ids_of(columns)
        names = self._names_of(columns)
        kinds = _kinds_of(columns)
        starts: Sequence[Any] = self._micros_of(columns, "start_time", up=False)
        ends = self._micros_of(columns, "end_time", up=True)
        tooks = [None if end is None else end - start for start, end in zip(starts, ends, strict=True)]
        extras = self._extras_of(columns)
        seqs, end_seqs = columns.checked("seq", _WHOLE, _NO_WHOLE), columns.checked("end_seq", _WHOLE, _NO_WHOLE)
        outcomes = [
            "ok"
            if (outcome == "ok" or (outcome is None and "outcome" not in record))
            and took is not None
            and took >= 0
            and extra is None
            and (end_seq is None or (seq is not None and seq <= end_seq))
            else self._outcome(record, start, end, extra)
            for record, outcome, start, end, took, seq, end_seq, extra in zip(
                records, columns.get("outcome"), starts, ends, tooks, seqs, end_seqs, extras, strict=True
            )
        ]
        windows = self._windows_of(columns)
        calls = _calls_of(columns, ids)
        tools, agents, sessions, parents, *_ = (
            columns.checked(field, _TEXT, "is no text") for field in ("tool", "agent", "session", "parent", "batch", "run")
        )
        origins = [self._origins.setdefault(origin, origin) for origin in zip(tools, agents, sessions, strict=True)]

        first, none, nothing = len(self.entries), repeat(None), repeat(())
        entries = [
            *map(
                Entry,
                ids, names, kinds, outcomes, count(first), none, starts, tooks,
                nothing, windows, calls, parents, origins, extras,
            )
        ]  # fmt: skip
        self.ids.update(zip(ids, entries, strict=True))
        if len(self.ids) < first + len(ids):
            raise self._twice(ids)
        forward, narrowed = self._rest(entries, columns.get("depends_on"))

        self.entries += entries
        self.seqs += seqs
        if end_seqs.count(None) < len(records):
            self.end_seqs.update((first + place, number) for place, number in enumerate(end_seqs) if number is not None)
        self.settled += len(tooks) - tooks.count(None)
        self.extras += [extra for extra in extras if extra is not None]
        self.forward += forward
        self.narrowed += narrowed
        if parents.count(None) < len(records):
            self.nested += [first + place for place, parent in enumerate(parents) if parent is not None]

    def _note_fields(self, fields: Set[str]) -> None:
        """Note fields that are no event's, but are spelt almost as one."""
        for field in fields - self._fields:
            meant = _SPELT.get("".join(filter(str.isalnum, field)).lower())
            if meant is not None and meant not in self.misspelt.values():
                self.misspelt[field] = meant
        self._fields |= fields

    # -- a field of many records

    def _names_of(self, columns: _Columns) -> Sequence[str]:
        try:
            return [*map(self._names.__getitem__, columns.get("name"))]
        except (KeyError, TypeError):
            return [*map(self._name, columns.records)]

    def _micros_of(self, columns: _Columns, field: str, up: bool) -> Sequence[int | None]:
        values = columns.get(field)
        there = [value for value in values if value is not None] if None in values else values
        usual = _USUAL.get(self.times.axis)
        quick = usual(there) if usual is not None and there else None
        if quick is None or (len(quick) < len(values) and field == "start_time"):
            return [self._time(record, field, up) for record in columns.records]
        if len(quick) == len(values):
            return quick
        rest = iter(quick)
        return [None if value is None else next(rest) for value in values]

    def _extras_of(self, columns: _Columns) -> Sequence[Extra | None]:
        seen, until = columns.get("observed_at"), columns.get("may_land_until")
        if seen.count(None) == until.count(None) == len(seen):
            return seen
        return [*map(self._extra, columns.records)]

    def _windows_of(self, columns: _Columns) -> Sequence[int | None]:
        windows = columns.get("validity_window_seconds")
        if _NUMBER.issuperset(map(type, windows)):
            with suppress(KeyError):
                return [*map(self._windows.__getitem__, windows)]
        return [*map(self._window, windows)]

    def _rest(self, entries: list[Entry], depends_on: Sequence[Any]) -> tuple[list[int], list[int]]:
        """Tell each entry what its call rests on.

        Gives the places of those with an id that no line before has, and of those that narrow a name.
        """
        if set(map(type, depends_on)) == {list} and set(map(len, depends_on)) == {1}:
            alone = [listed[0] for listed in depends_on]
            sources = [*map(self.ids.get, alone)] if set(map(type, alone)) == {str} else [None]
            if None not in sources:
                return self._rest_on(entries, cast("list[Entry]", sources)), []
        ids = self.ids
        forward: list[int] = []
        narrowed: list[int] = []
        for entry, listed in zip(entries, depends_on, strict=True):
            if type(listed) is not list:
                if listed is not None:
                    raise fault("depends_on", listed, "is no list: write a list of ids, as in ['e7']")
                continue
            keys = []
            for each in listed:
                id, narrower = _dependency(each)
                held = ids.get(id)
                if held is None or held.start >= entry.start:
                    forward.append(entry.start)
                if narrower is not None:
                    narrowed.append(entry.start)
                id = id if held is None else held.id
                keys.append(id if narrower is None else (id, narrower))
            entry.depends_on = tuple(keys)
        return forward, narrowed

    def _rest_on(self, entries: list[Entry], sources: list[Entry]) -> list[int]:
        """The same, where each rests on one event that is there."""
        for entry, source in zip(entries, sources, strict=True):
            entry.depends_on = (source.id,)
        return [entry.start for entry, source in zip(entries, sources, strict=True) if source.start >= entry.start]

    # -- a field of one record

    def _twice(self, ids: Sequence[str]) -> Fault:
        held = {entry.id: entry for entry in self.entries}
        id = next((id for id in ids if id in held), ids[0])
        first = self.line_of(held[id].start) if id in held else 0
        return fault("id", id, f"is also the id of line {first}: an id names one event of a file")

    def _name(self, record: Record) -> str:
        name: Any = record.get("name")
        if "name" not in record:
            raise Fault("name", None, "name is missing: every event names the resource that it touched")
        return self._names.setdefault(_checked("name", name), name)

    def _time(self, record: Record, field: str, up: bool) -> int | None:
        value = record.get(field)
        if value is None:
            if field != "start_time":
                return None
            if field not in record:
                raise Fault(field, None, f"{field} is missing: every event has a beginning")
        try:
            return self.times.read(value, up)
        except TimeError as error:
            raise fault(field, value, str(error)) from None

    def _extra(self, record: Record) -> Extra | None:
        """What few events have. The version is left out: an audit has no probe to compare it with."""
        seen, until = self._time(record, "observed_at", up=False), self._time(record, "may_land_until", up=True)
        return None if seen is None and until is None else Extra(None, seen, None, None, until)

    def _outcome(self, record: Record, start: int, end: int | None, extra: Extra | None) -> str:
        """The outcome, where it and the times do not contradict each other."""
        outcome = record.get("outcome")
        if "outcome" not in record:
            outcome = "pending" if end is None else "ok"
        if type(outcome) is not str or len(outcome) > LONGEST:
            raise fault("outcome", outcome, f"is not one of {', '.join(sorted(map(repr, OUTCOMES)))}")
        seq, end_seq = record.get("seq"), record.get("end_seq")
        seen, until = (None, None) if extra is None else (extra.seen_time, extra.until_time)
        if contradiction(outcome, start, end, seq, end_seq, seen, until) is None:
            return sys.intern(outcome)

        def told(at: int | None, field: str) -> Any:
            return None if at is None else _Given(at, record.get(field))

        problem = contradiction(
            outcome,
            told(start, "start_time"),
            told(end, "end_time"),
            told(seq, "seq"),
            told(end_seq, "end_seq"),
            told(seen, "observed_at"),
            told(until, "may_land_until"),
        )
        assert problem is not None
        raise Fault(problem[0], record.get(problem[0]), problem[1])

    def _window(self, window: Any) -> int | None:
        field = "validity_window_seconds"
        if window is None:
            return None
        if type(window) is not int and type(window) is not float:
            raise fault(field, window, "is no number of seconds: leave it out for no limit")
        if not -LARGEST < window < LARGEST:
            raise fault(field, window, "is not finite, or too large for a window: leave it out for no limit")
        try:
            check_window(window)
        except ValueError as error:
            raise Fault(field, window, str(error)) from None
        return self._windows.setdefault(window, window_micros(window))


def _ids_of(columns: _Columns) -> Sequence[str]:
    ids = columns.get("id")
    if set(map(type, ids)) == {str} and all(ids):
        return ids
    if all("id" in record for record in columns.records):
        wrong = next(id for id in ids if type(id) is not str or not id)
        raise fault("id", wrong, "is no id: it must be a text that is not empty")
    raise Fault("id", None, "id is missing: every event of a file has one")


def _kinds_of(columns: _Columns) -> Sequence[str]:
    kinds = columns.get("kind")
    try:
        return [*map(_KINDS.__getitem__, kinds)]
    except (KeyError, TypeError):
        kinds = [record.get("kind", "read") for record in columns.records]
    wrong = [kind for kind in kinds if type(kind) is not str or kind not in _KINDS]
    if wrong:
        raise fault("kind", wrong[0], f"is not one of {', '.join(sorted(map(repr, KINDS)))}")
    return [*map(_KINDS.__getitem__, kinds)]


def _calls_of(columns: _Columns, ids: Sequence[str]) -> Sequence[str]:
    calls = columns.get("call")
    if None in calls:
        calls = [record.get("call", id) for record, id in zip(columns.records, ids, strict=True)]
    if set(map(type, calls)) != {str} or not all(calls):
        wrong = next(call for call in calls if type(call) is not str or not call)
        raise fault("call", wrong, "is no id: it must be a text that is not empty")
    return [id if call == id else call for call, id in zip(calls, ids, strict=True)]


def _dependency(given_: Any) -> tuple[str, str | None]:
    """The id and the narrower name of what a line says that a call rests on."""
    id, narrower = given_, None
    if type(given_) is dict:
        id, narrower = given_.get("id"), given_.get("name")
        if not given_.keys() <= {"id", "name"}:
            raise fault("depends_on", given_, "has more than an id and a name")
    if type(id) is not str:
        raise fault("depends_on", given_, "is no dependency: write an id, or an object with an id and a name")
    return id, None if narrower is None else _checked("depends_on", narrower)


def _checked(field: str, name: Any) -> str:
    if type(name) is not str:
        raise fault(field, name, "is no name: it must be a text")
    try:
        return check_name(name)
    except ValueError as error:
        raise Fault(field, name, str(error).replace(repr(name), given(name))) from None
