"""What else is in the log does not make a call dearer: counted, in lines run, beside few others and beside many.

Each shape gives a call on a log that holds so many of something. What Python does in C is not counted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from intervalguard.kernel.admission import LEAST, Admit, Touch
from intervalguard.kernel.views import Entry, Key
from intervalguard.logs import MemoryLog
from intervalguard.logs.calls import Origin

ORIGIN = Origin()
SESSION = Origin("tool", "session")
LEAST_REFUSED = LEAST["suspect"]

Call = Callable[[], object]


def steps_of(function: Call) -> int:
    """How many lines run in a call, each turn of a loop as one at least."""
    count = 0

    def trace(frame: Any, event: str, arg: object) -> Any:
        nonlocal count
        count += event in ("call", "line")
        return trace

    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(None)
    return count


def begun(log: MemoryLog, touches: list[Touch], keys: tuple[Key, ...] = (), origin: Origin = ORIGIN) -> Entry:
    """A call that was let through, with nothing against it."""
    decision, first = log.admit(origin, touches, keys, None, LEAST_REFUSED, None, True)
    assert first is not None
    assert type(decision) is Admit, decision
    return first


def read(log: MemoryLog, name: str, keys: tuple[Key, ...] = (), origin: Origin = ORIGIN) -> Entry:
    first = begun(log, [(name, "read", None)], keys, origin)
    log.settle(first, "ok", LEAST_REFUSED)
    return first


def write(log: MemoryLog, name: str, keys: tuple[Key, ...] = (), origin: Origin = ORIGIN) -> Entry:
    first = begun(log, [(name, "write", None)], keys, origin)
    log.settle(first, "ok")
    return first


def pending(log: MemoryLog, name: str, keys: tuple[Key, ...] = (), kind: str = "write") -> Entry:
    return begun(log, [(name, kind, None)], keys)


def resting_write(log: MemoryLog) -> Call:
    """A write that rests on one read."""
    key = read(log, "orders/42").id
    return lambda: write(log, "results/42", (key,))


# ------------------------------------------------------------------------------------- what is in flight, or lost


def lost_writes(count: int) -> Call:
    log = MemoryLog(max_events=None)
    for number in range(count):
        log.settle(pending(log, f"lost/{number}"), "unknown")
    return resting_write(log)


def lost_writes_that_rested(count: int) -> Call:
    log = MemoryLog(max_events=None)
    for number in range(count):
        log.settle(pending(log, f"lost/{number}", (read(log, f"seen/{number}").id,)), "unknown")
    return resting_write(log)


def pending_writes(count: int) -> Call:
    log = MemoryLog(max_events=None)
    for number in range(count):
        pending(log, f"open/{number}", (read(log, f"seen/{number}").id,))
    return resting_write(log)


def pending_writes_that_rest_on_one(count: int) -> Call:
    log = MemoryLog(max_events=None)
    seen = read(log, "seen").id
    for number in range(count):
        pending(log, f"open/{number}", (seen,))
    return resting_write(log)


def one_that_rests_on_many(count: int) -> Call:
    log = MemoryLog(max_events=None)
    pending(log, "open", tuple(read(log, f"seen/{number}").id for number in range(count)))
    return resting_write(log)


def one_that_rests_on_many_derived(count: int) -> Call:
    log = MemoryLog(max_events=None)
    key = read(log, "seen").id
    for number in range(count):
        key = read(log, f"seen/{number}", (key,)).id
    pending(log, "open", (key,))
    return resting_write(log)


def a_write_under_its_own_many_pins(count: int) -> Call:
    """Nested in the call that pins the parts of what it writes."""
    log = MemoryLog(max_events=None)
    outer = pending(log, "open", tuple(read(log, f"seen/{number}").id for number in range(count)))

    def nested() -> None:
        _, first = log.admit(ORIGIN, [("seen", "write", None)], (), outer.id, LEAST_REFUSED)
        assert first is not None
        log.settle(first, "ok")

    return nested


# ------------------------------------------------------------------------------------------------- at the bound


def full(log: MemoryLog) -> Call:
    """A read and a write that rests on it where the log is at its bound, and drops an event for each."""
    for number in range(20):
        read(log, f"fill/{number}")
    return lambda: write(log, "results/42", (read(log, "orders/42").id,))


def one_that_uses_many_at_the_bound(count: int) -> Call:
    log = MemoryLog(max_events=10)
    log._max_events = None
    keys = tuple(read(log, f"seen/{number}").id for number in range(count))
    pending(log, "open", keys)
    log._max_events = 10
    return full(log)


def many_that_use_one_at_the_bound(count: int) -> Call:
    log = MemoryLog(max_events=10)
    seen = read(log, "seen").id
    for number in range(count):
        pending(log, f"sum/{number}", (seen,), "read")
    return full(log)


def many_that_use_one_each_at_the_bound(count: int) -> Call:
    log = MemoryLog(max_events=10)
    for number in range(count):
        pending(log, f"open/{number}", (read(log, f"seen/{number}").id,))
    return full(log)


def lost_writes_at_the_bound(count: int) -> Call:
    log = MemoryLog(max_events=10)
    for number in range(count):
        log.settle(pending(log, f"lost/{number}"), "unknown")
    return full(log)


def a_chain_of_derived_reads_in_use_at_the_bound(count: int) -> Call:
    log = MemoryLog(max_events=10)
    log._max_events = None
    key = read(log, "seen").id
    for number in range(count):
        key = read(log, f"seen/{number}", (key,)).id
    pending(log, "sum", (key,), "read")
    log._max_events = 10
    return full(log)


# ---------------------------------------------------------------------------------------------------- sessions


def a_part_that_a_session_read_often(count: int) -> Call:
    """A write of the whole, of which one part is known."""
    log = MemoryLog(max_events=None)
    for _ in range(count):
        read(log, "orders/42", (), SESSION)
    return lambda: log.resting_by_itself("session", ["orders"], None)


def what_a_session_did_before(count: int) -> Call:
    """Names a resource that was read anew after many writes below it, and written twice since."""
    log = MemoryLog(max_events=None)
    for number in range(count):
        write(log, f"orders/{number}", (), SESSION)
    read(log, "orders", (), SESSION)
    for number in range(2):
        write(log, f"orders/{number}", (), SESSION)
    return lambda: log.resting("session", ["orders"], None)


# ---------------------------------------------------------------------------------------------- a call's own writes


def a_read_of_a_call_that_wrote_much(count: int) -> Call:
    """A call read a whole and wrote many parts of it; another rests on that read. Its own writes are no news to it."""
    log = MemoryLog(max_events=None)
    write(log, "orders/0")
    first = begun(log, [("orders", "read", None), *((f"orders/{number}", "write", None) for number in range(count))])
    log.settle(first, "ok")
    return lambda: write(log, "results/42", (first.id,))


SHAPES: list[Callable[[int], Call]] = [
    a_read_of_a_call_that_wrote_much,
    lost_writes,
    lost_writes_that_rested,
    pending_writes,
    pending_writes_that_rest_on_one,
    one_that_rests_on_many,
    one_that_rests_on_many_derived,
    a_write_under_its_own_many_pins,
    one_that_uses_many_at_the_bound,
    many_that_use_one_at_the_bound,
    many_that_use_one_each_at_the_bound,
    lost_writes_at_the_bound,
    a_chain_of_derived_reads_in_use_at_the_bound,
    a_part_that_a_session_read_often,
    what_a_session_did_before,
]


def test_every_turn_of_a_loop_is_a_step_from_the_first_call_on() -> None:
    def looping(turns: int) -> list[int]:
        return [turn for turn in range(turns) if any(other == turn for other in (turn,))]

    few, many, again = (steps_of(partial(looping, turns)) for turns in (10, 200, 200))
    assert many == again
    assert many >= few + 190


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_call_costs_the_same_beside_few_and_beside_many(shape: Callable[[int], Call]) -> None:
    """A call beside 400 takes as many steps as one beside 100, within a twentieth; the first of its kind may take more."""
    counts = []
    for count in (100, 400):
        call = shape(count)
        for _ in range(12):
            call()
        counts.append(min(steps_of(call) for _ in range(3)))
    assert counts[1] <= counts[0] * 1.05
