"""Law L1 by Z3: the shipped functions, run on any real endpoints, against predicates written by hand."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import pytest
import z3
from allen_by_hand import FIVE_BY_HAND, TEXTBOOK, by_hand
from kernels import SHIPPED, Broken, Kernel
from symbolic import Executor, Number, Refuted


def ends_of_two(run: Executor) -> list[Number]:
    """Any a0 <= a1 and b0 <= b1."""
    ends = a0, a1, b0, b1 = [run.number(name) for name in ("a0", "a1", "b0", "b1")]
    run.assume(a0.term <= a1.term)
    run.assume(b0.term <= b1.term)
    return ends


def prove_relations(kernel: Kernel) -> None:
    """`allen`, `relation`, `intersects` and `converse` are, on every path, what the hand-written predicates say.

    Those are run on the same numbers, and exactly one of them must hold.
    """
    run = Executor()
    numbers = ends_of_two(run)
    a0, a1, b0, b1 = [number.term for number in numbers]
    point = z3.Real("point")
    some_point = z3.Exists([point], z3.And(a0 <= point, point <= a1, b0 <= point, point <= b1))
    share = z3.Tactic("qe")(some_point).as_expr()
    intervals = kernel.intervals

    def body() -> str:
        a, b = intervals.Interval(*numbers[:2]), intervals.Interval(*numbers[2:])
        name = by_hand(*numbers)
        run.claim(intervals.allen(a, b) == name, f"a is {name} to b")
        run.claim(intervals.relation(a, b) == FIVE_BY_HAND[name], f"{name} is {FIVE_BY_HAND[name]}")
        intersects = intervals.intersects(a, b)
        back = intervals.allen(b, a)
        run.entail(share if intersects else z3.Not(share), "to intersect is to share a point")
        run.claim(back == intervals.converse(name), f"the converse of {name} is {back}")
        return str(name)

    assert {leaf.value for leaf in run.explore(body)} == set(TEXTBOOK)


def prove_constructor(kernel: Kernel) -> None:
    """An interval is refused exactly where it would end before it starts."""
    run = Executor()
    start, end = run.number("start"), run.number("end")

    def body() -> None:
        try:
            kernel.intervals.Interval(start, end)
        except ValueError:
            run.entail(end.term < start.term, "refused is what ends before it starts")
        else:
            run.entail(start.term <= end.term, "an interval ends no sooner than it starts")

    assert len(run.explore(body)) == 2


@functools.cache
def conditions(kernel: Kernel) -> dict[str, Any]:
    """When `allen` gives each of the thirteen, read off its paths, over the ends a0, a1, b0, b1."""
    run, interval = Executor(), kernel.intervals.Interval
    numbers = ends_of_two(run)
    found: dict[str, list[Any]] = {}
    for leaf in run.explore(lambda: str(kernel.intervals.allen(interval(*numbers[:2]), interval(*numbers[2:])))):
        found.setdefault(str(leaf.value), []).append(leaf.condition)
    return {name: z3.Or(each) for name, each in found.items()}


def prove_composition(kernel: Kernel, instants: bool) -> None:
    """A relation is in a composition exactly where some real intervals show it, by `allen` as its paths have it."""
    ends = [z3.Real(f"{name}{end}") for name in "abc" for end in "01"]
    a, b, c = ends[:2], ends[2:4], ends[4:]
    solver = z3.SolverFor("QF_LRA")
    solver.add(*(start <= end if instants else start < end for start, end in (a, b, c)))
    names = [z3.Real(name) for name in ("a0", "a1", "b0", "b1")]

    def between(name: str, x: list[Any], y: list[Any]) -> Any:
        return z3.substitute(conditions(kernel)[name], *zip(names, x + y, strict=True))

    to_c = {name: between(name, a, c) for name in kernel.intervals.ALLEN}
    for r, s in itertools.product(kernel.intervals.ALLEN, repeat=2):
        solver.push()
        solver.add(between(r, a, b), between(s, b, c))
        shown = {name for name in kernel.intervals.ALLEN if solver.check(to_c[name]) == z3.sat}
        solver.pop()
        if shown != kernel.intervals.compose(r, s, instants=instants):
            raise Refuted(f"{r} ; {s} is {sorted(shown)}")


def test_the_relations_are_what_the_predicates_say() -> None:
    """L1: for all real endpoints, instants included, the thirteen, the five, the converse and what intersects."""
    prove_relations(SHIPPED)


def test_an_interval_is_refused_exactly_where_it_ends_before_it_starts() -> None:
    """L1: for all real endpoints."""
    prove_constructor(SHIPPED)


@pytest.mark.parametrize("instants", [True, False])
def test_the_composition_table_is_exact(instants: bool) -> None:
    """L1: for all real endpoints each relation of each of the 169 entries occurs, and no other."""
    prove_composition(SHIPPED, instants)


def proper(kernel: Kernel) -> None:
    prove_composition(kernel, False)


def with_instants(kernel: Kernel) -> None:
    prove_composition(kernel, True)


MEETS_FIRST = '    if a.end == b.start:\n        return "meets"\n    starts, ends ='
BROKEN = {
    "meets is asked first": ("    starts, ends =", MEETS_FIRST, prove_relations),
    "a start is compared for an end": ("_AHEAD[_side(a.end, b.start)]", "_AHEAD[_side(a.start, b.start)]", prove_relations),
    "a name is another's": ('("<", "="): "finished-by"', '("<", "="): "finishes"', prove_relations),
    "met-by is an overlap": ('"met-by": "after"', '"met-by": "overlaps"', prove_relations),
    "what meets is apart": ('not in ("before", "after")', 'not in ("before", "after", "meets")', prove_relations),
    "a relation is its converse": ("allen(a, b): allen(b, a)", "allen(a, b): allen(a, b)", prove_relations),
    "instants are refused": ("not self.start <= self.end", "not self.start < self.end", prove_constructor),
    "what runs backward is let through": ("not self.start <= self.end", "self.start is None", prove_constructor),
    "a composition is looked up turned round": ("(to[a][b], to[b][c])", "(to[a][b], to[c][b])", proper),
    "instants are left out of compositions": ("(6, instants=instants)", "(6, instants=False)", with_instants),
}


@pytest.mark.parametrize(("right", "wrong", "prove"), BROKEN.values(), ids=BROKEN)
def test_a_broken_kernel_is_refuted(right: str, wrong: str, prove: Callable[[Kernel], None]) -> None:
    """For each of these faults there are endpoints that show it, and they are found."""
    with pytest.raises(Refuted):
        prove(Broken("intervals", right, wrong).kernel())
