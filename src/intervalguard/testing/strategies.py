"""Hypothesis strategies for names, times, events and whole logs, built to shrink to a story that one can read.

A log is drawn as a list of touches, each by itself; they become calls in the order of their starts, each with what it
rests on and how it ended; then an order is laid over them: by the lines, by ``seq``, or by numbers at both ends, with a
clock that may step. So every log is well-formed by construction, and nothing is drawn to be thrown away.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from itertools import product
from typing import Any, Literal, NamedTuple, TypeAlias

from hypothesis import strategies as st

from ..kernel.events import Dependency, Event, check_name, covers
from ..kernel.intervals import Interval
from .stories import Log, moment

__all__ = ["ALIKE", "NAMES", "ORDERS", "below", "events", "instants", "intervals", "logs", "made", "names"]

NAMES = ("a", "a/b", "a/b/c", "a/d", "e", "ab")
"""A small hierarchy, a name apart, and one that is below ``a`` as a text but not by segment."""

ALIKE = (
    "a", "A", "a ", " a", "a_", "ab", "a%", "aXb", "orders/4", "orders/42", "orders/_", "Orders/4", "e\u0301", "\u00e9",
    "ss", "\u00df", "i", "\u0131", "I", "\u0130", "n\x00", "n", "q'", "q''", 'q"', "q\\", "x/%", "x/y", "0", "00",
    "1", "1.0", "null", "None", "\U0001f600", "\ufe0f", "t\n", "t", "k:v", "k", "s*", "s.",
)  # fmt: skip
"""Names that are alike to a text comparison that is not exact: by case, spaces, wildcards, accents, quotes, or as numbers.
Of two neighbours none covers the other."""

Order: TypeAlias = Literal["line", "seq", "numbered"]

ORDERS: tuple[Order, ...] = ("line", "seq", "numbered")
"""What puts a log's events in order: the lines where times are equal, ``seq`` there, or numbers at both ends."""


def below(name: str, among: Sequence[str] = NAMES) -> tuple[str, ...]:
    """The names that ``name`` covers, itself first, and one below it that is not ``among`` them."""
    return (name, *(each for each in among if each != name and covers(name, each)), f"{name}/z")


def names(among: Sequence[str] = NAMES) -> st.SearchStrategy[str]:
    """Names of resources in a hierarchy: few and short, so that two of them conflict often.

    Raises ``ValueError`` for a text that is no name, and where there is none. Shrinks towards the first.
    """
    if not among:
        raise ValueError(f"among={among!r} has no names: give at least one, as in 'orders/42'")
    return st.sampled_from([check_name(name) for name in among])


def instants(max_seconds: int = 20) -> st.SearchStrategy[datetime]:
    """Aware times of whole seconds, from `BASE` to ``max_seconds`` after it. Shrinks towards `BASE`."""
    return st.integers(0, max_seconds).map(moment)


def intervals(max_seconds: int = 20) -> st.SearchStrategy[Interval[datetime]]:
    """Closed intervals between `instants`, those that are an instant among them. Shrinks towards one."""
    seconds = st.integers(0, max_seconds)
    return st.builds(_interval, seconds, st.one_of(st.just(0), st.integers(1, 5), seconds), st.just(max_seconds))


def _interval(start: int, length: int, last: int) -> Interval[datetime]:
    return Interval(moment(start), moment(max(start, min(start + length, last))))


def _mix(*weighted: Sequence[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    """One of each, drawn in a single choice; simplest where most are the first of their kind.

    An event that rests on nothing is five choices with the one that there is one more: as many as Hypothesis takes out
    of a run of them at once.
    """
    mixes = sorted(product(*weighted), key=lambda mix: sum(a != each[0] for a, each in zip(mix, weighted, strict=True)))
    return st.sampled_from(mixes)


_OUTCOMES = ("ok",) * 13 + ("error", "error", "unknown", "unknown", "failed", "refused", "pending", "lost")
_GAPS = (1, 1, 0, 2)
_LENGTHS = (1, 1, 0, 2, 5)
_WINDOWS = (None, None, None, None, None, 3, 2, 1, 0)
_OUTERS = (0,) * 6 + (1, 2, 3)
_MORE = (0,) * 6 + (1, 2, 3, 4, 5)
_JOINS = (False, False, False, False, True)
_FLAVOURS = ("usual",) * 13 + ("narrow",) * 5 + ("any",) * 2 + ("nobody",)
_BOOLEANS = st.booleans()
_TIES = st.sampled_from(("ends", "starts", "mixed"))
_SHIFTS = st.sampled_from((0, 0, -4, 3))
_ON: st.SearchStrategy[Sequence[str]] = st.sampled_from(((), ("e1",), ("e1", "e2")))
_WHO = st.sampled_from((None, None, "s", "t"))


def dependencies(among: Sequence[str] = NAMES) -> st.SearchStrategy[Dependency]:
    """Dependencies on a whole event, or on a part of it by name; the ids are of no log. Shrinks towards the whole of one."""
    ids = st.sampled_from(("e0", "e1", "e2", "e3"))
    return st.builds(Dependency, ids, st.one_of(st.none(), names(among)))


@st.composite
def events(draw: st.DrawFn, among: Sequence[str] = NAMES) -> Event:
    """Single events: both kinds, every outcome, open and closed, numbered or not, with or without what few have.

    ``st.from_type(Event)`` is this. What such an event rests on is in no log; use `logs` where that matters. Shrinks
    towards a read of the first name, ``ok``, in the first second.
    """
    drawn = draw(st.sampled_from(_OUTCOMES))
    kind = draw(st.sampled_from(("read", "write")))
    start, length = draw(st.integers(0, 20)), draw(st.sampled_from(_LENGTHS))
    outcome = "unknown" if drawn == "lost" else drawn
    end = None if drawn in ("pending", "lost") else start + length
    seq = draw(st.one_of(st.none(), st.integers(0, 50)))
    draft: dict[str, Any] = {
        "id": draw(st.sampled_from(("e0", "e3", "e4", "e5"))),
        "name": draw(names(among)),
        "kind": kind,
        "start": start,
        "end": end,
        "outcome": outcome,
        "validity_window_seconds": draw(st.sampled_from(_WINDOWS)),
        "depends_on": draw(_ON),
        "seq": seq,
        "session": draw(_WHO),
    }
    has_more = draw(_BOOLEANS)
    if has_more:
        draft["call"], draft["parent"] = draw(st.sampled_from((("k1", None), ("k1", "k0"), (draft["id"], "k0"))))
    if has_more and seq is not None and end is not None:
        draft["end_seq"] = seq + draw(st.integers(0, 5))
    if has_more and kind == "read" and outcome == "ok" and end is not None:
        draft["observed_at"] = draw(st.one_of(st.none(), st.integers(0, end)))
        draft["version"] = draw(st.sampled_from((None, "v1", "v2")))
    if has_more and kind == "write" and outcome == "unknown":
        draft["may_land_until"] = draw(st.one_of(st.none(), st.integers(start, start + 5)))
    return made(draft)


@st.composite
def logs(
    draw: st.DrawFn,
    min_size: int = 0,
    max_size: int = 12,
    *,
    orders: Sequence[Order] = ORDERS,
    steps: bool = True,
    among: Sequence[str] = NAMES,
) -> Log:
    """Whole logs, well-formed by construction, of ``min_size`` to ``max_size`` events that touch names ``among`` these.

    In them are ties, open ends, every outcome, calls of several events, calls nested in calls, reads derived from
    reads, dependencies narrowed to a part, and now and then one that no log has heard of. ``orders`` are those that are
    drawn from. ``steps``: whether the clock of a numbered log may step back or forth against the numbers.

    A log is a list of events that shows as a story, a line an event. Shrinks towards few events, the first names, ids
    such as ``e0``, and small whole seconds.
    """
    for name in among:
        check_name(name)
    if isinstance(orders, str) or not orders or not set(orders) <= set(ORDERS):
        raise ValueError(f"orders={orders!r} are not some of {', '.join(map(repr, ORDERS))}")
    drafts = _drafts(draw(st.lists(_touches(tuple(among)), min_size=min_size, max_size=max_size)), among)
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


class _Touch(NamedTuple):
    """An event as it is drawn: by itself, with numbers for what it refers to, so that any of them can go from a log.

    ``how`` are the outcome, the gap to the call before it, and the length. ``aside``: whether it joins the call before
    it, and then what it says of the call does not count; in which call it is nested; its window; its age or its time to
    land, where such an event has one.
    """

    how: tuple[str, int, int]
    what: tuple[str, str]
    aside: tuple[bool, int, int | None, int]
    rests_on: Sequence[tuple[str, int, int]]


_HOWS = _mix(_OUTCOMES, _GAPS, _LENGTHS)
_ASIDES = _mix(_JOINS, _OUTERS, _WINDOWS, _MORE)
_DEPENDENCIES = st.lists(_mix(_FLAVOURS, range(6), range(3)), max_size=3)


@cache
def _touches(among: tuple[str, ...]) -> st.SearchStrategy[_Touch]:
    what = _mix(("write", "read"), (*among[:2], *among))
    return st.tuples(_HOWS, what, _ASIDES, _DEPENDENCIES).map(lambda drawn: _Touch(*drawn))


def _drafts(touches: Sequence[_Touch], among: Sequence[str]) -> list[dict[str, Any]]:
    """The events of a log with whole seconds for times, in the order of the starts."""
    drafts: list[dict[str, Any]] = []
    families: list[str] = []
    clock = 0
    for place, touch in enumerate(touches):
        joins, outer, window, more = touch.aside
        kind, name = touch.what
        if place == 0 or not joins:
            ended, gap, length = touch.how
            clock += gap
            end = None if ended in ("pending", "lost") else clock + length
            outcome = "unknown" if ended == "lost" else ended
            is_alone = place + 1 == len(touches) or not touches[place + 1].aside[0]
            call = f"e{place}" if is_alone else f"k{place}"
            parent = families[-1 - (outer - 1) % len(families)] if outer and families else None
            families.append(call)
            earlier = list(drafts)
        draft: dict[str, Any] = {
            "id": f"e{place}",
            "name": name,
            "kind": kind,
            "start": clock,
            "end": end,
            "outcome": outcome,
            "call": call,
            "parent": parent,
            "validity_window_seconds": window,
            "depends_on": _rests_on(touch.rests_on, earlier, clock, among),
        }
        if more and end is not None and kind == "read" and outcome == "ok":
            draft["observed_at"] = end + 1 - more
        if more and kind == "write" and outcome == "unknown":
            draft["may_land_until"] = clock + more - 1
        drafts.append(draft)
    return drafts


def _rests_on(
    drawn: Sequence[tuple[str, int, int]], earlier: Sequence[dict[str, Any]], now: int, among: Sequence[str]
) -> list[Dependency]:
    """Mostly what had ended well by ``now``, the latest first."""
    ended = [each for each in earlier if each["outcome"] == "ok" and each["end"] <= now]
    found = []
    for flavour, back, part in drawn:
        candidates = earlier if flavour == "any" else ended
        if flavour == "nobody":
            found.append(Dependency("nobody"))
        elif candidates:
            on = candidates[-1 - back % min(6, len(candidates))]
            parts = below(on["name"], among)
            found.append(Dependency(on["id"], parts[part % len(parts)] if flavour == "narrow" else None))
    return found


def _number(drafts: list[dict[str, Any]], first: str, shared: bool) -> None:
    """Number both ends of all events, in the order of the times; of equal times ``first`` says which come first.

    ``shared``: the events of one call have the numbers of its first.
    """
    ends: list[tuple[tuple[int, int, int, int], dict[str, Any], str]] = []
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
    """An event whose ``start`` and ``end`` (and other times) are given in seconds from `BASE`; the rest as of `Event`."""
    fields = dict(draft)
    fields["start_time"] = moment(fields.pop("start"))
    end = fields.pop("end")
    fields["end_time"] = None if end is None else moment(end)
    for field in ("observed_at", "may_land_until"):
        if fields.get(field) is not None:
            fields[field] = moment(fields[field])
    return Event(**fields)
