"""A clock that stands still until a test moves it."""

from __future__ import annotations

import math
import threading
from datetime import UTC, datetime, timedelta

_START = datetime(2026, 1, 1, tzinfo=UTC)


class ManualClock:
    """A clock for tests: calling it gives an aware datetime, which `advance` alone changes.

    It is what ``MemoryLog(clock=...)`` takes. ``start`` is the time at which it stands first; with none it is the first
    of January 2026, so that what a test prints is the same each time. Safe to use from any thread.

    Raises ``ValueError`` for a ``start`` without a time zone, ``TypeError`` for what is no datetime.
    """

    def __init__(self, start: datetime = _START) -> None:
        if not isinstance(start, datetime):
            raise TypeError(f"start={start!r} is no datetime: write ManualClock(datetime(2026, 1, 1, tzinfo=UTC))")
        if start.utcoffset() is None:
            raise ValueError(f"start={start!r} has no time zone: write datetime(..., tzinfo=UTC)")
        self._now = start.astimezone(UTC)
        self._lock = threading.Lock()

    def __call__(self) -> datetime:
        """The time at which the clock stands, in UTC. O(1)."""
        return self._now

    def advance(self, seconds: float) -> datetime:
        """Move the clock on by so many seconds, to the microsecond, and give the new time. O(1).

        Raises ``ValueError`` for a number of seconds that is negative or not finite: order in a log never runs backwards;
        for another start make another clock. ``OverflowError`` past the year 9999, with the clock left as it was.
        """
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            raise TypeError(f"seconds={seconds!r} is no number of seconds")
        if not (math.isfinite(seconds) and seconds >= 0):
            raise ValueError(f"seconds={seconds!r} is not finite and >= 0: a clock goes forward only")
        with self._lock:
            self._now += timedelta(seconds=seconds)
            return self._now

    def __repr__(self) -> str:
        return f"ManualClock({self._now.isoformat()})"
