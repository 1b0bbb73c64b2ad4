"""The executor that the proofs rest on finds what is wrong, and refuses what it cannot follow."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import z3
from symbolic import Executor, Number, Refuted, Unsupported, certify


def within(x: Any, low: Any, high: Any) -> bool:
    return bool(low <= x) and bool(x <= high)


def within_but_an_end(x: Any, low: Any, high: Any) -> bool:
    return bool(low <= x) and bool(x < high)


def prove_within(function: Callable[[Any, Any, Any], bool]) -> int:
    """Whether a function says where a number is within two others; the number of its paths."""
    run = Executor()
    x, low, high = (run.number(name) for name in ("x", "low", "high"))
    meant = z3.And(low.term <= x.term, x.term <= high.term)

    def body() -> None:
        said = function(x, low, high)
        run.entail(meant if said else z3.Not(meant), "within is within")

    return len(run.explore(body))


def test_what_holds_is_proved_and_a_mistake_is_found() -> None:
    """Three paths prove the right function; of the wrong one the counterexample is the end that it leaves out."""
    assert prove_within(within) == 3
    with pytest.raises(Refuted, match="within is within") as refuted:
        prove_within(within_but_an_end)
    values = dict(each.split("=") for each in str(refuted.value).removeprefix("within is within: ").split(", "))
    assert values["x"] == values["high"]
    assert float(values["low"]) <= float(values["x"])


def test_a_mistake_in_one_choice_is_found() -> None:
    """Choices are all made, and a counterexample says which it is about."""
    run = Executor()

    def body() -> None:
        function = run.choose("function", (within, within, within_but_an_end))
        said = function(run.number("x"), run.number("x"), run.number("x"))
        run.claim(said, "a number is within itself")

    with pytest.raises(Refuted, match=r"a number is within itself: .*function=2"):
        run.explore(body)


def test_a_choice_is_made_once_on_a_path() -> None:
    """The same choice has the same answer on a path, and all pairs of two choices occur."""
    run = Executor()
    leaves = run.explore(lambda: [run.choose(name, "xyz") for name in ("one", "other", "one")])
    assert sorted("".join(leaf.value or ()) for leaf in leaves) == [a + b + a for a, b in itertools.product("xyz", repeat=2)]


def test_sorting_takes_every_order() -> None:
    """`sorted` compares alone, so it can be followed: three numbers have six strict orders, and each path is sorted."""
    run = Executor()
    numbers = [run.number(name) for name in "abc"]

    def body() -> tuple[str, ...]:
        one, two, three = sorted(numbers)
        run.entail(z3.And(one.term <= two.term, two.term <= three.term), "what is sorted is in order")
        return repr(one), repr(two), repr(three)

    assert {leaf.value for leaf in run.explore(body)} == set(itertools.permutations("abc"))


def test_equality_and_sums_are_followed() -> None:
    """A sum is compared as the sum that it is."""
    run = Executor()
    x = run.number("x")

    def body() -> bool:
        return bool(x + 1 - x == 1) and bool(1 - x != 2 - x) and bool(x < 1 + x)

    (leaf,) = run.explore(body)
    assert leaf.value is True


def test_assumptions_leave_out_what_they_exclude() -> None:
    """Of numbers that are in order only that path is taken."""
    run = Executor()
    a, b = run.number("a"), run.number("b")
    run.assume(a.term < b.term)
    assert [leaf.value for leaf in run.explore(lambda: bool(a < b))] == [True]


def test_what_is_raised_is_what_the_function_does() -> None:
    """An exception belongs to its path, and the path's condition says when."""
    run = Executor()
    a, b = run.number("a"), run.number("b")

    def body() -> int:
        if b < a:
            raise ValueError("out of order")
        return 1

    raised = {type(leaf.error): leaf.condition for leaf in run.explore(body)}
    solver = z3.Solver()
    assert solver.check(raised[ValueError] != (b.term < a.term)) == z3.unsat
    assert solver.check(raised[type(None)] != (a.term <= b.term)) == z3.unsat


UNSUPPORTED: dict[str, Callable[[Number], object]] = {
    "bool": bool,
    "hash": hash,
    "str": str,
    "format": lambda x: f"{x}",
    "int": int,
    "float": float,
    "index": lambda x: [0][x],  # type: ignore[index]
    "round": round,
    "abs": abs,
    "negative": lambda x: -x,  # type: ignore[operator]
    "product": lambda x: x * x,  # type: ignore[operator]
    "quotient": lambda x: 1 / x,  # type: ignore[operator]
    "in a set": lambda x: x in {1, 2},
    "key": lambda x: {x: 1},
    "a float": lambda x: x < 0.5,
    "a text": lambda x: x == "x",
    "none": lambda x: x == None,  # noqa: E711
    "truth": lambda x: (x < 1) == (x < 2),
    "length": len,  # type: ignore[dict-item]
    "another run": lambda x: x < Executor().number("y"),
}


@pytest.mark.parametrize("use", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_what_cannot_be_followed_is_no_proof(use: Callable[[Number], object]) -> None:
    """Whatever else is done with a number stops the proof, though the code under proof swallows exceptions."""
    run = Executor()

    def body() -> None:
        try:
            use(run.number("x"))
        except Exception:
            return

    with pytest.raises(Unsupported):
        run.explore(body)


def test_code_that_depends_on_more_than_its_arguments_is_no_proof() -> None:
    """A function that asks something else the second time, or nothing more, is found out."""
    for asked in ("ab ca", "ab a"):
        run = Executor()
        turns = iter(asked.split())

        def body(run: Executor = run, turns: Any = turns) -> None:
            for one, other in itertools.pairwise(next(turns)):
                bool(run.number(one) < run.number(other))

        with pytest.raises(Unsupported, match="not deterministic"):
            run.explore(body)


def test_a_claim_before_the_last_question_is_no_proof() -> None:
    """When a path is run again the solver knows what comes later on it, so a claim in between is refused."""
    run = Executor()
    a, b, c = (run.number(name) for name in "abc")

    def body() -> None:
        if a < b:
            run.entail(a.term <= b.term, "less is at most")
        bool(b < c)

    with pytest.raises(Unsupported, match="middle of a replay"):
        run.explore(body)


def test_assumptions_that_nothing_satisfies_are_no_proof() -> None:
    """Of no numbers everything holds."""
    run = Executor()
    a = run.number("a")
    run.assume(a.term < a.term)
    with pytest.raises(Unsupported, match="no numbers satisfy"):
        run.explore(lambda: None)


def test_a_lost_path_is_found() -> None:
    """The certificate fails whichever path is taken away, and where one is there twice."""
    run = Executor()
    a, b = run.number("a"), run.number("b")

    def body() -> None:
        bool(run.choose("swap", (False, True)) and b < a) or bool(a < b)

    leaves = run.explore(body)
    paths = [leaf.answers for leaf in leaves]
    assert len(paths) == 5
    ordered = [path for path in paths if path[-1][1] and path[-1][0].formula.eq(a.term < b.term)]
    certify([a.term < b.term], ordered)
    for some in (ordered, *([each for each in paths if each is not path] for path in paths)):
        with pytest.raises(Unsupported, match="a path was lost"):
            certify([], some)
    for path in paths:
        with pytest.raises(Unsupported, match="two paths are one"):
            certify([], [*paths, path])
