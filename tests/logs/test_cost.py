"""What a guarded call costs, counted and not timed: the calls of Python functions, and the bytes that stay."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from judging import judged

from intervalguard import Guard, last_event
from intervalguard.logs import MemoryLog


def calls_of(function: Callable[[], object]) -> int:
    """How many Python functions run in a call."""
    count = 0

    def profile(frame: Any, event: str, arg: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def guarded(events: int, name: str, max_events: int | None = None) -> Callable[[], object]:
    """A guarded write that rests on one read, after so many writes of ``name``."""
    guard = Guard(MemoryLog(max_events=max_events))
    read = guard.tracked("orders/{order_id}", 30, writes=False)(lambda order_id: order_id)
    write = guard.tracked("orders/{order_id}", 30, writes=True)(lambda order_id: order_id)
    call = guard.tracked("results/{order_id}", 30, writes=True)(lambda order_id: order_id)
    for number in range(events):
        write(name.format(number % 100))
    read("42")
    event = last_event()
    assert event is not None
    call("42", depends_on=[event.id])
    call("42", depends_on=[event.id])
    return lambda: call("42", depends_on=[event.id])


@pytest.mark.parametrize("name", ["{}", "42"], ids=["many names", "one hot name"])
def test_a_call_costs_the_same_however_long_the_log(name: str) -> None:
    """As many functions run for a call on a log of 5,000 events as on one of 300, on a quiet name and on a hot one."""
    assert calls_of(guarded(5_000, name)) == calls_of(guarded(300, name))


def test_a_superseded_read_is_found_in_as_many_steps_however_many_wrote() -> None:
    """The first witness of 4,000 writes costs a few steps of a search more than that of 40."""
    counts = []
    for writes in (40, 4_000):
        guard = Guard(MemoryLog(max_events=None), mode="observe")
        read = guard.tracked("orders/{order_id}", 30, writes=False)(lambda order_id: order_id)
        write = guard.tracked("orders/{order_id}", 30, writes=True)(lambda order_id: order_id)
        read("42")
        event = last_event()
        assert event is not None
        for _ in range(writes):
            write("42")
        keys = guard.keys([event.id])
        assert [raw.grade for raw in judged(guard.log, keys)]
        counts.append(calls_of(lambda guard=guard, keys=keys: judged(guard.log, keys)))
    assert counts[1] <= counts[0] + 20


def test_a_full_log_drops_one_event_for_one_that_comes() -> None:
    """At its bound a call costs the same on a log of 2,000 events as on one of 200."""
    assert calls_of(guarded(6_000, "{}", max_events=2_000)) == calls_of(guarded(6_000, "{}", max_events=200))


def bytes_an_event(count: int, touch: Callable[[Guard, int], None]) -> float:
    guard = Guard(MemoryLog(max_events=None))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        touch(guard, count)
        return (tracemalloc.get_traced_memory()[0] - before) / count
    finally:
        tracemalloc.stop()


def test_an_event_stays_small() -> None:
    """An event with a dependency takes at most 450 bytes, one that is derived from the one before it at most 480."""

    def run(kind: str) -> Callable[[Guard, int], None]:
        def touch(guard: Guard, count: int) -> None:
            read = guard.tracked("orders/{order_id}", 30, writes=False)(lambda order_id: order_id)
            write = guard.tracked("orders/{order_id}", 30, writes=True)(lambda order_id: order_id)
            read("0")
            for number in range(count):
                event = last_event()
                assert event is not None
                tool = read if kind == "chain" or number % 2 else write
                tool(str(number % 50), depends_on=[event.id])

        return touch

    assert bytes_an_event(8_000, run("alternating")) <= 450
    assert bytes_an_event(8_000, run("chain")) <= 480
