"""The short public face: one guard for the whole process, and what people ask of an event, a result or a log."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Any, ParamSpec, TypeVar, Unpack, overload

from ..kernel.audit import findings_of
from ..kernel.events import DependencyLike, Event, dependencies, micros, window_micros
from ..kernel.explain import quoted
from ..kernel.staleness import HISTORY_DROPPED, UNKNOWN_DEPENDENCY
from ..logs.memory import MemoryLog
from ..logs.registry import Registry
from .errors import UnknownDependencyError
from .guard import Guard, ToolOptions
from .names import NameSpec
from .running import last_event
from .wrappers import Guarded, is_stream

P = ParamSpec("P")
R = TypeVar("R")

default_guard = Guard(MemoryLog())
"""The guard that `tracked`, `last_event` and `registry` belong to."""

registry = Registry(default_guard.log)
"""The default log's events, oldest first."""


def tracked(
    name: NameSpec,
    validity_window_seconds: float | None = None,
    writes: bool | None = None,
    **options: Unpack[ToolOptions],
) -> Callable[[Callable[P, R]], Guarded[P, R]]:
    """Guard a tool that reads, or with ``writes=True`` writes, the resource ``name``, on the default log.

    ``name`` is a template over the call's arguments, a function of them, or a list of these. A call of the tool takes
    ``depends_on=``, the events that it rests on, and raises `StaleReadError` before the body runs where these are not
    true any more. ``options`` are those of `Guard.tool`. A call without ``writes=`` warns, and is a read.
    """
    return default_guard.tracked(name, validity_window_seconds, writes, **options)


def clear_registry() -> None:
    """Forget the default log's events: what rests on one of them is unverifiable from now on."""
    default_guard.log.clear()


def is_stale(event: Event, now: datetime) -> bool:
    """Whether ``event`` has outlived its validity window at ``now``, by age alone. At the boundary it has not.

    An event without a window, and one that is still open, never has. Law L4: once stale, stale. O(1).
    """
    _check_aware("now", now)
    seen = event.observed_at or event.end_time
    window = window_micros(event.validity_window_seconds)
    return seen is not None and window is not None and micros(now) - micros(seen) > window


def check_dependencies(event: Event, all_events: Iterable[Event], now: datetime | None = None) -> list[str]:
    """The names of the dependencies of ``event`` that are not fresh, held against ``all_events``, in their order.

    It is judged as of ``now``, by default of its own start; ``all_events`` may hold it. Stale, suspect and unverifiable
    dependencies are named; an id that ``all_events`` does not hold raises `UnknownDependencyError`. Laws L2 to L4.
    Raises ``ValueError`` for two events with one id. One pass, O(n log n).
    """
    if now is not None:
        _check_aware("now", now)
    names = []
    for raw in findings_of(event, all_events, now):
        if raw.entry is None and raw.grade in (UNKNOWN_DEPENDENCY, HISTORY_DROPPED):
            message = (
                f"event {quoted(event.name)} (id={event.id}) rests on id={raw.dependency!r}, which is not among the events"
                " given: it cannot be verified, so the call must not be treated as checked"
            )
            told = f"{message[0].upper()}{message[1:]}. Read what it rests on first, then decide again."
            raise UnknownDependencyError(message, told=told)
        assert raw.entry is not None
        names.append(raw.entry.name)
    return names


@overload
def with_event(  # type: ignore[overload-overlap]
    tool: Callable[P, Awaitable[R]], *args: P.args, **kwargs: P.kwargs
) -> Awaitable[tuple[R, Event]]: ...


@overload
def with_event(tool: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> tuple[R, Event]: ...


def with_event(tool: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a guarded tool; its result and the call's first event, awaitable for an async tool.

    Raises ``TypeError`` for what is not guarded, and for a stream, whose event is there only when it has ended.
    """
    _check(tool)
    if is_stream(tool):
        raise TypeError(f"{tool!r} is a stream: run it to its end, then ask last_event()")
    result = tool(*args, **kwargs)
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise TypeError(f"{tool!r} gave a stream: run it to its end, then ask last_event()")
    if inspect.isawaitable(result):
        return _awaited(result)
    return result, last_event()


async def _awaited(result: Awaitable[Any]) -> Any:
    return await result, last_event()


def resting_on(
    tool: Callable[P, R], *depends_on: DependencyLike | Iterable[DependencyLike]
) -> Callable[P, R]:
    """``tool``, resting on these events: ``resting_on(refund, read)("42", 10)``. With the tool's own exact type.

    Raises ``TypeError`` for what is not guarded, or is no dependency.
    """
    _check(tool)
    if None in depends_on:
        raise TypeError("a dependency is None, as last_event() is before any guarded call: nothing would be rested on")
    keys = [key for given in depends_on for key in dependencies(given)]

    def resting(*args: P.args, **kwargs: P.kwargs) -> R:
        return tool(*args, depends_on=keys, **kwargs)  # type: ignore[arg-type]

    return resting


def _check_aware(what: str, moment: object) -> None:
    if not isinstance(moment, datetime) or moment.utcoffset() is None:
        raise ValueError(f"{what}={moment!r} is no datetime with a time zone: pass datetime.now(UTC)")


def _check(tool: object) -> None:
    if not hasattr(tool, "__intervalguard__"):
        raise TypeError(f"{tool!r} is not guarded: decorate it with @tracked(...) or @guard.tool(...)")
