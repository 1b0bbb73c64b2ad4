"""A guarded function for each way in which Python runs one: at once, awaited, as a stream, as an awaited stream.

The wrapper is what the function is to `inspect`, has its signature, and takes ``depends_on=`` besides. The interval
covers the body's real run. The call counts as running only while its body runs: what a consumer does between two items
of a stream is not inside it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

from ..kernel.events import DependencyLike
from .calls import Running, Tool, current


P = ParamSpec("P")
Q = ParamSpec("Q")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")


class Guarded(Protocol[P, R_co]):
    """A guarded function, as a type checker sees it: its own signature, or loosely with ``depends_on=``."""

    __intervalguard__: Tool

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    @overload
    def __call__(self, *args: Any, depends_on: DependencyLike | Iterable[DependencyLike], **kwargs: Any) -> R_co: ...

    @overload
    def __get__(self, instance: None, owner: type) -> Guarded[P, R_co]: ...

    @overload
    def __get__(self: Guarded[Concatenate[S, Q], R_co], instance: S, owner: type) -> Guarded[Q, R_co]: ...


def guarded(function: Callable[..., Any], tool: Tool) -> Callable[..., Any]:
    """``function`` under the guard of ``tool``."""
    called = _called(function)
    if inspect.isasyncgenfunction(called):
        wrapper = _async_stream(function, tool)
    elif inspect.iscoroutinefunction(called):
        wrapper = _awaited(function, tool)
    elif inspect.isgeneratorfunction(called):
        wrapper = _stream(function, tool)
    else:
        wrapper = _plain(function, tool)
    wrapper = functools.wraps(function)(wrapper)
    wrapper.__intervalguard__ = tool  # type: ignore[attr-defined]
    return wrapper


def is_stream(function: Callable[..., Any]) -> bool:
    """Whether calling ``function`` gives a stream of items and no result."""
    called = _called(function)
    return inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called)


def _called(function: Callable[..., Any]) -> Callable[..., Any]:
    """What runs when ``function`` is called: itself, or the ``__call__`` of an object."""
    if inspect.isroutine(function) or isinstance(function, functools.partial):
        return function
    return type(function).__call__


class _Safety:
    """Settles a call whose frame goes away without having run to an end, as of a stream that a closed loop forgot."""

    __slots__ = ("_lost", "_running", "_tool")

    def __init__(self, tool: Tool, running: Running, lost: bool = False) -> None:
        self._tool = tool
        self._running = running
        self._lost = lost

    def __del__(self) -> None:
        self._tool.close(self._running, self._lost)


def _plain(function: Callable[..., Any], tool: Tool) -> Callable[..., Any]:
    enter, leave, fail = tool.enter, tool.leave, tool.fail

    def wrapper(*args: Any, depends_on: Any = None, **kwargs: Any) -> Any:
        running = enter(args, kwargs, depends_on)
        if running is None:
            return function(*args, **kwargs)
        token = current.set(running)
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            fail(running, error)
            raise
        finally:
            current.reset(token)
        if type(result) in _LAZY:
            return _LAZY[type(result)](lambda *_, **__: result, tool, running)(*args, **kwargs)
        return leave(running, args, kwargs, result)

    return wrapper


def _awaited(function: Callable[..., Any], tool: Tool, begun: Running | None = None) -> Callable[..., Any]:
    async def wrapper(*args: Any, depends_on: Any = None, **kwargs: Any) -> Any:
        running = begun or await tool.enter_async(args, kwargs, depends_on)
        if running is None:
            return await function(*args, **kwargs)
        token = current.set(running)
        try:
            result = await function(*args, **kwargs)
        except BaseException as error:
            tool.fail(running, error)
            raise
        finally:
            current.reset(token)
        return tool.leave(running, args, kwargs, result)

    if begun is None:
        return wrapper
    safety = _Safety(tool, begun, lost=True)

    async def kept(*args: Any, safety: _Safety = safety, **kwargs: Any) -> Any:
        return await wrapper(*args, **kwargs)

    return kept


def _stream(function: Callable[..., Any], tool: Tool, begun: Running | None = None) -> Callable[..., Any]:
    def wrapper(*args: Any, depends_on: Any = None, **kwargs: Any) -> Any:
        running = begun or tool.enter(args, kwargs, depends_on)
        if running is None:
            return (yield from function(*args, **kwargs))
        safety = _Safety(tool, running)  # noqa: F841
        try:
            body = function(*args, **kwargs)
            step, sent = body.send, None
            while True:
                item = _inside(running, step, sent)
                try:
                    sent = yield item
                    step = body.send
                except GeneratorExit:
                    _inside(running, body.close)
                    raise
                except BaseException as error:
                    step, sent = body.throw, error
        except StopIteration as stop:
            result = stop.value
        except GeneratorExit:
            tool.close(running)
            raise
        except BaseException as error:
            tool.fail(running, error)
            raise
        return tool.leave(running, args, kwargs, result)

    return wrapper


def _async_stream(function: Callable[..., Any], tool: Tool, begun: Running | None = None) -> Callable[..., Any]:
    async def wrapper(*args: Any, depends_on: Any = None, **kwargs: Any) -> Any:
        running = begun or await tool.enter_async(args, kwargs, depends_on)
        if running is None:
            running = Running.unguarded()
        safety = _Safety(tool, running)  # noqa: F841
        try:
            body = function(*args, **kwargs)
            step, sent = body.asend, None
            while True:
                item = await _inside_async(running, step(sent))
                try:
                    sent = yield item
                    step = body.asend
                except GeneratorExit:
                    await _inside_async(running, body.aclose())
                    raise
                except BaseException as error:
                    step, sent = body.athrow, error
        except StopAsyncIteration:
            pass
        except GeneratorExit:
            tool.close(running)
            raise
        except BaseException as error:
            tool.fail(running, error)
            raise
        tool.leave(running, args, kwargs, None)

    return wrapper


def _inside(running: Running, step: Callable[..., Any], *sent: Any) -> Any:
    token = current.set(running)
    try:
        return step(*sent)
    finally:
        current.reset(token)


async def _inside_async(running: Running, step: Any) -> Any:
    token = current.set(running)
    try:
        return await step
    finally:
        current.reset(token)


_LAZY: dict[type, Callable[..., Callable[..., Any]]] = {
    CoroutineType: _awaited,
    GeneratorType: _stream,
    AsyncGeneratorType: _async_stream,
}
"""What a plain function may return whose body has not run: the interval then covers the run of that."""
