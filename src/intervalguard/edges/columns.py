"""Many lines of an event file, field by field.

Most files say in every line much the same, in the same way. Where msgspec is installed, a piece of such a file goes
straight into columns (`Rows`), if that is all that it says; else its lines are decoded to objects first (`of_records`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from datetime import datetime
from operator import itemgetter
from typing import Any, Literal

from intervalguard.kernel.events import KINDS, OUTCOMES

from .lines import Record, fault

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

_TEXTS = frozenset({"id", "name", "kind", "outcome", "call", "parent", "session", "batch", "tool", "run", "agent"})
TIMES = frozenset({"start_time", "end_time", "observed_at", "may_land_until"})
_TOO_FINE = re.compile(rb"\.[0-9]{7}")
"""Of a time that is finer than a microsecond, which a datetime rounds to the nearest."""
_HIDES_DIGITS = (rb"\u002", rb"\u003")
"""How the point and the digits of one begin where they are escaped."""
_TEXT: set[type] = {str, type(None)}


class Columns:
    """What each of some lines has in each field, ``None`` where it has nothing.

    ``records`` are the objects of the lines; where there are none, no line has a ``null``, or anything in the field of a
    text that is no text.
    """

    def __init__(self, size: int, known: dict[str, Sequence[Any]], records: Sequence[Record] = ()) -> None:
        self.size = size
        self._known = known
        self._records = records

    def get(self, field: str) -> Sequence[Any]:
        values = self._known.get(field)
        if values is None:
            values = self._known[field] = [record.get(field) for record in self._records]
        return values

    def texts(self, field: str) -> Sequence[str | None]:
        """The same, each a text. Raises `Fault`."""
        return self.checked(field, _TEXT, "is no text") if self._records else self.get(field)

    def checked(self, field: str, types: set[type], why: str) -> Sequence[Any]:
        """The same, each of one of these types. Raises `Fault`."""
        values = self.get(field)
        if not types.issuperset(map(type, values)):
            raise fault(field, next(value for value in values if type(value) not in types), why)
        return values

    def has_null(self, field: str) -> bool:
        """Whether one of the lines says ``null`` there, and does not leave it out. O(lines)."""
        return any(field in record and record[field] is None for record in self._records)

    def others(self) -> Set[str]:
        """Fields that are no event's."""
        return set().union(*self._records).difference(FIELDS)


def of_records(records: Sequence[Record]) -> Columns:
    """The columns of objects. O(fields)."""
    known: dict[str, Sequence[Any]] = {}
    fields = [*records[0]]
    if len(fields) > 1 and sum(map(len, records)) == len(fields) * len(records):
        with suppress(KeyError):
            columns = zip(*map(itemgetter(*fields), records), strict=True)
            known = dict.fromkeys(FIELDS, (None,) * len(records)) | dict(zip(fields, columns, strict=True))
    return Columns(len(records), known, records)


class Rows:
    """Reads the pieces that say nothing unusual: each line an object with fields of an event alone, none ``null`` or twice.

    A text for a time comes as a datetime. Where most pieces say more, or msgspec is not there, none are tried for long.
    """

    def __init__(self) -> None:
        self._credit = 8
        try:
            import msgspec
        except ImportError:
            self._credit = 0
            return
        types: dict[str, Any] = dict.fromkeys(FIELDS, Any) | dict.fromkeys(_TEXTS, str)
        types |= dict.fromkeys(TIMES, datetime | float | int)
        types |= {"kind": Literal[*KINDS], "outcome": Literal[*OUTCOMES], "depends_on": list[str]}
        row = msgspec.defstruct("Row", [(field, type_, None) for field, type_ in types.items()], gc=False)
        self._decode = msgspec.json.Decoder(row).decode
        self._values = msgspec.structs.astuple

    def read(self, part: bytes) -> Columns | None:
        """The columns of a piece, or ``None`` where it may say more than they do. O(length)."""
        columns = self._columns(part) if self._credit else None
        if self._credit:
            self._credit += -1 if columns is None else 1
        return columns

    def _columns(self, part: bytes) -> Columns | None:
        """Each key has two quotes, and so has each text; what is in texts may be more. So where there are as many as the
        columns need, nothing else is there: no other key, and none twice."""
        lines = part.split(b"\n")
        try:
            rows = map(self._values, map(self._decode, lines))
            columns: dict[str, Sequence[Any]] = dict(zip(FIELDS, zip(*rows, strict=True), strict=True))
        except (ValueError, RecursionError):
            return None
        if part.count(b'"') != 2 * _keys_and_texts(columns, len(lines)):
            return None
        if _TOO_FINE.search(part) or (b"\\" in part and any(each in part for each in _HIDES_DIGITS)):
            return None
        return Columns(len(lines), columns)


def _keys_and_texts(columns: Mapping[str, Sequence[Any]], lines: int) -> int:
    """How many keys and texts there have to be for these columns."""
    absent = (None,) * lines
    count = 0
    for field, values in columns.items():
        if values == absent:
            continue
        given = lines if all(values) else lines - values.count(None)
        count += given
        if field in _TEXTS:
            count += given
        elif field in TIMES:
            count += [*map(type, values)].count(datetime)
        elif field == "depends_on":
            count += sum(map(len, filter(None, values)))
        elif field == "version":
            count += [*map(type, values)].count(str)
    return count
