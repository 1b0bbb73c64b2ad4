"""The strategies of the laws: the kit's own, and two shapes of logs beside them that are rich in what is derived."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from intervalguard.kernel.events import Dependency
from intervalguard.testing import strategies as kit
from intervalguard.testing.stories import BASE, Log, line, moment
from intervalguard.testing.strategies import NAMES, ORDERS, below, made

__all__ = ["BASE", "NAMES", "ORDERS", "Log", "below", "line", "logs", "made", "moment", "reports", "times", "webs"]


def times(factor: float) -> settings:
    """``factor`` times as many examples as the profile says."""
    return settings(max_examples=max(1, int(factor * settings.default.max_examples)))


def logs(calls: int = 9, orders: Sequence[kit.Order] = ORDERS, steps: bool = True) -> st.SearchStrategy[Log]:
    """The kit's logs, of at least two events and about so many ``calls`` at most; every other one is long."""
    most = calls + calls // 3
    return st.one_of(kit.logs(least, most, orders=orders, steps=steps) for least in (2, most // 2))


_OUTCOMES = st.sampled_from(("ok",) * 13 + ("error", "error", "unknown", "unknown", "failed", "refused"))
_NAMES = st.sampled_from(("a", "a/b", *NAMES))
_LENGTHS = st.sampled_from((1, 1, 0, 2, 5))
_BACK = st.sampled_from((0, 1, 2, 3, 4, 5))
_SELDOM = st.sampled_from((False, False, False, True))
_BOOLEANS = st.booleans()
_BACKS = st.sets(st.integers(1, 4), max_size=3)
_WEB_NAMES = st.sampled_from(("a", "b", "c", "d", "e", "f"))
_WEB_KINDS = st.sampled_from(("read", "read", "read", "write"))
_STEPS = st.sampled_from(("derive", "derive", "ask", "ask", "write", "read"))


@st.composite
def reports(draw: st.DrawFn, steps: int = 25) -> Log:
    """Logs in which reads are derived from reads, and many calls rest on them before, while and after sources move."""
    drafts: list[dict[str, Any]] = []
    reads: list[str] = []
    for clock in range(draw(st.integers(3, steps))):
        step = draw(_STEPS)
        rested: Sequence[str] = ()
        if step in ("derive", "ask") and reads:
            rested = list(dict.fromkeys(reads[-1 - draw(_BACK) % len(reads)] for _ in range(1 + draw(_BOOLEANS))))
        name = {"derive": "report", "ask": "out"}.get(step) or draw(_NAMES)
        draft = {
            "id": f"e{clock}",
            "name": name,
            "kind": "write" if step in ("ask", "write") else "read",
            "start": clock,
            "end": clock + draw(_LENGTHS) / 2,
            "depends_on": [Dependency(each) for each in rested],
        }
        if step in ("derive", "read"):
            reads.append(draft["id"])
        elif step == "write":
            draft["outcome"] = draw(_OUTCOMES)
            draft["parent"] = drafts[-1]["id"] if drafts and draw(_SELDOM) else None
        drafts.append(draft)
    return Log(made(draft) for draft in drafts)


@st.composite
def webs(draw: st.DrawFn, steps: int = 16) -> Log:
    """Logs of calls one after another on few names, each resting on some of the last: much is derived from much."""
    drafts: list[dict[str, Any]] = []
    for clock in range(draw(st.integers(4, steps))):
        back = sorted(draw(_BACKS))
        drafts.append(
            {
                "id": f"e{clock}",
                "name": draw(_WEB_NAMES),
                "kind": draw(_WEB_KINDS),
                "start": 2 * clock,
                "end": 2 * clock + 1,
                "depends_on": [Dependency(drafts[-each]["id"]) for each in back if each <= len(drafts)],
            }
        )
    return Log(made(draft) for draft in drafts)
