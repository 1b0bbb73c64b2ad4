"""A log at its bound holds no more after many calls than after few, whatever they do: the objects are counted."""

from __future__ import annotations

import gc
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import pytest

from intervalguard.kernel.admission import Wait
from intervalguard.kernel.staleness import NO_RESULT
from intervalguard.logs import MemoryLog
from intervalguard.logs.calls import Learned, Origin

ORIGIN = Origin("tool")
HOUR = 3_600_000_000

Step = Callable[[MemoryLog, int], object]


def objects_of(log: MemoryLog) -> int:
    """How many objects the log holds on to."""
    seen: dict[int, Any] = {}
    stack: list[Any] = [vars(log)]
    while stack:
        each = stack.pop()
        if id(each) in seen or isinstance(each, type | ModuleType | FunctionType | BuiltinFunctionType | MethodType):
            continue
        seen[id(each)] = each
        stack += gc.get_referents(each)
    return len(seen)


def call(log: MemoryLog, name: str, kind: str = "read", origin: Origin = ORIGIN, keys: Any = (), outcome: Any = "ok") -> Any:
    _, first = log.admit(origin, [(name, kind, None)], keys, None, None)
    assert first is not None
    log.settle(first, outcome)
    return first


def names_of_one_session(log: MemoryLog, number: int) -> None:
    call(log, f"orders/{number}/items", ("read", "write")[number % 2], Origin("tool", "session"))


def sessions(log: MemoryLog, number: int) -> None:
    for name in ("a", "b/c"):
        call(log, name, "write", Origin("tool", f"session {number}"))


def waits_that_time_out(log: MemoryLog, number: int) -> None:
    if number == 0:
        log.admit(ORIGIN, [("slow", "write", None)], (), None, 0)

    def wake() -> None: ...

    decision, _ = log.admit(ORIGIN, [("slow", "write", None)], (), None, 0, None, False, False, wake)
    assert type(decision) is Wait
    log.stop_waiting(decision.blocker, wake)
    call(log, "x")


def clear(log: MemoryLog, number: int) -> None:
    call(log, f"orders/{number}", "write", Origin("tool", f"session {number}"))
    log.clear()


def searches_that_find_nothing(log: MemoryLog, number: int) -> None:
    _, first = log.admit(ORIGIN, ())
    assert first is not None
    log.settle(first, "ok", None, False, None, Learned())


def lost_and_settled(log: MemoryLog, number: int) -> None:
    _, first = log.admit(ORIGIN, [(f"orders/{number}", "write", None)])
    assert first is not None
    log.settle(first, "unknown", may_land_for=HOUR)
    log.resolve(first.id, "ok")


def calls_that_overlap(log: MemoryLog, number: int) -> None:
    """Each rests on what the one before it rested on, too, and ends after the next has begun."""
    read = call(log, f"orders/{number}")
    _, first = log.admit(ORIGIN, [(f"results/{number}", ("read", "write")[number % 2], None)], (read.id, read.id - 2))
    running.append(first)
    call(log, f"orders/{number - 1}/items", "write", keys=(read.id,))
    call(log, "x")
    if len(running) > 2:
        log.settle(running.pop(0), "ok")


def refused_calls(log: MemoryLog, number: int) -> None:
    read = call(log, f"orders/{number}", outcome="error")
    decision, _ = log.admit(ORIGIN, [("results", "write", None)], (read.id,), None, 0)
    assert [raw.grade for raw in decision.findings] == [NO_RESULT]


running: list[Any] = []


@pytest.mark.parametrize(
    "step",
    [
        names_of_one_session,
        sessions,
        waits_that_time_out,
        clear,
        searches_that_find_nothing,
        lost_and_settled,
        calls_that_overlap,
        refused_calls,
    ],
    ids=lambda step: step.__name__,
)
def test_a_log_stays_as_small_as_it_is(step: Step) -> None:
    """At its bound of 20 events a log holds no more objects after 1,200 steps than after 600, within a tenth."""
    running.clear()
    log = MemoryLog(max_events=20)
    counts = [0, 0]
    for number in range(1_200):
        step(log, number)
        if number >= 500:
            counts[number >= 600] = max(counts[number >= 600], objects_of(log) if number % 10 == 0 else 0)
    assert counts[1] <= counts[0] * 1.1


def test_a_waiter_that_gave_up_is_not_woken() -> None:
    """The others are, once each."""
    log = MemoryLog()
    _, slow = log.admit(ORIGIN, [("a", "write", None)], (), None, 0)
    woken: list[int] = []
    wakes = [lambda number=number: woken.append(number) for number in range(3)]
    for wake in wakes:
        decision, _ = log.admit(ORIGIN, [("a", "write", None)], (), None, 0, None, False, False, wake)
        assert type(decision) is Wait
    log.stop_waiting(decision.blocker, wakes[1])
    assert slow is not None
    log.settle(slow, "ok")
    log.stop_waiting(decision.blocker, wakes[1])
    assert woken == [0, 2]
    assert not log._waiters
