"""Calls on an event loop: a cancellation at any await leaves nothing pending, and no wait ever blocks the loop."""

from __future__ import annotations

import asyncio
import contextvars
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

import pytest
from helpers import LONG, Thread, guard_at, only, outcomes, settled

from intervalguard import ConflictError, Guard, GuardError, StaleReadError, last_event, with_event


async def steps(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def run(main: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(main, LONG))


# ------------------------------------------------------------------------------------------ cancellation


async def whole_call(guard: Guard) -> None:
    """A read, then a write that rests on it, each with awaits in its body."""

    @guard.tracked("x", writes=False)
    async def get() -> int:
        await steps(2)
        return 1

    @guard.tracked("x", writes=True)
    async def put() -> None:
        try:
            await steps(2)
        finally:
            await steps(1)

    _, read = await with_event(get)
    await put(depends_on=read)


async def waits_for_a_write(guard: Guard) -> None:
    """A write and a read, each of which waits for a write of another task."""

    async def other() -> None:
        async with guard.write("x"):
            await steps(4)

    for kind in (guard.write, guard.read):
        task = asyncio.create_task(other())
        await steps(1)
        try:
            async with kind("x"):
                await steps(2)
        finally:
            await task


async def waits_for_a_pin(guard: Guard) -> None:
    """A write that waits for a call that rests on what it writes."""
    async with guard.read("x") as read:
        await steps(1)

    async def other() -> None:
        async with guard.write("y", depends_on=read.event):
            await steps(4)

    task = asyncio.create_task(other())
    await steps(1)
    try:
        async with guard.write("x"):
            await steps(2)
    finally:
        await task


async def waits_in_suspense(guard: Guard) -> None:
    """A call that rests on what is being written: it waits, and is judged anew."""
    async with guard.read("x") as read:
        await steps(1)

    async def other() -> None:
        try:
            async with guard.write("x", no_effect_on=LookupError):
                await steps(4)
                raise LookupError
        except LookupError:
            pass

    task = asyncio.create_task(other())
    await steps(1)
    try:
        async with guard.write("y", depends_on=read.event):
            await steps(2)
    finally:
        await task


async def nested(guard: Guard) -> None:
    """Calls in calls, some of them side by side."""

    async def part(name: str) -> None:
        async with guard.write(f"x/{name}"):
            await steps(2)

    async with guard.write("x"):
        await steps(1)
        async with guard.read("y"):
            await asyncio.gather(part("a"), part("b"))


async def stream(guard: Guard) -> None:
    """A stream with awaits in its body, between its items and in its clean-up."""

    @guard.tracked("s", writes=True)
    async def items() -> AsyncIterator[int]:
        try:
            for each in range(3):
                await steps(1)
                yield each
        finally:
            await steps(2)

    async for _ in items():
        async with guard.read("between"):
            await steps(1)


async def closes_a_stream(guard: Guard) -> None:
    """A stream that its consumer closes early."""

    @guard.tracked("s", writes=False)
    async def items() -> AsyncIterator[int]:
        try:
            while True:
                await steps(1)
                yield 1
        finally:
            await steps(2)

    running: Any = items()
    await anext(running)
    await steps(1)
    await running.aclose()


async def late_coroutine(guard: Guard) -> None:
    """A plain function that returns a coroutine."""

    async def body() -> None:
        await steps(2)

    @guard.tracked("x", writes=True)
    def put() -> Any:
        return body()

    await steps(1)
    await put()


async def probes(guard: Guard) -> None:
    """An asynchronous probe, before the call is asked for."""

    async def probe(name: str) -> str:
        await steps(2)
        return "v1"

    @guard.tracked("x", writes=False, version=lambda result: result, probe=probe)
    async def get() -> str:
        await steps(1)
        return "v1"

    _, read = await with_event(get)
    async with guard.write("y", depends_on=read):
        await steps(1)


SCENARIOS = [
    whole_call,
    waits_for_a_write,
    waits_for_a_pin,
    waits_in_suspense,
    nested,
    stream,
    closes_a_stream,
    late_coroutine,
    probes,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_a_cancellation_at_any_await_leaves_no_call_pending(scenario: Callable[[Guard], Awaitable[None]]) -> None:
    """Cancelled at its k-th step, for every k: each call is settled, what was cut off as unknown, and nothing is pinned."""
    cut = 0
    for k in range(200):
        guard = guard_at(wait_seconds=LONG)

        async def main(k: int = k, guard: Guard = guard) -> bool:
            task = asyncio.ensure_future(scenario(guard))
            for _ in range(k):
                await asyncio.sleep(0)
                if task.done():
                    break
            was_cut = task.cancel()
            await asyncio.wait([task])
            await steps(10)
            if was_cut:
                assert task.cancelled(), task
            else:
                await task
            return was_cut

        was_cut = run(main())
        assert settled(guard), (k, outcomes(guard))
        assert {each[2] for each in outcomes(guard)} <= {"ok", "unknown", "error", "failed"}
        known = [each for each in guard.log.events() if each.kind == "write" and each.outcome in ("ok", "error", "failed")]
        for each in known:
            if all(other.outcome != "unknown" for other in guard.log.events()):
                with guard.write(each.name):
                    pass
        assert not guard.log._view.resting
        if not was_cut:
            assert {each[2] for each in outcomes(guard)} <= {"ok", "failed"}
            break
        cut += 1
    else:
        pytest.fail("the scenario never ends")
    assert cut > 3


def test_a_call_cut_off_in_its_body_is_unknown_and_one_before_it_leaves_no_trace() -> None:
    """Cancelled while it waits: it never was. Cancelled in its body: nobody knows."""
    guard = guard_at(wait_seconds=LONG)
    ran = []

    @guard.tracked("x", writes=True)
    async def put(who: str) -> None:
        ran.append(who)
        await asyncio.Event().wait()

    async def main() -> None:
        first = asyncio.create_task(put("first"))
        await steps(2)
        second = asyncio.create_task(put("second"))
        await steps(5)
        second.cancel()
        await asyncio.wait([second])
        assert outcomes(guard) == [("write", "x", "pending")]
        first.cancel()
        await asyncio.wait([first])

    run(main())
    assert ran == ["first"]
    assert outcomes(guard) == [("write", "x", "unknown")]


def test_a_time_out_around_a_call_makes_it_unknown() -> None:
    """`asyncio.timeout` around a tool: the tool's outcome is unknown, and its caller gets TimeoutError."""
    guard = guard_at()

    @guard.tracked("x", writes=True)
    async def put() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        async with asyncio.timeout(0.01):
            await put()

    with pytest.raises(TimeoutError):
        run(main())
    assert only(guard).outcome == "unknown"


def test_a_task_group_that_falls_apart_settles_every_call() -> None:
    """One task raises, its brothers are cancelled: error, unknown, and nothing pending."""
    guard = guard_at()

    @guard.tracked("{name}", writes=True)
    async def put(name: str) -> None:
        await steps(3)
        if name == "a":
            raise ValueError
        await asyncio.Event().wait()

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for name in "abc":
                group.create_task(put(name))

    with pytest.raises(ExceptionGroup):
        run(main())
    assert sorted(outcomes(guard)) == [("write", "a", "error"), ("write", "b", "unknown"), ("write", "c", "unknown")]


# ------------------------------------------------------------------------------------------ destroyed


def test_a_task_that_is_destroyed_leaves_its_call_unknown() -> None:
    """Its loop was closed and its last reference dropped: the coroutine is closed elsewhere, and says nothing."""
    guard = guard_at()
    forever: Any = None

    @guard.tracked("x", writes=True)
    async def put() -> None:
        async with guard.write("y"):
            await forever

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda loop, context: None)
    forever = loop.create_future()
    task = loop.create_task(put())
    loop.run_until_complete(steps(3))
    assert not settled(guard)
    loop.close()
    forever = None
    del task
    gc.collect()
    assert outcomes(guard) == [("write", "x", "unknown"), ("write", "y", "unknown")]


def dropped(tool: Callable[[], Any]) -> None:
    tool()
    gc.collect()


def test_a_coroutine_that_is_never_awaited_was_never_asked_for() -> None:
    """Not admitted, not recorded; Python's own warning is all."""
    guard = guard_at()

    @guard.tracked("x", writes=True)
    async def put() -> None: ...

    with pytest.warns(RuntimeWarning, match="never awaited"):
        dropped(put)
    assert outcomes(guard) == []


def test_a_coroutine_of_a_plain_function_that_is_never_awaited_is_unknown() -> None:
    """The function ran, its coroutine did not: unknown, and one warning, with the coroutine's own name."""
    guard = guard_at()

    async def body() -> None: ...

    @guard.tracked("x", writes=True)
    def put() -> Any:
        return body()

    with pytest.warns(RuntimeWarning, match="never awaited") as warned:
        dropped(put)
    (message,) = [str(each.message) for each in warned]
    assert "<locals>.body" in message
    del warned  # it holds the coroutine
    gc.collect()
    assert outcomes(guard) == [("write", "x", "unknown")]


def test_closing_a_coroutine_elsewhere_is_as_quiet_as_bare() -> None:
    """A suspended call that is closed from another context ends as unknown, without an error of its own."""
    guard = guard_at()

    @guard.tracked("x", writes=True)
    async def put() -> None:
        await asyncio.sleep(0)

    coroutine = put()
    contextvars.copy_context().run(coroutine.send, None)
    coroutine.close()
    assert only(guard).outcome == "unknown"


# ------------------------------------------------------------------------------------------ the interval


def test_an_async_interval_covers_the_awaits_of_its_body() -> None:
    """Two tools on one loop: their intervals overlap as their bodies do, and last_event() is each task's own."""
    guard = guard_at()

    @guard.tracked("{name}", writes=False)
    async def get(name: str, count: int) -> str:
        await steps(count)
        return name

    async def task(name: str, count: int) -> None:
        await get(name, count)
        await steps(20)
        event = last_event()
        assert event is not None
        assert event.name == name

    async def main() -> None:
        await asyncio.gather(task("slow", 9), task("quick", 1))

    run(main())
    slow, quick = guard.log.events()
    assert slow.seq is not None and slow.end_seq is not None  # noqa: PT018
    assert quick.seq is not None and quick.end_seq is not None  # noqa: PT018
    assert slow.seq < quick.seq < quick.end_seq < slow.end_seq


def test_a_write_during_an_awaited_read_makes_it_suspect() -> None:
    """Nobody knows which value the read saw: what rests on it is refused."""
    guard = guard_at()

    @guard.tracked("x", writes=False)
    async def get() -> None:
        await steps(4)

    async def main() -> None:
        task = asyncio.create_task(_event(get))
        await steps(2)
        guard.record_write("x")
        read = await task
        with pytest.raises(StaleReadError) as caught:
            async with guard.write("y", depends_on=read):
                pytest.fail("the body ran")
        assert caught.value.findings[0].reason == "overlapped"

    run(main())


async def _event(tool: Any) -> Any:
    return (await with_event(tool))[1]


# ------------------------------------------------------------------------------------------ waiting


def test_a_waiting_task_does_not_block_the_loop() -> None:
    """While one task waits for another's write, the loop runs on; then the waiting one goes through, without delay."""
    guard = guard_at(wait_seconds=LONG)
    order = []

    async def first() -> None:
        async with guard.write("x"):
            await steps(3)
            order.append("first")

    async def second() -> None:
        async with guard.write("x"):
            order.append("second")

    async def others() -> None:
        for each in range(3):
            await steps(1)
            order.append(str(each))

    async def main() -> None:
        await asyncio.gather(first(), second(), others())

    run(main())
    assert order.index("first") < order.index("second")
    assert order.index("0") < order.index("second")
    assert {each[2] for each in outcomes(guard)} == {"ok"}


def test_an_async_wait_is_bounded() -> None:
    """When its time is up a write loses the race, with an error that may be retried; a read goes ahead."""
    guard = guard_at(wait_seconds=0.02)

    async def main() -> None:
        async with guard.write("x"):
            async with guard_free(guard.read("x")):
                pass
            with pytest.raises(ConflictError) as caught:
                await asyncio.create_task(_enter(guard.write("x")), context=_empty())
            assert caught.value.retryable

    run(main())
    assert [each[2] for each in outcomes(guard)] == ["ok", "ok", "refused"]


def _empty() -> Any:
    return contextvars.Context()


async def _enter(block: Any) -> None:
    async with block:
        pass


class guard_free:
    """A block entered in a task of its own, outside every call."""

    def __init__(self, block: Any) -> None:
        self.block = block

    async def __aenter__(self) -> None:
        await asyncio.create_task(_enter(self.block), context=_empty())

    async def __aexit__(self, *_: object) -> None: ...


def test_a_sync_tool_on_a_loop_does_not_wait() -> None:
    """A synchronous call on the thread of a loop would stop it: a write loses at once, a read goes ahead at once."""
    guard = guard_at(wait_seconds=LONG)

    @guard.tracked("x", writes=True)
    def put() -> None:
        pytest.fail("the body ran")

    @guard.tracked("x", writes=False)
    def get() -> str:
        return "seen"

    async def other() -> None:
        with pytest.raises(ConflictError):
            put()
        assert get() == "seen"
        assert not guard.log._waiters

    async def main() -> None:
        async with guard.write("x"):
            await asyncio.create_task(other(), context=_empty())

    run(main())


def test_a_sync_tool_in_a_thread_of_a_loop_waits() -> None:
    """Through to_thread it may wait, and wakes when the task that blocks it has ended."""
    guard = guard_at(wait_seconds=LONG)

    @guard.tracked("x", writes=True)
    def put() -> str:
        return "done"

    async def main() -> None:
        block = guard.write("x")
        await asyncio.create_task(block.__aenter__())
        thread = asyncio.create_task(asyncio.to_thread(put), context=_empty())
        while not guard.log._waiters:
            await asyncio.sleep(0.001)
        await block.__aexit__(None, None, None)
        assert await thread == "done"

    run(main())


def test_a_task_is_woken_by_a_thread() -> None:
    """A task that waits for a write of another thread goes through when that has ended."""
    guard = guard_at(wait_seconds=LONG)
    block = guard.write("x")
    Thread(block.__enter__).get()

    async def main() -> None:
        task = asyncio.create_task(_enter(guard.write("x")))
        while not guard.log._waiters:
            await asyncio.sleep(0)
        await asyncio.to_thread(block.__exit__, None, None, None)
        await task

    run(main())
    assert [each[2] for each in outcomes(guard)] == ["ok", "ok"]


def test_a_waiter_whose_loop_is_closed_hurts_nobody() -> None:
    """A task that waited is gone with its loop; the call it waited for ends as ever."""
    guard = guard_at(wait_seconds=LONG)
    block = guard.write("x")
    Thread(block.__enter__).get()

    async def main() -> None:
        task = asyncio.create_task(_enter(guard.write("x")))
        while not guard.log._waiters:
            await asyncio.sleep(0)
        task.cancel()

    run(main())
    block.__exit__(None, None, None)
    assert outcomes(guard) == [("write", "x", "ok")]


def test_many_tasks_keep_one_counter_exact() -> None:
    """Read, think, write back, and again where refused: no increment is lost."""
    guard = guard_at(wait_seconds=LONG)
    value = [0]

    @guard.tracked("counter", writes=False)
    async def get() -> int:
        await asyncio.sleep(0)
        return value[0]

    @guard.tracked("counter", writes=True)
    async def put(new: int) -> None:
        await asyncio.sleep(0)
        value[0] = new
        await asyncio.sleep(0)

    async def worker() -> None:
        for _ in range(15):
            while True:
                old, read = await with_event(get)
                await asyncio.sleep(0)
                try:
                    await put(old + 1, depends_on=read)
                    break
                except GuardError:
                    continue

    async def main() -> None:
        await asyncio.gather(*(worker() for _ in range(8)))

    run(main())
    assert value == [120]
    assert settled(guard)
