"""How a call waits for another one to settle: on its thread, or on its event loop, each for a bounded time."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress


def on_a_loop() -> bool:
    """Whether this thread runs an event loop, which a wait would stop."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


def now() -> float:
    """The time by which waits are bounded, in seconds."""
    return time.monotonic()


def thread_event() -> tuple[Callable[[], None], Callable[[float], object]]:
    """A way to wake this thread, and the wait for that, which takes seconds."""
    gate = threading.Lock()  # a finalizer on this very thread may open it, as it may not an Event
    gate.acquire()
    return gate.release, lambda seconds: gate.acquire(timeout=min(seconds, threading.TIMEOUT_MAX))


def loop_event() -> tuple[Callable[[], None], Callable[[float], Awaitable[None]]]:
    """The same for the running loop's task: a thread-safe way to wake it, and the wait."""
    import asyncio

    loop = asyncio.get_running_loop()
    woken: asyncio.Future[None] = loop.create_future()

    def set_result() -> None:
        if not woken.done():
            woken.set_result(None)

    def wake() -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(set_result)

    async def wait(seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await woken

    return wake, wait
