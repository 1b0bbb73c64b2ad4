"""Event files: JSON Lines, one event a line, read for an audit or as `Event` objects, and written.

What a file says is checked once, whichever way it is read: line by line (`reader`), then what only the whole can tell
(`whole`). Nothing is skipped but blank lines. What is malformed is an `EventFileError`. A plain number is what most
readers of JSON make of it: the nearest IEEE double, which is exact to the microsecond up to the year 2242.
"""

from __future__ import annotations

import gc
import gzip
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from typing import Any, cast

import attrs

from intervalguard.kernel.events import Dependency, Event, micros, moment
from intervalguard.kernel.explain import Party
from intervalguard.kernel.views import Entry, Extra

from .columns import FIELDS, TIMES
from .lines import EventFileError, Fault, Path, Progress, Record, given, pieces
from .reader import Reader
from .times import Axis, shown, written
from .whole import finish

__all__ = ["EventFile", "EventFileError", "Loaded", "load", "read_events", "uncollected", "write_events"]


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
    """A file as the audit reads it: entries with positions, by id and in the file's order, and the axis of their times.

    ``others`` are the fields that are no event's, ``misspelt`` those of them that are spelt almost like one.
    """

    file: str
    entries: dict[str, Entry]
    axis: Axis | None
    misspelt: Mapping[str, str]
    others: Set[str]

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


def load(path: Path, progress: Progress | None = None, keep: Callable[[list[Record]], object] | None = None) -> Loaded:
    """The events of a file, checked, as entries in the order of the lines. O(n log n).

    ``keep`` is handed the lines' objects. Raises `EventFileError` for what cannot be read or is malformed.
    """
    file = os.fspath(path)
    reader = Reader()
    with uncollected():
        try:
            reader.read(pieces(path, progress), keep)
            finish(reader)
        except Fault as found:
            raise EventFileError(found.words, file, found.line, found.field, found.value) from None
    return Loaded(file, reader.ids, reader.times.axis, reader.misspelt, reader.others)


def read_events(path: Path) -> EventFile:
    """The events of a file, and what else its lines say. O(n log n).

    Times finer than a microsecond are rounded outward, as for an audit. Raises `EventFileError` for what cannot be
    read, is malformed, or is no time that a `datetime` can hold.
    """
    records: list[Record] = []
    loaded = load(path, keep=records.extend)
    events: list[Event] = []
    for entry, record in zip(loaded.entries.values(), records, strict=True):
        try:
            events.append(_event(entry, record))
        except OverflowError:
            field = _too_far(entry)
            words = f"{field}={given(record[field])} is outside the years 1 to 9999, counted from 1970"
            raise EventFileError(words, loaded.file, None, field, record[field]) from None
    unknown = tuple({key: value for key, value in record.items() if key not in FIELDS} for record in records)
    return EventFile(tuple(events), unknown, loaded.axis or "iso")


def _too_far(entry: Entry) -> str:
    """The first time of an entry that no `datetime` can hold."""
    extra = entry.extra or Extra()
    end = entry.start_time + (entry.took or 0)
    times = {"start_time": entry.start_time, "end_time": end, "observed_at": extra.seen_time}
    for field, at in times.items():
        try:
            moment(at or 0)
        except OverflowError:
            return field
    return "may_land_until"


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
    1970-01-01T00:00Z. A name that ends in ``.gz`` is packed, ``-`` is standard output. A file that was there is replaced
    once all is written, and stays as it was where that fails. Raises ``ValueError`` for a further field with the name of
    an event's own, ``TypeError`` for a ``version`` or a further field that JSON does not have, and ``OSError`` as `open`
    does.
    """
    with _created(os.fspath(path)) as out:
        for place, event in enumerate(events):
            more = unknown[place] if place < len(unknown) else {}
            clash = [key for key in more if key in FIELDS]
            if clash:
                raise ValueError(f"unknown[{place}] has {clash[0]!r}, which is a field of the event: set it there")
            try:
                line = json.dumps({**_record(event, axis), **more}, allow_nan=False, separators=(",", ":"))
            except (TypeError, ValueError) as error:
                raise TypeError(
                    f"event id={event.id!r} with version={event.version!r} cannot be written as JSON: {error}: give"
                    " version= a text or a number, as str() of a time"
                ) from error
            out.write(line.encode("ascii") + b"\n")


@contextmanager
def _created(file: str) -> Iterator[Any]:
    if file == "-":
        yield sys.stdout.buffer
        return
    plain = os.path.isfile(file) or not os.path.exists(file)
    written_to = f"{file}.{os.getpid()}.part" if plain else file
    try:
        with open(written_to, "wb") as raw:
            if file.endswith(".gz"):
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as out:
                    yield out
            else:
                yield raw
        if plain:
            os.replace(written_to, file)
    except BaseException:
        if plain:
            with suppress(OSError):
                os.remove(written_to)
        raise


def _record(event: Event, axis: Axis) -> Record:
    """An event as a line gives it: what it does not have is left out."""
    record: Record = {}
    for field in FIELDS:
        value = getattr(event, field)
        if field in TIMES:
            value = None if value is None else written(axis, micros(value))
        elif field == "depends_on":
            value = [each.id if each.name is None else {"id": each.id, "name": each.name} for each in value]
        if value is not None:
            record[field] = value
    return record
