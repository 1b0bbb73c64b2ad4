"""Ids: a log's random prefix and the number of the event, so no table of ids is kept."""

from __future__ import annotations

from uuid import uuid4

_KNOWN = 1024
"""For so many ids it is kept which numbers they are: an id is named when it has just been seen."""


def new_prefix() -> str:
    """A prefix that no other log has."""
    return f"{uuid4().hex[:12]}-"


class Ids:
    """The ids of one log's numbers, by a prefix that is new or that of the log's file.

    A child of a fork has ids of its own from the fork on, unless it shares the log. ``known`` are some ids and their
    numbers.
    """

    def __init__(self, first: int, prefix: str | None = None) -> None:
        self.known: dict[str, int] = {}
        self._first = first
        self._prefixes: list[tuple[int, str]] = []
        self.renew(first, prefix)

    def renew(self, first: int, prefix: str | None = None) -> None:
        """Give the numbers from ``first`` on a prefix of their own: this one, or a new one."""
        self._since, self._prefix = first, prefix or new_prefix()
        self._prefixes.append((first, self._prefix))

    def forget(self, first: int) -> None:
        """Know the ids of the numbers before ``first`` no longer."""
        self._first = first
        self.known.clear()

    def id_of(self, number: int) -> str:
        if number >= self._since:
            return f"{self._prefix}{number}"
        return next(f"{prefix}{number}" for since, prefix in reversed(self._prefixes) if number >= since)

    def number_of(self, id: str) -> int | None:
        """The inverse of `id_of`, also for a number to come; ``None`` for what is no id of this log."""
        prefix, dash, digits = id.rpartition("-")
        if digits.isdecimal() and len(digits) < 20 and any(prefix + dash == each for _, each in self._prefixes):
            number = int(digits)
            if self._first <= number and self.id_of(number) == id:
                return number
        return None

    def keep(self, id: str, number: int) -> None:
        if len(self.known) >= _KNOWN:
            self.known.clear()
        self.known[id] = number
