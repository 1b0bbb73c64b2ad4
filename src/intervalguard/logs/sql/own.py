"""What a session knows, asked of a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...kernel.events import prefixes
from ...kernel.sessions import Own
from ...kernel.views import Entry, Position
from .rows import COLUMNS, entry_of
from .view import Ask

_OWN = "session = ? AND outcome = 'ok' AND name"
_COVERING = f'SELECT {COLUMNS} FROM event WHERE {_OWN} = ? AND "end" <= ? ORDER BY "end" DESC, id DESC LIMIT 1'
_AT = f'SELECT {COLUMNS} FROM event WHERE {_OWN} = ? AND "end" > ? AND "end" <= ?'
_BELOW = f'SELECT {COLUMNS} FROM event WHERE {_OWN} > ? AND name < ? AND "end" > ? AND "end" <= ?'
_NAMES = f'SELECT name, min("end") FROM event WHERE {_OWN} > ? AND name < ? GROUP BY name'
_KNOWN = "SELECT name, first, first_end, last, last_end FROM known WHERE session = ? AND name"
_KNOWN_AT = f"{_KNOWN} = ?"
_KNOWN_BELOW = f"{_KNOWN} > ? AND name < ?"

_EVER = 1 << 62
_PAST_ALL = "\U0010ffff"


class SqlOwn(Own):
    """The ``ok`` events of one session, and of those that the log dropped the first and the last of each name.

    Each question is a few look-ups; one about what is below a name costs the own events below it.
    """

    __slots__ = ("_ask", "_session")

    def __init__(self, ask: Ask, session: str) -> None:
        self._ask = ask
        self._session = session

    def names(self) -> list[str]:
        """The names that the session has touched and knows of."""
        return [*self._ends("", _PAST_ALL)]

    def names_below(self, name: str, until: Position) -> list[str]:
        """Those of them below ``name`` that it had touched by ``until``; ``None`` for no limit."""
        ends = self._ends(f"{name}/", f"{name}0")
        return [each for each, end in sorted(ends.items(), key=lambda item: item[1]) if until is None or end <= until]

    def covering(self, name: str, until: Position) -> Entry | None:
        """The last event that ended by ``until`` and whose name covers ``name``; ``None`` for no limit."""
        last: Entry | None = None
        for each in (name, *prefixes(name)):
            rows = self._ask(_COVERING, (self._session, each, _EVER if until is None else until))
            found = [entry_of(row) for row in rows] or self._dropped_at(each, 0, until)
            if found and (last is None or found[-1].end > last.end):
                last = found[-1]
        return last

    def conflicting(self, name: str, after: Position, until: Position) -> list[Entry]:
        """The events on names that conflict with ``name`` which ended after ``after`` and by ``until``, in that order."""
        since, by = (0 if after is None else after), (_EVER if until is None else until)
        found = []
        for each in (name, *prefixes(name)):
            found += self._dropped_at(each, since, until)
            found += [entry_of(row) for row in self._ask(_AT, (self._session, each, since, by))]
        below = (self._session, f"{name}/", f"{name}0")
        for row in self._ask(_KNOWN_BELOW, below):
            found += _dropped(row, since, until)
        found += [entry_of(row) for row in self._ask(_BELOW, (*below, since, by))]
        return sorted(found, key=lambda each: (each.end, each.id))

    def _ends(self, low: str, high: str) -> dict[str, Position]:
        """The names between these, each with the end of the first event."""
        asked = (self._session, low, high)
        ends: dict[str, Position] = dict(self._ask(_NAMES, asked))  # type: ignore[arg-type]
        for name, _, first_end, _, _ in self._ask(_KNOWN_BELOW, asked):
            ends[name] = min(first_end, ends.get(name, first_end))
        return ends

    def _dropped_at(self, name: str, since: Position, until: Position) -> list[Entry]:
        return [each for row in self._ask(_KNOWN_AT, (self._session, name)) for each in _dropped(row, since, until)]


def _dropped(row: Sequence[Any], since: Position, until: Position) -> list[Entry]:
    """What stands for the dropped events of one name that ended after ``since`` and by ``until``, in that order."""
    name, first, first_end, last, last_end = row
    ends = {first: first_end, last: last_end}
    return [
        Entry(id, name, "read", "ok", end, end, 0, 0, (), None, id, None)
        for id, end in ends.items()
        if end > since and (until is None or end <= until)
    ]
