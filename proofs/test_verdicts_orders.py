"""Law L2 by every weak order of the ends, for one write: the verdict is counted over all instants that these leave.

Positions are endpoints that can only be compared, so one representative of each weak order of the read's ends, the
write's ends and the call's start stands for all. Between two neighbouring positions one instant stands for all of them,
and at a position there are two, for ends that share it may stand either way round.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from kernels import SHIPPED, Broken, Kernel
from weak_orders import Endpoint, weak_orders

ORDERS = [ranks for ranks in weak_orders(5) if ranks[0] <= ranks[1] <= ranks[4] and ranks[2] <= ranks[3]]
"""r0 <= r1 <= d, and w0 <= w1, in every way."""

WRITES = {
    "ok": ("must", True),
    "error": ("may", True),
    "unknown": ("may", False),
    "pending": ("may", False),
    "failed": ("never", True),
    "refused": ("never", True),
}
"""Whether a write of this outcome took effect, and whether by its end."""


def counted(ranks: tuple[int, ...], outcome: str) -> str:
    """The verdict, by trying every instant of the read with every instant, or none, of the write."""
    r0, r1, w0, w1, d = ranks
    effect, ended = WRITES[outcome]

    def instants(first: int, last: int) -> range:
        return range(3 * first, 3 * last + 2)

    never: list[int | None] = [None]
    lands: list[int | None] = [] if effect == "never" else [*instants(w0, w1 if ended else max(ranks) + 1)]
    superseded = {
        landed is not None and saw < landed <= 3 * d + 1
        for saw, landed in itertools.product(instants(r0, r1), lands if effect == "must" else lands + never)
    }
    return {(True,): "stale", (False,): "fresh"}.get(tuple(superseded), "suspect")


def judged(kernel: Kernel, ranks: tuple[int, ...], outcome: str) -> str:
    views, staleness = kernel.views, kernel.staleness
    r0, r1, w0, w1, d = map(Endpoint, ranks)
    end = None if outcome == "pending" else w1
    view = object.__new__(views.SequenceView)
    view.entries = [
        views.Entry("r", "a", "read", "ok", r0, r1, 0, 0, (), None, "r", None),
        views.Entry("w", "a", "write", outcome, w0, end, 0, 0, (), None, "w", None),
    ]
    view._by_id = views.by_id(view.entries)
    found = staleness.judge(view, staleness.Claim("c", None, ["r"]), d, 0)
    return str(staleness.verdict_of(found[0].grade)) if found else "fresh"


def wrong(kernel: Kernel) -> Iterator[tuple[Any, ...]]:
    """The orders, with an outcome, of which a kernel gives another verdict."""
    for ranks, outcome in itertools.product(ORDERS, WRITES):
        if judged(kernel, ranks, outcome) != counted(ranks, outcome):
            yield ranks, outcome


def test_the_verdict_is_counted() -> None:
    """L2: in each of the 76 orders, with each outcome, the rule's verdict is the count's; each verdict occurs."""
    assert len(ORDERS) == 76
    assert list(wrong(SHIPPED)) == []
    assert {judged(SHIPPED, *each) for each in itertools.product(ORDERS, WRITES)} == {"fresh", "suspect", "stale"}


BROKEN = {
    "a write at the read's end came after it": ("write.start > after)", "write.start >= after)"),
    "a write that ended as the read began is over": ("end is not None and end < since", "end is not None and end <= since"),
    "what ended at d had not ended by d": ("write.end > at", "write.end >= at"),
    "what raised took effect": ('how == "ok" and write.start', 'how in ("ok", "error") and write.start'),
}


@pytest.mark.parametrize(("right", "wrongly"), BROKEN.values(), ids=BROKEN)
def test_a_wrong_verdict_is_counted(right: str, wrongly: str) -> None:
    """Each of these faults shows in some order."""
    assert next(wrong(Broken("views", right, wrongly).kernel()), None) is not None
