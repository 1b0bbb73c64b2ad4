"""The manual clock: it stands still, goes forward, and is what a log takes its time from."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intervalguard import Guard, StaleReadError, last_event
from intervalguard.logs import MemoryLog
from intervalguard.testing import ManualClock

START = datetime(2026, 7, 30, 12, tzinfo=UTC)


def test_it_stands_still_until_it_is_moved() -> None:
    """Two looks give the same aware time in UTC; advancing gives the new one."""
    clock = ManualClock(START)
    assert clock() == clock() == START
    assert clock.advance(1.5) == clock() == START + timedelta(seconds=1.5)
    assert clock().tzinfo is UTC
    assert repr(clock) == "ManualClock(2026-07-30T12:00:01.500000+00:00)"


def test_two_clocks_begin_alike() -> None:
    """Without a start it is the same each time, so that a test prints the same each time."""
    assert ManualClock()() == ManualClock()()


def test_another_zone_is_the_same_instant() -> None:
    """A start is an instant, wherever its clock hangs."""
    clock = ManualClock(START.astimezone(timezone(timedelta(hours=-7))))
    assert (clock(), clock().tzinfo) == (START, UTC)


@pytest.mark.parametrize("seconds", [-1, -1e-9, float("inf"), float("nan")])
def test_it_goes_forward_only(seconds: float) -> None:
    """A step back is an error that gives the number, and changes nothing."""
    clock = ManualClock(START)
    with pytest.raises(ValueError, match=rf"seconds={seconds!r} is not finite and >= 0"):
        clock.advance(seconds)
    assert clock() == START


@pytest.mark.parametrize("seconds", [True, "1", None, timedelta(seconds=1)])
def test_a_step_is_a_number(seconds: Any) -> None:
    """Anything else is a type error."""
    with pytest.raises(TypeError, match="is no number of seconds"):
        ManualClock().advance(seconds)


def test_a_step_out_of_time_changes_nothing() -> None:
    """Past the year 9999 there is no time to show."""
    clock = ManualClock(START)
    with pytest.raises(OverflowError):
        clock.advance(1e12)
    assert clock() == START


def test_a_naive_start_is_refused() -> None:
    """Without a zone nobody knows which instant it is."""
    with pytest.raises(ValueError, match="has no time zone"):
        ManualClock(datetime(2026, 1, 1))
    with pytest.raises(TypeError, match="is no datetime"):
        ManualClock("2026-01-01")  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 10**9), max_size=20))
def test_steps_add_up(steps: list[int]) -> None:
    """Many steps, in microseconds, are one of their sum."""
    clock = ManualClock(START)
    for step in steps:
        clock.advance(step / 1_000_000)
    assert abs(clock() - START - timedelta(microseconds=sum(steps))) <= timedelta(microseconds=len(steps))


@pytest.fixture
def busy_threads() -> Iterator[None]:
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-7)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("busy_threads")
def test_steps_of_many_threads_add_up() -> None:
    """No step of one thread is lost to another's."""
    clock = ManualClock(START)
    threads = [threading.Thread(target=lambda: [clock.advance(1) for _ in range(500)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert clock() == START + timedelta(seconds=2000)


def test_a_guard_lives_by_it() -> None:
    """A read is fresh at the end of its window and stale a moment later, without a wait."""
    clock = ManualClock(START)
    guard = Guard(MemoryLog(clock=clock))

    @guard.tracked("orders/42", 30, writes=False)
    def look() -> int:
        return 10

    @guard.tracked("payments/1", writes=True)
    def pay() -> str:
        return "paid"

    look()
    seen = last_event()
    assert seen is not None
    assert seen.start_time == START
    clock.advance(30)
    assert pay(depends_on=seen) == "paid"
    clock.advance(1e-6)
    with pytest.raises(StaleReadError, match="past its validity window of 30s"):
        pay(depends_on=seen)
