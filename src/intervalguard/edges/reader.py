"""From the objects of an event file's lines to entries, each field checked by the kernel's own checks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from intervalguard.kernel.events import KINDS, OUTCOMES, check_name, check_window, contradiction, window_micros
from intervalguard.kernel.explain import LONGEST
from intervalguard.kernel.views import Entry, Extra, Key

from .lines import Fault, Record, decoder, fault, given
from .times import LARGEST, TimeError, Times, quick_micros


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


class Reader:
    """Makes entries of records, each checked, and checks and places them as a whole by `whole.finish`.

    A file repeats itself: names, windows and origins that were seen before are known to be right, and are shared.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.line = 0
        self.blank: list[int] = []
        self.times = Times()
        self.ids: dict[str, Entry] = {}
        self._names: dict[str, str] = {}
        self._windows: dict[float, int | None] = {}
        self._origins: dict[Any, tuple[str | None, str | None, str | None]] = {}
        self.seqs: list[int | None] = []
        self.end_seqs: dict[int, int] = {}
        self.settled = 0
        self.extras: list[Extra] = []
        # The places of the entries that have to be looked at again when all are there.
        self.forward: list[int] = []
        self.narrowed: list[int] = []
        self.nested: list[int] = []

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
        ids, names, origins, windows = self.ids, self._names, self._origins, self._windows
        entries, seqs, times = self.entries, self.seqs, self.times
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
                self.settled += 1

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
                self.end_seqs[len(entries)] = end_seq

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
                    self.nested.append(len(entries))
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

    def line_of(self, place: int) -> int:
        """The number of the line that the event at this place came from. O(blank lines)."""
        line = place + 1
        for blank in self.blank:
            if blank > line:
                break
            line += 1
        return line

    # -- a field

    def _no_id(self, record: Record) -> Fault:
        id = record.get("id")
        if type(id) is str and id in self.ids:
            first = self.line_of(self.entries.index(self.ids[id]))
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
        self.extras.append(extra)
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
            held = self.ids.get(id)
            if held is not None:
                id = held.id
            else:
                self.forward.append(len(self.entries))
            if narrower is None:
                keys.append(id)
            else:
                keys.append((id, _checked("depends_on", narrower)))
                self.narrowed.append(len(self.entries))
        return tuple(keys)


def _checked(field: str, name: Any) -> str:
    if type(name) is not str:
        raise fault(field, name, "is no name: it must be a text")
    try:
        return check_name(name)
    except ValueError as error:
        raise Fault(field, name, str(error).replace(repr(name), given(name))) from None
