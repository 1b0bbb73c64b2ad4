"""What `admit` and `settle` decide, against what the semantics say, said anew, on every small log of a few shapes.

The searches of the interleavings prove that what is admitted is safe; that a call is not kept waiting, or refused, for
nothing, and what it is told, is proved here. The findings are those of `judge`, of which the other proofs are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pytest
from kernels import SHIPPED, Broken, Kernel
from statement import conflicting, id_of
from symbolic import Refuted

AT, NOW = 20, 1000
"""The position and the time at which is asked."""


class Case(NamedTuple):
    """A log and a call that asks; ``touches`` are names with their kinds."""

    entries: Sequence[Any]
    call: Any
    touches: Sequence[tuple[str, str, None]]
    least: int | None
    waited: bool


def logged(kernel: Kernel, entries: Sequence[Any]) -> Any:
    """The shipped plain view over these entries, with what admission asks beside."""

    class Log(kernel.views.SequenceView):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self.entries, self._by_id = list(entries), kernel.views.by_id(entries)

        def in_flight(self) -> bool:
            return any(each.kind == "write" and each.outcome in ("pending", "unknown") for each in self.entries)

        def first_pinning(self, name: str, spared: Callable[[Any], bool]) -> tuple[Any, str] | None:
            for each in sorted(self.entries, key=lambda each: each.start):
                if each.kind == "write" and each.outcome == "pending" and each.depends_on and not spared(each):
                    for pin in kernel.admission.pinned(self, each.depends_on):
                        if conflicting(pin, name):
                            return each, pin
            return None

    return Log()


def line(entries: Sequence[Any], call: str | None) -> list[str]:
    """A call and those that it is in, as far as the log knows."""
    found: list[str] = []
    while call is not None and call not in found:
        found.append(call)
        call = next((each.parent for each in entries if each.call == call), None)
    return found


def rested_on(entries: Sequence[Any], keys: Sequence[Any], seen: tuple[str, ...] = ()) -> set[str]:
    """The names of all that these keys rest on, through reads."""
    names = set()
    for key in keys:
        for each in entries:
            if each.id == id_of(key):
                names.add(each.name if isinstance(key, str) else key[1])
                if each.kind == "read" and each.id not in seen:
                    names |= rested_on(entries, each.depends_on, (*seen, each.id))
    return names


def patient(case: Case, blocker: Any) -> bool:
    """Whether the call is in no other, or its outermost began before the blocker's did: wait-die."""
    if case.call.parent is None:
        return True
    starts = []
    for call in (blocker.call, case.call.parent):
        held = [each.start for call in line(case.entries, call)[::-1] for each in case.entries if each.call == call]
        starts += held[:1]
    return len(starts) == 2 and starts[0] > starts[1]


def said(case: Case, findings: Sequence[Any], least_in_flight: int) -> tuple[Any, ...]:
    """What the semantics say: the decision's name, and of a wait whom for, for what, and whether it may."""
    refused = [each for each in findings if case.least is not None and each.grade >= case.least]
    if any(each.grade != least_in_flight for each in refused):
        return ("Refuse",)
    if refused:
        return "Wait", refused[0].by.id, refused[0].by.name, patient(case, refused[0].by)
    own = [case.call.call, *line(case.entries, case.call.parent)]
    others = [each for each in case.entries if each.kind == "write" and each.call not in own and each.start <= AT]
    others.sort(key=lambda each: each.start)
    touched = [name for kind in ("write", "read") for name, its, _ in case.touches if its == kind]
    writes = [name for name, kind, _ in case.touches if kind == "write"]
    if case.least is not None:
        for name in writes if case.waited else touched:
            for each in others:
                if each.outcome == "pending" and conflicting(each.name, name):
                    return "Wait", each.id, name, patient(case, each)
        for name, each in itertools.product(writes, others):
            pins = {pin for pin in rested_on(case.entries, each.depends_on) if conflicting(pin, name)}
            if each.outcome == "pending" and pins:
                return "Wait", each.id, pins, patient(case, each)
    return ("Admit",)


def cases(kernel: Kernel) -> Iterator[Case]:
    """Four reads, another write, what it and the call may be nested in; and a call of several kinds."""
    views, staleness = kernel.views, kernel.staleness

    def entry(id: str, name: str, kind: str, outcome: str, start: int, end: Any, keys: Any, call: str, parent: Any) -> Any:
        return views.Entry(id, name, kind, outcome, start, end, 0, 0, keys, None, call, parent)

    reads = [
        entry("s", "a", "read", "ok", 0, 1, (), "s", None),
        entry("r", "b", "read", "ok", 2, 3, ("s",), "r", None),
        entry("old", "f", "read", "ok", 4, 5, (), "old", None),
        entry("long", "b", "read", "ok", 6, 10, (), "long", None),
    ]
    reads[1].window, reads[2].window = NOW, NOW - 1
    keys = ((), ("r",), (("s", "a/b"),))
    writes = itertools.product(
        ("a", "b", "d"), ("pending", "ok", "unknown"), keys, (("w", None), ("w", "q"), ("c", None), ("p", None), ("x", "p"))
    )
    asks = itertools.product(
        ((), ("r",), ("old",), ("long",)),
        (None, "p"),
        (
            (("b", "write", None),),
            (("d", "read", None),),
            (("e", "read", None), ("a/b", "write", None)),
        ),
        ((None, False), (0, False), (0, True), (staleness.EXPIRED, False)),
    )
    for (name, outcome, rests, (call, parent)), (own, within, touches, (least, waited)) in itertools.product(
        writes, list(asks)
    ):
        for outer in ((6, 5), (5, 6)) if within and parent == "q" else ((5, 6), ()) if within and call == "w" else ((5, 6),):
            write = entry("w", name, "write", outcome, 8, 9 if outcome == "ok" else None, rests, call, parent)
            around = [
                entry(each, "z", "write", "pending", start, None, (), each, None)
                for each, start in zip("pq", outer, strict=False)
                if within or parent
            ]
            yield Case([write, *reads, *around], staleness.Claim("c", within, own), touches, least, waited)


def decided(decision: Any) -> tuple[Any, ...]:
    name = type(decision).__name__
    return (name, decision.blocker.id, decision.name, decision.patient) if name == "Wait" else (name,)


def prove_decisions(kernel: Kernel) -> set[str]:
    """Every decision is the one said, and carries the findings that there are. The decisions that occur."""
    admission, staleness = kernel.admission, kernel.staleness
    occurring = set()
    if admission.LEAST != {"suspect": staleness.OVERLAPPED, "stale": staleness.EXPIRED}:
        raise Refuted(f"{admission.LEAST} is what the policies refuse")
    for case in cases(kernel):
        view = logged(kernel, case.entries)
        findings = staleness.judge(view, case.call, AT, NOW)
        decision = admission.admit(view, case.call, case.touches, case.least, AT, NOW, *([True] if case.waited else []))
        right, got = said(case, findings, staleness.IN_FLIGHT), decided(decision)
        same = got == right or (got[:2] == right[:2] == ("Wait", "w") and got[2] in right[2] and got[3:] == right[3:])
        if not same or list(decision.findings) != findings:
            raise Refuted(f"{got}, not {right}, of {case} with {findings}")
        occurring.add(" ".join(map(str, (*got[:1], *got[3:]))))
        refused = case.least is not None and any(each.grade >= case.least for each in findings)
        for first, more, outcome in endings(kernel, case.call):
            entries = [*case.entries, first, *more]
            given = admission.settle(logged(kernel, entries), first, case.call, outcome, case.least, AT, NOW)
            is_judged = outcome == "ok" and not any(each.call == "c" and each.kind == "write" for each in entries)
            right = None if first.outcome != "pending" else "Refuse" if is_judged and refused else "Admit"
            told = findings if is_judged else []
            if (given and type(given).__name__) != right or (given and list(given.findings) != told):
                raise Refuted(f"{given} is the end of {first} as {outcome}, of {case} with {findings}")
    return occurring


def endings(kernel: Kernel, call: Any) -> Iterator[tuple[Any, list[Any], str]]:
    """A call's first event, the others of it, and what it ends as: a read, a write, both in one, and one that has ended."""

    def event(id: str, kind: str, outcome: str, name: str = "z") -> Any:
        end = None if outcome == "pending" else 7
        return kernel.views.Entry(id, name, kind, outcome, 6, end, 0, 0, call.depends_on, None, "c", call.parent)

    for outcome in ("ok", "error", "unknown"):
        yield event("c", "read", "pending"), [], outcome
        yield event("c", "write", "pending"), [], outcome
        yield event("c", "read", "pending"), [event("d", "write", "pending")], outcome
        yield event("c", "read", "unknown"), [], outcome


def prove_pins(kernel: Kernel) -> None:
    """What a call pins is everything that it rests on, through reads and up to writes, also where these go in a circle."""
    entry = kernel.views.Entry
    entries = [
        entry(id, name, kind, "ok", at, at, 0, 0, keys, None, call, None)
        for at, (id, name, kind, keys, call) in enumerate(
            [
                ("s", "a", "read", ("gone", "t"), "s"),
                ("r", "b", "read", (("s", "a/b"), "w"), "r"),
                ("w", "c", "write", ("r", "u"), "w"),
                ("t", "d", "read", ("s",), "t"),
                ("u", "e", "read", (), "u"),
                ("v", "f", "read", ("u",), "r"),
            ]
        )
    ]
    view = logged(kernel, entries)
    for keys, names in {
        ("s",): "a d",
        ("r",): "a a/b b c d e",
        (("r", "b/x"),): "a a/b b/x c d e",
        ("w",): "c",
        ("gone", "u"): "e",
        ("u", "gone"): "e",
        (): "",
    }.items():
        if sorted(kernel.admission.pinned(view, keys)) != names.split():
            raise Refuted(f"{keys} pins {kernel.admission.pinned(view, keys)}")


def test_decisions() -> None:
    """Every decision of the enumeration is the one that the statement says, and each occurs."""
    assert prove_decisions(SHIPPED) == {"Admit", "Refuse", "Wait True", "Wait False"}


def test_pins() -> None:
    """L7: a log in which reads rest on reads, on writes, on each other and on what is gone."""
    prove_pins(SHIPPED)


OWN = "event.call in line or event.call == claim.call"
BROKEN: dict[str, tuple[Callable[[Kernel], Any], str, str]] = {
    "a read waits for ever": (prove_decisions, "() if waited else", ""),
    "every call may wait": (prove_decisions, "theirs.start > own.start", "True"),
    "what the policy bears with is not told": (
        prove_decisions,
        "return Admit(findings) if findings else ADMITTED\n    refused",
        "return ADMITTED\n    refused",
    ),
    "an ancestor blocks": (prove_decisions, OWN, "event.call == claim.call"),
    "pins stop at the first read": (prove_pins, "stack += view.rests_on(source.call)", "pass"),
    "pins go through writes": (prove_pins, 'source.kind == "read" and', ""),
}


@pytest.mark.parametrize(("prove", "right", "wrong"), BROKEN.values(), ids=BROKEN)
def test_a_broken_admission_is_refuted(prove: Callable[[Kernel], Any], right: str, wrong: str) -> None:
    """Each of these faults decides something else, and is found."""
    with pytest.raises(Refuted):
        prove(Broken("admission", right, wrong).kernel())
