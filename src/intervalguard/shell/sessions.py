"""Sessions and turns: one conversation, and the calls of one message of its model.

What a conversation has seen is read from the log, under its key; nothing of it is held here. A *seat* is where a thread
or task stands: in which session, and in which turn.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4
from weakref import WeakKeyDictionary

import attrs

from ..kernel.explain import Finding
from ..logs.calls import Origin

if TYPE_CHECKING:
    from .calls import Tool
    from .guard import Guard

_F = TypeVar("_F", bound=Callable[..., Any])


class Seat:
    """Where a thread or task stands in a session. ``until`` is the position up to which a turn knows, if it is in one.

    ``mark`` is what was entered there: the session, or an object of the turn's own.
    """

    __slots__ = ("_origins", "batch", "guard", "key", "mark", "outer", "session", "until")

    def __init__(
        self, session: Session, outer: Seat | None, batch: str | None = None, until: Any = None, mark: object = None
    ) -> None:
        self.session = session
        self.guard = session.guard
        self.key = session.key
        self.outer = outer
        self.batch = batch
        self.until = until
        self.mark = mark or session
        self._origins: WeakKeyDictionary[Tool, Origin] = WeakKeyDictionary()

    def origin(self, tool: Tool) -> Origin:
        """Whose a call of ``tool`` is, made once for a tool and a seat."""
        origin = self._origins.get(tool)
        if origin is None:
            session = self.session
            origin = Origin(tool.origin.tool, self.key, self.batch, session.run, session.agent, tool.probe)
            self._origins[tool] = origin
        return origin


seat: ContextVar[Seat | None] = ContextVar("intervalguard_seat", default=None)


def _leave(mark: object) -> None:
    """Leave the innermost seat of ``mark``; those that were taken since stay.

    Threads and tasks that began here share the seats, so these are not changed. Who is in none of ``mark`` leaves none.
    """
    above = []
    sitting = seat.get()
    while sitting is not None and sitting.mark is not mark:
        above.append(sitting)
        sitting = sitting.outer
    if sitting is not None:
        left = sitting.outer
        for each in reversed(above):
            moved = copy(each)
            moved.outer = left
            left = moved
        seat.set(left)


def check_text(what: str, value: object) -> None:
    """Raise ``TypeError`` for what is neither a text nor ``None``."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{what}={value!r} is no text")


def _text(_: object, field: attrs.Attribute[Any], value: object) -> None:
    check_text(field.name, value)


def _key(_: object, field: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, str) or not value:
        raise (ValueError if value == "" else TypeError)(
            f"key={value!r} is no session's key: it must be a text that is not empty, or None for a new one"
        )


class Turn:
    """What `Session.turn` gives: entered once, by one thread or task, where the turn begins."""

    def __init__(self, session: Session, batch: str) -> None:
        self._session = session
        self._batch = batch
        self._entered = False

    def __enter__(self) -> str:
        if self._entered:
            raise RuntimeError("a turn is entered once: call session.turn() again for the next")
        self._entered = True
        seat.set(Seat(self._session, seat.get(), self._batch, self._session.guard.log.position(), self))
        return self._batch

    def __exit__(self, *_: object) -> None:
        _leave(self)

    async def __aenter__(self) -> str:
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        self.__exit__()


@attrs.frozen(eq=False)
class Session:
    """One conversation. Entered with ``with``, it is that of the calls made inside, in this thread or task.

    The same ``key`` continues the same conversation, whoever does: ``agent`` and ``run`` are of the calls made in this
    object, and ``None`` where they are not said again. One session may be entered by many threads and tasks at once.
    """

    guard: Guard
    key: str = attrs.field(validator=_key)
    agent: str | None = attrs.field(default=None, validator=_text)
    run: str | None = attrs.field(default=None, validator=_text)

    def __enter__(self) -> Session:
        seat.set(Seat(self, seat.get()))
        return self

    def __exit__(self, *_: object) -> None:
        _leave(self)

    async def __aenter__(self) -> Session:
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        self.__exit__()

    def turn(self, batch: str | None = None) -> Turn:
        """The calls of one model message: each is judged on what the session knew when the turn began.

        They are recorded with one ``batch``, which is what is given or a new one, and is the value of the ``with``, or of
        the ``async with``.
        """
        check_text("batch", batch)
        return Turn(self, batch or uuid4().hex[:12])

    def stale(self) -> list[Finding]:
        """What of all that the session knows needs reading again, as of now. O(what it knows)."""
        log = self.guard.log
        return log.findings(log.stale(self.key, None), "")

    def bind(self, function: _F) -> _F:
        """``function``, run in this session, turn and enclosing call wherever it runs: in a thread, in an executor.

        Raises ``TypeError`` for a generator function, whose body runs where it is consumed: bind what consumes it.
        """
        from .running import current

        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{function!r} is a stream, whose body runs where it is consumed: bind the function that does")
        sitting = seat.get()
        while sitting is not None and not (sitting.guard is self.guard and sitting.key == self.key):
            sitting = sitting.outer
        if sitting is None:
            sitting = Seat(self, None)
        running = current.get()

        @contextmanager
        def placed() -> Iterator[None]:
            was, inside = seat.get(), current.get()
            seat.set(sitting)
            current.set(running)
            try:
                yield
            finally:
                seat.set(was)
                current.set(inside)

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def bound_async(*args: Any, **kwargs: Any) -> Any:
                with placed():
                    return await function(*args, **kwargs)

            return bound_async  # type: ignore[return-value]

        @functools.wraps(function)
        def bound(*args: Any, **kwargs: Any) -> Any:
            with placed():
                result = function(*args, **kwargs)
            return awaited(result) if inspect.iscoroutine(result) else result

        async def awaited(result: Any) -> Any:
            with placed():
                return await result

        return bound  # type: ignore[return-value]
