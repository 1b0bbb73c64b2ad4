"""An event loop whose turns are those of a story: each act runs its own callbacks, and no real time passes.

All acts of a story share one loop, as agents of one process do, so that a lock or a queue between them is one. A
callback belongs to the act in whose context it was scheduled.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import sys
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from functools import partial
from typing import Any
from weakref import WeakSet

import attrs

from .fibers import Fiber, Time, take_place_of, this_fiber


@attrs.define(eq=False)
class _Agenda:
    """One act's part of the loop: callbacks that are due, timers by their time, tasks, streams that began and that end."""

    due: deque[asyncio.Handle] = attrs.field(factory=deque)
    timers: list[asyncio.TimerHandle] = attrs.field(factory=list)
    tasks: list[asyncio.Task[Any]] = attrs.field(factory=list)
    streams: WeakSet[AsyncGenerator[Any, Any]] = attrs.field(factory=WeakSet)
    endings: list[asyncio.Task[Any]] = attrs.field(factory=list)

    def end(self, context: Context, loop: Any, stream: AsyncGenerator[Any, Any]) -> None:
        """Close a stream that its consumer has left."""
        self.endings.append(asyncio.Task(stream.aclose(), loop=loop, context=context))


_agenda: ContextVar[_Agenda] = ContextVar("intervalguard_agenda")


_object: Any = object  # asyncio asks less of a loop than its abstract class has


class StoryLoop(_object):  # type: ignore[misc]
    """The loop of a story. It has timers, futures, tasks and executors, and nothing that reaches out of the process."""

    def __init__(self, time: Time) -> None:
        self._time = time

    def run(self, fiber: Fiber, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine to its end on a fiber, and what it left behind as `asyncio.run` does: it is cancelled.

        Others may come in where they could on a loop that all share: wherever callbacks are due anew, and while none is.
        """
        agenda = _Agenda()
        _agenda.set(agenda)
        hooks = sys.get_asyncgen_hooks()
        end = partial(agenda.end, copy_context(), self)
        sys.set_asyncgen_hooks(agenda.streams.add, end)
        asyncio._set_running_loop(self)
        try:
            task = self.create_task(coroutine)
            self._drive(fiber, agenda, [task])
            for each in agenda.tasks:
                each.cancel()
            self._drive(fiber, agenda, agenda.tasks)
            for stream in agenda.streams:
                end(stream)
            self._drive(fiber, agenda, agenda.endings)
            return task.result()
        finally:
            for each in (*agenda.tasks, *agenda.endings):
                left = None if each.done() else each.get_coro()
                if left is not None:
                    left.close()
            asyncio._set_running_loop(None)
            sys.set_asyncgen_hooks(*hooks)

    def _drive(self, fiber: Fiber, agenda: _Agenda, tasks: list[asyncio.Task[Any]]) -> None:
        due, timers = agenda.due, agenda.timers
        while True:
            for _ in range(len(due)):
                handle = due.popleft()
                if not handle.cancelled():
                    handle._run()
            while timers and timers[0].cancelled():
                heapq.heappop(timers)
            if all(task.done() for task in tasks):
                return
            if due:
                fiber.pause()
            else:
                fiber.wait(lambda: bool(due), timers[0].when() if timers else math.inf)
            while timers and timers[0].when() <= self._time.now:
                due.append(heapq.heappop(timers))

    @contextmanager
    def stepping_out(self) -> Iterator[None]:
        """While it lasts, other acts may run tasks of the loop in the middle of this one's."""
        task = asyncio.current_task(self)
        if task is not None:
            asyncio._leave_task(self, task)
        try:
            yield
        finally:
            if task is not None:
                asyncio._enter_task(self, task)

    # -- what asyncio asks of a loop

    def time(self) -> float:
        return self._time.now

    def call_soon(self, callback: Any, *args: Any, context: Context | None = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        _agenda_of(context).due.append(handle)
        return handle

    def call_soon_threadsafe(self, callback: Any, *args: Any, context: Context | None = None) -> asyncio.Handle:
        """One thread runs at a time, so at once: this one's act may be none of the loop's."""
        handle = asyncio.Handle(callback, args, self, context)
        handle._run()
        return handle

    def call_later(self, delay: float, callback: Any, *args: Any, context: Context | None = None) -> asyncio.TimerHandle:
        return self.call_at(self._time.now + delay, callback, *args, context=context)

    def call_at(self, when: float, callback: Any, *args: Any, context: Context | None = None) -> asyncio.TimerHandle:
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(_agenda_of(context).timers, timer)
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """A cancelled timer is dropped when its time comes."""

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, context: Context | None = None, **options: Any) -> asyncio.Task[Any]:
        task = asyncio.Task(coro, loop=self, context=context, **options)
        _agenda_of(context).tasks.append(task)
        return task

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """On another thread, to the end, before the loop goes on."""
        future = self.create_future()
        fiber = this_fiber()

        def run() -> None:
            take_place_of(fiber)
            try:
                result = func(*args)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        thread = threading.Thread(target=run, daemon=True)
        with self.stepping_out():
            thread.start()
            thread.join()
        return future

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"the event loop of a story has no {name!r}: nothing in a story reaches out of it, so put a fake in the place of"
            " what does"
        )

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def get_debug(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Nothing listens: what nobody awaited is no part of the story."""


def _agenda_of(context: Context | None) -> _Agenda:
    agenda = _agenda.get(None) if context is None else context.get(_agenda)
    if agenda is None:
        raise RuntimeError("what is scheduled on the loop of a story belongs to an act: schedule it within one")
    return agenda
