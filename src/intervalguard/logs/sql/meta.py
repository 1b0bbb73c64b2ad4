"""The one row of what belongs to a log as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs


@attrs.define(slots=True)
class Meta:
    """What the row ``meta`` holds, as a step reads it, changes it and writes it again. The schema says what each is."""

    prefix: str
    next: int
    first: int
    latest: int
    held: int
    droppable: int
    swept: int
    swept_time: int
    dropped: float
    dropped_unnamed: float

    def take(self, count: int = 1) -> int:
        """The number of the next endpoint, and of the ``count - 1`` after it."""
        number = self.next
        self.next += count
        return number

    def row(self) -> tuple[Any, ...]:
        return (
            self.next, self.first, self.latest, self.held, self.droppable, self.swept, self.swept_time,
            self.dropped, self.dropped_unnamed,
        )  # fmt: skip

    @classmethod
    def of(cls, row: Sequence[Any]) -> Meta:
        return cls(*row)


READ = (
    "SELECT prefix, next, first, latest, held, droppable, swept, swept_time, dropped, dropped_unnamed,"
    " (SELECT min(due) FROM event WHERE due IS NOT NULL) FROM meta"
)
"""The row, and when the next call is due: its lease runs out, or its lost writes can land no longer."""

WRITE = (
    "UPDATE meta SET next = ?, first = ?, latest = ?, held = ?, droppable = ?, swept = ?, swept_time = ?, dropped = ?,"
    " dropped_unnamed = ?"
)

NEW = "INSERT INTO meta VALUES (?, 1, 1, -(1 << 62), 0, 0, 0, -(1 << 62), 0, 0)"
