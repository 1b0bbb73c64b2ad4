"""Guarded blocks: for code that one cannot decorate."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from ..kernel.events import Event
from .calls import Tool
from .running import Running, current


class Block:
    """A block of code as one call: ``with guard.write("orders/42", depends_on=read): ...``, with ``async`` too.

    Entering it is admission, and raises as a tool's call does; leaving it settles. One block is entered once.
    """

    def __init__(self, tool: Tool, depends_on: Any) -> None:
        self._running: Running | None = None
        self._tool = tool
        self._depends_on = depends_on
        self._entered = False

    def __del__(self) -> None:
        """An interrupt may come between entering a block and its first line: what nobody leaves is lost."""
        if self._running is not None and not self._running.done:
            self._step_out(self._running)

    @property
    def event(self) -> Event:
        """The block's event as the log has it now; open until the block is left."""
        if self._running is None or self._running.log is None:
            raise ValueError("the block has not been entered, or runs unguarded: it has no event")
        return self._running.log.event(self._running.first)

    def _enter(self, running: Running) -> Block:
        self._running = running
        current.set(running)
        return self

    def _once(self) -> None:
        if self._entered:
            raise RuntimeError("a block is entered once: call guard.read() or guard.write() again for the next")
        self._entered = True

    def __enter__(self) -> Block:
        self._once()
        return self._enter(self._tool.enter((), {}, self._depends_on))

    async def __aenter__(self) -> Block:
        self._once()
        return self._enter(await self._tool.enter_async((), {}, self._depends_on))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._running is not None
        self._step_out(self._running)
        if error is not None:
            self._tool.fail(self._running, error)
        else:
            self._tool.leave(self._running, (), {}, None)

    def _step_out(self, running: Running) -> None:
        if current.get() is running:  # blocks may be left in any order: one that is done counts for none
            current.set(running.outer)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)
