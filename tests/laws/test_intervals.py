"""Law L1: `relation` means what the design says; the converse and composition tables are exact.

`allen` only compares endpoints (`Endpoint` refuses all else), so it is a function of their weak order.
Of four endpoints there are 75 weak orders, of which 26 are two intervals: running them all is a proof. What
they are compared with is written by hand here and shares nothing with the module.
"""

from __future__ import annotations

import functools
import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from fractions import Fraction
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intervalguard.kernel.intervals import (
    ALLEN,
    FIVE,
    AllenRelation,
    Interval,
    allen,
    compose,
    converse,
    intersects,
    interval_of,
    relation,
)

# --- Written by hand ---

# The textbook's predicates (Allen 1983) of [a0, a1] to [b0, b1], meant for proper intervals.
TEXTBOOK: dict[str, Callable[[Any, Any, Any, Any], bool]] = {
    "before": lambda a0, a1, b0, b1: a1 < b0,
    "meets": lambda a0, a1, b0, b1: a1 == b0,
    "overlaps": lambda a0, a1, b0, b1: a0 < b0 < a1 < b1,
    "finished-by": lambda a0, a1, b0, b1: a0 < b0 and a1 == b1,
    "contains": lambda a0, a1, b0, b1: a0 < b0 and b1 < a1,
    "starts": lambda a0, a1, b0, b1: a0 == b0 and a1 < b1,
    "equals": lambda a0, a1, b0, b1: a0 == b0 and a1 == b1,
    "started-by": lambda a0, a1, b0, b1: a0 == b0 and b1 < a1,
    "during": lambda a0, a1, b0, b1: b0 < a0 and a1 < b1,
    "finishes": lambda a0, a1, b0, b1: b0 < a0 and a1 == b1,
    "overlapped-by": lambda a0, a1, b0, b1: b0 < a0 < b1 < a1,
    "met-by": lambda a0, a1, b0, b1: a0 == b1,
    "after": lambda a0, a1, b0, b1: b1 < a0,
}
# Vilain's (1982): of an instant p to a proper interval [b0, b1],
INSTANT_TO_INTERVAL: dict[str, Callable[[Any, Any, Any], bool]] = {
    "before": lambda p, b0, b1: p < b0,
    "starts": lambda p, b0, b1: p == b0,
    "during": lambda p, b0, b1: b0 < p < b1,
    "finishes": lambda p, b0, b1: p == b1,
    "after": lambda p, b0, b1: b1 < p,
}
# of a proper interval [a0, a1] to an instant q,
INTERVAL_TO_INSTANT: dict[str, Callable[[Any, Any, Any], bool]] = {
    "before": lambda a0, a1, q: a1 < q,
    "finished-by": lambda a0, a1, q: a1 == q,
    "contains": lambda a0, a1, q: a0 < q < a1,
    "started-by": lambda a0, a1, q: a0 == q,
    "after": lambda a0, a1, q: q < a0,
}
# of an instant p to an instant q.
INSTANT_TO_INSTANT: dict[str, Callable[[Any, Any], bool]] = {
    "before": lambda p, q: p < q,
    "equals": lambda p, q: p == q,
    "after": lambda p, q: q < p,
}


def textbook(a0: Any, a1: Any, b0: Any, b1: Any) -> set[str]:
    """All of the textbook's predicates that hold of [a0, a1] to [b0, b1]."""
    return {name for name, holds in TEXTBOOK.items() if holds(a0, a1, b0, b1)}


def by_hand(a0: Any, a1: Any, b0: Any, b1: Any) -> str:
    """The predicate that holds of [a0, a1] to [b0, b1], from the table for their kinds; it must be one."""
    if a0 == a1 and b0 == b1:
        names = {name for name, holds in INSTANT_TO_INSTANT.items() if holds(a0, b0)}
    elif a0 == a1:
        names = {name for name, holds in INSTANT_TO_INTERVAL.items() if holds(a0, b0, b1)}
    elif b0 == b1:
        names = {name for name, holds in INTERVAL_TO_INSTANT.items() if holds(a0, a1, b0)}
    else:
        names = textbook(a0, a1, b0, b1)
    (name,) = names
    return name


FIVE_BY_HAND = {
    "before": "before",
    "meets": "meets",
    "overlaps": "overlaps",
    "overlapped-by": "overlaps",
    "contains": "overlaps",
    "started-by": "overlaps",
    "finished-by": "overlaps",
    "during": "during",
    "starts": "during",
    "finishes": "during",
    "equals": "during",
    "met-by": "after",
    "after": "after",
}

CONVERSE_BY_HAND = {
    "before": "after",
    "meets": "met-by",
    "overlaps": "overlapped-by",
    "finished-by": "finishes",
    "contains": "during",
    "starts": "started-by",
    "equals": "equals",
    "started-by": "starts",
    "during": "contains",
    "finishes": "finished-by",
    "overlapped-by": "overlaps",
    "met-by": "meets",
    "after": "before",
}

LETTERS = {
    "p": "before",
    "m": "meets",
    "o": "overlaps",
    "F": "finished-by",
    "D": "contains",
    "s": "starts",
    "e": "equals",
    "S": "started-by",
    "d": "during",
    "f": "finishes",
    "O": "overlapped-by",
    "M": "met-by",
    "P": "after",
}

# Allen's table in Alspaugh's letters: a row for a to b, a column for b to c, an entry for what a can be to c.
# "con" (concurrent) is oFDseSdfO, "all" is every letter.
COMPOSITION_BY_HAND = """
      p      m      o      F      D      s      e  S      d      f      O      M      P
p     p      p      p      p      p      p      p  p      pmosd  pmosd  pmosd  pmosd  all
m     p      p      p      p      p      m      m  m      osd    osd    osd    Fef    DSOMP
o     p      p      pmo    pmo    pmoFD  o      o  oFD    osd    osd    con    DSO    DSOMP
F     p      m      o      F      D      o      F  D      osd    Fef    DSO    DSO    DSOMP
D     pmoFD  oFD    oFD    D      D      oFD    D  D      con    DSO    DSO    DSO    DSOMP
s     p      p      pmo    pmo    pmoFD  s      s  seS    d      d      dfO    M      P
e     p      m      o      F      D      s      e  S      d      f      O      M      P
S     pmoFD  oFD    oFD    D      D      seS    S  S      dfO    O      O      M      P
d     p      p      pmosd  pmosd  all    d      d  dfOMP  d      d      dfOMP  P      P
f     p      m      osd    Fef    DSOMP  d      f  OMP    d      f      OMP    P      P
O     pmoFD  oFD    con    DSO    DSOMP  dfO    O  OMP    dfO    O      OMP    P      P
M     pmoFD  seS    dfO    M      P      dfO    M  P      dfO    M      P      P      P
P     all    dfOMP  dfOMP  P      P      dfOMP  P  P      dfOMP  P      P      P      P
"""

# What each entry gains when instants are admitted; the other 163 stay as they are.
GROWN_BY_HAND = {
    ("meets", "started-by"): "finished-by",
    ("finished-by", "starts"): "meets",
    ("starts", "met-by"): "finishes",
    ("started-by", "finishes"): "met-by",
    ("finishes", "meets"): "starts",
    ("met-by", "finished-by"): "started-by",
}


def composition_by_hand() -> dict[tuple[str, str], frozenset[str]]:
    header, *rows = (line.split() for line in COMPOSITION_BY_HAND.split("\n") if line.strip())
    short = {"all": "".join(LETTERS), "con": "oFDseSdfO"}
    return {
        (LETTERS[row], LETTERS[column]): frozenset(LETTERS[letter] for letter in short.get(entry, entry))
        for row, *entries in rows
        for column, entry in zip(header, entries, strict=True)
    }


# --- Every weak order ---


@functools.total_ordering
class Endpoint:
    """Can be compared, and shown in a message. Refuses all else."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, rank: int) -> None:
        self._rank = rank

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Endpoint)
        return self._rank == other._rank

    def __lt__(self, other: Endpoint) -> bool:
        return self._rank < other._rank

    def __bool__(self) -> bool:
        raise TypeError("an endpoint is neither true nor false")

    def __repr__(self) -> str:
        return f"Endpoint({self._rank})"


def weak_orders(n: int) -> Iterator[tuple[int, ...]]:
    for ranks in itertools.product(range(n), repeat=n):
        if set(ranks) == set(range(max(ranks) + 1)):
            yield ranks


@functools.cache
def interval_orders(intervals: int, *, instants: bool = True) -> list[tuple[int, ...]]:
    """The weak orders of the endpoints of so many intervals, as (a0, a1, b0, b1, ...)."""
    return [
        ranks
        for ranks in weak_orders(2 * intervals)
        if all(
            start < end or (instants and start == end)
            for start, end in zip(ranks[::2], ranks[1::2], strict=True)
        )
    ]


def as_intervals(*ranks: int) -> list[Interval[Endpoint]]:
    return [Interval(Endpoint(s), Endpoint(e)) for s, e in zip(ranks[::2], ranks[1::2], strict=True)]


PAIRS = interval_orders(2)


def weak_composition(of: Callable[..., str], *, instants: bool) -> dict[tuple[str, str], frozenset[str]]:
    """For each two relations all that `of` says of a to c, over every weak order of three intervals."""
    table: dict[tuple[str, str], set[str]] = {}
    for a0, a1, b0, b1, c0, c1 in interval_orders(3, instants=instants):
        table.setdefault((of(a0, a1, b0, b1), of(b0, b1, c0, c1)), set()).add(of(a0, a1, c0, c1))
    return {pair: frozenset(entry) for pair, entry in table.items()}


def broken_triples(table: dict[tuple[str, str], frozenset[str]]) -> int:
    """For how many (r, s, t) the composition (r ; s) ; t differs from r ; (s ; t)."""
    names = {r for r, _ in table}

    def through(rs: frozenset[str], ss: frozenset[str]) -> frozenset[str]:
        return frozenset().union(*(table[r, s] for r in rs for s in ss))

    return sum(
        through(table[r, s], frozenset({t})) != through(frozenset({r}), table[s, t])
        for r, s, t in itertools.product(names, repeat=3)
    )


def test_there_are_75_weak_orders_of_which_26_are_two_intervals() -> None:
    """The enumeration that the proofs below rest on misses none."""
    assert (len(list(weak_orders(4))), len(PAIRS)) == (75, 26)
    assert (len(list(weak_orders(6))), len(interval_orders(2, instants=False))) == (4683, 13)


@pytest.mark.parametrize("ranks", list(weak_orders(4)))
def test_every_weak_order(ranks: tuple[int, int, int, int]) -> None:
    """`allen` says of every two intervals what the predicates by hand say; what is no interval is refused."""
    a0, a1, b0, b1 = ranks
    if a1 < a0 or b1 < b0:
        with pytest.raises(ValueError, match="cannot end before it starts"):
            as_intervals(*ranks)
    else:
        assert allen(*as_intervals(*ranks)) == by_hand(a0, a1, b0, b1)


def test_thirteen_names_and_every_one_occurs() -> None:
    """The names are a closed set, and proper intervals alone bring out every one."""
    assert set(ALLEN) == set(TEXTBOOK)
    assert len(ALLEN) == 13
    assert sorted(allen(*as_intervals(*r)) for r in interval_orders(2, instants=False)) == sorted(ALLEN)


def test_textbook_predicates_clash_on_instants() -> None:
    """With instants the textbook's predicates are total, but five of the 26 orders satisfy several."""
    held = {ranks: textbook(*ranks) for ranks in PAIRS}
    assert all(held.values())
    assert {ranks: names for ranks, names in held.items() if len(names) > 1} == {
        (0, 0, 0, 0): {"meets", "equals", "met-by"},
        (0, 0, 0, 1): {"meets", "starts"},
        (1, 1, 0, 1): {"finishes", "met-by"},
        (0, 1, 0, 0): {"started-by", "met-by"},
        (0, 1, 1, 1): {"meets", "finished-by"},
    }


def test_allen_picks_among_the_textbook_predicates_that_hold() -> None:
    """Where several of the textbook's predicates hold, the answer is one of them, and not meets or met-by."""
    for ranks in PAIRS:
        held = textbook(*ranks)
        assert allen(*as_intervals(*ranks)) in (held if len(held) == 1 else held - {"meets", "met-by"})


def test_five_table() -> None:
    """The thirteen map to the five as the design's table says."""
    assert dict(FIVE) == FIVE_BY_HAND


@pytest.mark.parametrize("ranks", PAIRS)
def test_relation_is_the_five_of_allen(ranks: tuple[int, ...]) -> None:
    """`relation` is the table applied to the thirteen, instants included."""
    assert relation(*as_intervals(*ranks)) == FIVE_BY_HAND[by_hand(*ranks)]


@pytest.mark.parametrize(("start", "end"), [(0, 1), (0, 0)])
def test_every_interval_is_during_itself(start: int, end: int) -> None:
    """a1 proper interval and an instant both equal themselves, which is `during`."""
    (x,) = as_intervals(start, end)
    assert (allen(x, x), relation(x, x)) == ("equals", "during")


@pytest.mark.parametrize("ranks", PAIRS)
def test_intersects_is_sharing_a_point(ranks: tuple[int, ...]) -> None:
    """Two closed intervals intersect exactly where some point is in both."""
    a0, a1, b0, b1 = ranks
    assert intersects(*as_intervals(*ranks)) is any(a0 <= x <= a1 and b0 <= x <= b1 for x in range(4))


# --- The tables ---


def test_converse_table() -> None:
    """The derived converses are the literal ones, and read the names backwards."""
    assert {r: converse(r) for r in ALLEN} == CONVERSE_BY_HAND
    assert tuple(converse(r) for r in ALLEN) == ALLEN[::-1]


@pytest.mark.parametrize("r", ALLEN)
def test_converse_is_an_involution(r: AllenRelation) -> None:
    """The converse of the converse is the relation itself."""
    assert converse(converse(r)) == r


@pytest.mark.parametrize("ranks", PAIRS)
def test_converse_turns_the_pair_round(ranks: tuple[int, ...]) -> None:
    """What b is to a is the converse of what a is to b."""
    a, b = as_intervals(*ranks)
    assert allen(b, a) == converse(allen(a, b))


def test_composition_of_proper_intervals_is_the_textbook_table() -> None:
    """All 169 entries derived from `allen` are Allen's, 409 relations in all."""
    derived = {(r, s): compose(r, s, instants=False) for r, s in itertools.product(ALLEN, repeat=2)}
    assert derived == composition_by_hand()
    assert sum(map(len, derived.values())) == 409


def test_six_entries_grow_with_instants() -> None:
    """Instants add one relation to each of six entries, and take none from any."""
    expected = {
        pair: entry | ({GROWN_BY_HAND[pair]} if pair in GROWN_BY_HAND else set())
        for pair, entry in composition_by_hand().items()
    }
    assert {(r, s): compose(r, s) for r, s in itertools.product(ALLEN, repeat=2)} == expected
    assert sum(expected[pair] != entry for pair, entry in composition_by_hand().items()) == 6


@pytest.mark.parametrize("instants", [True, False])
def test_composition_is_exact(instants: bool) -> None:
    """An entry holds what some weak order of three intervals shows, and nothing else."""
    shown = weak_composition(by_hand, instants=instants)
    assert {(r, s): compose(r, s, instants=instants) for r, s in itertools.product(ALLEN, repeat=2)} == shown


@pytest.mark.parametrize("instants", [True, False])
def test_composition_turned_round(instants: bool) -> None:
    """The converse of a composition is the composition of the converses, the other way round."""
    for r, s in itertools.product(ALLEN, repeat=2):
        turned = {converse(t) for t in compose(r, s, instants=instants)}
        assert turned == compose(converse(s), converse(r), instants=instants)


def test_composition_with_instants_is_weak() -> None:
    """`equals` is in contains ; during, though no interval lies within an instant."""
    instant = Interval(1, 1)
    assert "equals" in compose("contains", "during")
    around = [Interval(s, e) for s, e in itertools.combinations_with_replacement(range(3), 2)]
    assert "contains" not in {allen(instant, x) for x in around}


def test_thirteen_are_associative_on_proper_intervals_alone() -> None:
    """Allen's is a relation algebra; with instants 144 of the 2,197 triples break."""
    tables = {
        i: {(str(r), str(s)): frozenset[str](compose(r, s, instants=i)) for r in ALLEN for s in ALLEN}
        for i in (True, False)
    }
    assert broken_triples(tables[False]) == 0
    assert broken_triples(tables[True]) == 144


def test_five_are_not_closed_under_converse() -> None:
    """What b is to a does not follow from the one of five that a is to b, save that before gives after."""
    seen_from_b: dict[str, set[str]] = {}
    for ranks in PAIRS:
        a, b = as_intervals(*ranks)
        seen_from_b.setdefault(relation(a, b), set()).add(relation(b, a))
    assert seen_from_b == {
        "before": {"after"},
        "meets": {"after"},
        "overlaps": {"overlaps", "during"},
        "during": {"overlaps", "during"},
        "after": {"before", "meets"},
    }


@pytest.mark.parametrize(("instants", "broken"), [(False, 23), (True, 19)])
def test_weak_composition_of_the_five_is_not_associative(instants: bool, broken: int) -> None:
    """Of the 125 triples of the five 23 break on proper intervals, and 19 where instants are admitted."""

    def five(*ranks: int) -> str:
        return relation(*as_intervals(*ranks))

    assert broken_triples(weak_composition(five, instants=instants)) == broken


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
    """a1 name that is not one of the thirteen is refused with the list of those that are."""
    with pytest.raises(
        ValueError, match=r"not one of Allen's relations: 'precedes'\. Use one of before, meets, "
    ):
        ask("precedes")


# --- Endpoints of every kind ---

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
    """a1 naive datetime has no place beside an aware one, and is no interval's silent inequality."""
    naive = BASE.replace(tzinfo=None)
    with pytest.raises(TypeError, match="offset-naive"):
        allen(Interval(BASE, BASE), Interval(naive, naive))


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
