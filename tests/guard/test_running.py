"""How a call runs: judged before its body, recorded however it ends, once; and a machine that drives many at once."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from helpers import Clock, Thread, guard_at, only, outcomes, settled, wait_for
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from intervalguard import (
    ConflictError,
    Event,
    GuardError,
    StaleReadError,
    UnknownDependencyError,
    clear_registry,
    last_event,
    registry,
    tracked,
    with_event,
)
from intervalguard.kernel.events import conflict, micros
from intervalguard.kernel.staleness import REASONS, Claim, judge, verdict_of
from intervalguard.kernel.views import SequenceView
from intervalguard.shell.running import current

# ------------------------------------------------------------------------------------------ before the body


def test_the_body_of_a_stale_write_does_not_run() -> None:
    """A write that rests on a superseded read is refused before its body: the side effect did not happen."""
    guard, done = guard_at(), []

    @guard.tracked("orders/{order_id}", writes=False)
    def get(order_id: str) -> None: ...

    @guard.tracked("orders/{order_id}", writes=True)
    def put(order_id: str) -> None:
        done.append(order_id)

    _, read = with_event(get, "42")
    put("42")
    with pytest.raises(StaleReadError) as caught:
        put("42", depends_on=read)
    assert done == ["42"]
    assert (caught.value.phase, caught.value.findings[0].reason) == ("admission", "superseded")
    assert outcomes(guard)[-1] == ("write", "orders/42", "refused")


def test_a_refused_call_supersedes_nothing_and_cannot_be_rested_on() -> None:
    """A refused write leaves what others read as it was, and nothing can rest on it."""
    guard = guard_at()
    with guard.read("x") as old:
        pass
    with guard.write("x"):
        pass
    with guard.read("x") as new:
        pass
    with pytest.raises(StaleReadError), guard.write("x", depends_on=old.event):
        pytest.fail("the body ran")
    refused = guard.log.events()[-1]
    assert refused.outcome == "refused"
    with pytest.raises(UnknownDependencyError) as caught, guard.write("y", depends_on=refused):
        pytest.fail("the body ran")
    assert caught.value.findings[0].reason == "no-result"
    with guard.write("y", depends_on=new.event):
        pass


def test_a_derived_read_that_goes_stale_while_it_runs_is_withheld() -> None:
    """Its result does not reach the caller; it is recorded as refused; nothing can rest on it."""
    guard = guard_at()

    @guard.tracked("bom", writes=False)
    def bom() -> str:
        return "bolts"

    @guard.tracked("report", writes=False)
    def report() -> str:
        with guard.read("elsewhere"):
            guard.record_write("bom")
        return "cheap bolts"

    _, read = with_event(bom)
    with pytest.raises(StaleReadError) as caught:
        report(depends_on=read)
    assert (caught.value.phase, caught.value.retryable) == ("return", False)
    event = last_event()
    assert event is not None
    assert (event.name, event.outcome) == ("report", "refused")
    with pytest.raises(UnknownDependencyError), guard.write("order", depends_on=event):
        pytest.fail("the body ran")


def test_a_derived_read_that_is_still_true_returns() -> None:
    """What it rests on is judged again at its end, and found true: the result is handed over."""
    guard = guard_at()
    with guard.read("bom") as bom:
        pass

    @guard.tracked("report", writes=False)
    def report() -> int:
        guard.record_write("other")
        return 7

    assert report(depends_on=bom.event) == 7


def test_a_derived_read_that_expires_while_it_runs_is_withheld() -> None:
    """The age of what it rests on is judged at its end too; at the boundary it still holds."""
    clock = Clock()
    guard = guard_at(clock)
    with guard.read("price", validity_window_seconds=10) as price:
        pass

    @guard.tracked("report", writes=False)
    def report(seconds: float) -> None:
        clock.seconds = seconds

    report(10, depends_on=price.event)
    with pytest.raises(StaleReadError) as caught:
        report(10.000001, depends_on=price.event)
    assert (caught.value.phase, caught.value.findings[0].reason) == ("return", "expired")


def test_a_write_is_not_judged_again_at_its_end() -> None:
    """What a write did is done: a window that ran out while it ran does not make it refused."""
    clock = Clock()
    guard = guard_at(clock)
    with guard.read("price", validity_window_seconds=10) as price:
        pass
    with guard.write("order", depends_on=price.event):
        clock.seconds = 99
    assert guard.log.events()[-1].outcome == "ok"


def test_a_call_with_wrong_arguments_is_not_recorded() -> None:
    """Arguments that do not fit raise the TypeError of the bare call, and no event stands for it."""
    guard = guard_at()

    @guard.tracked("x", writes=True)
    def put(a: int) -> None: ...

    with pytest.raises(TypeError, match="missing a required argument: 'a'"):
        put()  # type: ignore[call-arg]
    assert outcomes(guard) == []


def test_a_clock_that_fails_lets_no_write_through() -> None:
    """Where the log cannot tell the time, the body of an enforced write does not run."""

    def broken() -> Any:
        raise OSError("no time")

    guard = guard_at(broken)
    with pytest.raises(GuardError, match="OSError: no time") as caught, guard.write("x"):
        pytest.fail("the body ran")
    assert isinstance(caught.value.__cause__, OSError)
    assert "the guard could not decide on it (OSError: no time). Nothing was changed." in caught.value.for_model()


# ------------------------------------------------------------------------------------------ how a call ends


class Refused409(Exception):
    pass


class Flaky(Exception):
    pass


def raising(error: BaseException) -> Callable[[], None]:
    def body() -> None:
        raise error

    return body


def caused(error: BaseException, cause: BaseException) -> Callable[[], None]:
    def body() -> None:
        raise error from cause

    return body


def in_context(error: BaseException, context: BaseException, hide: bool = False) -> Callable[[], None]:
    def body() -> None:
        try:
            raise context
        except BaseException:
            if hide:
                raise error from None
            raise error  # noqa: B904

    return body


ENDS: dict[str, tuple[Callable[[], None], str]] = {
    "returns": (lambda: None, "ok"),
    "raises": (raising(ValueError()), "error"),
    "times out": (raising(TimeoutError()), "unknown"),
    "times out asynchronously": (raising(TimeoutError()), "unknown"),
    "loses the connection": (raising(ConnectionResetError()), "unknown"),
    "subprocess times out": (raising(subprocess.TimeoutExpired("x", 1)), "unknown"),
    "subprocess fails": (raising(subprocess.CalledProcessError(1, "x")), "error"),
    "os error": (raising(FileNotFoundError()), "error"),
    "cancelled": (raising(asyncio.CancelledError()), "unknown"),
    "interrupted": (raising(KeyboardInterrupt()), "unknown"),
    "exits": (raising(SystemExit(1)), "unknown"),
    "destroyed": (raising(GeneratorExit()), "unknown"),
    "own base exception": (raising(type("Own", (BaseException,), {})()), "unknown"),
    "no effect": (raising(Refused409()), "failed"),
    "no effect, of a time-out": (caused(Refused409(), TimeoutError()), "failed"),
    "no effect, as a cause alone": (caused(ValueError(), Refused409()), "error"),
    "unknown by option": (raising(Flaky()), "unknown"),
    "unknown by option, as cause": (caused(ValueError(), Flaky()), "unknown"),
    "caused by a time-out": (caused(ValueError(), TimeoutError()), "unknown"),
    "caused by a cause": (caused(ValueError(), KeyError()), "error"),
    "while handling a time-out": (in_context(ValueError(), TimeoutError()), "unknown"),
    "while hiding a time-out": (in_context(ValueError(), TimeoutError(), hide=True), "error"),
    "group of errors": (raising(ExceptionGroup("g", [ValueError(), KeyError()])), "error"),
    "group with a time-out": (raising(ExceptionGroup("g", [ExceptionGroup("h", [TimeoutError()])])), "unknown"),
    "group with an interrupt": (raising(BaseExceptionGroup("g", [ValueError(), KeyboardInterrupt()])), "unknown"),
    "caused by a group": (caused(ValueError(), ExceptionGroup("g", [ConnectionError()])), "unknown"),
}


@pytest.mark.parametrize("way", ENDS)
def test_an_exception_tells_the_outcome(way: str) -> None:
    """The outcome is told by the exception and its causes, and the exception itself passes through, the same object."""
    guard = guard_at()
    body, outcome = ENDS[way]
    raised: list[BaseException] = []

    @guard.tool(writes=["x"], no_effect_on=Refused409, unknown_on=[Flaky])
    def put() -> None:
        try:
            body()
        except BaseException as error:
            raised.append(error)
            raise

    seen: list[BaseException] = []
    try:
        put()
    except BaseException as error:
        seen.append(error)
    assert [id(each) for each in seen] == [id(each) for each in raised]
    assert only(guard).outcome == outcome
    assert only(guard).end_time is not None
    if way != "destroyed":  # which is what a finalizer does, in whatever thread or task
        assert last_event() == only(guard)


def test_a_loop_in_the_chain_of_causes_ends() -> None:
    """Causes that go round in a circle are looked at once each."""
    guard = guard_at()
    one, other = ValueError(), KeyError()
    one.__cause__, other.__cause__ = other, one
    with pytest.raises(ValueError), guard.write("x"):  # noqa: PT011
        raise one
    assert only(guard).outcome == "error"


def test_an_exception_handled_around_the_call_is_not_its_cause() -> None:
    """Where the caller handles a time-out and the call fails for its own reason, its outcome is its own."""
    guard = guard_at()

    @guard.tracked("x", writes=True)
    def put() -> None:
        raise ValueError

    @guard.tracked("x", writes=True)
    async def put_async() -> None:
        raise ValueError

    @guard.tracked("stream", writes=True)
    def put_stream() -> Iterator[int]:
        yield 1
        raise ValueError

    @guard.tracked("x", writes=True)
    def put_late() -> Any:
        return put_async.__wrapped__()  # type: ignore[attr-defined]

    async def around(tool: Any) -> None:
        coroutine = tool()
        try:
            raise TimeoutError
        except TimeoutError:
            await coroutine

    stream = put_stream()
    next(stream)
    for call in (put, lambda: next(stream), lambda: asyncio.run(around(put_async)), lambda: asyncio.run(around(put_late))):
        try:
            raise TimeoutError
        except TimeoutError:
            with pytest.raises(ValueError):  # noqa: PT011
                call()
    try:
        raise TimeoutError
    except TimeoutError:
        with pytest.raises(ValueError), guard.write("x"):  # noqa: PT011
            raise ValueError from None
    assert {each.outcome for each in guard.log.events()} == {"error"}


def test_a_lost_write_lapses_when_it_can_land_no_longer() -> None:
    """may_land_for_seconds bounds the loss however the call was lost: time-out, destroyed task, forgotten coroutine."""
    clock = Clock()
    guard = guard_at(clock)

    @guard.tool(writes=["x"], may_land_for_seconds=10)
    def timed_out() -> None:
        raise TimeoutError

    @guard.tool(writes=["x"], may_land_for_seconds=10)
    async def destroyed() -> None:
        await asyncio.sleep(0)

    @guard.tool(writes=["x"], may_land_for_seconds=10)
    def forgotten() -> Any:
        return destroyed.__wrapped__()  # type: ignore[attr-defined]

    with pytest.raises(TimeoutError):
        timed_out()
    coroutine = destroyed()
    coroutine.send(None)
    coroutine.close()
    def forget() -> None:
        forgotten()
        gc.collect()

    with pytest.warns(RuntimeWarning, match="never awaited"):
        forget()
    assert [each.outcome for each in guard.log.events()] == ["unknown"] * 3
    assert [(each.may_land_until - clock()).total_seconds() for each in guard.log.events()] == [10] * 3
    clock.seconds = 11
    with guard.read("x") as read:
        pass
    with guard.write("y", depends_on=read.event):
        pass


def test_what_the_result_tells_is_told_or_the_call_still_ends() -> None:
    """A version= that raises is an error, and one that is interrupted too; neither leaves the call pending."""
    for error, seen in ((ValueError("bug"), GuardError), (KeyboardInterrupt(), KeyboardInterrupt)):
        guard = guard_at()

        def version(result: object, error: BaseException = error) -> str:
            raise error

        @guard.tool(reads=["x"], version=version)
        def get() -> None: ...

        @guard.tool(reads=["x"], writes=["x"], version=version)
        def put() -> None: ...

        with pytest.raises(seen):
            get()
        with pytest.raises(seen):
            put()
        assert outcomes(guard) == [("read", "x", "error"), ("read", "x", "error"), ("write", "x", "ok")]


def test_a_listener_that_is_interrupted_leaves_no_call_pending() -> None:
    """An interrupt between admission and body: the body did not run, and the call is known to have changed nothing."""

    def listen(notice: object) -> None:
        raise KeyboardInterrupt

    guard = guard_at(on_decision=listen)
    with pytest.raises(KeyboardInterrupt), guard.write("x"):
        pytest.fail("the body ran")
    assert outcomes(guard) == [("write", "x", "failed")]


def test_the_last_event_is_that_of_the_call_that_ended_last() -> None:
    """Nested and raising calls count as they end; a call that touched nothing in the end leaves no event."""
    guard = guard_at()

    @guard.tool(reads=[lambda result: result])
    def listing(names: list[str]) -> list[str]:
        if not names:
            raise LookupError
        return [each for each in names if each != "none"]

    with guard.write("outer"):
        with guard.read("inner"):
            pass
        event = last_event()
        assert event is not None
        assert event.name == "inner"
    event = last_event()
    assert event is not None
    assert event.name == "outer"
    listing(["a", "b"])
    event = last_event()
    assert event is not None
    assert event.name == "a"
    with pytest.raises(LookupError):
        listing([])
    assert last_event() is None
    listing(["none"])
    assert last_event() is None
    assert [name for _, name, _ in outcomes(guard)] == ["outer", "inner", "a", "b"]


def test_a_log_that_is_cleared_forgets_and_takes_no_one_for_another() -> None:
    """After a clear, old ids are unknown; a call that ran through it ends; nothing new passes for its parent."""

    @tracked("x", writes=False)
    def get() -> None: ...

    @tracked("x", writes=True)
    def put() -> None: ...

    clear_registry()
    _, old = with_event(get)

    @tracked("outer", writes=True)
    def outer() -> None:
        clear_registry()
        get()

    outer()
    get()
    assert [each.name for each in registry] == ["x", "x"]
    assert old.id not in {each.id for each in registry}
    with pytest.raises(UnknownDependencyError) as caught:
        put(depends_on=old)
    assert caught.value.findings[0].reason == "unknown-dependency"
    with pytest.raises(UnknownDependencyError):
        put(depends_on=[old.id])
    clear_registry()
    assert last_event() is not None
    clear_registry()


def test_a_waiting_call_takes_no_new_event_for_what_it_rests_on() -> None:
    """A clear while a call waits: what it rests on is gone, not another event with the same number."""
    guard = guard_at(wait_seconds=30)
    with guard.read("x") as read:
        pass
    block = guard.write("y")
    block.__enter__()
    asked = threading.Event()

    def name() -> str:
        asked.set()
        return "y"

    @guard.tool(writes=[name])
    def put() -> None: ...

    thread = Thread(lambda: put(depends_on=read.event))
    wait_for(asked)
    guard.log.clear()
    with guard.read("x"), guard.read("z"):
        pass
    with pytest.raises((UnknownDependencyError, LookupError)):
        thread.get()
    block.__exit__(None, None, None)


# ------------------------------------------------------------------------------------------ blocks


def test_a_block_is_entered_once() -> None:
    """Entering a block again is an error that says what to do, and the call it stood for is untouched."""
    guard = guard_at()
    block = guard.write("x")
    with block:
        pass
    with pytest.raises(RuntimeError, match="entered once"), block:
        pass
    assert outcomes(guard) == [("write", "x", "ok")]


def test_the_event_of_a_block_is_open_until_it_is_left() -> None:
    """A block's event is pending inside it and settled after it; before it there is none."""
    guard = guard_at()
    block = guard.read("x")
    with pytest.raises(ValueError, match="has not been entered"):
        _ = block.event
    with block:
        assert (block.event.outcome, block.event.end_time) == ("pending", None)
    assert block.event == only(guard)


def test_a_derived_block_is_withheld_as_it_is_left() -> None:
    """Leaving a read block that rests on what moved meanwhile raises, and records it as refused."""
    guard = guard_at()
    with guard.read("x") as read:
        pass
    block = guard.read("y", depends_on=read.event)
    with pytest.raises(StaleReadError) as caught, block:
        guard.record_write("x")
    assert (caught.value.phase, block.event.outcome) == ("return", "refused")


def test_an_async_block_left_in_another_task_is_settled() -> None:
    """Entered in one context and left in another, as fixtures do: the call still ends, and ends well."""
    guard = guard_at()

    async def main() -> None:
        block = guard.write("x")
        await asyncio.create_task(block.__aenter__())
        await asyncio.create_task(block.__aexit__(None, None, None))

    asyncio.run(main())
    assert outcomes(guard) == [("write", "x", "ok")]


# ------------------------------------------------------------------------------------------ a machine

NAMES = ("a", "a/b", "a/c", "d")


class Open:
    """A call of the machine that is running."""

    def __init__(self, block: Any, kind: str, name: str, rests: list[Event], parent: Open | None) -> None:
        self.block, self.kind, self.name, self.rests, self.parent = block, kind, name, rests, parent
        self.id: str = block.event.id

    def line(self) -> set[str]:
        """The ids of this call and of those that it is nested in."""
        return {self.id} | (self.parent.line() if self.parent else set())


class Calls(RuleBasedStateMachine):
    """Calls that begin and end in any order, several open at once, on one guard with a clock that is set by hand.

    The model knows when each write began and ended and what it could have changed, by counting alone; it knows nothing
    of positions, views or indices.
    """

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.guard = guard_at(self.clock)
        self.step = 0
        self.open: list[Open] = []
        self.reads: list[Event] = []
        self.done: dict[str, str] = {}
        self.refused: set[str] = set()
        self.ran: set[str] = set()
        self.writes: list[dict[str, Any]] = []
        self.seen: dict[str, tuple[int, int]] = {}
        self.began: dict[str, int] = {}
        self.sources: dict[str, list[Event]] = {}
        self.parents: dict[str, Open | None] = {}

    @initialize(policy=st.sampled_from(["suspect", "stale"]))
    def choose(self, policy: str) -> None:
        self.guard = guard_at(self.clock, refuse=policy)
        self.policy = policy

    @rule(seconds=st.integers(1, 4))
    def time_passes(self, seconds: int) -> None:
        self.clock.seconds += seconds

    @rule(
        kind=st.sampled_from(["read", "write"]),
        name=st.sampled_from(NAMES),
        window=st.sampled_from([None, None, 3]),
        picks=st.lists(st.integers(0, 30), max_size=2),
        nest=st.integers(0, 5),
    )
    def begin(self, kind: str, name: str, window: int | None, picks: list[int], nest: int) -> None:
        """Ask for a call, inside of one that is open or of none; what it rests on is what was read before."""
        self.step += 1
        picked = [self.reads[-1 - each % len(self.reads)] for each in picks if self.reads]
        rests = list({each.id: each for each in picked}.values())
        parent = self.open[nest] if nest < len(self.open) else None
        expected = self._verdict(rests, parent)
        blocked = self._blocked(kind, name, parent)
        before = len(self.guard.log.events())
        judged = self._kernel(rests, parent)
        context = self._inside(parent)
        make = getattr(self.guard, kind)
        block = make(name, depends_on=rests, validity_window_seconds=window)
        try:
            context.run(block.__enter__)
        except GuardError as error:
            event = self.guard.log.events()[-1]
            assert event.outcome == "refused"
            self.refused.add(event.id)
            assert len(self.guard.log.events()) == before + 1
            self._was_right_to_refuse(error, blocked, judged)
            return
        call = Open(block, kind, name, rests, parent)
        self.open.append(call)
        self.began[call.id] = self.step
        self.sources[call.id] = rests
        self.parents[call.id] = parent
        assert not any(self._refusing(each) for each in judged.values())
        if self.policy == "suspect":
            assert expected == "fresh"
        else:
            assert expected != "stale"
        if kind == "write":
            assert not blocked
            self.writes.append({"id": call.id, "name": name, "from": self.step, "to": None, "outcome": "pending"})

    @precondition(lambda self: self.open)
    @rule(pick=st.integers(0, 5), how=st.sampled_from(["ok", "ok", "ok", "error", "unknown", "failed"]))
    def end(self, pick: int, how: str) -> None:
        """End one of the open calls, not always the last."""
        self.step += 1
        call = self.open.pop(pick % len(self.open))
        tool = call.block._tool
        errors: dict[str, BaseException] = {"error": ValueError(), "unknown": TimeoutError(), "failed": LookupError()}
        tool.no_effect_on = (LookupError,)
        error = errors.get(how)
        judged = self._kernel(call.rests, call.parent, call.id) if call.kind == "read" and how == "ok" else {}
        try:
            call.block.__exit__(None if error is None else type(error), error, None)
        except (StaleReadError, UnknownDependencyError):
            how = "refused"
        assert (how == "refused") == any(self._refusing(each) for each in judged.values())
        assert call.block.event.outcome == how
        assert call.id not in self.done
        self.done[call.id] = how
        for write in self.writes:
            if write["id"] == call.id:
                write["to"], write["outcome"] = self.step, how
                if how != "failed" and self.policy == "suspect":
                    self._nobody_is_hurt(call)
        if how == "ok":
            self.reads.append(call.block.event)
            self.seen[call.id] = (self.began[call.id], self.step)

    def _was_right_to_refuse(self, error: GuardError, blocked: bool, judged: dict[str, tuple[str, str]]) -> None:
        told = {each.dependency: (each.verdict, each.reason) for each in error.findings}
        assert told == {key: said for key, said in judged.items() if self._refusing(said)}
        if isinstance(error, ConflictError):  # lost to a call that it may not wait for, or that writes what it touches
            assert {why for _, why in told.values()} <= {"in-flight"}
            assert blocked or told
        else:
            assert told

    def _nobody_is_hurt(self, writer: Open) -> None:
        """L7: a write that took effect, or may have, is under no other pending write's premise."""
        for call in self.open:
            if call.kind == "write" and call.id not in writer.line() and writer.id not in call.line():
                names = self._closure(call.rests)
                assert not any(conflict(writer.name, name) for name in names), (writer.name, names)

    def _closure(self, rests: list[Event]) -> set[str]:
        names: set[str] = set()
        for each in rests:
            names.add(each.name)
            if each.kind == "read":
                names |= self._closure(self.sources[each.id])
        return names

    def _verdict(self, rests: list[Event], parent: Open | None) -> str:
        """By counting: is any premise overwritten for sure, perhaps, or not at all? Age is left to the kernel's part."""
        worst = 0
        line = parent.line() if parent else set()
        for each in rests:
            worst = max(worst, self._one(each, line, {r.id for r in rests}))
        return ("fresh", "suspect", "stale")[worst]

    def _one(self, read: Event, line: set[str], known: set[str]) -> int:
        first, last = self.seen[read.id]
        worst = 0
        own = line | {read.id}
        for write in self.writes:
            if write["outcome"] in ("failed", "refused") or not conflict(write["name"], read.name):
                continue
            if write["id"] in own or write["id"] in known:
                continue
            if write["to"] is not None and write["to"] < first and write["outcome"] != "unknown":
                continue
            sure = write["outcome"] == "ok" and write["from"] > last
            worst = max(worst, 2 if sure else 1)
        if read.kind == "read":
            sources = self.sources[read.id]
            for source in sources:
                worst = max(worst, self._one(source, line | {read.id}, {s.id for s in sources}))
        return worst

    def _blocked(self, kind: str, name: str, parent: Open | None) -> bool:
        line = parent.line() if parent else set()
        for call in self.open:
            if call.id in line or call.kind != "write":
                continue
            if conflict(call.name, name):
                return kind == "write"
            if kind == "write" and any(conflict(name, pin) for pin in self._closure(call.rests)):
                return True
        return False

    def _kernel(self, rests: list[Event], parent: Open | None, call: str | None = None) -> dict[str, tuple[str, str]]:
        """The executable specification over the log's events, as of now."""
        view = SequenceView(self.guard.log.events())
        now = max((max(e.seq or 0, e.end_seq or 0) for e in self.guard.log.events()), default=0)
        claim = Claim(call or "the call to be judged", parent.id if parent else None, tuple(e.id for e in rests))
        raws = judge(view, claim, (now, float("inf")), micros(self.clock()))
        return {raw.dependency: (verdict_of(raw.grade), REASONS[raw.grade]) for raw in raws}

    def _refusing(self, said: tuple[str, str]) -> bool:
        return said[0] != "suspect" or self.policy == "suspect"

    def _inside(self, parent: Open | None) -> Any:
        """A context in which ``parent`` is the call that runs."""
        context = contextvars.Context()
        if parent is not None:
            context.run(current.set, parent.block._running)
        return context

    @invariant()
    def each_call_is_settled_once(self) -> None:
        """The log holds what began and how it ended, each once, under its own id, in the order in which it was asked."""
        events = self.guard.log.events()
        assert len({each.id for each in events}) == len(events)
        told = {each.id: each.outcome for each in events}
        assert told == {**{c.id: "pending" for c in self.open}, **self.done, **dict.fromkeys(self.refused, "refused")}
        numbers = [n for each in events for n in (each.seq, each.end_seq) if n is not None]
        assert len(set(numbers)) == len(numbers)

    @invariant()
    def the_log_knows_the_parents(self) -> None:
        """A call made inside one that is open has it as its parent."""
        for each in self.guard.log.events():
            if each.id in self.parents:
                parent = self.parents[each.id]
                assert each.parent == (parent.id if parent else None)

    def teardown(self) -> None:
        while self.open:
            call = self.open.pop()
            with contextlib.suppress(GuardError):
                call.block.__exit__(ValueError, ValueError(), None)
        assert settled(self.guard)


Calls.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestCalls = Calls.TestCase
