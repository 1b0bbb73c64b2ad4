"""Retention: which events a log in a database drops, and what it keeps of them.

Events go by the order of their ends, but not lost writes that may land, nor what a pending call rests on. Of a write that
was dropped it is kept by name that it was there, of what a session knew which events those were.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ...kernel.views import Entry, Id
from ..settling import may_land
from .rows import kept, names_of
from .steps import Step

_OLDEST = 'SELECT DISTINCT call, end_time, "end" FROM event WHERE end_time > ? ORDER BY end_time, "end" LIMIT ? OFFSET ?'
_PENDING = "SELECT id FROM event WHERE due IS NOT NULL AND outcome = 'pending'"
_REMOVE = "DELETE FROM event WHERE id = ?"
_UNWRITE = "DELETE FROM written WHERE name = ? AND below = ? AND start = ? AND id = ?"
_DROPPED = (
    "INSERT INTO dropped VALUES (?, ?, ?)"
    ' ON CONFLICT (name, below) DO UPDATE SET "end" = max("end", excluded."end")'
)
_LAST_KNOWN = 'SELECT "end", id, leads FROM known WHERE session = ? AND name = ? ORDER BY "end" DESC, id DESC LIMIT 1'
_BETWEEN = (
    "SELECT 1 FROM event WHERE session = ? AND outcome = 'ok' AND name = ? AND \"end\" > ? AND \"end\" < ? LIMIT 1"
)
_KNOW = "INSERT OR IGNORE INTO known VALUES (?, ?, ?, ?, ?)"
_FORGET_KNOWN = 'DELETE FROM known WHERE session = ? AND name = ? AND "end" = ? AND id = ?'
_COUNTS = "SELECT (SELECT count(*) FROM dropped), (SELECT count(*) FROM known)"
_OLD_NAMES = 'SELECT name, below, "end" FROM dropped ORDER BY "end" LIMIT ?'
_FORGET_NAME = "DELETE FROM dropped WHERE name = ? AND below = ?"
_OLD_KNOWN = 'SELECT session, name, "end", id FROM known ORDER BY "end" LIMIT ?'

_Known: TypeAlias = "dict[tuple[Any, str], tuple[Any, Id, Any] | None]"
"""Of each session and name the last dropped event that is kept in mind: its end, its number, whether it leads a row."""

AT_ONCE = 256
"""At most so many calls are dropped in one step, so that no step takes long."""


def slack(limit: int) -> int:
    """So many events more than ``limit`` are held before any is dropped, for many are dropped at once at less cost."""
    return min(limit // 8, AT_ONCE)


def prune(step: Step, limit: int) -> None:
    """Drop the oldest events until no more than ``limit`` have ended for good, but at most of `AT_ONCE` calls."""
    view, meta = step.view, step.meta
    known: _Known = {}
    excess = meta.droppable - limit
    used: set[Id] | None = None
    dropped, seen = 0, 0
    while excess > 0 and dropped < AT_ONCE:
        rows = view.ask(_OLDEST, (-(1 << 62), AT_ONCE, seen))
        if not rows:
            return
        seen += len(rows)
        for (call, _, _) in rows:
            if excess <= 0 or dropped >= AT_ONCE:
                return
            events = view.call(call)
            if events[0].outcome == "unknown" and may_land(events):
                continue
            used = _in_use(step) if used is None else used
            excess -= len(events)
            if not any(each.id in used for each in events):
                _drop(step, events, known)
                dropped += 1


def _in_use(step: Step) -> set[Id]:
    """The events that pending calls rest on, through reads."""
    view = step.view
    used: set[Id] = set()
    stack = [key for (id,) in view.ask(_PENDING, ()) for key in view.rests_on(id)]
    while stack:
        key = stack.pop()
        source = view.find(key[0] if type(key) is tuple else key)
        if source is not None and source.id not in used:
            used.add(source.id)
            if source.kind == "read":
                stack += view.rests_on(source.call)
    return used


def _drop(step: Step, events: Sequence[Entry], known: _Known) -> None:
    meta = step.meta
    step.write(_REMOVE, [(each.id,) for each in events])
    for each in events:
        outcome, end = each.outcome, each.end
        if outcome == "unknown" and each.extra is not None and each.extra.until is not None:
            outcome, end = "error", each.extra.until
        if each.kind == "write" and outcome in ("ok", "error"):
            places = names_of(each.name)
            step.write(_UNWRITE, [(*place, each.start, each.id) for place in places])
            step.write(_DROPPED, [(*place, end) for place in places])
            meta.dropped = max(meta.dropped, end)
        if each.origin.session is not None and outcome == "ok":
            _keep_in_mind(step, kept(each.origin.session), each, known)
        if each.end > meta.swept:
            meta.swept, meta.swept_time = each.end, each.start_time + each.took
    meta.held -= len(events)
    meta.droppable -= len(events)


def _keep_in_mind(step: Step, session: Any, event: Entry, known: _Known) -> None:
    """A session knew an event that is dropped: the last one stays known, and the first of those in a row."""
    place = (session, event.name)
    if place not in known:
        rows = step.view.ask(_LAST_KNOWN, place)
        known[place] = tuple(rows[0]) if rows else None
    last = known[place]
    leads = True
    if last is not None and last[0] < event.end:
        leads = bool(step.view.ask(_BETWEEN, (*place, last[0], event.end)))
        if not last[2]:
            step.write(_FORGET_KNOWN, [(*place, last[0], last[1])])
    if last is None or last[0] < event.end:
        known[place] = (event.end, event.id, leads)
    step.write(_KNOW, [(*place, event.end, event.id, leads)])


def forget_names(step: Step, limit: int) -> None:
    """Keep what is kept of dropped events for ``limit`` names or so, and one bound for all that were forgotten."""
    ((names, known),) = step.view.ask(_COUNTS, ())
    most = limit + limit // 4
    if names > most:
        rows = step.view.ask(_OLD_NAMES, (names - limit,))
        step.write(_FORGET_NAME, [(name, below) for name, below, _ in rows])
        step.meta.dropped_unnamed = max(step.meta.dropped_unnamed, *(end for _, _, end in rows))
    if known > most:
        step.write(_FORGET_KNOWN, step.view.ask(_OLD_KNOWN, (known - limit,)))
