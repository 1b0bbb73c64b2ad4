"""From the lines of an event file, field by field, to entries, each field checked by the kernel's own checks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import suppress
from itertools import count, repeat
from operator import le
from typing import Any, TypeAlias, cast

from intervalguard.kernel.events import KINDS, OUTCOMES, check_name, check_window, contradiction, window_micros
from intervalguard.kernel.explain import LONGEST
from intervalguard.kernel.views import Entry, Extra

from .columns import FIELDS, Columns, Rows, of_records
from .lines import Fault, Record, decoder, fault, given
from .times import LARGEST, TimeError, Times

Origin: TypeAlias = tuple[str | None, str | None, str | None]
"""The tool, the agent and the session of an event."""

_SPELT = {field.replace("_", ""): field for field in FIELDS}
_KINDS = {kind: kind for kind in KINDS}
_NUMBER: set[type] = {int, float, type(None)}
_WHOLE: set[type] = {int, type(None)}
_NO_WHOLE = "is no whole number"


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


class Reader:
    """Makes entries of lines, each checked, and checks and places them as a whole by `whole.finish`.

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
        self.others: set[str] = set()
        self._blank: dict[int, int] = {}
        self._names: dict[str, str] = {}
        self._windows: dict[float | None, int | None] = {None: None}
        self._origins: dict[Origin, Origin] = {}

    def read(self, parts: Iterable[bytes], keep: Callable[[list[Record]], object] | None) -> None:
        """Make an entry of each line. Raises `Fault` for the first that is wrong. O(length).

        ``keep`` is handed the lines' objects.
        """
        decode = decoder()
        rows = Rows() if keep is None else None
        try:
            for part in parts:
                if not part or part.isspace():
                    self._count_blank(len(self.entries), part.count(b"\n") + 1)
                elif rows is None or not self._took(rows.read(part)):
                    records = self._read_records(*decode(part))
                    if keep is not None:
                        keep(records)
        except Fault as found:
            found.line = self.line_of(len(self.entries))
            raise

    def _took(self, columns: Columns | None) -> bool:
        """Make entries of these columns, if they are there and nothing is wrong with them."""
        if columns is None:
            return False
        try:
            self._add(columns)
        except Fault:
            return False
        return True

    def _read_records(self, decoded: list[Record | None], wrong: Fault | None) -> list[Record]:
        """Make an entry of each of these objects, ``None`` being a blank line, and raise what is wrong after them."""
        records = self._without_blank(decoded)
        try:
            if records:
                self._add(of_records(records))
        except Fault:
            self.ids = {entry.id: entry for entry in self.entries}
            for record in records:
                self._add(of_records([record]))
            raise
        if wrong is not None:
            raise wrong
        return records

    def _without_blank(self, decoded: list[Record | None]) -> list[Record]:
        """The records, while it is counted how many blank lines stand before the entry at each place."""
        if all(decoded):
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

    def _add(self, columns: Columns) -> None:
        """Make an entry of each of these lines, or raise the `Fault` of one of them and change nothing but ``ids``.

        The hot part of a load, so it goes field by field: what most lines have there is checked for all of them at
        once; what few have, one by one.
        """
        self._note_fields(columns.others())
        ids = _ids_of(columns)
        names = self._names_of(columns)
        kinds = _kinds_of(columns)
        starts: Sequence[Any] = self._micros_of(columns, "start_time", up=False)
        ends = self._micros_of(columns, "end_time", up=True)
        tooks = [None if end is None else end - start for start, end in zip(starts, ends, strict=True)]
        extras = self._extras_of(columns)
        seqs, end_seqs = (columns.checked(field, _WHOLE, _NO_WHOLE) for field in ("seq", "end_seq"))
        outcomes = self._outcomes_of(columns, starts, ends, extras)
        windows = self._windows_of(columns)
        calls = _calls_of(columns, ids)
        tools, agents, sessions, parents, *_ = map(columns.texts, ("tool", "agent", "session", "parent", "batch", "run"))
        origins = [*map(self._origins.get, zip(tools, agents, sessions, strict=True))]
        if not all(origins):
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
        if end_seqs.count(None) < columns.size:
            self.end_seqs.update((first + place, number) for place, number in enumerate(end_seqs) if number is not None)
        self.settled += len(tooks) - tooks.count(None)
        self.extras += [extra for extra in extras if extra is not None]
        self.forward += forward
        self.narrowed += narrowed
        if parents.count(None) < columns.size:
            self.nested += [first + place for place, parent in enumerate(parents) if parent is not None]

    def _note_fields(self, others: Set[str]) -> None:
        """Note fields that are no event's, but are spelt almost as one."""
        for field in others - self.others:
            meant = _SPELT.get("".join(filter(str.isalnum, field)).lower())
            if meant is not None and meant not in self.misspelt.values():
                self.misspelt[field] = meant
        self.others |= others

    # -- a field of many records

    def _names_of(self, columns: Columns) -> Sequence[str]:
        names = columns.get("name")
        try:
            return [*map(self._names.__getitem__, names)]
        except (KeyError, TypeError):
            if None in names and not columns.has_null("name"):
                raise Fault("name", None, "name is missing: every event names the resource that it touched") from None
            return [self._names.setdefault(_checked("name", name), name) for name in names]

    def _micros_of(self, columns: Columns, field: str, up: bool) -> Sequence[int | None]:
        values = columns.get(field)
        there = values if all(values) else [value for value in values if value is not None]
        quick = self.times.usual(there) if there else None
        if field == "start_time" and len(there) < len(values) and not columns.has_null(field):
            raise Fault(field, None, f"{field} is missing: every event has a beginning")
        if quick is None or (field == "start_time" and len(quick) < len(values)):
            return [self._time(value, field, up) for value in values]
        if len(quick) == len(values):
            return quick
        rest = iter(quick)
        return [None if value is None else next(rest) for value in values]

    def _extras_of(self, columns: Columns) -> Sequence[Extra | None]:
        """What few events have. The version is left out: an audit has no probe to compare it with."""
        seen, until = columns.get("observed_at"), columns.get("may_land_until")
        if seen.count(None) == until.count(None) == len(seen):
            return seen
        seen, until = self._micros_of(columns, "observed_at", up=False), self._micros_of(columns, "may_land_until", up=True)
        return [
            None if each is None and last is None else Extra(None, each, None, None, last)
            for each, last in zip(seen, until, strict=True)
        ]

    def _outcomes_of(
        self, columns: Columns, starts: Sequence[int], ends: Sequence[int | None], extras: Sequence[Extra | None]
    ) -> Sequence[str]:
        """The outcomes, where they and the times do not contradict each other."""
        outcomes = columns.get("outcome")
        alike = outcomes.count("ok") == extras.count(None) == columns.get("end_seq").count(None) == columns.size
        if alike and None not in ends and all(map(le, starts, cast("list[int]", ends))):
            return ["ok"] * columns.size
        if not all(outcomes) and not columns.has_null("outcome"):
            outcomes = [
                ("pending" if end is None else "ok") if outcome is None else outcome
                for outcome, end in zip(outcomes, ends, strict=True)
            ]
        rows = enumerate(zip(outcomes, starts, ends, columns.get("seq"), columns.get("end_seq"), extras, strict=True))
        return [
            "ok"
            if outcome == "ok"
            and end is not None
            and start <= end
            and extra is None
            and (end_seq is None or (seq is not None and seq <= end_seq))
            else _outcome(columns, row, outcome, start, end, extra)
            for row, (outcome, start, end, seq, end_seq, extra) in rows
        ]

    def _windows_of(self, columns: Columns) -> Sequence[int | None]:
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
            if all(sources):
                return _rest_on(entries, cast("list[Entry]", sources)), []
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

    # -- a field of one record

    def _twice(self, ids: Sequence[str]) -> Fault:
        held = {entry.id: entry for entry in self.entries}
        id = next((id for id in ids if id in held), ids[0])
        first = self.line_of(held[id].start) if id in held else 0
        return fault("id", id, f"is also the id of line {first}: an id names one event of a file")

    def _time(self, value: Any, field: str, up: bool) -> int | None:
        if value is None and field != "start_time":
            return None
        try:
            return self.times.read(value, up)
        except TimeError as error:
            raise fault(field, value, str(error)) from None

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


def _outcome(columns: Columns, row: int, outcome: Any, start: int, end: int | None, extra: Extra | None) -> str:
    """An outcome that does not go without saying."""
    if type(outcome) is not str or len(outcome) > LONGEST:
        raise fault("outcome", outcome, f"is not one of {', '.join(sorted(map(repr, OUTCOMES)))}")
    seq, end_seq = columns.get("seq")[row], columns.get("end_seq")[row]
    seen, until = (None, None) if extra is None else (extra.seen_time, extra.until_time)
    if contradiction(outcome, start, end, seq, end_seq, seen, until) is None:
        return sys.intern(outcome)

    def told(at: int | None, field: str) -> Any:
        return None if at is None else _Given(at, columns.get(field)[row])

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
    raise Fault(problem[0], columns.get(problem[0])[row], problem[1])


def _ids_of(columns: Columns) -> Sequence[str]:
    ids = columns.get("id")
    if set(map(type, ids)) == {str} and all(ids):
        return ids
    if None in ids and not columns.has_null("id"):
        raise Fault("id", None, "id is missing: every event of a file has one")
    wrong = next(id for id in ids if type(id) is not str or not id)
    raise fault("id", wrong, "is no id: it must be a text that is not empty")


def _kinds_of(columns: Columns) -> Sequence[str]:
    kinds = columns.get("kind")
    if not all(kinds) and not columns.has_null("kind"):
        kinds = ["read" if kind is None else kind for kind in kinds]
    try:
        return [*map(_KINDS.__getitem__, kinds)]
    except (KeyError, TypeError):
        wrong = next(kind for kind in kinds if type(kind) is not str or kind not in _KINDS)
        raise fault("kind", wrong, f"is not one of {', '.join(sorted(map(repr, KINDS)))}") from None


def _calls_of(columns: Columns, ids: Sequence[str]) -> Sequence[str]:
    calls = columns.get("call")
    if not all(calls) and not columns.has_null("call"):
        calls = [id if call is None else call for call, id in zip(calls, ids, strict=True)]
    if set(map(type, calls)) != {str} or not all(calls):
        wrong = next(call for call in calls if type(call) is not str or not call)
        raise fault("call", wrong, "is no id: it must be a text that is not empty")
    return [id if call == id else call for call, id in zip(calls, ids, strict=True)]


def _rest_on(entries: list[Entry], sources: list[Entry]) -> list[int]:
    """Let each entry rest on one that is there. Gives the places of those whose source does not stand before."""
    forward = []
    for entry, source in zip(entries, sources, strict=True):
        entry.depends_on = (source.id,)
        if source.start >= entry.start:
            forward.append(entry.start)
    return forward


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
