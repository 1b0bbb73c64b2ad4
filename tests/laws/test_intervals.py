"""Law L1 beyond its proofs (`proofs/test_intervals_*.py`): endpoints of every kind, events, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from fractions import Fraction
from typing import Any

import attrs
import pytest
from allen_by_hand import by_hand
from hypothesis import given
from hypothesis import strategies as st

from intervalguard.kernel.intervals import (
    FIVE,
    Interval,
    allen,
    compose,
    converse,
    intersects,
    interval_of,
    relation,
)

BASE = datetime(2026, 7, 30, 12, tzinfo=UTC)
ZONES = [UTC, timezone(timedelta(hours=5, minutes=30)), timezone(-timedelta(hours=7))]

few = st.integers(0, 5)
POINTS: list[st.SearchStrategy[Any]] = [
    few,
    st.integers(),
    st.fractions(),
    st.builds(Fraction, few, st.just(3)),
    st.datetimes(timezones=st.sampled_from(ZONES)),
    st.builds(lambda s, zone: (BASE + timedelta(seconds=s)).astimezone(zone), few, st.sampled_from(ZONES)),
]


def spans(n: int) -> st.SearchStrategy[list[tuple[Any, Any]]]:
    """So many (start, end) with endpoints of one type."""

    def of(points: st.SearchStrategy[Any]) -> st.SearchStrategy[list[tuple[Any, Any]]]:
        span = st.tuples(points, points).map(lambda p: (min(p), max(p)))
        return st.lists(span, min_size=n, max_size=n)

    return st.sampled_from(POINTS).flatmap(of)


@given(spans(2))
def test_any_totally_ordered_endpoints(two: list[tuple[Any, Any]]) -> None:
    """Integers, fractions and datetimes of several zones are judged by their order alone."""
    a, b = (Interval(*span) for span in two)
    assert allen(a, b) == by_hand(*two[0], *two[1])
    assert allen(b, a) == converse(allen(a, b))
    assert relation(a, b) == FIVE[allen(a, b)]
    assert intersects(a, b) == (max(a.start, b.start) <= min(a.end, b.end))


@given(spans(3))
def test_composition_holds_of_any_three(three: list[tuple[Any, Any]]) -> None:
    """What a is to c is always among what its relations to b and b's to c allow."""
    a, b, c = (Interval(*span) for span in three)
    assert allen(a, c) in compose(allen(a, b), allen(b, c))
    if all(start < end for start, end in three):
        assert allen(a, c) in compose(allen(a, b), allen(b, c), instants=False)


class RepeatedHour(tzinfo):
    """Two hours ahead of UTC until clocks go back, one hour ahead after: 02:30 comes twice."""

    def utcoffset(self, when: datetime | None) -> timedelta:
        assert when is not None
        return timedelta(hours=1 if when.fold else 2)

    def dst(self, when: datetime | None) -> timedelta:
        return timedelta(0)

    def tzname(self, when: datetime | None) -> str:
        return "repeated hour"


def test_one_moment_in_a_repeated_hour() -> None:
    """Python calls it unequal to itself in UTC (PEP 495), but intervals that share it as an end do meet."""
    here = datetime(2026, 10, 25, 2, 30, tzinfo=RepeatedHour())
    utc = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    hour = timedelta(hours=1)
    assert here != utc
    assert not here < utc
    assert not utc < here
    assert allen(Interval(utc - hour, here), Interval(utc, utc + hour)) == "meets"
    assert allen(Interval(utc - hour, here), Interval(utc - hour, utc)) == "equals"


def test_naive_beside_aware() -> None:
    """A naive datetime has no place beside an aware one, and is no interval's silent inequality."""
    naive = BASE.replace(tzinfo=None)
    with pytest.raises(TypeError, match="offset-naive"):
        allen(Interval(BASE, BASE), Interval(naive, naive))


# --- Names ---


def test_nothing_is_derived_at_import() -> None:
    """`import intervalguard` stays cheap: no table is built before it is asked for."""
    code = (
        "import intervalguard; from intervalguard.kernel import intervals as i;"
        "print(i._converses.cache_info().currsize, i._compositions.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "0"]


@pytest.mark.parametrize("ask", [converse, lambda r: compose(r, "equals"), lambda r: compose("equals", r)])
def test_unknown_name(ask: Callable[[Any], object]) -> None:
    """A name that is not one of the thirteen is refused with the list of those that are."""
    with pytest.raises(
        ValueError, match=r"not one of Allen's relations: 'precedes'\. Use one of before, meets, "
    ):
        ask("precedes")


# --- Intervals and events ---


@pytest.mark.parametrize(("start", "end"), [(5, 0), (0.0, float("nan")), (float("nan"), 0.0)])
def test_invalid_interval(start: float, end: float) -> None:
    """An end before the start, or in no order with it, is refused with both and the way out."""
    with pytest.raises(ValueError, match="interval") as refused:
        Interval(start, end)
    assert str(refused.value) == (
        f"an interval cannot end before it starts: start={start!r} end={end!r}. "
        f"Swap the two, or give end=start for an instant."
    )


def test_interval_is_frozen_and_stays_valid() -> None:
    """No field can be set, and a changed copy is checked like a new one."""
    x = Interval(0, 1)
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        x.end = 2  # type: ignore[misc]
    with pytest.raises(ValueError, match="start=0 end=-1"):
        attrs.evolve(x, end=-1)


@attrs.frozen
class Call:
    """As much of an event as a relation needs."""

    start_time: datetime
    end_time: datetime | None = None


def call(start: float, end: float) -> Call:
    return Call(BASE + timedelta(seconds=start), BASE + timedelta(seconds=end))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((0, 10), (20, 30), "before"),
        ((0, 10), (10, 20), "meets"),
        ((0, 20), (10, 30), "overlaps"),
        ((10, 20), (0, 30), "during"),
        ((20, 30), (0, 10), "after"),
        ((0, 10), (0, 10), "during"),
        ((10, 20), (0, 10), "after"),
        ((0, 30), (10, 20), "overlaps"),
        ((10, 30), (0, 20), "overlaps"),
    ],
)
def test_events_as_in_0_1_1(a: tuple[int, int], b: tuple[int, int], expected: str) -> None:
    """On proper intervals every answer of intervalguard 0.1.1 stands."""
    assert relation(call(*a), call(*b)) == expected


def test_event_beside_interval() -> None:
    """Events and intervals can be compared with one another."""
    read, quarter = call(5, 10), Interval(BASE, BASE + timedelta(minutes=15))
    assert (relation(read, quarter), relation(quarter, read)) == ("during", "overlaps")
    assert intersects(read, quarter)
    assert interval_of(read) == Interval(read.start_time, BASE + timedelta(seconds=10))
    assert interval_of(quarter) is quarter


@pytest.mark.parametrize("ask", [relation, intersects])
def test_open_event(ask: Callable[[Any, Any], object]) -> None:
    """An event still open has no relation yet, on either side, and the message says how to get one."""
    pending, done = Call(BASE), call(0, 1)
    for pair in [(pending, done), (done, pending)]:
        with pytest.raises(ValueError, match=r"end_time=None in Call\(.*Interval\(event\.start_time, now\)"):
            ask(*pair)
