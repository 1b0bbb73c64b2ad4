"""The steps of a log: each is decided by the kernel from what a view answers, and says what is to be written.

A step reads first and writes last: it asks its view, and collects statements that its driver executes when it has ended,
in the transaction in which it was asked. So the same step runs wherever rows can be asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from datetime import datetime
from typing import Any

from ...kernel.admission import Admit, Decision, Refuse, Settlement, Touch, admit
from ...kernel.admission import settle as may_settle
from ...kernel.events import micros
from ...kernel.staleness import Claim, Grade, Probe
from ...kernel.views import GONE, Entry, Extra, Id, Key, Position
from ..calls import UNNAMED, Learned, Origin, events_of
from ..settling import check_seen, landing_until, lost_events
from .meta import Meta
from .rows import COLUMNS, NO_LEASE, names_of, row_of, text_of
from .view import Ask, SqlView

_INSERT = f"INSERT INTO event ({COLUMNS}) VALUES ({', '.join('?' * 23)})"
_SAVE = (
    'UPDATE event SET name = ?, outcome = ?, "end" = ?, end_time = ?, due = ?, window = ?, seen = ?, seen_time = ?,'
    " version = ?, until = ?, until_time = ? WHERE id = ?"
)
_REMOVE = "DELETE FROM event WHERE id = ?"
_PASS_ON = "UPDATE event SET parent = ? WHERE parent = ? AND id > ?"
_FLY = "INSERT INTO flight VALUES (?, ?, ?, ?, ?, ?, ?)"
_LOSE = "UPDATE flight SET outcome = 'unknown', pins = 0 WHERE name = ? AND below = ? AND start = ? AND id = ?"
_LAND = "DELETE FROM flight WHERE name = ? AND below = ? AND start = ? AND id = ?"
_WRITTEN = "INSERT INTO written VALUES (?, ?, ?, ?, ?, ?, ?)"
_DUE = f"SELECT {COLUMNS} FROM event WHERE due < ? ORDER BY due, id"



class Step:
    """One step: what it asks, the time at which it is made, and what is to be written when it has ended.

    ``ended`` are the calls that end in it, by the events that they have then.
    """

    def __init__(self, ask: Ask, meta: Meta, now: int, pins: dict[Id, Sequence[str]]) -> None:
        self.view = SqlView(ask, meta, pins)
        self.meta = meta
        self.now = now
        self.writes: list[tuple[str, list[Sequence[Any]]]] = []
        self.ended: list[Sequence[Entry]] = []

    def write(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Execute ``sql`` for each of these rows of parameters, when the step has ended."""
        self.writes.append((sql, list(rows)))


# -- admission


def begin_call(
    step: Step,
    origin: Origin,
    touches: Sequence[Touch],
    depends_on: tuple[Key, ...],
    parent: int | None,
    least: Grade | None,
    probes: Mapping[Id, Probe] | None,
    waited: bool,
    bear: bool,
    lease: int | None,
) -> tuple[Decision, Entry | None]:
    """Decide on a call and record it: as pending, or as refused. Its first event is the answer's second."""
    view, meta = step.view, step.meta
    number = meta.next
    name, kind, window = touches[0] if touches else UNNAMED
    first = Entry(
        number, name, kind, "pending", number, None, step.now, None, depends_on, window, number, parent, origin
    )
    claim = first if probes is None else Claim(number, parent, depends_on, probes)
    decision = admit(view, claim, touches, least, number, step.now, waited)
    is_last = waited or type(decision) is Refuse
    if type(decision) is not Admit and not is_last:
        return decision, None
    events = events_of(first, touches)
    meta.take(len(events))
    if touches:
        meta.held += len(events)
    if type(decision) is not Admit and not bear:
        _finish(step, events, "refused")
        if touches:
            meta.droppable += len(events)
            step.write(_INSERT, [row_of(each, None) for each in events])
        return decision, first
    due = NO_LEASE if lease is None else step.now + lease
    step.write(_INSERT, [row_of(each, due if each is first else None) for each in events])
    flying = [each for each in events if each.kind == "write"]
    if flying:
        rows = [(each, *place) for each in flying for place in names_of(each.name)]
        step.write(
            _FLY,
            [(at, below, e.start, e.id, e.call, "pending", int(bool(depends_on) and not below)) for e, at, below in rows],
        )
    return decision, first


# -- settlement


def end_call(
    step: Step,
    id: Id,
    outcome: str,
    least: Grade | None,
    bear: bool,
    probes: Mapping[Id, Probe] | None,
    learned: Learned | None,
    may_land_for: int | None,
) -> Settlement:
    """Record a call's end and outcome, once; ``None`` if it is pending no more, or the log does not hold it."""
    view = step.view
    events = list(view.call(id))
    if not events:
        return None
    first = events[0]
    claim = first if probes is None else Claim(first.id, first.parent, first.depends_on, probes)
    decision = may_settle(view, first, claim, outcome, least, step.meta.next, step.now)
    if decision is None:
        return None
    unread = False
    if learned is not None:
        unread = learned.unread
        events = _learn(step, events, learned)
    if type(decision) is Refuse and not bear:
        outcome = "refused"
    _record_end(step, events, outcome, may_land_for, unread)
    return decision


def _learn(step: Step, events: list[Entry], learned: Learned) -> list[Entry]:
    """Note what the result told of a call that is about to end; its events, with those that are new."""
    check_seen(learned, step.now)
    seen_time = None if learned.observed_at is None else micros(learned.observed_at)
    first, names = events[0], list(learned.names)
    if names and not first.name:
        first.name, first.window = names.pop(0)
        step.meta.held += 1
    for name, window in names:
        each = copy(first)
        each.id, each.name, each.kind, each.window = 0, name, "read", window
        events.append(each)
        step.meta.held += 1
    if learned.version is None and seen_time is None:
        return events
    seen: Position = None
    if seen_time is not None:
        seen = step.view.earliest(seen_time) if seen_time < step.now else step.meta.next
    for each in events:
        if each.kind == "read":
            each.extra = Extra(seen, seen_time, learned.version)
        elif learned.version is not None:
            each.extra = Extra(version=learned.version)
    return events


def _finish(step: Step, events: Sequence[Entry], outcome: str, unread: bool = False) -> None:
    """Give the events of a call their end; those that the result named get their numbers behind it."""
    end = step.meta.take()
    for each in events:
        if each.id == 0:
            each.id = step.meta.take()
        each.end, each.took = end, step.now - each.start_time
        each.outcome = "error" if unread and each.kind == "read" else outcome
    step.ended.append(events)


def _record_end(
    step: Step, events: Sequence[Entry], outcome: str, may_land_for: int | None = None, unread: bool = False
) -> None:
    first = events[0]
    held = [each for each in events if each.id != 0]
    _finish(step, events, outcome, unread)
    if not first.name:
        first.memo = GONE
        step.write(_REMOVE, [(first.id,)])
        step.write(_PASS_ON, [(first.parent, first.id, first.id)])
        return
    writes = [each for each in events if each.kind == "write"]
    is_lost = outcome == "unknown" and bool(writes)
    due = None
    if is_lost and may_land_for is not None:
        due = landing_until(step.now, may_land_for)
        for each in writes:
            each.extra = Extra(until_time=due)
    _save(step, held, due)
    if len(held) < len(events):
        step.write(_INSERT, [row_of(each, None) for each in events[len(held) :]])
        _save(step, events[len(held) :], None)
    if is_lost:
        step.write(_LOSE, _places(writes))
        return
    step.meta.droppable += len(events)
    if writes:
        step.write(_LAND, _places(writes))
        _count_as_written(step, writes)


def _save(step: Step, events: Sequence[Entry], due: int | None) -> None:
    """Write what may have changed of these events of one call; ``due`` is when the call is due."""
    rows = []
    for each in events:
        extra = each.extra or _NO_EXTRA
        rows.append(
            (
                each.name, each.outcome, each.end, each.start_time + each.took, due if each.id == each.call else None,
                each.window, extra.seen, extra.seen_time, text_of(extra.version), extra.until, extra.until_time, each.id,
            )
        )  # fmt: skip
    step.write(_SAVE, rows)


def _places(writes: Sequence[Entry]) -> list[tuple[str, int, Position, Id]]:
    """Where these writes are kept."""
    return [(*place, each.start, each.id) for each in writes for place in names_of(each.name)]


def _count_as_written(step: Step, writes: Sequence[Entry]) -> None:
    """These writes count by their ends from now on, unless they are known to have changed nothing."""
    rows = [
        (*place, each.start, each.id, each.call, each.outcome, each.end)
        for each in writes
        if each.outcome in ("ok", "error")
        for place in names_of(each.name)
    ]
    if rows:
        step.write(_WRITTEN, rows)


_NO_EXTRA = Extra()


# -- what becomes of calls without anybody's doing


def catch_up(step: Step) -> None:
    """Leases that ran out make their calls ``unknown``, and lost writes that can land no longer count as errors."""
    for row in step.view.ask(_DUE, (step.now,)):
        events = step.view.call(row[0])
        if events[0].outcome == "pending":
            _record_end(step, events, "unknown")
        else:
            _lapse(step, events)


def _lapse(step: Step, events: Sequence[Entry]) -> None:
    writes = [each for each in events if each.kind == "write"]
    counted = []
    for each in writes:
        assert each.extra is not None
        each.extra.until = step.view.place(each.extra.until_time)
        as_error = copy(each)
        as_error.outcome, as_error.end = "error", each.extra.until
        counted.append(as_error)
    _save(step, events, None)
    step.write(_LAND, _places(writes))
    _count_as_written(step, counted)
    step.meta.droppable += len(events)


def resolve(step: Step, number: Id, shown: str, outcome: str) -> Sequence[Entry]:
    """Settle an ``unknown`` call, by the number of one of its events. Raises ``LookupError`` or ``ValueError``."""
    event = step.view.find(number)
    events = lost_events(step.view, event if event is not None and event.name else None, shown)
    writes = [each for each in events if each.kind == "write"]
    if writes:
        step.meta.droppable += len(events)
    end = step.meta.take()
    for each in events:
        each.outcome, each.extra = outcome, None
        each.end, each.took = end, step.now - each.start_time
    _save(step, events, None)
    step.write(_LAND, _places(writes))
    _count_as_written(step, writes)
    return events


def write_outside(step: Step, origin: Origin, name: str, since: datetime | None) -> Entry:
    """Record a write that someone else made, which took effect at some instant from ``since`` until now."""
    number = start = step.meta.next
    start_time = step.now
    if since is not None and micros(since) < step.now:
        place = step.view.earliest(micros(since))
        start = min(number, int(place + 0.5))
        is_held = micros(since) > step.meta.swept_time  # else it is not known what came after it
        start_time = step.view.time_after(place, micros(since), step.now) if is_held else micros(since)
    step.meta.take()
    entry = Entry(
        number, name, "write", "ok", start, number, start_time, step.now - start_time, (), None, number, None, origin
    )
    step.meta.held += 1
    step.meta.droppable += 1
    step.write(_INSERT, [row_of(entry, None)])
    _count_as_written(step, [entry])
    return entry
