"""Law L2: the three verdicts are exact, quantified over the instants.

A read saw the world at an instant of its interval, and a write took effect at one of its own, or, where its outcome says
so, never. *Stale* is to be superseded in every assignment of instants, *fresh* in none, *suspect* in some and not in all.
Z3 eliminates the quantifiers over the instants; what is left speaks of positions, and on every path of the shipped rule
the verdict must follow from it.

An instant is a position and a place within it: ends that share a position may stand either way round.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import pytest
import z3
from kernels import SHIPPED, Broken, Kernel
from small_logs import FORMS, SmallLogs
from symbolic import Refuted

EFFECT = {"ok": "must", "error": "may", "unknown": "may", "pending": "may", "failed": "never", "refused": "never"}
"""Whether a write with this outcome took effect."""


@functools.cache
def allowed(effects: tuple[str, ...], bounded: tuple[bool, ...]) -> tuple[Any, Any]:
    """When the read r is superseded by ``at`` in some, and in every, assignment of instants to it and to writes w0, w1, ...

    ``bounded`` says which writes have a last position. Over the reals r.first, r.last, w0.first, w0.last, ..., at.
    """
    at, saw, saw_within = z3.Reals("at saw saw_within")
    instants, possible, superseded = [saw, saw_within], [z3.Real("r.first") <= saw, saw <= z3.Real("r.last")], []
    for each, (effect, has_last) in enumerate(zip(effects, bounded, strict=True)):
        landed, within = z3.Reals(f"landed{each} within{each}")
        happened = z3.Bool(f"happened{each}")
        instants += [landed, within, happened]
        possible.append(z3.Real(f"w{each}.first") <= landed)
        possible += [landed <= z3.Real(f"w{each}.last")] if has_last else []
        possible += [happened] if effect == "must" else [z3.Not(happened)] if effect == "never" else []
        later = z3.Or(saw < landed, z3.And(saw == landed, saw_within < within))
        superseded.append(z3.And(happened, later, landed <= at))

    def some(claim: Any) -> Any:
        return z3.Tactic("qe")(z3.Exists(instants, z3.And(*possible, claim))).as_expr()

    return z3.Or([some(by_one) for by_one in superseded]), z3.Not(some(z3.Not(z3.Or(superseded))))


def last_of(write: Any) -> Any:
    """The last position at which a write may have taken effect, ``None`` for at any time from its start."""
    if write.outcome == "unknown":
        return write.extra.until if write.extra is not None else None
    return write.end


def prove_verdicts(kernel: Kernel, writes: int, forms: Sequence[str], seen: Sequence[bool] = (False, True)) -> set[str]:
    """The verdicts that occur, each of them exact, of a read and so many writes to its resource."""
    logs = SmallLogs(kernel, " ".join(["r", *(f"w{each}" for each in range(writes))]))
    run, at = logs.run, logs.number("at")
    run.assume(logs.number("r.end").term <= at.term)

    def meant(read: Any, wrote: Sequence[Any]) -> tuple[Any, Any]:
        first, last = read.start.term, read.end.term
        if read.extra is not None:
            # A bare time stands after what ends at that time, but nobody sees past the end.
            first = last = z3.If(read.extra.seen.term < last, read.extra.seen.term, last)
        values = [(z3.Real("r.first"), first), (z3.Real("r.last"), last)]
        lasts = [last_of(each) for each in wrote]
        for each, (write, end) in enumerate(zip(wrote, lasts, strict=True)):
            values.append((z3.Real(f"w{each}.first"), write.start.term))
            values += [] if end is None else [(z3.Real(f"w{each}.last"), end.term)]
        kinds = tuple(EFFECT[each.outcome] for each in wrote), tuple(end is not None for end in lasts)
        some, every = allowed(*kinds)
        return z3.substitute(some, *values), z3.substitute(every, *values)

    def body() -> str:
        read = logs.event("r", kind="read", seen=seen)
        wrote = [logs.event(f"w{each}", form=forms) for each in range(writes)]
        found = logs.judge([read, *wrote], logs.event("c", depends_on=["r"]), at)
        some, every = meant(read, wrote)
        if not found:
            run.entail(z3.Not(some), "what is fresh was superseded in no assignment of instants")
            return "fresh"
        verdict = found["r"].verdict
        if verdict == "stale":
            run.entail(every, "what is stale was superseded in every assignment of instants")
        else:
            run.entail(z3.And(some, z3.Not(every)), f"what is {verdict} was superseded in some, not in every assignment")
        return verdict

    return set(logs.prove(body))


ALL = tuple(FORMS)


@pytest.mark.parametrize(
    ("writes", "forms", "seen"),
    [(1, ALL, (False, True)), (2, ALL, (False,)), (2, ("ok", "error", "pending"), (False, True))],
    ids=["one write", "two writes", "two writes and the instant seen"],
)
def test_the_verdicts_are_exact(writes: int, forms: tuple[str, ...], seen: tuple[bool, ...]) -> None:
    """L2: for all positions and outcomes the verdict is what all assignments of instants say, and each occurs."""
    assert prove_verdicts(SHIPPED, writes, forms, seen) == {"fresh", "suspect", "stale"}


def test_an_assignment_of_instants_says_what_it_should() -> None:
    """What is left without quantifiers is, for one write that is ok, the semantics' inequalities."""
    some, every = allowed(("must",), (True,))
    r0, r1, w0, w1, at = z3.Reals("r.first r.last w0.first w0.last at")
    solver = z3.Solver()
    solver.add(r0 <= r1, w0 <= w1, r1 <= at)
    assert solver.check(some != z3.Not(z3.Or(w1 < r0, w0 > at))) == z3.unsat
    assert solver.check(every != z3.And(w0 > r1, w1 <= at)) == z3.unsat


BROKEN = {
    "a write at the read's end came after it": ("views", "write.start > after)", "write.start >= after)"),
    "a write that ended as the read began is over": ("views", "outcome and end >= since", "outcome and end > since"),
    "so it is for the short cut": ("views", "end is not None and end < since", "end is not None and end <= since"),
    "what ended at d had not ended by d": ("views", "write.end > at", "write.end >= at"),
    "what began at d had not begun by d": ("views", "write.start > at", "write.start >= at"),
    "what raised took effect": ("views", 'how == "ok" and write.start', 'how in ("ok", "error") and write.start'),
    "what raised took none": ("events", '{"failed", "refused"}', '{"failed", "refused", "error"}'),
    "what was refused took effect": ("events", '{"failed", "refused"}', '{"failed"}'),
    "a lost write has landed at its end": ("views", '("lost", None) if outcome == "unknown" else', ""),
    "a lost write landed as it began": ("views", 'return "error", extra.until', 'return "error", write.start'),
    "the first write is looked at alone": ("views", "return sorted(found,", "return sorted(found[:1],"),
    "a source is seen past the end": ("staleness", "seen > read.end", "False"),
    "a read saw the world when it began": ("staleness", "name, until, at, spared)", "name, since, at, spared)"),
    "an open write took effect": ("views", 'how == "ok" and write.start', 'how in ("ok", "open") and write.start'),
}


def prove_one_and_two(kernel: Kernel) -> None:
    prove_verdicts(kernel, 1, ALL)
    prove_verdicts(kernel, 2, ("ok", "pending"))


@pytest.mark.parametrize("fault", BROKEN.values(), ids=BROKEN)
def test_a_broken_rule_is_refuted(fault: tuple[str, str, str]) -> None:
    """Each of these faults gives a wrong verdict of one write, or of two, and the proof finds it."""
    with pytest.raises(Refuted):
        prove_one_and_two(Broken(*fault).kernel())
