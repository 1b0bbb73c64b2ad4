"""How a guarded call waits in a story: its fiber stands until its turn comes, and time is the story's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

from ..shell import waits
from .fibers import this_fiber
from .loops import StoryLoop

_real_event, _real_now = waits.thread_event, waits.now


@contextmanager
def waits_of_a_story() -> Iterator[None]:
    """While it lasts, a guarded call that waits on a fiber stops it, until it is woken or its time is up.

    On other threads calls wait as ever.
    """
    with mock.patch.object(waits, "thread_event", _event), mock.patch.object(waits, "now", _now):
        yield


def _event() -> tuple[Callable[[], None], Callable[[float], object]]:
    fiber = this_fiber()
    if fiber is None:
        return _real_event()
    woken: list[bool] = []

    def wait(seconds: float) -> None:
        if not woken:
            fiber.wait(lambda: bool(woken), fiber.time.now + seconds)

    return lambda: woken.append(True), wait


def _now() -> float:
    fiber = this_fiber()
    loop = asyncio._get_running_loop()
    if fiber is None or not (loop is None or isinstance(loop, StoryLoop)):
        return _real_now()
    return fiber.time.now
