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
from statement import VERDICTS, said
from symbolic import Refuted

AT = 100


class Forgetful:
    """A memory of closures that keeps what it is told as of one position."""

    def __init__(self, kernel: Kernel) -> None:
        self._missing, self._kept = kernel.views.MISSING, {}  # type: ignore[var-annotated]

    def recall(self, call: Any, at: Any) -> Any:
        return self._kept.get(call, self._missing) if at == AT else self._missing

    def keep(self, call: Any, said: Any) -> None:
        self._kept[call] = said


def logged(kernel: Kernel, entries: Sequence[Any], memory: Forgetful | None) -> Any:
    """The shipped plain view over these entries, with this memory."""

    class Log(kernel.views.SequenceView):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self.entries, self._by_id = list(entries), kernel.views.by_id(entries)

        def memory(self) -> Any:
            return memory

    return Log()


NAMED = (("r0", "r1"), ("r0", "r2"), ("r1", "r0"), ("r1", "r2"), ("r1", "s"), ("r1", "x1"), ("r2", "s"))
"""Who may rest on whom; x1 is a write, which r1, where it rests on more, names by the name that is written."""


def graphs() -> Iterator[dict[str, tuple[Any, ...]]]:
    """What each read rests on, by every choice of these; in some r2 takes a part of the source."""
    for chosen in itertools.product((False, True), repeat=len(NAMED)):
        keys: dict[str, tuple[Any, ...]] = dict.fromkeys(("r0", "r1", "r2"), ())
        for (by, on), there in zip(NAMED, chosen, strict=True):
            part = by == "r2" and on == "s" and all(chosen[:2])
            keys[by] += ((("s", "s/part") if part else on),) if there else ()
        yield keys


def logs(kernel: Kernel) -> Iterator[list[Any]]:
    """A source, three reads of a call each, or of one, and two writes to any of what they saw, in any order."""
    entry = kernel.views.Entry
    starts = {"s": 0, "r0": 10, "r1": 20, "r2": 30}
    for keys in graphs():
        for one, other, owner in itertools.product(("r1", "s/other", "x"), ("r0", "r2", "s"), ("y1", "c")):
            is_open = one == "x"
            if len(keys["r1"]) > 2:
                keys["r1"] = tuple(("x1", one) if key == "x1" or key[0] == "x1" else key for key in keys["r1"])
            yield [
                *(
                    entry(id, id, "read", "ok", at, at + 1, at, 1, keys.get(id, ()), None, id, None)
                    for id, at in starts.items()
                ),
                entry("x1", one, "write", "ok", 50, 51, 50, 1, ("s",), None, "x1", None),
                entry(
                    "y1",
                    other,
                    "write",
                    "pending" if is_open else "ok",
                    40,
                    None if is_open else 41,
                    40,
                    1,
                    (),
                    None,
                    owner,
                    None,
                ),
            ]


def prove_graphs(kernel: Kernel) -> set[tuple[str, str | None]]:
    """On every graph, both ways and as often as one asks, the rule is the statement. What is found, by reason and source."""
    staleness, occurring = kernel.staleness, set()
    few = staleness._FEW
    try:
        for entries in logs(kernel):
            judged = kernel.views.Entry("c", "out", "write", "pending", 90, None, 90, 0, ("r0", "r1"), None, "c", None)
            right = {key: said([*entries, judged], judged, key, AT, AT) for key in judged.depends_on}
            kept = Forgetful(kernel)
            for memory, limit in ((None, few), (kept, 0), (kept, few)):
                staleness._FEW = limit
                view = logged(kernel, [*entries, judged], memory)
                found = {each.dependency: each for each in staleness.judge(view, judged, AT, AT)}
                for key, its in right.items():
                    got = found.get(key)
                    fits = [(each.reason, each.by and each.by.id, each.via) for each in its]
                    shown = got and (staleness.REASONS[got.grade], got.by and got.by.id, got.via and got.via.id)
                    if (shown not in fits) if fits else shown:
                        raise Refuted(f"{key} is {shown}, not {fits or 'fresh'}, with a memory of {memory and memory._kept}")
                    if shown is not None:
                        occurring.add((str(shown[0]), shown[2]))
    finally:
        staleness._FEW = few
    return occurring


def prove_parts(kernel: Kernel) -> set[tuple[str, ...]]:
    """Of what a call names by several of its parts the worst is said, once, whichever it names first."""
    entry, staleness = kernel.views.Entry, kernel.staleness
    parts, forms = ("s", ("s", "s/a"), ("s", "s/b"), ("s", "s/c")), (("ok", 51), ("pending", None), ("error", 51))
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
    "the part that is named first counts": (prove_parts, "or _worse(said, found[id])", ""),
    "a reason has another's remedy": (prove_reasons, '"overlapped": "read again"', '"overlapped": "wait, then read again"'),
}


@pytest.mark.parametrize(("prove", "right", "wrong"), BROKEN.values(), ids=BROKEN)
def test_a_broken_closure_is_refuted(prove: Callable[[Kernel], Any], right: str, wrong: str) -> None:
    """Each of these faults shows on some graph, or in the table."""
    with pytest.raises(Refuted):
        prove(Broken("staleness", right, wrong).kernel())
