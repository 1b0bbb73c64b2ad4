"""What the tests of the guard share: a clock that one sets, short views of a log, and threads that cannot hang a test."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from intervalguard import Event, Guard
from intervalguard.logs import MemoryLog

BASE = datetime(2026, 7, 30, 12, tzinfo=UTC)
LONG = 30.0
"""Seconds that no test takes unless something is wrong."""


class Clock:
    """A clock that stands still until it is set. ``seconds`` is its time after `BASE`."""

    def __init__(self, seconds: float = 0) -> None:
        self.seconds = seconds

    def __call__(self) -> datetime:
        return BASE + timedelta(seconds=self.seconds)


def guard_at(clock: Callable[[], datetime] | None = None, **options: Any) -> Guard:
    """A guard on a log of its own, that does not wait unless it is told to."""
    return Guard(MemoryLog(clock=clock), **{"wait_seconds": 0, **options})


def outcomes(guard: Guard) -> list[tuple[str, str, str]]:
    """What the log holds: (kind, name, outcome), oldest first."""
    return [(each.kind, each.name, each.outcome) for each in guard.log.events()]


def only(guard: Guard) -> Event:
    """The only event of the log."""
    (event,) = guard.log.events()
    return event


def settled(guard: Guard) -> bool:
    """Whether no call of the log is pending."""
    return all(each.outcome != "pending" for each in guard.log.events())


class Thread(threading.Thread):
    """A thread whose result or exception its `get` gives, and that fails the test where it does not end."""

    def __init__(self, work: Callable[..., Any], *args: Any) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._args = args
        self._result: Any = None
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._result = self._work(*self._args)
        except BaseException as error:
            self._error = error

    def get(self) -> Any:
        self.join(LONG)
        assert not self.is_alive(), "the thread hangs"
        if self._error is not None:
            raise self._error
        return self._result


def wait_for(event: threading.Event) -> None:
    assert event.wait(LONG), "the event never came"
