"""What is derived from what, in every way: the rule against the statement on graphs of reads, circles included.

The rule has two ways through a closure, with a memory and without, and two ways to look up what a call names, for few
and for many. Whichever is taken, it says what the statement says. Here positions are numbers; that any numbers will do
is proved on smaller logs (`test_rule.py`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from kernels import SHIPPED, Broken, Kernel
from statement import VERDICTS, above, said
from symbolic import Refuted

AT = 100


class Kept:
    """A memory of closures, which answers for calls and for the present alone."""

    def __init__(self, kernel: Kernel) -> None:
        self._missing, self.said = kernel.views.MISSING, {}  # type: ignore[var-annotated]

    def recall(self, call: Any, at: Any) -> Any:
        if call is None or at != AT:
            raise Refuted(f"what was kept for {call} as of {at}")
        return self.said.get(call, self._missing)

    def keep(self, call: Any, said: Any) -> None:
        self.said[call] = said


def logged(kernel: Kernel, entries: Sequence[Any], memory: Kept | None, *, is_wary: bool = False) -> Any:
    """The shipped plain view over these entries, with this memory, which tells whose closures were looked at.

    It has dropped the event `gone`. One that is wary says of nothing that it is undisturbed, as a view may.
    """

    class Log(kernel.views.SequenceView):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self.entries, self._by_id = list(entries), kernel.views.by_id(entries)
            self.asked: list[Any] = []

        def memory(self) -> Any:
            return memory

        def rests_on(self, call: Any) -> Any:
            self.asked.append(call)
            if len(self.asked) > 100:
                raise Refuted(f"the closures are looked at without end: {self.asked[-9:]}")
            return super().rests_on(call)

        def is_derived(self, read: Any) -> bool:
            return bool(super().rests_on(read.call))

        def undisturbed(self, *question: Any) -> bool:
            return not is_wary and super().undisturbed(*question)

        def was_dropped(self, id: Any) -> bool:
            return bool(id == "gone")

    return Log()


NAMED = (("r0", "r2"), ("r0", "r1"), ("r1", "r0"), ("r1", "r2"), ("r1", "s"), ("r1", "x1"), ("r2", "s"))
"""Who may rest on whom; x1 is a write, which r1, where it rests on more, names by the name that is written."""


def graphs() -> Iterator[dict[str, tuple[Any, ...]]]:
    """What each read rests on, by every choice of these; in some r2 takes a part of the source."""
    for chosen in itertools.product((False, True), repeat=len(NAMED)):
        keys: dict[str, tuple[Any, ...]] = dict.fromkeys(("r0", "r1", "r2"), ())
        for (by, on), there in zip(NAMED, chosen, strict=True):
            part = by == "r2" and on == "s" and all(chosen[:2])
            keys[by] += ((("s", "s/part") if part else on),) if there else ()
        yield keys


def reads(kernel: Kernel, keys: dict[str, tuple[Any, ...]]) -> list[Any]:
    """A source and three reads, of a call each, which rest on these."""
    entry, starts = kernel.views.Entry, {"s": 0, "r0": 10, "r1": 20, "r2": 30}
    return [entry(id, id, "read", "ok", at, at + 1, at, 1, keys.get(id, ()), None, id, None) for id, at in starts.items()]


def logs(kernel: Kernel) -> Iterator[list[Any]]:
    """The reads, and two writes to any of what they saw, in any order."""
    entry = kernel.views.Entry
    for keys in graphs():
        for one, other, owner in itertools.product(("r1", "s/other", "x"), ("r0", "r2", "s"), ("y1", "c")):
            outcome, end = ("pending", None) if one == "x" else ("ok", 41)
            if len(keys["r1"]) > 2:
                keys["r1"] = tuple(("x1", one) if key == "x1" or key[0] == "x1" else key for key in keys["r1"])
            yield [
                *reads(kernel, keys),
                entry("x1", one, "write", "ok", 50, 51, 50, 1, ("s",), None, "x1", None),
                entry("y1", other, "write", outcome, 40, end, 40, 1, (), None, owner, None),
            ]


def prove_graphs(kernel: Kernel) -> set[tuple[str, str | None]]:
    """On every graph, both ways and as often as one asks, the rule is the statement. What is found, by reason and source."""
    staleness, occurring = kernel.staleness, set()
    few = staleness._FEW
    try:
        for entries in logs(kernel):
            judged = kernel.views.Entry("c", "out", "write", "pending", 90, None, 90, 0, ("r0", "r1"), None, "c", None)
            right = {key: said([*entries, judged], judged, key, AT, AT) for key in judged.depends_on}
            kept = Kept(kernel)
            for memory, limit in ((None, few), (kept, 0), (kept, few)):
                staleness._FEW = limit
                view = logged(kernel, [*entries, judged], memory)
                found = {each.dependency: each for each in staleness.judge(view, judged, AT, AT)}
                for key, its in right.items():
                    got = found.get(key)
                    fits = [(each.reason, each.by and each.by.id, each.via) for each in its]
                    shown = got and (staleness.REASONS[got.grade], got.by and got.by.id, got.via and got.via.id)
                    if (shown not in fits) if fits else shown:
                        raise Refuted(f"{key} is {shown}, not {fits or 'fresh'}, with a memory of {memory and memory.said}")
                    if shown is not None:
                        occurring.add((str(shown[0]), shown[2]))
    finally:
        staleness._FEW = few
    return occurring


def prove_parts(kernel: Kernel) -> set[tuple[str, ...]]:
    """Of what a call names by several of its parts the worst is said, once, whichever it names first."""
    entry, staleness = kernel.views.Entry, kernel.staleness
    parts = ("s", ("s", "s/a"), ("s", "s/b"), ("s", "s/c"))
    forms = (("ok", 51), ("pending", None), ("error", 60), ("unknown", None))
    occurring = set()
    for keys, (one, other) in itertools.product(itertools.permutations(parts, 2), itertools.product(forms, repeat=2)):
        source = entry("s", "s", "read", "ok", 0, 1, 0, 1, (), None, "s", None)
        writes = [
            entry(name, name, "write", outcome, 50 + at, end and end + at, 50, 1, (), None, name, None)
            for at, (name, (outcome, end)) in enumerate((("s/b", other), ("s/a", one)))
        ]
        judged = entry("c", "out", "write", "pending", 90, None, 90, 0, keys, None, "c", None)
        its = [each for key in keys for each in said([source, *writes, judged], judged, key, AT, AT)]
        right = min(((list(VERDICTS).index(each.reason), each.by.start, each.by.id) for each in its), default=None)
        found = staleness.judge(logged(kernel, [source, *writes, judged], None), judged, AT, AT)
        got = [(list(VERDICTS).index(staleness.REASONS[each.grade]), each.by.start, each.by.id) for each in found]
        if got != ([right] if right else []) or any((each.dependency, each.entry) != ("s", source) for each in found):
            raise Refuted(f"{keys} is {found}, not {right}")
        occurring.add(tuple(staleness.REASONS[each.grade] for each in found))
    return occurring


def reached(keys: dict[str, tuple[Any, ...]], id: str) -> set[str]:
    """The reads that one is derived from, where to rest on oneself is nothing."""
    found: set[str] = set()
    todo = [id]
    while todo:
        by = todo.pop()
        new = {key for key in keys[by] if key in keys and key != by} - found
        found |= new
        todo += new
    return found


def prove_memory(kernel: Kernel) -> int:
    """Where nothing is a circle, a call is judged once for all: what the memory keeps is what the log says to nobody.

    It keeps that of each call in the closure, and the second time nothing is looked at. A call that rests on an event of
    its own is no circle.
    """
    entry, staleness, whole = kernel.views.Entry, kernel.staleness, 0
    write = entry("y", "s", "write", "ok", 40, 41, 40, 1, (), None, "y", None)
    premise = entry("x1", "x", "write", "ok", 50, 51, 50, 1, ("s",), None, "x1", None)
    for keys, own in itertools.product(graphs(), ((), ("r2",), ("r0",))):
        keys = {**keys, "r2": (*keys["r2"], *own)}
        memory, claim = Kept(kernel), staleness.Claim("c", None, ("r0",))
        view = logged(kernel, [*reads(kernel, keys), premise, write], memory)
        found = staleness.judge(view, claim, AT, AT)
        closure = {"r0", *reached(keys, "r0")}
        right = {id: staleness._swept(view, staleness.NOBODY, id, AT) for id in closure if keys[id]}
        is_circle = any(id in reached(keys, id) for id in closure)
        if not (right.items() >= memory.said.items() and (is_circle or right == memory.said)):
            raise Refuted(f"of {keys} is kept {memory.said}, not {right}")
        view.asked.clear()
        if staleness.judge(view, claim, AT, AT) != found or (view.asked and not is_circle):
            raise Refuted(f"in {keys} the closures of {view.asked} are looked at again")
        whole += not is_circle
    return whole


SOURCES = (("s",), ("gone",), ("s", "t"), ("t", "s"), ("nobody", "gone"), ("gone", "nobody"), ("s", "q"))
WRITERS = (("x", None), ("r", None), ("u", None), ("c", None), ("p", None), ("g", None), ("n", "c"), ("n", "p"))
"""Calls and what they are made in: one apart; the read's, and what that is made in; the one judged, c, p, in which it is
made unless it is alone, and g, in which p may be; one nested in c, and one in p."""


def shapes(kernel: Kernel) -> Iterator[list[Any]]:
    """A read r of several sources, which may be derived, or have failed, or be unknown; and a write of any call to these."""
    entry, fine = kernel.views.Entry, ("ok", 21)
    states = [(fine, "ok", writer, up) for writer in WRITERS for up in (None, "g", "c", "alone")]
    states += [(fine, "error", WRITERS[0], None), (("ok", AT + 1), "ok", WRITERS[0], None)]
    states += [(("pending", None), outcome, WRITERS[0], None) for outcome in ("ok", "error")]
    for keys, state, name, is_there in itertools.product(SOURCES, states, ("a/r", "b"), (False, True)):
        (outcome, end), of_s, (writer, within), up = state
        yield [
            entry("s", "a/s", "read", of_s, 0, 1, 0, 1, (), None, "s", None),
            entry("t", "a/t", "read", "ok", 5, 6, 5, 1, (), None, "t", None),
            entry("q", "q", "read", "ok", 10, 11, 10, 1, ("t",), None, "q", None),
            entry("r", name, "read", outcome, 20, end, 20, 1, keys, None, "r", "u"),
            entry("u", "u", "read", "ok", 12, 13, 12, 1, (), None, "u", None),
            entry("g", "g", "read", "ok", 13, 14, 13, 1, (), None, "g", None),
            entry("p", "p", "read", "ok", 14, 15, 14, 1, (), None, "p", None if up == "alone" else up),
            *([entry("y", "a/t", "write", "ok", 45, 46, 45, 1, (), None, "y", None)] if is_there else ()),
            entry("x", "a", "write", "ok", 50, 51, 50, 1, (), None, writer, within if writer == "n" else None),
            entry("c", "out", "write", "pending", 90, None, 90, 0, ("r",), None, "c", None if up == "alone" else "p"),
        ]


def prove_sources(kernel: Kernel) -> set[tuple[str, str | None]]:
    """What is said of a derived read is exactly one thing: of one witness, that of the read, then that of the first source.

    It is the same with a memory and without, from few keys and many, of a view that does not say what is undisturbed, and
    of a call that the log does not hold yet.
    """
    staleness, occurring = kernel.staleness, set()
    few = staleness._FEW
    try:
        for entries in shapes(kernel):
            started, judged = {each.id: each.start for each in entries}, entries[-1]
            line = staleness.ancestors(logged(kernel, entries, None), judged.parent)
            if {"c", *line} != {*above(entries, "c", judged.parent)}:
                raise Refuted(f"c is said to be made in {[*line]}")
            its = said(entries, judged, "r", AT, AT)
            first = min(its, key=lambda each: started.get(each.via, -1), default=None)
            right = [(first.reason, first.by and first.by.id, first.via)] if first else []
            if right == [("unknown-dependency", None, None)] and "nobody" not in entries[3].depends_on:
                right = [("history-dropped", None, None)]
            kept = Kept(kernel)
            ways = (
                (None, few, False, entries),
                (None, 0, True, entries[:-1]),
                (kept, few, True, entries),
                (kept, 0, False, entries),
            )
            for memory, limit, is_wary, log in ways:
                staleness._FEW = limit
                found = staleness.judge(logged(kernel, log, memory, is_wary=is_wary), judged, AT, AT)
                got = [(staleness.REASONS[each.grade], each.by and each.by.id, each.via and each.via.id) for each in found]
                if got != right:
                    raise Refuted(f"{entries[3].depends_on} is {got}, not {right}")
                occurring |= {(reason, via) for reason, _, via in got}
    finally:
        staleness._FEW = few
    return occurring


def prove_worst(kernel: Kernel) -> None:
    """Of two things said the higher grade is taken, then the first witness, the dependency itself, the first source."""
    staleness, entry = kernel.staleness, kernel.views.Entry
    early, late = (entry(id, "a", "read", "ok", at, 9, at, 1, (), None, id, None) for id, at in (("e", 1), ("l", 2)))
    witnesses = [
        (staleness.HISTORY_DROPPED, None),
        *itertools.product((staleness.IN_FLIGHT, staleness.SUPERSEDED), (early, late)),
    ]
    every = [staleness.Said(*its, via) for its, via in itertools.product(witnesses, (None, early, late))]

    def rank(each: Any) -> tuple[int, ...]:
        return -each.grade, each.by.start if each.by else 0, each.via.start if each.via else 0

    for one, other in itertools.product(every, repeat=2):
        found, right = staleness._worst(one, other), min(one, other, key=rank)
        if found != right or staleness._worst(one, None) != one or staleness._worst(None, one) != one:
            raise Refuted(f"of {one} and {other} the worst is {found}")


def prove_ages(kernel: Kernel) -> None:
    """A read is as old as the instant seen, an equal look, or its end; at its window it has not expired, past it it has.

    It saw the world at that instant, at its end if that is sooner, or else at any time of its own.
    """
    views, staleness = kernel.views, kernel.staleness
    given = {None: 5, views.Extra(version="v"): 5, views.Extra(seen=1003, seen_time=3): 3}
    looks = {None: None, staleness.Probe(False, 1006, 1007, 8): 8, staleness.Probe(True, 1006, 1007, 8): None}
    for (extra, seen), (probe, looked), age in itertools.product(given.items(), looks.items(), (9, 10, 11)):
        read = views.Entry("r", "a", "read", "ok", 1000, 1004, 2, 3, (), 10, "r", None, None, extra)
        claim = staleness.Claim("c", None, ("r",), probe and {"r": probe})
        found = staleness.judge(logged(kernel, [read], None), claim, 2000, (looked or seen) + age)
        right = ["version"] if probe and probe.is_another else ["expired"] if age > 10 else []
        if [staleness.REASONS[each.grade] for each in found] != right:
            raise Refuted(f"{age} after it is {found}, not {right}")
    instants = {None: (1000, 1004), 1003: (1003, 1003), 1006: (1004, 1004)}
    for seen, instant in instants.items():
        read.extra = views.Extra(version="v", seen=seen)
        if staleness.observation(read) != instant:
            raise Refuted(f"what gives {seen} is said to see the world at {staleness.observation(read)}")


def prove_reasons(kernel: Kernel) -> None:
    """The reasons in their order, with the verdict and the remedy of each, as the semantics have them."""
    table = {
        "unknown-dependency": ("unverifiable", "read it first"),
        "history-dropped": ("unverifiable", "read it first"),
        "no-result": ("unverifiable", "read it first"),
        "not-settled": ("unverifiable", "read it first"),
        "superseded": ("stale", "read again"),
        "version": ("stale", "read again"),
        "expired": ("stale", "read again"),
        "in-flight": ("suspect", "wait, then read again"),
        "unknown-outcome": ("suspect", "settle it, then read again"),
        "overlapped": ("suspect", "read again"),
    }
    staleness = kernel.staleness
    shown = {
        each: (staleness.verdict_of(grade), staleness.REMEDIES.get(each)) for grade, each in enumerate(staleness.REASONS)
    }
    if list(staleness.REASONS)[::-1] != list(table) or shown != table or dict(staleness.REMEDIES).keys() != table.keys():
        raise Refuted(f"{shown}")
    for grade, reason in enumerate(staleness.REASONS):
        if getattr(staleness, reason.upper().replace("-", "_")) != grade:
            raise Refuted(f"{reason} is not {grade}")


def test_graphs() -> None:
    """L2, L3: 128 graphs of three reads and a source, with 18 pairs of writes each."""
    found = prove_graphs(SHIPPED)
    assert {reason for reason, _ in found} == {"superseded", "in-flight"}
    assert {None, "s", "r0", "r1", "r2"} >= {via for _, via in found} >= {None, "s", "r2"}


def test_parts() -> None:
    """Section 2: one finding for each dependency, every two of three parts and the whole, with two writes."""
    assert prove_parts(SHIPPED) == {("superseded",), ("in-flight",), ("unknown-outcome",)}


def test_memory() -> None:
    """Section 2: in 232 of 384 graphs, those without a circle, no closure is looked at twice."""
    assert prove_memory(SHIPPED) == 232


def test_sources() -> None:
    """L3: 1,008 logs of a read and its sources, each judged in four ways."""
    found = prove_sources(SHIPPED)
    assert {reason for reason, _ in found} == {
        "superseded",
        "not-settled",
        "no-result",
        "history-dropped",
        "unknown-dependency",
    }
    assert {via for _, via in found} == {None, "s", "t"}


def test_worst() -> None:
    """Section 2: every two of fifteen things that can be said."""
    prove_worst(SHIPPED)


def test_ages() -> None:
    """Section 2: nine reads and looks, just within the window and just past it."""
    prove_ages(SHIPPED)


def test_reasons() -> None:
    """Section 2: ten reasons, highest first."""
    prove_reasons(SHIPPED)
    assert set(VERDICTS) < set(SHIPPED.staleness.REASONS)


BROKEN: dict[str, tuple[Callable[[Kernel], Any], str, str]] = {
    "what is remembered is spared to everyone": (
        prove_graphs,
        "or not _spares(view, claim, claim.call, (), read)(said.by)",
        "or True",
    ),
    "what many name is looked for among the keys": (
        prove_graphs,
        "key[0] if type(key) is tuple else key for key in keys)",
        "key for key in ())",
    ),
    "a circle is taken for the bottom": (
        prove_graphs,
        "elif again:\n            return MISSING",
        "elif again:\n            return None",
    ),
    "nothing is remembered": (prove_memory, "memory.keep(call, reduce(_worst, known, said))", "pass"),
    "what is open is asked for its sources": (prove_sources, "worst.grade >= NOT_SETTLED", "worst.grade > NOT_SETTLED"),
    "an old value is as old as its read": (prove_ages, "seen = read.extra.seen_time", "seen = read.start_time + read.took"),
    "the part that is named first counts": (prove_parts, "or _worse(said, found[id])", ""),
    "a reason has another's remedy": (prove_reasons, '"overlapped": "read again"', '"overlapped": "wait, then read again"'),
}


@pytest.mark.parametrize(("prove", "right", "wrong"), BROKEN.values(), ids=BROKEN)
def test_a_broken_closure_is_refuted(prove: Callable[[Kernel], Any], right: str, wrong: str) -> None:
    """Each of these faults shows on some graph, or in the table."""
    with pytest.raises(Refuted):
        prove(Broken("staleness", right, wrong).kernel())
