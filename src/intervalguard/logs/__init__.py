"""Logs: each one a view with atomic `admit` and `settle`."""

from .memory import MemoryLog
from .protocol import EventLog

__all__ = ["EventLog", "MemoryLog"]
