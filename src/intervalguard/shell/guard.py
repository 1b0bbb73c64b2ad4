"""The guard: a log, a policy, and the tools that go through them."""

from __future__ import annotations

import functools
import inspect
import logging
import math
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Never, ParamSpec, TypeAlias, TypedDict, TypeVar, Unpack, cast, get_args
from uuid import uuid4

from ..kernel.admission import LEAST, Refusal
from ..kernel.events import Dependency, DependencyLike, Event, check_window, dependencies, window_micros
from ..kernel.views import Key, narrowed
from ..logs.calls import Origin
from ..logs.memory import MemoryLog
from ..logs.protocol import EventLog
from .blocks import Block
from .calls import NOTHING, Mode, Notice, Tool
from .names import Names, NameSpec, compile_names, literal_name
from .sessions import Session, check_text
from .wrappers import Guarded, guarded, is_stream

P = ParamSpec("P")
R = TypeVar("R")

Errors: TypeAlias = "type[BaseException] | Sequence[type[BaseException]]"

_logger = logging.getLogger("intervalguard")


class Policy(TypedDict, total=False):
    """How a tool's or a block's calls are treated."""

    no_effect_on: Errors
    unknown_on: Errors
    may_land_for_seconds: float | None
    refuse: Refusal | None
    mode: Mode | None
    wait_seconds: float | None


class ToolOptions(Policy, total=False):
    """The options of `Guard.tool` besides the names that it reads and writes, and the window."""

    rests_on: NameSpec | None
    version: Callable[[Any], Any] | None
    probe: Callable[[str], Any] | None
    observed_at: Callable[[Any], datetime] | None


class BlockOptions(Policy, total=False):
    """The options of `Guard.read` and `Guard.write` besides the name and the window."""

    depends_on: DependencyLike | Iterable[DependencyLike]
    rests_on: Sequence[str] | str | None
    tool: str | None


class Guard:
    """Guards the tools that it decorates: their calls are events on ``log``, judged before the body runs.

    ``refuse`` says what is refused in ``mode="enforce"``: ``"suspect"`` all that is not fresh, ``"stale"`` all but what
    is merely suspect. With ``mode="warn"`` everything goes through and what would be refused is logged as a warning;
    with ``mode="observe"`` nothing is refused and nothing waits. ``wait_seconds`` bounds each wait for a call in
    flight. ``require_session=True`` makes a call outside a session an error. ``on_decision`` is called with a `Notice`
    for each decision. All of these but the last two can be given for one tool.
    """

    def __init__(
        self,
        log: EventLog | None = None,
        *,
        refuse: Refusal = "suspect",
        mode: Mode = "enforce",
        wait_seconds: float = 5,
        require_session: bool = False,
        on_decision: Callable[[Notice], object] | None = None,
    ) -> None:
        self.log = _log(MemoryLog() if log is None else log)
        self.refuse = _one_of("refuse", refuse, LEAST)
        self.mode = _one_of("mode", mode, get_args(Mode))
        self.wait_seconds = _wait(wait_seconds)
        if not isinstance(require_session, bool):
            raise TypeError(f"require_session={require_session!r} is neither True nor False")
        self.require_session = require_session
        if on_decision is not None:
            _plain_function("on_decision=", on_decision, "the Notice")
        self.on_decision = on_decision
        self.logger = _logger

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("mode", "refuse", "wait_seconds") and name in vars(self):
            raise AttributeError(
                f"guard.{name} cannot become {value!r}: each tool took it as it was decorated. Make Guard({name}=...), or"
                f" give {name}= to the tool"
            )
        super().__setattr__(name, value)

    # -- decorators

    def tool(
        self,
        *given: Never,
        reads: NameSpec | None = None,
        writes: NameSpec | None = None,
        rests_on: NameSpec | None = None,
        validity_window_seconds: float | None = None,
        version: Callable[[Any], Any] | None = None,
        probe: Callable[[str], Any] | None = None,
        observed_at: Callable[[Any], datetime] | None = None,
        no_effect_on: Errors = (),
        unknown_on: Errors = (),
        may_land_for_seconds: float | None = None,
        refuse: Refusal | None = None,
        mode: Mode | None = None,
        wait_seconds: float | None = None,
    ) -> Callable[[Callable[P, R]], Guarded[P, R]]:
        """Guard a tool that reads and writes the resources named here.

        Names are templates over the call's arguments (``"orders/{order_id}"``), functions of these, or lists; of reads
        also functions of the ``result``. In a session ``rests_on`` names what the call rests on; ``[]`` says that it
        rests on nothing (an append), and a write that leaves it out rests on what the session knows of its own
        resources. What is read may be relied on for ``validity_window_seconds``.

        ``version(result)`` is what was read (an etag, a content hash) and ``probe(name)`` looks at the current one
        before a call that rests on it; ``observed_at(result)`` is the instant at which a cached value was true at its
        source. An exception in ``no_effect_on`` says that nothing was changed, one in ``unknown_on`` that the outcome
        is unknown, after which a write may still land for ``may_land_for_seconds``.

        Raises ``TypeError`` or ``ValueError`` at decoration for all that can be seen there.
        """

        def decorate(function: Callable[P, R]) -> Guarded[P, R]:
            if isinstance(function, classmethod | staticmethod):
                return cast("Guarded[P, R]", type(function)(decorate(function.__func__)))
            if inspect.isclass(function) or not callable(function):
                raise TypeError(f"{function!r} is no function: decorate a function, a method or a callable object")
            if hasattr(function, "__intervalguard__"):
                raise TypeError(f"{_name(function)!r} is guarded already: name all that it touches in one guard.tool()")
            signature = inspect.signature(function)
            if "depends_on" in signature.parameters:
                raise TypeError(
                    f"{_name(function)!r} has a parameter of its own called 'depends_on', which the guard takes for"
                    " itself: rename it"
                )
            stream = is_stream(function)
            name = _name(function)
            compiled = functools.partial(compile_names, signature=signature, tool=name)
            tool = self._tool(
                name,
                None if reads is None else compiled(reads, allow_result=not stream, what=f"reads= of {name!r}"),
                None if writes is None else compiled(writes, allow_result=False, what=f"writes= of {name!r}"),
                None
                if rests_on is None
                else compiled(rests_on, allow_result=False, what=f"rests_on= of {name!r}", allow_empty=True),
                validity_window_seconds,
                refuse,
                mode,
                wait_seconds,
                version,
                probe,
                observed_at,
                no_effect_on,
                unknown_on,
                may_land_for_seconds,
            )
            if stream and (version or observed_at):
                raise TypeError(f"{_name(function)!r} is a stream, which has no result: leave out version=, observed_at=")
            return cast("Guarded[P, R]", guarded(function, tool))

        if given:
            raise _without_kind(given[0])
        for what, spec in (("reads=", reads), ("writes=", writes)):
            if isinstance(spec, list | tuple) and not spec:
                raise ValueError(f"{what}[] names nothing: name what the tool touches, or leave {what} out")
        if reads is None and writes is None:
            raise TypeError("the tool touches nothing: give reads=, writes= or both")
        return decorate

    def tracked(
        self,
        name: NameSpec,
        validity_window_seconds: float | None = None,
        writes: bool | None = None,
        **options: Unpack[ToolOptions],
    ) -> Callable[[Callable[P, R]], Guarded[P, R]]:
        """The short form of `tool`: names of one kind, and the window. Without ``writes=`` each call warns, and reads."""
        if writes is not None and not isinstance(writes, bool):
            raise TypeError(f"writes={writes!r} is neither True nor False")
        if callable(name) and writes is None:
            raise TypeError(
                f"tracked({_name(name)}) names no resource: write @tracked('orders/{{order_id}}', writes=False) above the"
                " function; a function that gives the names needs writes= beside it"
            )
        _check_known("tracked()", options, ToolOptions)
        decorate = self.tool(
            reads=None if writes else name,
            writes=name if writes else None,
            validity_window_seconds=validity_window_seconds,
            **options,
        )
        if writes is not None:
            return decorate

        def decorate_unstated(function: Callable[P, R]) -> Guarded[P, R]:
            wrapper = decorate(function)
            wrapper.__intervalguard__.unstated = True
            return wrapper

        return decorate_unstated

    def _tool(
        self,
        name: str,
        reads: Names | None,
        writes: Names | None,
        rests_on: Names | None,
        window: float | None = None,
        refuse: Refusal | None = None,
        mode: Mode | None = None,
        wait_seconds: float | None = None,
        version: Any = None,
        probe: Any = None,
        observed_at: Any = None,
        no_effect_on: Errors = (),
        unknown_on: Errors = (),
        may_land_for_seconds: float | None = None,
    ) -> Tool:
        for what, function in (("version=", version), ("observed_at=", observed_at)):
            if function is not None:
                _plain_function(what, function, "the result")
        if probe is not None:
            _function("probe=", probe, "the resource's name")
            if version is None:
                raise ValueError("probe= without version=: there is nothing to compare what it finds with")
        if observed_at is not None and reads is None:
            raise ValueError("observed_at= is for reads, and the tool reads nothing")
        if may_land_for_seconds is not None and writes is None:
            raise ValueError("may_land_for_seconds= is for writes, and the tool writes nothing")
        self.log.probing = self.log.probing or probe is not None
        return Tool(
            self,
            name,
            reads,
            writes,
            rests_on,
            window_micros(check_window(window)),
            LEAST[_one_of("refuse", self.refuse if refuse is None else refuse, LEAST)],
            _one_of("mode", self.mode if mode is None else mode, get_args(Mode)),
            self.wait_seconds if wait_seconds is None else _wait(wait_seconds),
            version,
            probe,
            observed_at,
            _errors("no_effect_on", no_effect_on),
            _errors("unknown_on", unknown_on),
            window_micros(_seconds("may_land_for_seconds", may_land_for_seconds)),
        )

    # -- sessions, blocks, outside writers

    def session(self, key: str | None = None, *, agent: str | None = None, run: str | None = None) -> Session:
        """One conversation; the same ``key`` continues it, and without one it is new.

        What it knows goes by its key alone. ``agent`` and ``run`` say who makes the calls in this `Session`, and are
        recorded with these; they are not kept with the key, for another may continue it: say them each time.
        """
        return Session(self, uuid4().hex if key is None else key, agent, run)

    def read(
        self, name: str, *, validity_window_seconds: float | None = None, **options: Unpack[BlockOptions]
    ) -> Block:
        """A block of code that reads ``name``: ``with guard.read("orders/42") as block:``, with ``async`` too."""
        return self._block("read", name, validity_window_seconds, **options)

    def write(
        self, name: str, *, validity_window_seconds: float | None = None, **options: Unpack[BlockOptions]
    ) -> Block:
        """A block of code that writes ``name``, which is not entered where what it rests on is not true any more."""
        return self._block("write", name, validity_window_seconds, **options)

    def _block(
        self,
        kind: Literal["read", "write"],
        name: str,
        window: float | None,
        depends_on: Any = NOTHING,
        rests_on: Sequence[str] | str | None = None,
        tool: str | None = None,
        **options: Any,
    ) -> Block:
        _check_known(f"guard.{kind}()", options, Policy)
        names = _constant((literal_name(name),))
        check_text("tool", tool)
        if isinstance(rests_on, str):
            rests_on = [rests_on]
        made = self._tool(
            tool or f"guard.{kind}",
            names if kind == "read" else None,
            names if kind == "write" else None,
            None if rests_on is None else _constant(tuple(literal_name(each) for each in rests_on)),
            window,
            **options,
        )
        made.origin = Origin(tool)
        return Block(made, depends_on)

    def record_write(
        self, name: str, *, since: datetime | None = None, tool: str | None = None, agent: str | None = None
    ) -> Event:
        """Record a write that someone else made, as a webhook or a change feed tells of it.

        It took effect at some instant from ``since``, an aware datetime, until now; without it, now. A ``since`` that is
        yet to come is now: another machine's clock may run ahead, and a write that has happened is never refused.
        """
        check_text("tool", tool)
        check_text("agent", agent)
        if since is not None and (not isinstance(since, datetime) or since.utcoffset() is None):
            raise ValueError(f"since={since!r} is no datetime with a time zone")
        entry = self.log.write_outside(Origin(tool, agent=agent), literal_name(name), since)
        return self.log.event(entry)

    def settle(self, event_id: str, outcome: Literal["ok", "failed", "error"]) -> Event:
        """Say what became of an ``unknown`` call, once: ``"ok"`` it took effect, ``"failed"`` it did not, ``"error"`` it
        may have, and will not any more.

        Raises ``LookupError`` for an id that the log does not hold, ``ValueError`` for a call that is not unknown.
        """
        _one_of("outcome", outcome, ("ok", "failed", "error"))
        if not isinstance(event_id, str):
            raise TypeError(f"event_id={event_id!r} is no event's id: pass event.id")
        return self.log.resolve(self.log.number_of(event_id), outcome)[0]

    def keys(self, depends_on: DependencyLike | Iterable[DependencyLike]) -> tuple[Key, ...]:
        """What a caller says that a call rests on, as the log knows it. Raises ``TypeError`` for what is none."""
        if type(depends_on) is list and len(depends_on) == 1 and type(depends_on[0]) is str:
            return (self.log.number_of(depends_on[0]),)
        if depends_on is None or not isinstance(depends_on, str | Dependency | Event | Iterable):
            raise TypeError(
                f"depends_on={depends_on!r} is nothing to rest on: pass an event, its id, Dependency(id, name) or a list of"
                " these; leave depends_on out, or pass [], where the call rests on nothing"
            )
        return tuple(dict.fromkeys(map(self._key, dependencies(depends_on))))

    def _key(self, given: Dependency) -> Key:
        number = self.log.number_of(given.id)
        if given.name is None:
            return number
        entry = self.log.find(number)
        return (number, given.name if entry is None else narrowed(entry, given.name))


def _constant(names: tuple[str, ...]) -> Names:
    return Names(lambda args, kwargs: names, lambda args, kwargs, result: (), needs_result=False)


def _check_known(what: str, options: Mapping[str, Any], known: type) -> None:
    unknown = options.keys() - known.__annotations__.keys()
    if unknown:
        raise TypeError(f"{what} got unknown options: {', '.join(sorted(unknown))}")


def _without_kind(given: Any) -> TypeError:
    """What `Guard.tool` says where it is given something by position: a function, as where it stands bare, or names."""
    if callable(given):
        return TypeError(
            f"tool({_name(given)}) names no resource: write @guard.tool(reads='orders/{{order_id}}') above the function, or"
            " writes=, or both"
        )
    shown = reprlib.repr(given)
    return TypeError(f"tool({shown}) does not say what becomes of that: write reads={shown} or writes={shown}")


def _name(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return cast(str, name).rpartition("<locals>.")[2]


def _function(what: str, function: Any, argument: str) -> None:
    if not callable(function):
        raise TypeError(f"{what}{function!r} is no function")
    try:
        signature = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):
        return  # some that are built in tell none
    try:
        signature.bind(None)
    except TypeError as error:
        raise TypeError(
            f"{what}{function!r} cannot be called with {argument} alone ({error}): give a function of one argument"
        ) from None


def _plain_function(what: str, function: Any, argument: str) -> None:
    _function(what, function, argument)
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        raise TypeError(f"{what}{function!r} is async, and is called where nothing is awaited: give a plain function")


_ASKED = [name for name in (*vars(EventLog), *EventLog.__annotations__) if not name.startswith("_")]


def _log(log: EventLog) -> EventLog:
    missing = [name for name in _ASKED if isinstance(log, type) or not hasattr(log, name)]
    if missing:
        raise TypeError(
            f"log={log!r} is no log, for it has no {', '.join(missing)}: pass MemoryLog(), SQLiteLog(path), or one that does"
            " all of intervalguard.logs.EventLog"
        )
    return log


def _one_of(what: str, value: Any, allowed: Any) -> Any:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{what}={value!r} is not one of {', '.join(map(repr, allowed))}")
    return value


def _seconds(what: str, value: float | None) -> float | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise TypeError(f"{what}={value!r} is no number of seconds")
    if value is not None and not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{what}={value!r} is not finite and >= 0")
    return value


def _wait(seconds: float) -> float:
    if seconds is None:
        raise TypeError("wait_seconds=None is no number of seconds: every wait is bounded; 0 does not wait")
    return cast(float, _seconds("wait_seconds", seconds))


def _errors(what: str, given: Errors) -> tuple[type[BaseException], ...]:
    if not isinstance(given, type | Sequence) or isinstance(given, str):
        raise TypeError(f"{what}={given!r} is no exception class, nor a list of them")
    errors = (given,) if isinstance(given, type) else tuple(given)
    for each in errors:
        if not (isinstance(each, type) and issubclass(each, BaseException)):
            raise TypeError(f"{what}={given!r} holds {each!r}, which is no exception class")
    return errors
