"""A guarded function for each way in which Python runs one: at once, awaited, as a stream, as an awaited stream.

The wrapper is what the function is to `inspect`, has its signature, and takes ``depends_on=`` besides. The interval
covers the body's real run. The call counts as running only while its body runs: what a consumer does between two items
of a stream is not inside it.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from ..kernel.events import DependencyLike
from .calls import NOTHING, Tool
from .running import Running, back_to, current, settle_when_it_can

P = ParamSpec("P")
Q = ParamSpec("Q")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")
T_co = TypeVar("T_co", covariant=True)


class _Wraps(Protocol[T_co]):
    """What a guarded function wraps: a checker takes apart the parameters of this, where it does not those of ``self``."""

    @property
    def __wrapped__(self) -> T_co: ...


class Guarded(Protocol[P, R_co]):
    """A guarded function, as a type checker sees it: its own signature, or loosely with ``depends_on=``.

    ``dict[str, Guarded[..., Any]]`` is a table of tools. Where a function is got from a class, its first parameter says
    what it is: one that takes the class is a class method, one that takes the instance a method, another a static method.
    """

    __name__: str
    __qualname__: str
    __intervalguard__: Tool

    if TYPE_CHECKING:  # `inspect` takes a class that has it for a wrapper

        @property
        def __wrapped__(self) -> Callable[P, R_co]: ...

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    @overload
    def __call__(self, *args: Any, depends_on: DependencyLike | Iterable[DependencyLike], **kwargs: Any) -> R_co: ...

    @overload
    def __get__(self: _Wraps[Callable[Concatenate[S, Q], R_co]], instance: object, owner: S) -> Guarded[Q, R_co]: ...

    @overload
    def __get__(self, instance: None, owner: type) -> Guarded[P, R_co]: ...

    @overload
    def __get__(self: _Wraps[Callable[Concatenate[S, Q], R_co]], instance: S, owner: type) -> Guarded[Q, R_co]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Guarded[P, R_co]: ...


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
    if not inspect.isroutine(function):
        wrapper.__name__ = tool.name.rpartition(".")[2]
        wrapper.__annotations__ = _annotations(function)
    wrapper.__intervalguard__ = tool  # type: ignore[attr-defined]
    return wrapper


def is_stream(function: Callable[..., Any]) -> bool:
    """Whether calling ``function`` gives a stream of items and no result."""
    called = _called(function)
    return inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called)


def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of an object that has none of its own for its call."""
    try:
        signature = inspect.signature(function, eval_str=True)
    except Exception:
        signature = inspect.signature(function)
    empty = inspect.Signature.empty
    hints = {name: each.annotation for name, each in signature.parameters.items() if each.annotation is not empty}
    return hints if signature.return_annotation is empty else {**hints, "return": signature.return_annotation}


def _called(function: Callable[..., Any]) -> Callable[..., Any]:
    """What runs when ``function`` is called: itself, or the ``__call__`` of an object."""
    if inspect.isroutine(function) or isinstance(function, functools.partial):
        return function
    return type(function).__call__


class _Safety:
    """Settles a call whose frame goes away without having run to an end, as of a stream that a closed loop forgot.

    ``coroutine`` is what the call returned, which perhaps nobody awaits; its wrapper is the one to warn of that.
    """

    __slots__ = ("_coroutine", "_tool", "running")

    def __init__(self, tool: Tool, running: Running, coroutine: Any = None) -> None:
        self._tool = tool
        self.running = running
        self._coroutine = coroutine

    def __del__(self) -> None:
        if self._coroutine is not None:
            self._coroutine.close()
        self._tool.close(self.running, lost=self._coroutine is not None, forgotten=True)


def _plain(function: Callable[..., Any], tool: Tool) -> Callable[..., Any]:
    enter, leave, fail = tool.enter, tool.leave, tool.fail

    def wrapper(*args: Any, depends_on: Any = NOTHING, **kwargs: Any) -> Any:
        running = enter(args, kwargs, depends_on)
        try:
            current.set(running)
            result = function(*args, **kwargs)
        except BaseException as error:
            fail(running, error)
            raise
        finally:
            current.set(running.outer)
        goes_on = _going_on(type(result))  # type: ignore[arg-type]
        if goes_on is not None:
            return goes_on(result, tool, running, args, kwargs)
        return leave(running, args, kwargs, result)

    return wrapper


def _later(result: Any, tool: Tool, running: Running, args: Any, kwargs: Any) -> Any:
    """What a function gave back whose body has not run: its run is that of the call."""
    safety = _Safety(tool, running, result if type(result) is CoroutineType else None)
    wrap: Callable[..., Callable[..., Any]] = _LAZY.get(type(result), _awaited)
    later = wrap(lambda *_, **__: result, tool, safety)
    for name in ("__name__", "__qualname__"):
        setattr(later, name, getattr(result, name, tool.name))
    return later(*args, **kwargs)


def _when_done(future: Any, tool: Tool, running: Running, args: Any, kwargs: Any) -> Any:
    """A task or a future: the call ends with it. What it gives is given by then, and cannot be withheld."""

    def done(future: Any) -> None:
        try:
            result = future.result()
        except BaseException as error:
            tool.fail(running, error)
        else:
            tool.leave(running, args, kwargs, result)

    future.add_done_callback(done)
    return future


def _unentered(manager: Any, tool: Tool, running: Running, args: Any, kwargs: Any) -> Any:
    """A context manager made of a generator, whose body runs where it is entered: out of the guard's sight."""
    running.done = True
    settle_when_it_can(running, "failed")
    what = f"{tool.name!r} gave a context manager, whose body has not run"
    tool.fault(what, TypeError("put the guard's decorator below @contextmanager"), f"This call did nothing: {what}.")
    return manager


@functools.lru_cache(1024)
def _going_on(kind: type) -> Callable[..., Any] | None:
    """How the run goes on of which a function gives back something of this type; ``None`` for what is a result."""
    if kind in _LAZY:
        return _later
    if hasattr(kind, "add_done_callback"):
        return _when_done
    if hasattr(kind, "__await__"):
        return _later
    return _unentered if kind.__name__ in _MANAGERS and kind.__module__ == "contextlib" else None


def _awaited(function: Callable[..., Any], tool: Tool, begun: _Safety | None = None) -> Callable[..., Any]:
    async def wrapper(*args: Any, depends_on: Any = NOTHING, **kwargs: Any) -> Any:
        running = begun.running if begun else await tool.enter_async(args, kwargs, depends_on)
        if begun:
            running.handled = sys.exception()
        token = current.set(running)
        try:
            result = await function(*args, **kwargs)
        except BaseException as error:
            tool.fail(running, error)
            raise
        finally:
            back_to(token)
        goes_on = _going_on(type(result))  # type: ignore[arg-type]
        if goes_on is not None:
            return goes_on(result, tool, running, args, kwargs)
        return tool.leave(running, args, kwargs, result)

    return wrapper


def _stream(function: Callable[..., Any], tool: Tool, begun: _Safety | None = None) -> Callable[..., Any]:
    def wrapper(*args: Any, depends_on: Any = NOTHING, **kwargs: Any) -> Any:
        running = begun.running if begun else tool.enter(args, kwargs, depends_on)
        safety = begun or _Safety(tool, running)  # noqa: F841
        closing = False
        try:
            body = function(*args, **kwargs)
            step, sent = body.send, None
            while True:
                running.handled = sys.exception()
                item, sent = _inside(running, step, sent), None
                try:
                    sent = yield item
                    step = body.send
                except GeneratorExit:
                    closing = True
                    _inside(running, body.close)
                    tool.close(running)
                    raise
                except BaseException as error:
                    step, sent = body.throw, error
        except StopIteration as stop:
            result = stop.value
        except BaseException as error:
            tool.fail(running, error, closing)
            raise
        return tool.leave(running, args, kwargs, result)

    return wrapper


def _async_stream(function: Callable[..., Any], tool: Tool, begun: _Safety | None = None) -> Callable[..., Any]:
    async def wrapper(*args: Any, depends_on: Any = NOTHING, **kwargs: Any) -> Any:
        running = begun.running if begun else await tool.enter_async(args, kwargs, depends_on)
        safety = begun or _Safety(tool, running)  # noqa: F841
        closing = False
        try:
            body = function(*args, **kwargs)
            step, sent = _first_step(body), None
            while True:
                running.handled = sys.exception()
                item, sent = await _inside_async(running, step(sent)), None
                try:
                    sent = yield item
                    step = body.asend
                except GeneratorExit:
                    closing = True
                    await _inside_async(running, body.aclose())
                    tool.close(running)
                    raise
                except BaseException as error:
                    step, sent = body.athrow, error
        except StopAsyncIteration:
            pass
        except BaseException as error:
            tool.fail(running, error, closing)
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
        back_to(token)


def _first_step(body: Any) -> Callable[..., Any]:
    """The first step of an asynchronous stream, which the loop does not learn of: closing it is its wrapper's part."""

    def step(sent: None) -> Any:
        firstiter = sys.get_asyncgen_hooks().firstiter
        sys.set_asyncgen_hooks(firstiter=None)
        try:
            return body.asend(sent)
        finally:
            sys.set_asyncgen_hooks(firstiter=firstiter)

    return step


_LAZY: dict[type, Callable[..., Callable[..., Any]]] = {
    CoroutineType: _awaited,
    GeneratorType: _stream,
    AsyncGeneratorType: _async_stream,
}
"""What a plain function may return whose body has not run: the interval then covers the run of that."""

_MANAGERS = ("_GeneratorContextManager", "_AsyncGeneratorContextManager")
