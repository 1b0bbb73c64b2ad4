"""Law L1 by every weak order of the endpoints: `relation` is what the documents say, and the tables are exact.

`allen` only compares endpoints (`Endpoint` refuses all else), so it is a function of their weak order.
Of four endpoints there are 75 weak orders, of which 26 are two intervals: running them all is a proof. What
they are compared with is written by hand and shares nothing with the module.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from allen_by_hand import (
    CONVERSE_BY_HAND,
    FIVE_BY_HAND,
    GROWN_BY_HAND,
    TEXTBOOK,
    by_hand,
    composition_by_hand,
    textbook,
)
from kernels import SHIPPED, Broken, Kernel
from weak_orders import Endpoint, interval_orders, weak_orders

from intervalguard.kernel.intervals import (
    ALLEN,
    FIVE,
    AllenRelation,
    Interval,
    allen,
    compose,
    converse,
    intersects,
    relation,
)


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
    """The thirteen map to the five as the semantics' table says."""
    assert dict(FIVE) == FIVE_BY_HAND


@pytest.mark.parametrize("ranks", PAIRS)
def test_relation_is_the_five_of_allen(ranks: tuple[int, ...]) -> None:
    """`relation` is the table applied to the thirteen, instants included."""
    assert relation(*as_intervals(*ranks)) == FIVE_BY_HAND[by_hand(*ranks)]


def test_events_stand_by_their_times() -> None:
    """`relation` and `intersects` take what has times, on either side, and refuse what is still open."""
    for a0, a1, b0, b1 in PAIRS:
        a, b = as_intervals(a0, a1, b0, b1)
        timed = [SimpleNamespace(start_time=x.start, end_time=x.end) for x in (a, b)]
        assert relation(*timed) == relation(a, timed[1]) == relation(timed[0], b) == relation(a, b)
        assert intersects(*timed) is intersects(a, b)
    with pytest.raises(ValueError, match="an open event has no interval yet"):
        relation(SimpleNamespace(start_time=0, end_time=None), Interval(0, 1))


def test_a_name_that_is_none_of_the_thirteen_is_refused() -> None:
    """Whichever of the two of a composition it is."""
    for ask in (lambda: converse("within"), lambda: compose("within", "before"), lambda: compose("before", "within")):
        with pytest.raises(ValueError, match="not one of Allen's relations: 'within'"):
            ask()


@pytest.mark.parametrize(("start", "end"), [(0, 1), (0, 0)])
def test_every_interval_is_during_itself(start: int, end: int) -> None:
    """A proper interval and an instant both equal themselves, which is `during`."""
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


# --- What this finds ---


def wrong_orders(kernel: Kernel) -> list[tuple[int, ...]]:
    """The weak orders of two intervals of which a kernel says anything but what is written by hand."""
    it = kernel.intervals
    wrong = []
    for a0, a1, b0, b1 in PAIRS:
        a, b = it.Interval(Endpoint(a0), Endpoint(a1)), it.Interval(Endpoint(b0), Endpoint(b1))
        name = by_hand(a0, a1, b0, b1)
        said = it.allen(a, b), it.relation(a, b), it.intersects(a, b), it.allen(b, a)
        if said != (name, FIVE_BY_HAND[name], name not in ("before", "after"), CONVERSE_BY_HAND[name]):
            wrong.append((a0, a1, b0, b1))
    return wrong


BROKEN = {
    "meets before starts": ('("=", "<"): "starts"', '("=", "<"): "meets"'),
    "equals before during": ('"equals": "during"', '"equals": "overlaps"'),
    "meets is before": ('"<": "before", "=": "meets"', '"<": "before", "=": "before"'),
    "an end is the wrong one": ("_BEHIND[_side(a.start, b.end)]", "_BEHIND[_side(a.end, b.end)]"),
    "what contains is apart": ('not in ("before", "after")', 'not in ("before", "after", "contains")'),
}


@pytest.mark.parametrize(("right", "wrong"), BROKEN.values(), ids=BROKEN)
def test_weak_orders_refute_a_broken_kernel(right: str, wrong: str) -> None:
    """For each of these faults some orders show it, and what ships has none."""
    assert wrong_orders(SHIPPED) == []
    assert wrong_orders(Broken("intervals", right, wrong).kernel()) != []


@pytest.mark.parametrize("use", [bool, hash, str.__len__, lambda x: x + x, lambda x: -x, float, lambda x: x < 1])
def test_an_endpoint_can_only_be_compared(use: Callable[[Any], object]) -> None:
    """Whatever else is done with an endpoint fails, so nothing but the weak order can matter."""
    with pytest.raises((TypeError, AssertionError, AttributeError)):
        use(Endpoint(0))
