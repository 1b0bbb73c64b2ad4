"""The threads beside a log in a file: one renews the leases of what runs here, one watches what is waited for here.

Each is there only while there is something to do, and none keeps its log alive.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Protocol

_logger = logging.getLogger("intervalguard")

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.001, 0.02
"""Seconds between two looks at a file in which another process may settle what is waited for."""


class Beside(Protocol):
    """A log that has threads beside it. Both methods are called with its lock held."""

    _lock: Any

    def _renew(self) -> float | None:
        """Renew the leases of the calls that run here; after how many seconds again, ``None`` where none does."""

    def _look_out(self, is_first: bool) -> bool | None:
        """Wake who waits for a call that has ended; whether the file had changed, ``None`` where nobody waits."""


class Worker:
    """A thread that does a piece of work on a log again and again, until there is none.

    ``work`` says after how many seconds it is to be done again, or that it is done.
    """

    def __init__(self, log: Beside, name: str, work: Callable[[Beside], float | None]) -> None:
        self._log = weakref.ref(log)
        self._name = name
        self._work = work
        self._thread: threading.Thread | None = None

    def start(self, after: float) -> None:
        """See to it that the thread is there. It begins after so many seconds. The log's lock is held."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, args=(after,), name=self._name, daemon=True)
            self._thread.start()

    def _run(self, seconds: float | None) -> None:
        while seconds is not None:
            time.sleep(seconds)
            seconds = self._once()

    def _once(self) -> float | None:
        log = self._log()
        if log is None:
            return None
        with log._lock:
            if self._thread is not threading.current_thread():
                return None
            try:
                seconds = self._work(log)
            except Exception:
                _logger.warning("%s failed, and is tried again", self._name, exc_info=True)
                return 1.0
            if seconds is None:
                self._thread = None
            return seconds


def renewal(log: Beside) -> Worker:
    """Renews the leases of the calls that run in this process."""
    return Worker(log, "intervalguard lease renewal", lambda log: log._renew())


def watch(log: Beside) -> Worker:
    """Watches the file for the end of calls that run in other processes. It looks less often while nothing happens."""
    pause = 0.0

    def look(log: Beside) -> float | None:
        nonlocal pause
        changed = log._look_out(pause == 0)
        if changed is None:
            pause = 0.0
            return None
        pause = _SHORTEST_PAUSE if changed else min(pause * 1.5, _LONGEST_PAUSE)
        return pause

    return Worker(log, "intervalguard watch", look)
