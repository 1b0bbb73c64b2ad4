"""The shipped rule, asked in its two ways: call by call against `SequenceView`, and over a whole log in one pass."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from strategies import moment

from intervalguard.kernel.audit import findings
from intervalguard.kernel.events import Event
from intervalguard.kernel.staleness import REASONS, Claim, Raw, judge, verdict_of
from intervalguard.kernel.views import Order, SequenceView, by_id, entry


class Found(NamedTuple):
    verdict: str
    reason: str
    by: str | None
    via: str | None


Findings = dict[tuple[str, str], Found]


def told(raws: Iterable[tuple[str, Raw]]) -> Findings:
    """Findings as plain data, by the call's first event and the dependency. Two for one pair are an error."""
    found: Findings = {}
    for first, raw in raws:
        assert (first, raw.dependency) not in found, "one finding for each call and dependency"
        by, via = (each and each.id for each in (raw.by, raw.via))
        found[first, raw.dependency] = Found(verdict_of(raw.grade), REASONS[raw.grade], by, via)
    return found


def call_by_call(events: Sequence[Event]) -> Findings:
    """The rule against the executable specification, each call as of its own start."""
    view = SequenceView(events)
    raws = []
    for call in dict.fromkeys(event.call for event in events):
        first = view.call(call)[0]
        if first.outcome != "refused":
            claim = Claim(call, first.parent, view.rests_on(call))
            raws += [(first.id, raw) for raw in judge(view, claim, first.start, first.start_time)]
    return told(raws)


def one_pass(events: Sequence[Event]) -> Findings:
    """The audit."""
    order = Order(events)
    entries = [entry(event, order, place) for place, event in enumerate(events)]
    return told((first.id, raw) for first, raw in findings(by_id(entries)))


WAYS: dict[str, Callable[[Sequence[Event]], Findings]] = {"call by call": call_by_call, "one pass": one_pass}


def cases(path: Path) -> list[dict[str, Any]]:
    """The stories of a file of cases, with events made of their lines; numbers are seconds."""
    return [{**case, "events": [_event(line) for line in case["events"]]} for case in json.loads(path.read_text())]


def _event(line: dict[str, Any]) -> Event:
    fields = line.items()
    times = ("start_time", "end_time", "observed_at", "may_land_until")
    return Event(**{field: moment(value) if field in times and value is not None else value for field, value in fields})
