"""How a log is made that is to be checked, one that is durable or shared among processes too."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol, TypeAlias, runtime_checkable

from ..logs.protocol import EventLog

Clock: TypeAlias = Callable[[], datetime]


class LogFactory(Protocol):
    """Makes an empty log. It may ignore both: a log that tells the time itself, and one that keeps everything."""

    def __call__(self, *, clock: Clock, max_events: int | None) -> EventLog: ...


@runtime_checkable
class DurableFactory(Protocol):
    """A factory of logs that outlive their process."""

    def reopen(self, log: EventLog) -> EventLog:
        """Close ``log`` without a farewell, and open what it has stored, with the same clock and bound.

        What was pending is so still, or ``unknown``.
        """


@runtime_checkable
class SharedFactory(Protocol):
    """A factory of logs that several processes use at once."""

    def another(self, log: EventLog) -> EventLog:
        """One more log on what ``log`` stores, with the same clock and bound, as another process would open it."""
