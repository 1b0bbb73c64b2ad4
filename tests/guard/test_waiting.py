"""Waiting: for whom, how long, and what comes after. Each wait ends at once when its reason does."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from helpers import LONG, Clock, Thread, guard_at, outcomes, settled

from intervalguard import ConflictError, Guard, GuardError, Notice, StaleReadError, UnknownDependencyError
from intervalguard.logs import MemoryLog


def opened(block: Any) -> Any:
    """``block``, entered as by a stranger: what follows is not inside it."""
    contextvars.Context().run(block.__enter__)
    return block


def ended(block: Any, error: BaseException | None = None) -> None:
    block.__exit__(None if error is None else type(error), error, None)


def entering(block: Any) -> Thread:
    """A thread that enters and leaves ``block``."""

    def enter() -> Any:
        with block:
            pass
        return block.event

    return Thread(enter)


def waits(guard: Guard, thread: Thread) -> None:
    """Until ``thread`` waits for a call of the log."""
    while not guard.log._waiters and thread.is_alive():
        time.sleep(0.0005)


def read(guard: Guard, name: str, *rests: Any) -> Any:
    with guard.read(name, depends_on=rests) as block:
        pass
    return block.event


# ------------------------------------------------------------------------------------------ for whom


def test_a_write_waits_for_a_conflicting_write() -> None:
    """Of the same resource, of one above and of one below; not of another."""
    for held, asked in (("x", "x"), ("x", "x/part"), ("x/part", "x")):
        guard = guard_at(wait_seconds=LONG)
        block = opened(guard.write(held))
        thread = entering(guard.write(asked))
        waits(guard, thread)
        with guard.write("xy"), guard.write("other/x"):
            pass
        ended(block)
        event = thread.get()
        assert event.seq > block.event.end_seq
        assert settled(guard)


def test_a_write_waits_for_a_pin() -> None:
    """What a pending write rests on is not written under it, on the resource, above and below it; reading is free."""
    for asked in ("x", "x/part"):
        guard = guard_at(wait_seconds=LONG)
        block = opened(guard.write("y", depends_on=read(guard, "x")))
        thread = entering(guard.write(asked))
        waits(guard, thread)
        read(guard, "x")
        ended(block)
        assert thread.get().seq > block.event.end_seq


def test_a_pin_goes_through_what_was_derived() -> None:
    """A pending write pins the sources of the derived reads that it rests on, at any depth, up to a write of its own."""
    guard = guard_at()
    before = read(guard, "before")
    with guard.write("draft", depends_on=before) as draft:
        pass
    source = read(guard, "source", draft.event)
    block = opened(guard.write("order", depends_on=read(guard, "report", read(guard, "sum", source))))
    for name in ("source", "sum", "report", "draft", "order"):
        with pytest.raises(ConflictError) as caught, guard.write(name):
            pytest.fail("the body ran")
        assert caught.value.blocker.id == block.event.id
    with guard.write("before"):
        pass
    ended(block)
    with guard.write("source"):
        pass


def test_a_pin_is_as_narrow_as_the_dependency() -> None:
    """Where only a part of what was read counts, only that part is pinned."""
    guard = guard_at()
    order = read(guard, "orders/42")
    block = opened(guard.write("mail", depends_on={"id": order.id, "name": "orders/42/status"}))
    with guard.write("orders/42/address"):
        pass
    for name in ("orders/42/status", "orders/42", "orders"):
        with pytest.raises(ConflictError), guard.write(name):
            pytest.fail("the body ran")
    ended(block)


def test_a_pending_derived_read_pins_nothing() -> None:
    """A read that rests on others is checked again before it returns, and keeps nobody waiting."""
    guard = guard_at()
    block = opened(guard.read("report", depends_on=read(guard, "x")))
    with guard.write("x"):
        pass
    with pytest.raises(StaleReadError):
        ended(block)


def test_a_read_waits_for_a_write_in_flight_and_is_fresh() -> None:
    """It begins when the write has ended, and so may be rested on."""
    guard = guard_at(wait_seconds=LONG)
    block = opened(guard.write("x"))
    thread = entering(guard.read("x"))
    waits(guard, thread)
    ended(block)
    with guard.write("y", depends_on=thread.get()):
        pass


def test_a_call_in_suspense_waits_and_is_judged_anew() -> None:
    """Resting on what is being written: refused if that takes effect, admitted if it is known to have changed nothing."""
    for error, verdict in ((None, "superseded"), (LookupError(), None), (ValueError(), "unknown-outcome")):
        guard = guard_at(wait_seconds=LONG)
        seen = read(guard, "x")
        block = opened(guard.write("x", no_effect_on=LookupError))
        thread = entering(guard.write("y", depends_on=seen))
        waits(guard, thread)
        ended(block, error)
        if verdict is None:
            assert thread.get().outcome == "ok"
        else:
            with pytest.raises(StaleReadError) as caught:
                thread.get()
            assert (caught.value.findings[0].reason, caught.value.retryable) == (verdict, False)


def test_an_unknown_outcome_is_not_waited_for() -> None:
    """A lost write may never end: what rests under it is refused at once, and a write beside it goes ahead."""
    guard = guard_at(wait_seconds=LONG)
    seen = read(guard, "x")
    with pytest.raises(TimeoutError), guard.write("x"):
        raise TimeoutError
    with pytest.raises(StaleReadError) as caught, guard.write("y", depends_on=seen):
        pytest.fail("the body ran")
    assert caught.value.findings[0].reason == "unknown-outcome"
    with guard.write("x"):
        pass


def test_an_expired_or_unverifiable_call_does_not_wait() -> None:
    """What no wait can heal is refused at once, even while a write is in flight as well."""
    clock = Clock()
    guard = guard_at(clock, wait_seconds=LONG)
    with guard.read("price", validity_window_seconds=1) as price:
        pass
    clock.seconds = 5
    seen = read(guard, "x")
    block = opened(guard.write("x"))
    with pytest.raises(StaleReadError), guard.write("y", depends_on=[seen, price.event]):
        pytest.fail("the body ran")
    with pytest.raises(UnknownDependencyError), guard.write("y", depends_on=[seen, "mistyped"]):
        pytest.fail("the body ran")
    ended(block)


def test_what_a_call_rests_on_is_resolved_before_it_waits() -> None:
    """A session that reads again while the call waits does not heal it: it was asked for on the old view."""
    guard = guard_at(wait_seconds=LONG)
    asked = threading.Event()

    def name() -> str:
        asked.set()
        return "x"

    @guard.tool(writes=["y"], rests_on=["x"])
    def put() -> None:
        pytest.fail("the body ran")

    with guard.session("s"):
        read(guard, "x")

    def call() -> None:
        with guard.session("s"):
            put()

    block = opened(guard.write("x"))
    thread = Thread(call)
    waits(guard, thread)
    ended(block)
    with guard.session("s"):
        read(guard, "x")
    with pytest.raises(StaleReadError):
        thread.get()


# ------------------------------------------------------------------------------------------ how long


def test_a_wait_is_bounded_and_then_the_race_is_lost() -> None:
    """A write that waited in vain raises ConflictError, retryable, naming the blocker; its body did not run."""
    guard = guard_at(wait_seconds=0.02)
    block = opened(guard.write("x", tool="importer"))
    with pytest.raises(ConflictError) as caught, guard.write("x"):
        pytest.fail("the body ran")
    assert caught.value.retryable
    assert caught.value.blocker.id == block.event.id
    assert "importer" in str(caught.value)
    assert "try the same call again" in caught.value.for_model()
    ended(block)
    with guard.write("x"):
        pass
    assert [each[2] for each in outcomes(guard)] == ["ok", "refused", "ok"]


def test_a_call_in_suspense_whose_time_is_up_may_be_retried() -> None:
    """It is refused as suspect, with what is in its way, and the error says that the same call may go through later."""
    guard = guard_at(wait_seconds=0.02)
    seen = read(guard, "x")
    block = opened(guard.write("x", no_effect_on=LookupError))
    with pytest.raises(StaleReadError) as caught, guard.write("y", depends_on=seen):
        pytest.fail("the body ran")
    assert (caught.value.retryable, caught.value.findings[0].reason) == (True, "in-flight")
    ended(block, LookupError())
    with guard.write("y", depends_on=seen):
        pass


def test_a_read_goes_ahead_when_its_time_is_up() -> None:
    """It was asked for while a write was in flight that did not end: it runs, and is suspect for whoever rests on it."""
    guard = guard_at(wait_seconds=0.02)
    block = opened(guard.write("x"))
    seen = read(guard, "x")
    assert seen.outcome == "ok"
    ended(block)
    with pytest.raises(StaleReadError) as caught, guard.write("y", depends_on=seen):
        pytest.fail("the body ran")
    assert caught.value.findings[0].reason == "overlapped"


def test_a_call_that_reads_and_writes_does_not_go_ahead() -> None:
    """The patience of a read ends with its going ahead; that of a write ends with a conflict, whatever else it reads."""
    guard = guard_at()

    @guard.tool(reads=["x"], writes=["y"])
    def copy() -> str:
        return "copied"

    block = opened(guard.write("x"))
    assert copy() == "copied"
    ended(block)
    block = opened(guard.write("y"))
    with pytest.raises(ConflictError):
        copy()
    ended(block)


def test_no_wait_at_all() -> None:
    """wait_seconds=0, on the guard or on one tool: a write loses at once and a read goes ahead at once."""
    for guard, options in ((guard_at(wait_seconds=0), {}), (guard_at(wait_seconds=LONG), {"wait_seconds": 0})):
        block = opened(guard.write("x"))
        with pytest.raises(ConflictError), guard.write("x", **options):
            pytest.fail("the body ran")
        with guard.read("x", **options):
            pass
        ended(block)


def test_a_wait_may_be_longer_than_a_lock_can_count() -> None:
    """A bound beyond what the platform's locks take is a bound all the same, not an error."""
    guard = guard_at(wait_seconds=1e15)
    block = opened(guard.write("x"))
    thread = entering(guard.write("x"))
    waits(guard, thread)
    ended(block)
    assert thread.get().outcome == "ok"


def test_observe_never_waits_and_never_refuses() -> None:
    """It lets everything through at once, and says what it saw."""
    said: list[Notice] = []
    guard = guard_at(mode="observe", wait_seconds=LONG, on_decision=said.append)
    seen = read(guard, "x")
    block = opened(guard.write("x"))
    with guard.write("x"), guard.read("x"), guard.write("y", depends_on=seen):
        pass
    ended(block)
    with guard.write("y", depends_on=[seen, "mistyped"]):
        pass
    assert {each.action for each in said} == {"admit"}
    assert [[each.reason for each in notice.findings] for notice in said if notice.findings] == [
        ["in-flight"],
        ["superseded", "unknown-dependency"],
    ]


def test_warn_waits_and_then_lets_through() -> None:
    """It waits as enforce does, and where that would refuse it logs a warning and goes on."""
    guard = guard_at(mode="warn", wait_seconds=LONG)
    block = opened(guard.write("x"))
    thread = entering(guard.write("x"))
    waits(guard, thread)
    ended(block)
    assert thread.get().seq > block.event.end_seq
    guard = guard_at(mode="warn")
    block = opened(guard.write("x"))
    with guard.write("x"):
        pass
    ended(block)
    assert [each[2] for each in outcomes(guard)] == ["ok", "ok"]


def test_the_policy_stale_bears_with_suspense() -> None:
    """With refuse="stale" a write in flight is no reason to refuse what rests under it; a conflict still is."""
    guard = guard_at(refuse="stale")
    seen = read(guard, "x")
    block = opened(guard.write("x"))
    with guard.write("y", depends_on=seen):
        pass
    with pytest.raises(ConflictError) as caught, guard.write("x/part", depends_on=seen):
        pytest.fail("the body ran")
    assert caught.value.findings == ()
    ended(block)


# ------------------------------------------------------------------------------------------ waking


def test_every_waiter_wakes() -> None:
    """Many writes that wait for one call go through one after the other when it has ended, reads at once."""
    guard = guard_at(wait_seconds=LONG)
    block = opened(guard.write("x"))
    threads = [entering(kind("x")) for kind in (guard.write, guard.read) * 6]
    while sum(map(len, guard.log._waiters.values())) < 12:
        pass
    ended(block)
    for thread in threads:
        assert thread.get().outcome == "ok"
    assert settled(guard)
    assert not guard.log._waiters


@pytest.mark.parametrize("how", ["ok", "error", "unknown", "closed", "dropped", "cleared"])
def test_a_waiter_wakes_however_its_blocker_ends(how: str) -> None:
    """Returned, raised, lost, closed, dropped, or forgotten with the whole log."""
    guard = guard_at(wait_seconds=LONG)

    @guard.tracked("x", writes=True)
    def stream() -> Iterator[int]:
        yield 1
        if how == "error":
            raise ValueError
        if how == "unknown":
            raise TimeoutError

    running: Any = stream()
    next(running)
    thread = entering(guard.write("x"))
    waits(guard, thread)
    if how == "closed":
        running.close()
    elif how == "dropped":
        del running
    elif how == "cleared":
        guard.log.clear()
    else:
        with suppress(StopIteration, ValueError, TimeoutError):
            next(running)
    assert thread.get().outcome == "ok"


def test_a_waiter_may_be_woken_by_a_finalizer_on_its_own_thread() -> None:
    """The collector may run in the very wait, on the waiting thread: waking takes no lock that a waiter holds."""
    guard = guard_at(wait_seconds=LONG)

    @guard.tracked("x", writes=True)
    def stream() -> Iterator[int]:
        yield 1

    held: list[Any] = [stream()]
    next(held[0])

    def trace(frame: Any, event: str, argument: object) -> Any:
        if frame.f_code.co_qualname == "Condition.wait":  # where an Event waits, with its own lock held
            held.clear()
        return trace

    def enter() -> None:
        sys.settrace(trace)
        try:
            with guard.write("x"):
                pass
        finally:
            sys.settrace(None)

    thread = Thread(enter)
    waits(guard, thread)
    held.clear()
    thread.get()
    assert [each[2] for each in outcomes(guard)] == ["error", "ok"]


@contextmanager
def quick_switches() -> Iterator[None]:
    was = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(was)


def test_no_wake_up_is_lost() -> None:
    """Threads that begin to wait just as their blocker ends, many times: none sleeps on until its time is up."""
    guard = Guard(MemoryLog(max_events=1000), wait_seconds=10 * LONG)
    barrier = threading.Barrier(4)

    def worker(kind: Callable[[str], Any]) -> None:
        for _ in range(300):
            barrier.wait(LONG)
            with kind("x"):
                pass

    with quick_switches():
        for thread in [Thread(worker, kind) for kind in (guard.write, guard.write, guard.write, guard.read)]:
            thread.get()
    assert settled(guard)
    assert not guard.log._waiters


def test_an_interrupted_wait_leaves_nothing() -> None:
    """A KeyboardInterrupt in the wait: no event, and the next call finds everything as it was."""
    guard = guard_at(wait_seconds=LONG)
    block = opened(guard.write("x"))
    asked = guard.log.admit

    def admit(*args: Any, **kwargs: Any) -> Any:
        asked(*args, **kwargs)
        raise KeyboardInterrupt

    guard.log.admit = admit  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt), guard.write("x"):
        pytest.fail("the body ran")
    guard.log.admit = asked  # type: ignore[method-assign]
    ended(block)
    with guard.write("x"):
        pass
    assert [each[2] for each in outcomes(guard)] == ["ok", "ok"]


def test_a_lost_race_says_what_is_in_the_way() -> None:
    """For a pin the message says that the blocker rests on the resource, and for a write that it writes it."""
    guard = guard_at()
    seen = read(guard, "x")
    block = opened(guard.write("y", depends_on=seen))
    for name, says in (("x", "rests on it"), ("y", "is writing it")):
        with pytest.raises(ConflictError, match=says) as caught, guard.write(name):
            pytest.fail("the body ran")
        assert isinstance(caught.value, GuardError)
        assert caught.value.name == name
    ended(block)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_who_has_given_up_is_woken_no_more(asynchronous: bool) -> None:
    """A call in the way that takes hours does not gather what once waited for it: it has nobody to wake at its end."""
    guard = Guard(wait_seconds=0.02)

    async def give_up() -> None:
        with pytest.raises(ConflictError):
            async with guard.write("a"):
                pass

    hold = opened(guard.write("a"))
    for _ in range(5):
        if asynchronous:
            asyncio.run(give_up())
        else:
            with pytest.raises(ConflictError), guard.write("a"):
                pass
    assert not guard.log._waiters
    ended(hold)
