"""A call that was let through, until it is settled, and which of them runs or ended last here."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar, Token

from ..kernel.events import Event, Outcome
from ..kernel.staleness import Probe
from ..kernel.views import Entry, Id
from ..logs.protocol import EventLog


class Call:
    """A call from the moment that the log lets it through.

    ``first`` is its first event, which the log puts there. ``handled`` is the exception that was being handled before it.
    """

    __slots__ = ("done", "first", "handled", "log", "outer", "probes")

    def __init__(self, log: EventLog, outer: Running | None) -> None:
        self.first: Entry = None  # type: ignore[assignment]
        self.log = log
        self.outer = outer
        self.probes: Mapping[Id, Probe] | None = None
        self.handled = sys.exception()
        self.done = False


class Running(Call):
    """A call that may have to be settled. One that was may be a mere `Call` again, which is let go in half the time."""

    __slots__ = ()

    def __del__(self) -> None:
        """An interrupt may come where nothing catches it: a call that nobody will settle any more is lost."""
        first = getattr(self, "first", None)  # the interrupt may have come at the very beginning
        if first is not None and first.outcome == "pending":
            settle_when_it_can(self, "unknown")

    @classmethod
    def unguarded(cls) -> Running:
        """Stands for a call that no log knows of."""
        nobody = cls(None, current.get())  # type: ignore[arg-type]
        nobody.done = True
        return nobody


current: ContextVar[Running | None] = ContextVar("intervalguard_current", default=None)
"""The call whose body runs here."""


def back_to(token: Token[Running | None]) -> None:
    """Put back what `current` was, unless the call ended in another context, as of a task that was destroyed."""
    try:  # noqa: SIM105 - it is on the way of every asynchronous call
        current.reset(token)
    except ValueError:
        pass


last: ContextVar[Running | None] = ContextVar("intervalguard_last", default=None)
"""The call that was settled last here."""


def last_event() -> Event | None:
    """The first event of the guarded call that ended last in this thread or task; ``None`` before any has. O(1)."""
    call = last.get()
    return None if call is None or not call.first.name else call.log.event(call.first)


def settle_when_it_can(running: Running, outcome: Outcome, may_land_for: int | None = None) -> None:
    """Settle a call now, or, where the log is locked or fails, in its next step: it keeps what is to be settled."""
    with suppress(Exception):
        running.log.settle_from_anywhere(running.first, outcome, may_land_for)
