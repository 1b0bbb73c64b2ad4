"""What a plain function gives back may run on after it: the interval covers that, too."""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from intervalguard import Guard, GuardError, StaleReadError, last_event, with_event


class Later:
    """An awaitable that is no coroutine."""

    def __init__(self, coroutine: Any) -> None:
        self._coroutine = coroutine

    def __await__(self) -> Any:
        return self._coroutine.__await__()


WAYS = {"task": asyncio.ensure_future, "awaitable": Later, "coroutine": lambda coroutine: coroutine}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fails", [False, True])
def test_a_write_that_goes_on_is_in_flight(way: str, fails: bool) -> None:
    """A read of what it writes meanwhile is not fresh afterwards, and what it raised is the call's outcome."""
    guard, stock = Guard(wait_seconds=0), {"a": 5}
    read = guard.tracked("stock/{item}", writes=False)(lambda item: stock[item])
    ship = guard.tracked("ships/{item}", writes=True)(lambda item: "shipped")

    async def later(item: str) -> str:
        await asyncio.sleep(0.01)
        stock[item] = 0
        if fails:
            raise LookupError(item)
        return item

    put = guard.tracked("stock/{item}", writes=True)(lambda item: WAYS[way](later(item)))

    async def main() -> None:
        written = asyncio.ensure_future(put("a"))
        await asyncio.sleep(0)
        _, seen = with_event(read, "a")
        with pytest.raises(LookupError) if fails else contextlib.nullcontext():
            assert await written == "a"
        await asyncio.sleep(0)
        assert [each.outcome for each in guard.log.events()] == ["error" if fails else "ok", "ok"]
        with pytest.raises(StaleReadError):
            ship("a", depends_on=seen)

    asyncio.run(main())


def test_a_cancelled_task_is_unknown() -> None:
    """As a coroutine would be."""
    guard = Guard()
    put = guard.tracked("stock", writes=True)(lambda: asyncio.ensure_future(asyncio.sleep(60)))

    async def main() -> None:
        task = put()
        await asyncio.sleep(0)
        assert guard.log.events()[0].outcome == "pending"
        task.cancel()
        await asyncio.sleep(0.001)
        assert guard.log.events()[0].outcome == "unknown"

    asyncio.run(main())


def test_a_future_of_an_executor_is_in_flight() -> None:
    """Until it is done; it is handed over as it is."""
    guard, gate = Guard(), Future[int]()
    with ThreadPoolExecutor() as pool:
        put = guard.tracked("stock", writes=True)(lambda: pool.submit(gate.result))
        future = put()
        assert type(future) is Future
        assert guard.log.events()[0].outcome == "pending"
        gate.set_result(7)
        assert future.result() == 7
    assert guard.log.events()[0].outcome == "ok"


@pytest.mark.parametrize("make", [contextlib.contextmanager, contextlib.asynccontextmanager])
def test_a_context_manager_is_no_result(make: Any) -> None:
    """Its body would run out of the guard's sight; the other way round it is a stream."""
    guard = Guard()

    async def agen() -> Any:
        yield 1

    def gen() -> Any:
        yield 1

    body = gen if make is contextlib.contextmanager else agen
    with pytest.raises(GuardError, match="below @contextmanager"):
        guard.tracked("stock", writes=True)(make(body))()
    assert guard.log.events()[0].outcome == "failed"
    right = make(guard.tracked("stock", writes=True)(body))
    if body is gen:
        with right() as one:
            assert (one, guard.log.events()[-1].outcome) == (1, "pending")
        assert guard.log.events()[-1].outcome == "ok"


@pytest.mark.parametrize("result", [b"", [1], {"a": 1}, open, object(), contextlib.nullcontext()])
def test_a_result_is_a_result(result: Any) -> None:
    """Whatever else is returned ends the call and is handed over."""
    guard = Guard()
    assert guard.tracked("stock", writes=True)(lambda: result)() is result
    event = last_event()
    assert event is not None
    assert event.outcome == "ok"
