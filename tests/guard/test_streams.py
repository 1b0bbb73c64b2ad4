"""Streams: the interval is the body's real run, what passes through passes as bare, and an abandoned one holds nothing."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from typing import Any

import pytest
from helpers import Clock, Thread, guard_at, only, outcomes, settled

from intervalguard import ConflictError, Guard, GuardError, StaleReadError, last_event
from intervalguard.logs import MemoryLog, memory

KINDS = [("read", "ok"), ("write", "error")]
"""Each kind, and the outcome of a stream of it that is closed early."""


def collect(stream: Iterator[Any]) -> list[Any]:
    return list(stream)


async def collect_async(stream: AsyncIterator[Any]) -> list[Any]:
    return [each async for each in stream]


def streams(guard: Guard, kind: str, body: Callable[..., Any] | None = None) -> dict[str, Any]:
    """The same stream of three items as a generator, as a function that returns one, and both asynchronously."""
    options: dict[str, Any] = {"name": "s", "writes": kind == "write"}

    @guard.tracked(**options)
    def generator() -> Iterator[int]:
        yield from (1, 2, 3)

    @guard.tracked(**options)
    def returned() -> Any:
        return generator.__wrapped__()  # type: ignore[attr-defined]

    @guard.tracked(**options)
    async def asynchronous() -> AsyncIterator[int]:
        for each in (1, 2, 3):
            await asyncio.sleep(0)
            yield each

    @guard.tracked(**options)
    def returned_asynchronous() -> Any:
        return asynchronous.__wrapped__()  # type: ignore[attr-defined]

    return {
        "generator": generator,
        "returned": returned,
        "asynchronous": asynchronous,
        "returned asynchronous": returned_asynchronous,
    }


WAYS = list(streams(guard_at(), "read"))
SYNC = WAYS[:2]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["read", "write"])
def test_the_interval_is_the_run_of_the_stream(way: str, kind: str) -> None:
    """The event is open until the stream is exhausted, as time passes between its items, and then it is ok."""
    clock = Clock()
    guard = guard_at(clock)
    stream = streams(guard, kind)[way]

    async def run() -> None:
        items = []
        running = stream()
        if way in SYNC:
            for each in running:
                clock.seconds += 1
                assert only(guard).outcome == "pending"
                items.append(each)
        else:
            async for each in running:
                clock.seconds += 1
                assert only(guard).outcome == "pending"
                items.append(each)
        assert items == [1, 2, 3]

    asyncio.run(run())
    event = only(guard)
    assert event.end_time is not None
    assert (event.outcome, (event.end_time - event.start_time).total_seconds()) == ("ok", 3)


@pytest.mark.parametrize("way", SYNC)
@pytest.mark.parametrize(("kind", "outcome"), KINDS)
@pytest.mark.parametrize("started", [True, False])
def test_a_stream_that_is_closed_or_dropped_early_has_ended(way: str, kind: str, outcome: str, started: bool) -> None:
    """Closed or dropped before its end: ok for a read, error for a write; begun but never iterated alike."""
    for leave in ("close", "drop"):
        guard = guard_at()
        stream = streams(guard, kind)[way]()
        if started:
            next(stream)
        elif way == "generator":
            continue
        assert only(guard).outcome == "pending"
        if leave == "close":
            stream.close()
        del stream
        assert only(guard).outcome == outcome


@pytest.mark.parametrize("way", WAYS[2:])
@pytest.mark.parametrize(("kind", "outcome"), KINDS)
def test_an_async_stream_that_is_closed_or_dropped_early_has_ended(way: str, kind: str, outcome: str) -> None:
    """Closed with aclose(), dropped in a running loop, or left to the end of the loop."""

    async def closed(stream: Any) -> None:
        await anext(stream)
        await stream.aclose()
        assert only(guard).outcome == outcome

    async def dropped(stream: Any) -> None:
        await anext(stream)
        del stream
        for _ in range(5):
            await asyncio.sleep(0)
        assert only(guard).outcome == outcome

    async def left(stream: Any) -> None:
        await anext(stream)
        kept.append(stream)

    for leave in (closed, dropped, left):
        kept: list[Any] = []
        guard = guard_at()

        async def main(leave: Any = leave, guard: Guard = guard) -> None:
            await leave(streams(guard, kind)[way]())

        asyncio.run(main())
        assert only(guard).outcome == outcome


def test_an_async_stream_begun_and_never_iterated_has_ended() -> None:
    """A plain function that returned an asynchronous generator which nobody ran leaves no call pending."""
    guard = guard_at()
    streams(guard, "read")["returned asynchronous"]()
    gc.collect()
    assert outcomes(guard) == [("read", "s", "ok")]
    streams(guard, "write")["generator"]()
    assert len(outcomes(guard)) == 1


def test_the_clean_up_of_an_async_stream_runs_once_at_the_end_of_its_loop() -> None:
    """A loop that ends closes the stream through its wrapper alone: the clean-up awaits in peace, and nothing is said."""
    for kind, outcome in KINDS * 3:
        guard = guard_at()
        done: list[str] = []
        said: list[Any] = []
        kept: list[Any] = []

        @guard.tracked("s", writes=kind == "write")
        async def stream(done: list[str] = done) -> AsyncIterator[int]:
            try:
                yield 1
            finally:
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                done.append("cleaned")

        async def main(stream: Any = stream, said: list[Any] = said, kept: list[Any] = kept) -> None:
            asyncio.get_running_loop().set_exception_handler(lambda loop, context: said.append(context))
            kept.append(stream())
            await anext(kept[0])

        asyncio.run(main())
        assert (done, said, only(guard).outcome) == (["cleaned"], [], outcome)


def test_an_async_stream_of_a_loop_that_was_closed_holds_nothing() -> None:
    """The loop was closed without shutting its generators down: the stream is over when it is dropped, pins and all."""
    guard = guard_at()
    with guard.read("x") as read:
        pass

    @guard.tracked("s", writes=True)
    async def stream() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            await asyncio.sleep(0)

    async def first(running: Any) -> None:
        await anext(running)

    loop = asyncio.new_event_loop()
    running = stream(depends_on=read.event)
    loop.run_until_complete(first(running))
    loop.close()
    with pytest.raises(ConflictError), guard.write("x"):
        pytest.fail("the body ran")
    del running
    gc.collect()
    with guard.write("x"):
        pass
    assert [each[2] for each in outcomes(guard)] == ["ok", "error", "refused", "ok"]


def test_an_async_stream_destroyed_in_the_middle_of_an_await_is_lost() -> None:
    """Its task vanished while the body awaited something: nobody knows whether that took effect."""
    guard = guard_at()

    @guard.tracked("s", writes=True)
    async def stream() -> AsyncIterator[int]:
        await asyncio.sleep(0)
        yield 1

    step = stream().__anext__()
    coroutine = step.__await__() if hasattr(step, "__await__") else step
    coroutine.send(None)
    assert only(guard).outcome == "pending"
    with pytest.raises(GeneratorExit):
        step.throw(GeneratorExit)
    assert only(guard).outcome == "unknown"


class Cycle:
    pass


def in_cycle(stream: Any) -> None:
    """Leave ``stream`` where nothing but the garbage collector finds it."""
    knot: Any = Cycle()
    knot.knot, knot.stream = knot, stream


def test_a_stream_collected_while_its_log_is_locked_holds_nothing() -> None:
    """The collector runs inside the log's own step, on the thread that holds its lock: the pins go, nothing hangs."""
    collecting = [False]

    def clock() -> datetime:
        if collecting[0]:
            collecting[0] = False
            gc.collect()
        return Clock()()

    guard = Guard(MemoryLog(clock=clock), wait_seconds=0)
    with guard.read("x") as read:
        pass

    @guard.tracked("s", writes=True)
    def stream() -> Iterator[int]:
        yield 1

    gc.disable()
    try:
        running = stream(depends_on=read.event)
        next(running)
        in_cycle(running)
        del running
        with pytest.raises(ConflictError), guard.write("x"):
            pytest.fail("the body ran")
        collecting[0] = True
        with guard.write("x"):
            pass
    finally:
        gc.enable()
    assert [each[2] for each in outcomes(guard)] == ["ok", "error", "refused", "ok"]


@pytest.mark.parametrize("step", ["admit", "_settle"])
def test_a_waiting_thread_wakes_when_a_stream_is_collected_under_the_lock(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stream that it waits for is collected deep inside another call's step: it wakes then, and the log is whole."""
    collecting = [False]
    guard = guard_at(Clock(), wait_seconds=60)

    @guard.tracked("s", writes=True)
    def stream() -> Iterator[int]:
        yield 1

    @guard.tracked("s", writes=True)
    def put() -> str:
        return "done"

    gc.disable()
    try:
        running = stream()
        next(running)
        in_cycle(running)
        del running
        thread = Thread(put)
        while not guard.log._waiters:
            time.sleep(0.001)
        where: Any = memory if step == "admit" else guard.log
        bare = getattr(where, step)

        def collect_first(*args: Any, **kwargs: Any) -> Any:
            if collecting[0]:
                collecting[0] = False
                gc.collect()
            return bare(*args, **kwargs)

        monkeypatch.setattr(where, step, collect_first)
        collecting[0] = step == "admit"
        with guard.read("other"):
            if step == "admit":
                assert thread.get() == "done"
            collecting[0] = step == "_settle"
        assert thread.get() == "done"
    finally:
        gc.enable()
    events = guard.log.events()
    assert [each.name for each in events] == ["s", "other", "s"]
    assert len({number for each in events for number in (each.seq, each.end_seq)}) == 6
    with guard.write("elsewhere", depends_on=[each for each in events if each.outcome == "ok"]):
        pass


def test_clean_up_that_makes_guarded_calls_under_the_lock_is_refused() -> None:
    """A finalizer's guarded call in the middle of the log's step would break the log: it raises, and the log is whole."""
    collecting = [False]

    def clock() -> datetime:
        if collecting[0]:
            collecting[0] = False
            gc.collect()
        return Clock()()

    guard = Guard(MemoryLog(clock=clock), wait_seconds=0)
    raised: list[BaseException] = []

    @guard.tracked("s", writes=True)
    def stream() -> Iterator[int]:
        try:
            yield 1
        finally:
            try:
                with guard.write("clean-up"):
                    pytest.fail("the body ran")
            except GuardError as error:
                raised.append(error)

    gc.disable()
    try:
        running = stream()
        next(running)
        in_cycle(running)
        del running
        collecting[0] = True
        with guard.write("x"):
            pass
    finally:
        gc.enable()
    assert "in the middle of a step" in str(raised[0])
    assert outcomes(guard) == [("write", "s", "error"), ("write", "x", "ok")]


def test_a_clean_up_that_raises_in_the_collector_is_settled_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """An abandoned body that raises while it is closed deep in the log's step ends as an error, and breaks nothing."""
    guard = guard_at()
    admit = memory.admit

    def collect_first(*args: Any, **kwargs: Any) -> Any:
        gc.collect()
        return admit(*args, **kwargs)

    @guard.tracked("s", writes=False)
    def stream() -> Iterator[int]:
        try:
            yield 1
        finally:
            raise ValueError("in the clean-up")

    gc.disable()
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        running = stream()
        next(running)
        in_cycle(running)
        del running
        monkeypatch.setattr(memory, "admit", collect_first)
        with guard.write("x") as block:
            pass
    finally:
        sys.unraisablehook = hook
        gc.enable()
    assert outcomes(guard) == [("read", "s", "error"), ("write", "x", "ok")]
    assert len({number for each in guard.log.events() for number in (each.seq, each.end_seq)}) == 4
    with guard.write("y", depends_on=block.event):
        pass


# ------------------------------------------------------------------------------------------ as bare


def echo() -> Any:
    """A generator that tells all that is done to it, gives back what it is sent, and returns how many."""
    told: list[Any] = []
    count = 0
    try:
        while True:
            try:
                sent = yield count
            except LookupError as error:
                sent = f"caught {type(error).__name__}"
            told.append(sent)
            count += 1
            if sent == "stop":
                return told
            if sent == "raise":
                raise ValueError("asked to")
    finally:
        told.append("finally")


async def echo_async() -> Any:
    told: list[Any] = []
    count = 0
    try:
        while True:
            await asyncio.sleep(0)
            try:
                sent = yield count
            except LookupError as error:
                sent = f"caught {type(error).__name__}"
            told.append(sent)
            count += 1
            if sent == "stop":
                return
            if sent == "raise":
                raise ValueError("asked to")
    finally:
        await asyncio.sleep(0)
        told.append("finally")


SCRIPTS: list[list[tuple[str, Any]]] = [
    [("send", None), ("send", "a"), ("send", "b"), ("send", "stop"), ("send", None)],
    [("send", None), ("send", "raise"), ("send", None)],
    [("send", "too soon")],
    [("send", None), ("throw", KeyError("k")), ("send", "x"), ("throw", ValueError("v")), ("send", None)],
    [("send", None), ("throw", StopIteration("s")), ("send", None)],
    [("send", None), ("throw", StopAsyncIteration("s")), ("send", None)],
    [("send", None), ("throw", GeneratorExit()), ("send", None)],
    [("send", None), ("throw", KeyboardInterrupt()), ("send", None)],
    [("throw", KeyError("first")), ("send", None)],
    [("send", None), ("close", None), ("send", None), ("close", None)],
    [("close", None), ("send", None)],
]


def answer(act: Callable[[], Any]) -> tuple[str, Any]:
    try:
        return "item", act()
    except BaseException as error:
        error.__traceback__ = None
        return type(error).__name__, (str(error), getattr(error, "value", None))


def play(stream: Any, script: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    told = []
    for act, value in script:
        if act == "close":
            told.append(answer(stream.close))
        else:
            told.append(answer(lambda act=act, value=value: getattr(stream, act)(value)))
    return told


async def play_async(stream: Any, script: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    told: list[tuple[str, Any]] = []
    for act, value in script:
        try:
            told.append(("item", await (stream.aclose() if act == "close" else getattr(stream, f"a{act}")(value))))
        except BaseException as error:
            error.__traceback__ = None
            told.append((type(error).__name__, str(error)))
    return told


@pytest.mark.parametrize("script", SCRIPTS, ids=str)
def test_a_stream_behaves_as_the_bare_one(script: list[tuple[str, Any]]) -> None:
    """What is sent, thrown, returned and raised passes through unchanged, to the message and the returned value."""
    guard = guard_at()
    bare = play(echo(), script)
    assert bare == play(guard.tracked("s", writes=True)(echo)(), script)
    assert bare == play(guard.tracked("t", writes=True)(lambda: echo())(), script)
    assert settled(guard)


@pytest.mark.parametrize("script", SCRIPTS, ids=str)
def test_an_async_stream_behaves_as_the_bare_one(script: list[tuple[str, Any]]) -> None:
    """The same for an asynchronous one."""
    guard = guard_at()

    async def main() -> None:
        bare = await play_async(echo_async(), script)
        assert bare == await play_async(guard.tracked("s", writes=True)(echo_async)(), script)
        assert bare == await play_async(guard.tracked("t", writes=True)(lambda: echo_async())(), script)

    asyncio.run(main())
    gc.collect()
    assert settled(guard)


def test_the_exception_that_was_thrown_is_the_one_that_comes_out() -> None:
    """The very object, with no context of the guard's making: `contextmanager` works on a guarded generator."""
    guard = guard_at()

    @contextmanager
    @guard.tracked("s", writes=True)
    def held() -> Iterator[str]:
        yield "value"

    error = ValueError("mine")
    with pytest.raises(ValueError, match="mine") as caught, held():
        raise error
    assert caught.value is error
    assert (error.__cause__, error.__context__) == (None, None)
    assert outcomes(guard) == [("write", "s", "error")]


def test_a_stream_dropped_after_a_throw_ends_at_once() -> None:
    """An exception that the body caught keeps no cycle alive through the wrapper: dropping the stream still ends it."""
    guard = guard_at()
    gc.disable()
    try:
        stream = guard.tracked("s", writes=False)(echo)()
        next(stream)
        stream.throw(KeyError())
        del stream
        assert only(guard).outcome == "ok"
    finally:
        gc.enable()


def test_a_stream_keeps_nothing_of_what_it_was_sent() -> None:
    """An item that was sent and used is free while the stream waits for the next."""
    guard = guard_at()

    @guard.tracked("s", writes=False)
    def sink() -> Iterator[None]:
        while True:
            yield

    class Big:
        pass

    stream = sink()
    next(stream)
    big = Big()
    ref = weakref.ref(big)
    stream.send(big)  # type: ignore[attr-defined]
    del big
    assert ref() is None
    stream.close()  # type: ignore[attr-defined]


def test_the_return_value_of_a_stream_comes_out() -> None:
    """`yield from` a guarded generator gives what it returned, and last_event() is then the stream's."""
    guard = guard_at()

    @guard.tracked("s", writes=False)
    def counted() -> Any:
        yield 1
        return "total"

    def user() -> Any:
        result = yield from counted()
        return result

    items = user()
    assert next(items) == 1
    with pytest.raises(StopIteration) as stop:
        next(items)
    assert stop.value.value == "total"
    event = last_event()
    assert event is not None
    assert event.name == "s"


def test_the_body_of_a_stream_begins_with_its_first_item() -> None:
    """A stream is admitted when it is first asked for an item, and judged then; its body does not run if refused."""
    guard = guard_at()
    ran = []

    @guard.tracked("s", writes=True)
    def stream() -> Iterator[int]:
        ran.append(1)
        yield 1

    with guard.read("x") as read:
        pass
    running = stream(depends_on=read.event)
    guard.record_write("x")
    with pytest.raises(StaleReadError):
        next(running)
    assert ran == []
    with pytest.raises(StopIteration):
        next(running)


# ------------------------------------------------------------------------------------------ between two items


@pytest.mark.parametrize("way", WAYS)
def test_what_a_consumer_does_between_two_items_is_not_inside_the_stream(way: str) -> None:
    """Its calls have no parent, and what the body itself calls has the stream as its parent."""
    guard = guard_at()

    def inner() -> None:
        with guard.read("inside"):
            pass

    async def body_async() -> AsyncIterator[int]:
        inner()
        yield 1
        inner()
        yield 2

    def body() -> Iterator[int]:
        inner()
        yield 1
        inner()
        yield 2

    bare: Any = {"generator": body, "returned": lambda: body(), "asynchronous": body_async}.get(way, lambda: body_async())

    async def main() -> None:
        stream = guard.tracked("s", writes=False)(bare)()
        if way in SYNC:
            for _ in stream:
                with guard.write("between"):
                    pass
        else:
            async for _ in stream:
                with guard.write("between"):
                    pass

    asyncio.run(main())
    first = next(each for each in guard.log.events() if each.name == "s")
    parents = {each.name: each.parent for each in guard.log.events()}
    assert parents == {"s": None, "between": None, "inside": first.id}
    assert [each.name for each in guard.log.events()].count("inside") == 2


def test_the_clean_up_of_a_closed_stream_is_inside_it() -> None:
    """What the body does in its `finally` as it is closed has the stream as its parent."""
    guard = guard_at()

    @guard.tracked("s", writes=True)
    def stream() -> Iterator[int]:
        try:
            yield 1
        finally:
            with guard.write("s/part"):
                pass

    with closing(stream()) as running:  # type: ignore[type-var]
        next(running)
    whole, part = guard.log.events()
    assert (part.parent, part.outcome, whole.outcome) == (whole.id, "ok", "error")


def test_two_streams_may_be_consumed_in_turn() -> None:
    """Interleaved streams do not become each other's parents, whichever ends first."""
    guard = guard_at()

    @guard.tracked("{name}", writes=False)
    def stream(name: str) -> Iterator[int]:
        for each in range(3):
            with guard.read(f"{name}/{each}"):
                pass
            yield each

    assert list(zip(stream("a"), stream("b"), strict=True)) == [(0, 0), (1, 1), (2, 2)]
    events = {each.name: each for each in guard.log.events()}
    for name, each in events.items():
        assert each.parent == (events[name[0]].id if "/" in name else None)
        assert each.outcome == "ok"


def test_a_stream_may_be_passed_between_threads() -> None:
    """Begun in one thread, consumed in a second, closed in a third: one event, settled once."""
    guard = guard_at()
    stream = streams(guard, "read")["generator"]()
    assert Thread(next, stream).get() == 1
    assert Thread(next, stream).get() == 2
    Thread(stream.close).get()
    assert outcomes(guard) == [("read", "s", "ok")]


def test_a_derived_stream_is_judged_again_when_it_ends() -> None:
    """A stream of a derived read that goes stale while it runs is refused at its end, for the items are out already."""
    guard = guard_at()
    with guard.read("x") as read:
        pass
    items = streams(guard, "read")["generator"](depends_on=read.event)
    assert next(items) == 1
    guard.record_write("x")
    assert [next(items), next(items)] == [2, 3]
    with pytest.raises(StaleReadError) as caught:
        next(items)
    assert caught.value.phase == "return"
    event = last_event()
    assert event is not None
    assert event.outcome == "refused"


@pytest.mark.parametrize("way", SYNC)
def test_a_stream_of_writes_pins_until_it_ends(way: str) -> None:
    """While it is open, what it rests on may not be written; when it has ended it may."""
    guard = guard_at()
    with guard.read("x") as read:
        pass
    stream = streams(guard, "write")[way](depends_on=read.event)
    next(stream)
    with pytest.raises(ConflictError), guard.write("x"):
        pytest.fail("the body ran")
    assert collect(stream) == [2, 3]
    with guard.write("x"):
        pass
