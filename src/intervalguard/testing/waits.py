"""How a guarded call waits in a story: its fiber stands until its turn comes, and time is the story's."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock

from ..shell import calls
from .fibers import Fiber, this_fiber
from .loops import StoryLoop


@contextmanager
def waits_of_a_story() -> Iterator[None]:
    """While it lasts, a guarded call that waits on a fiber stops it, until it is woken or its time is up.

    The guard's own code waits, with another lock and another clock. On other threads both are the real ones.
    """
    lock_and_bound = SimpleNamespace(Lock=_lock, TIMEOUT_MAX=threading.TIMEOUT_MAX)
    clock = SimpleNamespace(monotonic=_monotonic)
    with mock.patch.object(calls, "threading", lock_and_bound), mock.patch.object(calls, "time", clock):
        yield


class _Lock:
    """A lock at which a fiber stands."""

    def __init__(self, fiber: Fiber) -> None:
        self._fiber = fiber
        self._is_open = True

    def acquire(self, timeout: float = 0) -> None:
        if not self._is_open:
            self._fiber.wait(lambda: self._is_open, self._fiber.time.now + timeout)
        self._is_open = False

    def release(self) -> None:
        self._is_open = True


def _lock() -> Any:
    fiber = this_fiber()
    return threading.Lock() if fiber is None else _Lock(fiber)


def _monotonic() -> float:
    fiber = this_fiber()
    loop = asyncio._get_running_loop()
    if fiber is None or not (loop is None or isinstance(loop, StoryLoop)):
        return time.monotonic()
    return fiber.time.now
