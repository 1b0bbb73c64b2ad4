"""Waiting on an event loop."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress


def on_a_loop() -> bool:
    """Whether this thread runs an event loop, which a wait would stop."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


def loop_event() -> tuple[Callable[[], None], Callable[[float], Awaitable[None]]]:
    """A thread-safe way to wake the running loop's task, and the wait for it."""
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
