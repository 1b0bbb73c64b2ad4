"""Logs as a person reads them: one event a line, in seconds from one base, and only what was said."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs

from ..kernel.events import Event

BASE = datetime(2026, 1, 1, tzinfo=UTC)
"""Second 0 of every log of the kit."""


def moment(seconds: float) -> datetime:
    """The time ``seconds`` after `BASE`."""
    return BASE + timedelta(seconds=seconds)


class Log(list[Event]):
    """A list of events that shows as a story: one line an event, seconds for times, and only what was said."""

    def __repr__(self) -> str:
        return "\n" + "\n".join(map(line, self)) + "\n"

    def but(self, id: str, **fields: Any) -> Log:
        """The same log, with some fields of one event changed. O(n)."""
        return Log(attrs.evolve(event, **fields) if event.id == id else event for event in self)

    def without(self, ids: Collection[str]) -> Log:
        """The same log without the events that have these ids. O(n)."""
        return Log(event for event in self if event.id not in ids)


def line(event: Event) -> str:
    """An event in one line, as in ``e4 write a/b [3, 5] error in k2 under e0 rests on e1, e2@a/b #7 to #9``."""

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
