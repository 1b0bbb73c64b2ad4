"""Section 2 of the design, restated from its text: literal, quadratic, sharing nothing with the kernel but `Event`.

Every call, every dependency, every edge of its closure and every write of the log is looked at, each time anew. Two
readings of one edge are given: `by_formula`, the design's inequalities with the reason and the witness, and
`by_cases`, which tries every instant that the intervals allow and counts in how many the dependency was superseded.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from intervalguard.kernel.events import Event

REASONS = {
    "unknown-dependency": "unverifiable",
    "history-dropped": "unverifiable",
    "no-result": "unverifiable",
    "not-settled": "unverifiable",
    "superseded": "stale",
    "version": "stale",
    "expired": "stale",
    "in-flight": "suspect",
    "unknown-outcome": "suspect",
    "overlapped": "suspect",
}
"""Each reason, highest first, and its verdict: the table of section 2."""

INFINITY = float("inf")
Position = tuple[float, ...]


class Said(NamedTuple):
    """What the design says of one dependency of one call: ``witnesses`` are the admissible pairs of (by, via)."""

    verdict: str
    reason: str
    witnesses: frozenset[tuple[str | None, str | None]] = frozenset({(None, None)})


class Reason(NamedTuple):
    """One thing that speaks against a dependency."""

    reason: str
    by: Event | None = None
    via: str | None = None


class Story:
    """A sequence of events, with the places of their ends in its order, and one by hand that is held against it."""

    def __init__(self, events: Sequence[Event], by_hand: Event | None = None) -> None:
        self.logged = list(events)
        self.events = self.logged + ([by_hand] if by_hand else [])
        self.numbered = any(event.end_seq is not None for event in events)
        self.with_seq = all(event.seq is not None for event in events)

    # --- Section 1, "position" ---

    def start(self, event: Event) -> Position:
        if self.numbered:
            return (event.seq, -INFINITY) if self._is_logged(event) else self.bare(event.start_time)
        return (event.start_time.timestamp(), self._number(event))

    def end(self, event: Event) -> Position:
        """Where the event ended; infinity while it is open."""
        if event.end_time is None:
            return (INFINITY, INFINITY)
        if self.numbered:
            return (event.end_seq, -INFINITY) if self._is_logged(event) else self.bare(event.end_time)
        return (event.end_time.timestamp(), self._number(event))

    def bare(self, time: datetime) -> Position:
        """A bare time stands after every endpoint of that time, and so of every time before."""
        if not self.numbered:
            return (time.timestamp(), INFINITY)
        before = [-INFINITY]
        for event in self.logged:
            before += [event.seq] if event.start_time <= time else []
            before += [event.end_seq] if event.end_time is not None and event.end_time <= time else []
        return (max(before), time.timestamp())

    def _is_logged(self, event: Event) -> bool:
        return any(event is each for each in self.logged)

    def _number(self, event: Event) -> float:
        """``seq``, or the line; an event by hand is placed by its times."""
        lines = [line for line, each in enumerate(self.logged) if each is event]
        return INFINITY if not lines else event.seq if self.with_seq else lines[0]

    # --- Section 1, "call" and "dependency" ---

    def find(self, id: str) -> Event | None:
        return next((event for event in self.events if event.id == id), None)

    def of_call(self, call: str) -> list[Event]:
        return sorted((event for event in self.events if event.call == call), key=self.start)

    def rests_on(self, call: str) -> list[tuple[str, str | None]]:
        return [(each.id, each.name) for event in self.of_call(call) for each in event.depends_on]

    def above(self, call: str) -> set[str]:
        """The call and its ancestors."""
        family = {call}
        for _ in self.events:
            family |= {event.parent for event in self.events if event.call in family and event.parent}
        return family

    def below(self, call: str) -> set[str]:
        """The call and the calls nested in it, at whatever depth."""
        family = {call}
        for _ in self.events:
            family |= {event.call for event in self.events if event.parent in family}
        return family

    def observation(self, event: Event) -> tuple[Position, Position, datetime]:
        """From where to where a dependency saw the world, and the time of the latter.

        A read cannot see past its end: a source's instant in the same tick as the end is clamped to it.
        """
        if event.kind == "read" and event.observed_at is not None:
            at = min(self.bare(event.observed_at), self.end(event))
            return at, at, event.observed_at
        return self.start(event), self.end(event), event.end_time


class Edge(NamedTuple):
    """``call`` rests directly on ``on``, of which ``name`` counts: one step of the closure."""

    call: str
    id: str
    on: Event | None
    name: str
    direct: bool


def segments_conflict(one: str, other: str) -> bool:
    ones, others = one.split("/"), other.split("/")
    return all(a == b for a, b in zip(ones, others, strict=False))


def edges(story: Story, call: str, key: tuple[str, str | None]) -> list[Edge]:
    """The closure of one dependency: through reads, stopping at writes."""
    found: list[Edge] = []
    todo = [(call, key, True)]
    while todo:
        by, (id, part), direct = todo.pop(0)
        on = story.find(id)
        edge = Edge(by, id, on, part or (on.name if on else ""), direct)
        if edge in found:
            continue
        found.append(edge)
        if on is not None and on.kind == "read":
            todo += [(on.call, each, False) for each in story.rests_on(on.call)]
    return found


def counting(story: Story, judged: str, edge: Edge, d: Position) -> Iterator[Event]:
    """The writes that may supersede the dependency of an edge: those that are not spared, and that began by ``d``."""
    assert edge.on is not None
    spared = story.above(judged) | story.below(judged) | {edge.call, edge.on.call}
    acknowledged = {id for id, _ in story.rests_on(edge.call)}
    for event in story.events:
        if (
            event.kind == "write"
            and segments_conflict(event.name, edge.name)
            and event.outcome not in ("failed", "refused")
            and event.call not in spared
            and event.id not in acknowledged
            and not story.start(event) > d
        ):
            yield event


def possible(story: Story, write: Event, d: Position) -> tuple[Position, Position, bool, str]:
    """From where to where a write may have taken effect, whether it must have, and why it may not, as of ``d``."""
    w0, w1 = story.start(write), story.end(write)
    forever = (INFINITY, INFINITY)
    if write.outcome == "unknown":
        if write.may_land_until is not None and story.bare(write.may_land_until) <= d:
            return w0, story.bare(write.may_land_until), False, "unknown-outcome"
        return w0, forever, False, "in-flight" if d < w1 < forever else "unknown-outcome"
    if w1 > d:
        return w0, w1, write.outcome == "ok", "in-flight"
    return w0, w1, write.outcome == "ok", "overlapped" if write.outcome == "ok" else "unknown-outcome"


EdgeReading = Callable[[Story, str, Edge, Position], Iterator[Reason]]


def by_formula(story: Story, judged: str, edge: Edge, d: Position) -> Iterator[Reason]:
    """Fresh if ``w1 < r0`` or ``w0 > d``; stale if ``w0 > r1`` and ``w1 <= d`` and W is ok; else suspect."""
    assert edge.on is not None
    r0, r1, _ = story.observation(edge.on)
    via = None if edge.direct else edge.on.id
    for write in counting(story, judged, edge, d):
        w0, w1, must, why = possible(story, write, d)
        if w1 < r0 or w0 > d:
            continue
        yield Reason("superseded" if w0 > r1 and w1 <= d and must else why, write, via)


def by_cases(story: Story, judged: str, edge: Edge, d: Position) -> Iterator[Reason]:
    """Stale: superseded in every case; fresh: in none; suspect: in some, not all.

    A case gives the dependency one instant and each write one, or *never*. Instants are taken on a grid: one between
    any two neighbouring positions, and two at each position, for what shares a position may stand either way round.
    What ended at ``d`` had ended by ``d``.
    """
    assert edge.on is not None
    r0, r1, _ = story.observation(edge.on)
    writes = [possible(story, write, d)[:3] for write in counting(story, judged, edge, d)]
    axis = sorted({r0, r1, d, *(w[0] for w in writes), *(w[1] for w in writes)})
    first = {position: 3 * index for index, position in enumerate(axis)}
    last = {position: 3 * index + 1 for index, position in enumerate(axis)}

    def instants(start: Position, end: Position) -> list[float | None]:
        return list(range(first[start], last[end] + 1))

    choices = [instants(r0, r1)] + [instants(w0, w1) + ([] if must else [None]) for w0, w1, must in writes]
    seen = {
        any(effect is not None and saw < effect <= last[d] for effect in effects)
        for saw, *effects in itertools.product(*choices)
    }
    if seen == {True}:
        yield Reason("superseded")
    elif seen == {True, False}:
        yield Reason("in-flight")


def expired(story: Story, edge: Edge, now: datetime) -> bool:
    """Age is of a direct dependency alone, and at the boundary it is fresh."""
    if not edge.direct or edge.on is None or edge.on.validity_window_seconds is None:
        return False
    age = now - story.observation(edge.on)[2]
    return age.total_seconds() > edge.on.validity_window_seconds


def unverifiable(story: Story, edge: Edge, d: Position) -> str | None:
    if edge.on is None:
        return "unknown-dependency"
    if edge.on.outcome not in ("ok", "pending"):
        return "no-result"
    if story.end(edge.on) > d:
        return "not-settled"
    return None


def against(
    story: Story, judged: str, key: tuple[str, str | None], d: Position, now: datetime, reading: EdgeReading
) -> Iterator[Reason]:
    """All that speaks against one dependency of one call."""
    for edge in edges(story, judged, key):
        cannot = unverifiable(story, edge, d)
        if cannot:
            yield Reason(cannot, None, None if edge.direct or edge.on is None else edge.id)
            if edge.direct:
                return  # What has no result itself was derived from nothing.
            continue
        yield from reading(story, judged, edge, d)
        if expired(story, edge, now):
            yield Reason("expired")


def highest(story: Story, reasons: list[Reason]) -> Said | None:
    """The reason that counts; of the writes that give it, the first by start."""
    if not reasons:
        return None
    top = min((each.reason for each in reasons), key=list(REASONS).index)
    given = [each for each in reasons if each.reason == top]
    starts = [story.start(each.by) for each in given if each.by is not None]
    pairs = [(each.by and each.by.id, each.via) for each in given if each.by is None or story.start(each.by) == min(starts)]
    return Said(REASONS[top], top, frozenset(pairs))


def findings_of(story: Story, call: str, d: Position, now: datetime, reading: EdgeReading = by_formula) -> dict[str, Said]:
    """What the design says of each dependency of one call, as of ``d``, which is at the time ``now``."""
    said = {}
    for id in dict.fromkeys(id for id, _ in story.rests_on(call)):
        keys = [key for key in story.rests_on(call) if key[0] == id]
        said[id] = highest(story, [reason for key in keys for reason in against(story, call, key, d, now, reading)])
    return {id: each for id, each in said.items() if each is not None}


def findings(events: Sequence[Event], reading: EdgeReading = by_formula) -> dict[tuple[str, str], Said]:
    """What the design says of a whole log: each call as of its start; refused calls are not judged."""
    story = Story(events)
    said = {}
    for call in dict.fromkeys(event.call for event in events):
        first = story.of_call(call)[0]
        if first.outcome != "refused":
            found = findings_of(story, call, story.start(first), first.start_time, reading)
            said.update({(first.id, id): each for id, each in found.items()})
    return said
