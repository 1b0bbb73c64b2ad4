"""What the shell tells a log of a call: whose it is, and what its result told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from datetime import datetime
from typing import Any, NamedTuple, Protocol

import attrs

from ..kernel.admission import Touch
from ..kernel.views import Entry


@attrs.frozen(eq=False)
class Origin:
    """Whose call it is: shared by the calls of one tool in one session and turn."""

    tool: str | None = None
    session: str | None = None
    batch: str | None = None
    run: str | None = None
    agent: str | None = None
    probe: Callable[[str], Any] | None = None


UNNAMED: Touch = ("", "read", None)
"""What a call begins as whose result will tell what it touches."""


def events_of(first: Entry, touches: Sequence[Touch]) -> list[Entry]:
    """The events of a call that begins, by its first: one for each touch, numbered one after the other. O(touches)."""
    events = [first]
    for name, kind, window in touches[1:]:
        event = copy(first)
        event.id, event.name, event.kind, event.window = first.id + len(events), name, kind, window
        events.append(event)
    return events


class Learned(NamedTuple):
    """What a call's result told: names read, with their windows, the version, the instant seen.

    ``unread`` says that it could not tell what its reads saw: they are errors then, though what was written was written.
    """

    names: Sequence[tuple[str, int | None]] = ()
    version: Any = None
    observed_at: datetime | None = None
    unread: bool = False


class Holder(Protocol):
    """Who holds a call that was let through, from the moment that the log does: whatever comes then, it settles it."""

    first: Entry
