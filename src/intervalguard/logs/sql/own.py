"""What a session knows, asked of a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...kernel.events import prefixes
from ...kernel.sessions import Own
from ...kernel.views import Entry, Position
from .rows import COLUMNS, entry_of, kept
from .view import Ask

_OWN = "session = ? AND outcome = 'ok' AND name"
_COVERING = f'SELECT {COLUMNS} FROM event WHERE {_OWN} = ? AND "end" <= ? ORDER BY "end" DESC, id DESC LIMIT 1'
_AT = f'SELECT {COLUMNS} FROM event WHERE {_OWN} = ? AND "end" > ? AND "end" <= ?'
_BELOW = f'SELECT {COLUMNS} FROM event WHERE {_OWN} > ? AND name < ? AND "end" > ? AND "end" <= ?'
_NAMES = f'SELECT name, min("end") FROM event WHERE {_OWN} > ? AND name < ? GROUP BY name'
_KNOWN = 'SELECT name, "end", id FROM known WHERE session = ? AND name'
_KNOWN_COVERING = f'{_KNOWN} = ? AND "end" <= ? ORDER BY "end" DESC, id DESC LIMIT 1'
_KNOWN_AT = f'{_KNOWN} = ? AND "end" > ? AND "end" <= ?'
_KNOWN_BELOW = f'{_KNOWN} > ? AND name < ? AND "end" > ? AND "end" <= ?'
_KNOWN_NAMES = 'SELECT name, min("end") FROM known WHERE session = ? AND name > ? AND name < ? GROUP BY name'

_EVER = 1 << 62
_PAST_ALL = "\U0010ffff"


class SqlOwn(Own):
    """The ``ok`` events of one session, and those of the dropped ones that are kept in mind.

    Each question is a few look-ups; one about what is below a name costs the own events below it.
    """

    __slots__ = ("_ask", "_session")

    def __init__(self, ask: Ask, session: str) -> None:
        self._ask = ask
        self._session = kept(session)

    def names(self) -> list[str]:
        """The names that the session has touched and knows of."""
        return [*self._ends("", _PAST_ALL)]

    def names_below(self, name: str, until: Position) -> list[str]:
        """Those of them below ``name`` that it had touched by ``until``; ``None`` for no limit."""
        ends = self._ends(f"{name}/", f"{name}0")
        return [each for each, end in sorted(ends.items(), key=lambda item: item[1]) if until is None or end <= until]

    def covering(self, name: str, until: Position) -> Entry | None:
        """The last event that ended by ``until`` and whose name covers ``name``; ``None`` for no limit."""
        found: list[Entry] = []
        for each in (name, *prefixes(name)):
            asked = (self._session, each, _EVER if until is None else until)
            found += map(entry_of, self._ask(_COVERING, asked))
            found += map(_dropped, self._ask(_KNOWN_COVERING, asked))
        return max(found, key=_order, default=None)

    def conflicting(self, name: str, after: Position, until: Position) -> list[Entry]:
        """The events on names that conflict with ``name`` which ended after ``after`` and by ``until``, in that order."""
        since, by = (0 if after is None else after), (_EVER if until is None else until)
        found: list[Entry] = []
        for each in (name, *prefixes(name)):
            asked: tuple[object, ...] = (self._session, each, since, by)
            found += map(entry_of, self._ask(_AT, asked))
            found += map(_dropped, self._ask(_KNOWN_AT, asked))
        asked = (self._session, f"{name}/", f"{name}0", since, by)
        found += map(entry_of, self._ask(_BELOW, asked))
        found += map(_dropped, self._ask(_KNOWN_BELOW, asked))
        return sorted(found, key=_order)

    def _ends(self, low: str, high: str) -> dict[str, Position]:
        """The names between these, each with the end of the first event."""
        asked, ends = (self._session, low, high), dict[str, Position]()
        for name, end in (*self._ask(_NAMES, asked), *self._ask(_KNOWN_NAMES, asked)):
            ends[name] = min(end, ends.get(name, end))
        return ends


def _order(event: Entry) -> tuple[Position, int]:
    return event.end, event.id


def _dropped(row: Sequence[Any]) -> Entry:
    """What stands for an event that was dropped."""
    name, end, id = row
    return Entry(id, name, "read", "ok", end, end, 0, 0, (), None, id, None)
