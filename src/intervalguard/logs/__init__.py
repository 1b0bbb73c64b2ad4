"""Logs: each one a view with atomic `admit` and `settle`."""

from .memory import MemoryLog

__all__ = ["MemoryLog"]
