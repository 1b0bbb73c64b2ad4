"""A guarded function is, to whoever inspects it, what the bare one is; misuse fails where it is decorated."""

from __future__ import annotations

import asyncio
import functools
import inspect
import pickle
import typing
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from helpers import guard_at, only, outcomes

from intervalguard import Guard, StaleReadError, last_event, resting_on, segment, with_event

ASKED: list[Callable[[Any], bool]] = [
    inspect.iscoroutinefunction,
    inspect.isgeneratorfunction,
    inspect.isasyncgenfunction,
    asyncio.iscoroutinefunction,
    inspect.isfunction,
    inspect.isroutine,
    callable,
]


def plain(a: int, b: str = "b") -> float:
    """Adds up."""
    return a + len(b)


async def awaited(a: int, *, b: list[int] | None = None) -> str:
    """Waits."""
    return f"{a}{b}"


def generated(a: int, /, *more: int, **named: str) -> Iterator[int]:
    """Yields."""
    yield from (a, *more)


async def streamed(a: int = 1, *, key: str = "k") -> AsyncIterator[int]:
    """Yields, waiting."""
    yield a


def untyped(a, b=2, *c, d, e=5, **f):  # type: ignore[no-untyped-def]
    return a, b, c, d, e, f


def returns_coroutine(a: int) -> Any:
    return awaited(a)


BARE = [plain, awaited, generated, streamed, untyped, returns_coroutine]


@pytest.mark.parametrize("bare", BARE, ids=lambda f: f.__name__)
def test_a_guarded_function_answers_as_the_bare_one(bare: Any) -> None:
    """Signature, hints, kind, name, docstring, module and attributes are the bare function's; no `depends_on` shows."""
    bare.marked = "mark"
    guarded: Any = guard_at().tracked("x", writes=True)(bare)
    assert inspect.signature(guarded) == inspect.signature(bare)
    assert typing.get_type_hints(guarded) == typing.get_type_hints(bare)
    assert inspect.signature(guarded, eval_str=True) == inspect.signature(bare, eval_str=True)
    assert [ask(guarded) for ask in ASKED] == [ask(bare) for ask in ASKED]
    for name in ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__", "marked"):
        assert getattr(guarded, name) == getattr(bare, name)
    assert guarded.__wrapped__ is bare
    assert "depends_on" not in str(inspect.signature(guarded))
    assert "depends_on" not in typing.get_type_hints(guarded)


def test_arguments_arrive_as_they_were_given() -> None:
    """Positional, positional-only, keyword, defaults and the rest; and `depends_on` is consumed."""
    guard = guard_at()
    with guard.read("x") as read:
        pass
    tool: Any = guard.tracked("y", writes=True)(untyped)
    assert tool(1, d=4, depends_on=read.event) == (1, 2, (), 4, 5, {})
    assert tool(1, 2, 3, 4, d=4, z=6, depends_on=[]) == (1, 2, (3, 4), 4, 5, {"z": 6})
    assert list(guard.tracked("z", writes=False)(generated)(1, 2, 3, a="named", safety="s", self="me")) == [1, 2, 3]
    late: Any = guard.tracked("w", writes=False)(lambda **kwargs: (each for each in kwargs.items()))
    assert list(late(safety=1, begun=2, running=3)) == [("safety", 1), ("begun", 2), ("running", 3)]
    assert [[d.id for d in each.depends_on] for each in guard.log.events()[1:3]] == [[read.event.id], []]


def test_a_partial_is_guarded_as_what_it_calls() -> None:
    """Its signature is what is left, its kind that of its function, and its hints name no `depends_on`."""
    guard = guard_at()
    for bare, call in ((plain, plain), (awaited, awaited), (generated, generated), (streamed, streamed)):
        partial = functools.partial(bare, 7)  # type: ignore[arg-type]
        guarded: Any = guard.tracked("x", writes=False)(partial)
        assert inspect.signature(guarded) == inspect.signature(partial)
        assert [ask(guarded) for ask in ASKED[:4]] == [ask(call) for ask in ASKED[:4]]
        hints = typing.get_type_hints(guarded)
        assert {**typing.get_type_hints(call), **hints} == typing.get_type_hints(call)
        assert guarded.__name__ == call.__name__
    tool = guard.tracked("by/{b}", writes=False)(functools.partial(plain, 7))
    assert tool(b="abc") == 10
    assert only(guard).name == "by/abc"
    assert only(guard).tool == "plain"
    assert asyncio.run(guard.tracked("x", writes=False)(functools.partial(awaited, b=[1]))(2)) == "2[1]"


class Adds:
    """Adds what it holds."""

    held: int = 5

    def __call__(self, a: int) -> int:
        return a + self.held


class AddsLater:
    async def __call__(self, a: int) -> int:
        await asyncio.sleep(0)
        return a + 5


class Counts:
    def __call__(self, a: int) -> Iterator[int]:
        yield from range(a)


class CountsLater:
    async def __call__(self, a: int) -> AsyncIterator[int]:
        for each in range(a):
            await asyncio.sleep(0)
            yield each


def test_a_callable_object_is_guarded_as_its_call() -> None:
    """Plain, async and streaming; the whole run of the body is inside the interval."""
    guard = guard_at()

    async def listed(stream: Any) -> list[int]:
        return [each async for each in stream]

    adds: Any = guard.tracked("x/{a}", writes=False)(Adds())
    assert adds(1) == 6
    assert (adds.__doc__, adds.__name__) == ("Adds what it holds.", "Adds")
    assert inspect.signature(adds) == inspect.signature(Adds())
    assert typing.get_type_hints(adds) == {"a": int, "return": int}
    later: Any = guard.tracked("x/{a}", writes=False)(AddsLater())
    assert asyncio.run(later(2)) == 7
    assert list(guard.tracked("x/{a}", writes=False)(Counts())(3)) == [0, 1, 2]
    assert asyncio.run(listed(guard.tracked("x/{a}", writes=False)(CountsLater())(4))) == [0, 1, 2, 3]
    assert outcomes(guard) == [("read", f"x/{each}", "ok") for each in (1, 2, 3, 4)]
    assert [each.tool for each in guard.log.events()] == ["Adds", "AddsLater", "Counts", "CountsLater"]


def test_methods_are_guarded_as_functions_are() -> None:
    """Instance, class and static methods, decorated above and below, on the class and on an instance; subclasses too."""
    guard = guard_at()

    class Shop:
        def __init__(self, name: str) -> None:
            self.name = name

        @guard.tracked(lambda self, order_id: f"{self.name}/{segment(order_id)}", writes=False)
        def get(self, order_id: int) -> tuple[str, int]:
            """Gets."""
            return self.name, order_id

        @guard.tracked("above/{order_id}", writes=False)
        @classmethod
        def above(cls, order_id: int) -> tuple[type, int]:
            return cls, order_id

        @classmethod
        @guard.tracked("below/{order_id}", writes=False)
        def below(cls, order_id: int) -> tuple[type, int]:
            return cls, order_id

        @guard.tracked("static/{order_id}", writes=False)
        @staticmethod
        def static_above(order_id: int) -> int:
            return order_id

        @staticmethod
        @guard.tracked("static/{order_id}", writes=False)
        def static_below(order_id: int) -> int:
            return order_id

        @guard.tracked("later/{order_id}", writes=True)
        async def later(self, order_id: int) -> int:
            return order_id

        @guard.tracked("items/{order_id}", writes=False)
        def items(self, order_id: int) -> Iterator[int]:
            yield order_id

    class Sub(Shop):
        pass

    shop = Sub("s")
    assert shop.get(1) == ("s", 1)
    assert Shop.get(shop, 2) == ("s", 2)
    assert (shop.above(3), Sub.above(4)) == ((Sub, 3), (Sub, 4))
    assert (shop.below(5), Shop.below(6)) == ((Sub, 5), (Shop, 6))
    assert (shop.static_above(7), Shop.static_below(8)) == (7, 8)
    assert asyncio.run(shop.later(9)) == 9
    assert list(shop.items(10)) == [10]
    assert [each.name for each in guard.log.events()] == [
        "s/1", "s/2", "above/3", "above/4", "below/5", "below/6", "static/7", "static/8", "later/9", "items/10",
    ]  # fmt: skip
    assert str(inspect.signature(shop.get)) == "(order_id: 'int') -> 'tuple[str, int]'"
    assert inspect.iscoroutinefunction(shop.later)
    result, event = with_event(shop.get, 11)
    assert (result, event.name) == (("s", 11), "s/11")
    (result, event) = asyncio.run(_awaited(with_event(shop.later, 12)))
    assert (result, event.name) == (12, "later/12")
    guard.record_write("s/11")
    with pytest.raises(StaleReadError):
        resting_on(shop.static_above, guard.log.events()[10])(1)


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


def test_a_bound_method_can_be_guarded() -> None:
    """A method of someone else's object is guarded without touching its class."""
    guard = guard_at()
    names = ["a"]
    append: Any = guard.tracked("names", writes=True)(names.append)
    append("b")
    assert names == ["a", "b"]
    assert only(guard).tool == "list.append"


@guard_at().tracked("x", writes=False)
def pickled() -> str:
    return "same"


def test_a_guarded_function_can_be_pickled() -> None:
    """By its name, as any function, so that it can be sent to a process pool."""
    assert pickle.loads(pickle.dumps(pickled)) is pickled


def late_coroutine() -> Any:
    return awaited(1)


def test_a_function_that_returns_a_coroutine_runs_until_that_has_run() -> None:
    """The event ends when the coroutine does; its result, name and exceptions are the coroutine's."""
    guard = guard_at()
    tool: Any = guard.tracked("x", writes=False)(late_coroutine)
    coroutine = tool()
    assert inspect.iscoroutine(coroutine)
    assert coroutine.__qualname__ == "awaited"
    assert only(guard).outcome == "pending"
    assert asyncio.run(coroutine) == "1None"
    assert only(guard).outcome == "ok"


def test_exceptions_pass_through_unchanged() -> None:
    """The very object, with its own cause and context, from a call of each kind."""
    guard = guard_at()
    error = KeyError("k")

    def one() -> None:
        raise error

    async def two() -> None:
        raise error

    for call in (guard.tracked("x", writes=True)(one), lambda: asyncio.run(guard.tracked("x", writes=True)(two)())):
        with pytest.raises(KeyError) as caught:
            call()
        assert caught.value is error
        assert (error.__cause__, error.__context__) == (None, None)


MISUSES: dict[str, tuple[Callable[[Guard], Any], type[Exception], str]] = {
    "own depends_on": (lambda g: g.tracked("x", writes=True)(lambda depends_on: None), TypeError, "rename it"),
    "own depends_on, keyword": (lambda g: g.tracked("x", writes=True)(lambda *, depends_on=1: None), TypeError, "rename it"),
    "guarded twice": (
        lambda g: g.tracked("y", writes=True)(g.tracked("x", writes=True)(plain)), TypeError, "guarded already"),
    "guarded twice, as a method": (
        lambda g: g.tracked("y", writes=True)(staticmethod(g.tracked("x", writes=True)(plain))), TypeError, "already"),
    "a class": (lambda g: g.tracked("x", writes=True)(Adds), TypeError, "is no function"),
    "a value": (lambda g: g.tracked("x", writes=True)(3), TypeError, "is no function"),
    "a property": (lambda g: g.tracked("x", writes=True)(property(plain)), TypeError, "is no function"),
    "no such parameter": (lambda g: g.tracked("x/{c}", writes=True)(plain), ValueError, "no parameter"),
    "nothing touched": (lambda g: g.tool()(plain), TypeError, "touches nothing"),
    "nothing touched, by a list": (lambda g: g.tool(reads=[])(plain), ValueError, "names nothing"),
    "negative window": (lambda g: g.tracked("x", -1, writes=True)(plain), ValueError, ">= 0"),
    "endless window": (lambda g: g.tracked("x", float("inf"), writes=True)(plain), ValueError, "not finite"),
    "no number": (lambda g: g.tracked("x", "30", writes=True)(plain), TypeError, "no number"),
    "a window that is a bool": (lambda g: g.tracked("x", True, writes=True)(plain), TypeError, "no number"),
    "writes=1": (lambda g: g.tracked("x", writes=1)(plain), TypeError, "neither True nor False"),
    "mode": (lambda g: g.tracked("x", writes=True, mode="loud")(plain), ValueError, "not one of"),
    "refuse": (lambda g: g.tracked("x", writes=True, refuse="fresh")(plain), ValueError, "not one of"),
    "wait": (lambda g: g.tracked("x", writes=True, wait_seconds=-1)(plain), ValueError, ">= 0"),
    "no exception": (lambda g: g.tracked("x", writes=True, unknown_on=["a"])(plain), TypeError, "no exception class"),
    "probe alone": (lambda g: g.tracked("x", writes=False, probe=len)(plain), ValueError, "without version="),
    "may land, of a read": (lambda g: g.tracked("x", writes=False, may_land_for_seconds=1)(plain), ValueError, "for writes"),
    "version of a stream": (lambda g: g.tracked("x", writes=False, version=len)(generated), TypeError, "is a stream"),
    "observed_at of a stream": (lambda g: g.tracked("x", writes=False, observed_at=len)(streamed), TypeError, "is a stream"),
    "unknown option": (lambda g: g.tracked("x", writes=False, colour=1)(plain), TypeError, "colour"),
    "result of a write": (lambda g: g.tool(writes=[lambda result: "x"])(plain), ValueError, "before the call runs"),
    "a block's option": (lambda g: g.write("x", version=1), TypeError, "version"),
    "a block's name": (lambda g: g.write("x//y"), ValueError, "empty segment"),
}  # fmt: skip


@pytest.mark.parametrize("misuse", MISUSES)
def test_misuse_fails_where_it_is_written(misuse: str) -> None:
    """Not at the call: what can be seen to be wrong at decoration raises there, and says what."""
    write, kind, says = MISUSES[misuse]
    with pytest.raises(kind, match=says):
        write(guard_at())


def test_with_event_takes_only_what_is_guarded_and_gives_a_result() -> None:
    """A bare function and a stream are refused, with the reason."""
    guard = guard_at()
    with pytest.raises(TypeError, match="not guarded"):
        with_event(plain, 1)
    with pytest.raises(TypeError, match="not guarded"):
        resting_on(plain, [])
    with pytest.raises(TypeError, match="is a stream"):
        with_event(guard.tracked("x", writes=False)(generated), 1)
    result, event = with_event(guard.tracked("x", writes=False)(plain), 1)
    assert (result, event) == (2, last_event())
