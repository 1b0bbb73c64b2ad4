"""Laws L3 and L4 for all small logs: what the shipped rule finds is what the statement says, whatever the positions.

Seven families of logs, each of up to five events: the call judged, c, and what it rests on and may be superseded by. All
positions are any numbers; kinds, names, outcomes, calls, parents and what is acknowledged are chosen.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from kernels import SHIPPED, Broken, Kernel
from small_logs import FORMS, Finding, SmallLogs
from statement import VERDICTS, id_of, said
from symbolic import Refuted

ALL = tuple(FORMS)
KINDS = ("read", "write")
NAMES = ("a", "a/b", "a/b/c", "a/bc", "d")
"""Beside `a/b`: above it, itself, below it, one that only its letters begin, another."""

PLACES = [("x", None), ("x", "c"), ("x", "q"), ("q", "c"), ("c", "p"), ("p", None), ("r", None)]
"""A call of its own, nested in c or in one, q, that is nested there; q, c itself, the one that c is in, the read's own."""
OWNERS = [("x", None), ("c", None), ("r", None), ("s", None)]

Reasons = frozenset[tuple[str, str]]


def agree(logs: SmallLogs, events: Sequence[Any], call: Any, now: Any = None) -> dict[str, Finding]:
    """What the rule found of each dependency of the call as of its start: it must be what is said, and nothing else."""
    now = call.start if now is None else now
    found = logs.judge(events, call, now=now)
    for key in call.depends_on:
        id, right = id_of(key), said(events, call, key, call.start, now)
        if id not in found:
            logs.run.claim(not right, f"{id} is {right and right[0].reason}, not fresh")
            continue
        fits = [Finding(VERDICTS[each.reason], each.reason, each.by and each.by.id, each.via) for each in right]
        logs.run.claim(found[id] in fits, f"{id} is {fits or 'fresh'}, not {found[id]}")
    logs.run.claim(set(found) <= set(map(id_of, call.depends_on)), f"{sorted(found)} are dependencies")
    return found


def reasons(found: Sequence[dict[str, Finding]]) -> Reasons:
    return frozenset((each.verdict, each.reason) for findings in found for each in findings.values())


@functools.cache
def prove_what_one_event_does(kernel: Kernel) -> Reasons:
    """A read, any one event beside it, whatever its call, and the call: the rule is the statement."""
    logs = SmallLogs(kernel, "r x c")

    def body() -> dict[str, Finding]:
        read = logs.event("r", kind="read", name="a/b")
        other = logs.event("x", kind=KINDS, name=NAMES, form=ALL, place=PLACES)
        inner = logs.event("i", kind="read", name="e", place=[("q", "c")])
        keys = ["r", "x"] if logs.run.choose("c names x", (False, True)) else ["r"]
        call = logs.event("c", name="out", place=[("c", "p")], depends_on=keys)
        return agree(logs, [read, other, inner, call], call)

    return reasons(logs.prove(body))


@functools.cache
def prove_what_two_events_do(kernel: Kernel) -> Reasons:
    """A read, any two events beside it, and the call: the rule is the statement, and its witness is the first by start."""
    logs = SmallLogs(kernel, "r x y c")

    def body() -> dict[str, Finding]:
        read, call = logs.event("r", kind="read", name="a/b"), logs.event("c", name="out", depends_on=["r"])
        others = [logs.event(id, kind=KINDS, name=("a", "a/bc"), form=ALL) for id in "xy"]
        return agree(logs, [read, *others, call], call)

    return reasons(logs.prove(body))


@functools.cache
def prove_who_is_spared(kernel: Kernel) -> Reasons:
    """A read and two writes beside it, of its own call or not, of which the call names any: the rule is the statement."""
    logs = SmallLogs(kernel, "r x y c")

    def body() -> dict[str, Finding]:
        read, named = logs.event("r", kind="read"), logs.run.choose("c names", ((), ("x",), ("x", "y"), (("x", "a"),)))
        others = [logs.event(id, form=("ok", "pending"), place=[(id, None), ("r", None)]) for id in "xy"]
        call = logs.event("c", name="out", depends_on=["r", *named])
        return agree(logs, [read, *others, call], call)

    return reasons(logs.prove(body))


@functools.cache
def prove_what_part_counts(kernel: Kernel) -> Reasons:
    """A read of which the call, or the derived read that it rests on, takes a part: only what touches the part counts."""
    logs = SmallLogs(kernel, "s r x c")

    def body() -> dict[str, Finding]:
        parts = (("s", "a/b"), ("s", "a/b/c"), "s")
        source = logs.event("s", kind="read", name="a/b")
        derived = logs.event("r", kind="read", name="e", depends_on=[logs.run.choose("r takes", parts)])
        other = logs.event("x", name=("a", "a/b/c", "a/b/d", "a/b/cd", "a/b/c/e"), form=("ok", "pending"))
        call = logs.event("c", name="out", depends_on=[logs.run.choose("c takes", (*parts, "r"))])
        return agree(logs, [source, derived, other, call], call)

    return reasons(logs.prove(body))


@functools.cache
def prove_what_it_rests_on(kernel: Kernel) -> Reasons:
    """A dependency of any kind and outcome, with a window and perhaps the instant seen, an unknown one, and a write."""
    logs = SmallLogs(kernel, "r x c")
    now, window = logs.number("now"), logs.number("window")

    def body() -> dict[str, Finding]:
        rested = logs.event("r", kind=KINDS, form=ALL[:7], window=logs.run.choose("window of r", (None, window)))
        call = logs.event("c", name="out", depends_on=["r", *logs.run.choose("c names", ((), ("nobody",)))])
        return agree(logs, [rested, logs.event("x", form=("ok", "pending")), call], call, now)

    return reasons(logs.prove(body))


@functools.cache
def prove_what_is_derived(kernel: Kernel) -> Reasons:
    """A read, one derived from it, any event beside them that the one or the other call names, and the call."""
    logs = SmallLogs(kernel, "s r x c")

    def body() -> dict[str, Finding]:
        source = logs.event("s", kind="read", form=("ok", "failed"))
        of_r, of_c = logs.run.choose("who names x", (((), ()), (("x",), ()), ((), ("x",))))
        derived = logs.event("r", kind=KINDS, name="b", depends_on=["s", *of_r])
        other = logs.event("x", kind=KINDS, name=("a", "b"), form=("ok", "pending", "refused"), place=OWNERS)
        call = logs.event("c", name="out", depends_on=["r", *of_c])
        return agree(logs, [source, derived, other, call], call)

    return reasons(logs.prove(body))


@functools.cache
def prove_which_witness_counts(kernel: Kernel) -> Reasons:
    """A read, one derived from it, and two writes to what the one or the other saw: the first by start is the witness."""
    logs = SmallLogs(kernel, "s r x y c")

    def body() -> dict[str, Finding]:
        reads = [logs.event("s", kind="read"), logs.event("r", kind="read", name="b", depends_on=["s"])]
        writes = [logs.event(id, name=("a", "b")) for id in "xy"]
        call = logs.event("c", name="out", depends_on=["r"])
        return agree(logs, [*reads, *writes, call], call)

    return reasons(logs.prove(body))


FAMILIES = (
    prove_what_one_event_does,
    prove_what_two_events_do,
    prove_who_is_spared,
    prove_what_part_counts,
    prove_what_it_rests_on,
    prove_what_is_derived,
    prove_which_witness_counts,
)


@pytest.mark.parametrize("prove", FAMILIES, ids=lambda prove: prove.__name__.removeprefix("prove_"))
def test_the_rule_is_the_statement(prove: Callable[[Kernel], Reasons]) -> None:
    """L3, L4: verdict, reason, witness and source of every dependency are the statement's, on every path."""
    assert prove(SHIPPED)


def test_every_verdict_and_reason_occurs() -> None:
    """Together the families give each reason that a log can give which drops nothing, with its verdict."""
    occurring = frozenset().union(*(prove(SHIPPED) for prove in FAMILIES))
    assert {(verdict, reason) for reason, verdict in VERDICTS.items()} == occurring


OWN = "own = {claim.call, user, read.call, *ancestors(view, claim.parent)}"
NESTED = "or (write.parent is not None and claim.call is not None and claim.call in ancestors(view, write.parent))"
CHILD = "or (claim.call is not None and write.parent == claim.call)"
DERIVED = 'if read.kind == "read" and view.is_derived(read):'
EDGE = "_edge(view, claim, call, named, source"
BY_START = "return sorted(found, key=lambda write: write[0].start)"
NO_RESULT = 'in ("ok", "pending") else'
one, two, whose, part, rests, derived, witness = FAMILIES
BROKEN = {
    "reads supersede": (one, "views", 'each.kind == "write" and conflict', "conflict"),
    "names are compared by letter": (one, "events", 'other.startswith(name + "/")', "other.startswith(name)"),
    "a write below is nothing": (one, "events", "covers(name, other) or covers(other, name)", "covers(name, other)"),
    "the call's own writes count": (one, "staleness", OWN, OWN.replace("claim.call, user, ", "")),
    "the read's own call's writes count": (whose, "staleness", OWN, OWN.replace("read.call, ", "")),
    "ancestors' writes count": (one, "staleness", OWN, OWN.replace(", *ancestors(view, claim.parent)", "")),
    "nested writes count": (one, "staleness", NESTED, ""),
    "only what is nested at once is spared": (one, "staleness", NESTED, CHILD),
    "an acknowledged write counts": (one, "staleness", "or write.id in acknowledged", ""),
    "acknowledging one write spares all": (whose, "staleness", "or write.id in acknowledged", "or len(acknowledged) > 1"),
    "a part counts as the whole": (part, "staleness", "else narrowed(read, name)", "else read.name"),
    "so it does for what is derived": (part, "staleness", "source, narrowed(source, name), at", "source, source.name, at"),
    "failed writes count": (two, "events", '{"failed", "refused"}', '{"refused"}'),
    "the witness is the first in the log": (two, "views", BY_START, "return found"),
    "the witness is a lost write": (two, "staleness", "lost.start < by.start", "True"),
    "open comes before superseded": (two, "staleness", "view.first_after(name, until, at, spared)", "None"),
    "what has no result is not settled": (rests, "staleness", NO_RESULT, 'in ("ok", "pending", "error") else'),
    "a read that is open counts as settled": (rests, "staleness", 'outcome == "ok" and read.end <= at', 'outcome == "ok"'),
    "an unknown id is nothing": (rests, "staleness", "return _unheld(view, id)\n    probe", "return None\n    probe"),
    "age begins at the start": (rests, "staleness", "seen = read.start_time + read.took", "seen = read.start_time"),
    "at the boundary it has expired": (rests, "staleness", "time - seen > read.window", "time - seen >= read.window"),
    "age comes before superseded": (rests, "staleness", "worst.grade < EXPIRED)", "worst.grade < NOT_SETTLED)"),
    "any source's witness will do": (witness, "staleness", "return bool(said.by.start < other.by.start)", "return False"),
    "the closure is one step": (derived, "staleness", DERIVED, "if False:"),
    "the closure goes through writes": (derived, "staleness", DERIVED, "if view.is_derived(read):"),
    "the source is not told": (derived, "staleness", "said._replace(via=source)", "said"),
    "acknowledgement is inherited": (derived, "staleness", EDGE, EDGE.replace("named", "(*named, *claim.depends_on)")),
    "a source's own acknowledgement is lost": (derived, "staleness", EDGE, EDGE.replace("named", "()")),
    "the lower grade counts": (derived, "staleness", "return said.grade > other.grade", "return said.grade < other.grade"),
}


@pytest.mark.parametrize(("prove", "module", "right", "wrong"), BROKEN.values(), ids=BROKEN)
def test_a_broken_rule_is_refuted(prove: Callable[[Kernel], Reasons], module: str, right: str, wrong: str) -> None:
    """Each of these faults makes the rule say something else of a small log, and the proof finds one."""
    with pytest.raises(Refuted):
        prove(Broken(module, right, wrong).kernel())
