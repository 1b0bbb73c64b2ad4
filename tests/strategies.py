"""Hypothesis strategies for logs, built to shrink to a story that one can read: few calls, short names, whole seconds.

A log is drawn as a run of calls in the order of their starts, each with what it touches, what it rests on, and how it
ended; then its order is laid over it: by the lines, by ``seq``, or by numbers at both ends, with a clock that may step.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
from hypothesis import settings
from hypothesis import strategies as st

from intervalguard.kernel.events import Dependency, Event

BASE = datetime(2026, 1, 1, tzinfo=UTC)

NAMES = ("a", "a/b", "a/b/c", "a/d", "e", "ab")
"""A small hierarchy, a name apart, and one that is below ``a`` as a text but not by segment."""

ORDERS = ("line", "seq", "numbered")


def times(factor: float) -> settings:
    """``factor`` times as many examples as the profile says."""
    return settings(max_examples=max(1, int(factor * settings.default.max_examples)))


class Log(list[Event]):
    """A list of events that shows as a story: one line an event, seconds for times, and only what was said."""

    def __repr__(self) -> str:
        return "\n" + "\n".join(map(line, self)) + "\n"

    def but(self, id: str, **fields: Any) -> Log:
        """The same log, with some fields of one event changed."""
        return Log(attrs.evolve(event, **fields) if event.id == id else event for event in self)

    def without(self, ids: Collection[str]) -> Log:
        return Log(event for event in self if event.id not in ids)


def line(event: Event) -> str:
    """An event in one line, as in ``e4 write a/b [3, 5] error in k2 under e0 rests on e1, e2@a/b #7-9``."""

    def seconds(time: datetime | None) -> str:
        return "..." if time is None else f"{(time - BASE).total_seconds():g}"

    words = [
        event.id,
        event.kind,
        event.name,
        f"[{seconds(event.start_time)}, {seconds(event.end_time)}]",
        event.outcome,
    ]
    words += [f"in {event.call}"] if event.call != event.id else []
    words += [f"under {event.parent}"] if event.parent else []
    if event.depends_on:
        words += ["rests on", ", ".join(each.id + (f"@{each.name}" if each.name else "") for each in event.depends_on)]
    words += [f"window {event.validity_window_seconds:g}"] if event.validity_window_seconds is not None else []
    words += [f"saw {seconds(event.observed_at)}"] if event.observed_at else []
    words += [f"until {seconds(event.may_land_until)}"] if event.may_land_until else []
    words += [f"#{event.seq}"] if event.seq is not None else []
    words += [f"to #{event.end_seq}"] if event.end_seq is not None else []
    return " ".join(words)


def moment(seconds: float) -> datetime:
    """The time ``seconds`` after the base of all logs here."""
    return BASE + timedelta(seconds=seconds)


def below(name: str) -> tuple[str, ...]:
    """The names that ``name`` covers, itself first, and one that no event has."""
    return (*(each for each in NAMES if each == name or each.startswith(name + "/")), f"{name}/z")


_OUTCOMES = st.sampled_from(("ok",) * 13 + ("error", "error", "unknown", "unknown", "failed", "refused", "pending", "lost"))
_TOUCHES = st.sampled_from([(kind, name) for name in ("a", "a/b", *NAMES) for kind in ("write", "read")])
_GAPS = st.sampled_from((1, 1, 0, 2))
_LENGTHS = st.sampled_from((1, 1, 0, 2, 5))
_WINDOWS = st.sampled_from((None, None, None, None, None, 3, 2, 1, 0))
_SEVERAL = st.sampled_from((1, 1, 1, 1, 2, 3))
_DEPENDENCIES = st.sampled_from((1, 1, 0, 2, 3))
_FLAVOURS = st.sampled_from(("usual",) * 26 + ("narrow",) * 9 + ("any",) * 5 + ("nobody",))
_BACK = st.sampled_from((0, 1, 2, 3, 4, 5))
_SHORT = st.integers(0, 4)
_SHIFTS = st.sampled_from((0, 0, -4, 3))
_SELDOM = st.sampled_from((False, False, False, True))
_BOOLEANS = st.booleans()
_TIES = st.sampled_from(("ends", "starts", "mixed"))
_PARTS = {name: st.sampled_from(below(name)) for name in NAMES}


def _drafts(draw: st.DrawFn, calls: int) -> list[dict[str, Any]]:
    """The events of a log with whole seconds for times, in the order of the starts."""
    drafts: list[dict[str, Any]] = []
    families: list[str] = []
    clock = 0
    for number in range(draw(st.integers(2, calls))):
        clock += draw(_GAPS)
        outcome = draw(_OUTCOMES)
        is_open = outcome in ("pending", "lost")
        end = None if is_open else clock + draw(_LENGTHS)
        several = draw(_SEVERAL)
        call = f"e{len(drafts)}" if several == 1 else f"k{number}"
        parent = families[-1 - draw(_BACK) % min(3, len(families))] if families and draw(_SELDOM) else None
        earlier = list(drafts)
        for place in range(several):
            kind, name = draw(_TOUCHES)
            draft = {
                "id": f"e{len(drafts)}",
                "name": name,
                "kind": kind,
                "start": clock,
                "end": end,
                "outcome": "unknown" if outcome == "lost" else outcome,
                "call": call,
                "parent": parent,
                "validity_window_seconds": draw(_WINDOWS),
                "depends_on": _rests_on(draw, earlier, clock) if place == 0 or draw(_BOOLEANS) else (),
            }
            if kind == "read" and outcome == "ok" and draw(_SELDOM):
                draft["observed_at"] = end - draw(_SHORT)
            if kind == "write" and draft["outcome"] == "unknown" and draw(_BOOLEANS):
                draft["may_land_until"] = clock + draw(_SHORT)
            drafts.append(draft)
        families.append(call)
    return drafts


def _rests_on(draw: st.DrawFn, earlier: Sequence[dict[str, Any]], now: int) -> tuple[Dependency, ...]:
    """Mostly what had ended well by ``now``, the latest first."""
    ended = [each for each in earlier if each["outcome"] == "ok" and each["end"] <= now]
    found = []
    for _ in range(draw(_DEPENDENCIES)):
        flavour = draw(_FLAVOURS)
        among = earlier if flavour == "any" else ended
        if flavour == "nobody":
            found.append(Dependency("nobody"))
        elif among:
            on = among[-1 - draw(_BACK) % min(6, len(among))]
            found.append(Dependency(on["id"], draw(_PARTS[on["name"]]) if flavour == "narrow" else None))
    return tuple(found)


@st.composite
def logs(draw: st.DrawFn, calls: int = 9, orders: Sequence[str] = ORDERS, steps: bool = True) -> Log:
    """Logs of two to ``calls`` calls: ties, open ends, every outcome, nesting, derived reads, several events a call.

    ``steps``: whether the clock of a numbered log may step back or forth against the numbers.
    """
    drafts = _drafts(draw, calls)
    order = draw(st.sampled_from(tuple(orders)))
    if order == "numbered":
        _number(drafts, draw(_TIES), draw(_BOOLEANS))
        if steps and draw(_BOOLEANS):
            shifts = {call: draw(_SHIFTS) for call in dict.fromkeys(d["call"] for d in drafts)}
            for draft in drafts:
                for field in ("start", "end", "observed_at", "may_land_until"):
                    if draft.get(field) is not None:
                        draft[field] += shifts[draft["call"]]
    elif order == "seq":
        for place, draft in enumerate(drafts):
            draft["seq"] = place
    if draw(_BOOLEANS):  # A log may be written as calls end.
        ends = {draft["call"]: 99 if draft["end"] is None else draft["end"] for draft in drafts}
        drafts = sorted(drafts, key=lambda draft: ends[draft["call"]])
    return Log(made(draft) for draft in drafts)


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
        name = {"derive": "report", "ask": "out"}.get(step) or draw(_TOUCHES)[1]
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
            draft["outcome"] = draw(_OUTCOMES.filter(lambda outcome: outcome not in ("pending", "lost")))
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


def _number(drafts: list[dict[str, Any]], first: str, shared: bool) -> None:
    """Number both ends of all events, in the order of the times; of equal times ``first`` says which come first.

    ``shared``: the events of one call have the numbers of its first.
    """
    ends = []
    for place, draft in enumerate(drafts):
        early = {"ends": 1, "starts": 0, "mixed": place % 2}[first]
        ends.append(((draft["start"], early, place, 0), draft, "seq"))
        if draft["end"] is not None:
            late = (draft["end"], 1 - early if draft["end"] > draft["start"] else early, place, 1)
            ends.append((late, draft, "end_seq"))
    for number, (_, draft, field) in enumerate(sorted(ends, key=lambda end: end[0])):
        draft[field] = number
    if shared:
        heads: dict[str, dict[str, Any]] = {}
        for draft in drafts:
            head = heads.setdefault(draft["call"], draft)
            draft["seq"] = head["seq"]
            if draft["end"] is not None:
                draft["end_seq"] = head["end_seq"]


def made(draft: dict[str, Any]) -> Event:
    """An event whose times are given in seconds."""
    fields = dict(draft)
    fields["start_time"] = moment(fields.pop("start"))
    end = fields.pop("end")
    fields["end_time"] = None if end is None else moment(end)
    for field in ("observed_at", "may_land_until"):
        if fields.get(field) is not None:
            fields[field] = moment(fields[field])
    return Event(**fields)
