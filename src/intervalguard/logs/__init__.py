"""Logs: each one a view with atomic `admit` and `settle`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .memory import MemoryLog
from .protocol import EventLog
from .sql.errors import LogError

if TYPE_CHECKING:
    from .sqlite import SQLiteLog

__all__ = ["EventLog", "LogError", "MemoryLog", "SQLiteLog"]


def __getattr__(name: str) -> Any:
    """A log in a database is imported when it is asked for: who has none does not wait for it."""
    if name == "SQLiteLog":
        from .sqlite import SQLiteLog

        return SQLiteLog
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
