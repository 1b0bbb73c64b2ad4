"""Event files: what a log's events are written to and read from, and what ``intervalguard audit`` judges."""

from .edges.files import EventFile, EventFileError, read_events, write_events

__all__ = ["EventFile", "EventFileError", "read_events", "write_events"]
