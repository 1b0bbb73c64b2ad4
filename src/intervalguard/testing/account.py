"""An account of what a log must hold, kept beside it by what it was told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from ..kernel.admission import Touch
from ..kernel.events import Event, Outcome, moment
from ..kernel.views import Entry, Key
from ..logs.calls import Origin
from ..logs.memory import MemoryLog
from .agreement import Agreement, check
from .eventlogs import EventLog, SequenceLogView, present


@attrs.define(eq=False, repr=False)
class Made:
    """A call that was recorded, as it must be: what its events are to say until it ends, and after that."""

    first: Entry
    id: str
    touches: Sequence[Touch]
    depends_on: tuple[Key, ...]
    parent: str | None
    origin: Origin
    outcome: Outcome
    may_land: bool = False
    is_dropped: bool = False

    def writes(self) -> bool:
        """Whether it writes anything."""
        return any(kind == "write" for _, kind, _ in self.touches)

    def __repr__(self) -> str:
        return f"the {self.outcome} call that {' and '.join(f'{kind}s {name!r}' for name, kind, _ in self.touches)}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Hypothesis writes it into the story of a run, and would tell of every field."""
        printer.text(repr(self))


class Account:
    """What a log was told, against what it says that it holds.

    ``made`` are the calls that were recorded, ``truth`` their events as they were last seen, by their ids, ``held`` the
    ids that the log holds now, ``highest`` the last number that it gave, ``ended`` how many events have ended.
    """

    def __init__(self, log: EventLog | MemoryLog, max_events: int | None) -> None:
        self.log = log
        self.max_events = max_events
        self.made: dict[str, Made] = {}
        self.truth: dict[str, Event] = {}
        self.held: frozenset[str] = frozenset()
        self.highest = 0
        self.ended = 0
        self.last: str | None = None

    def record(self, made: Made) -> None:
        """A call was recorded just now, as pending or as refused."""
        check(made.id not in self.made, f"admit() gives the id {made.id!r} a second time: an id names one event")
        self.made[made.id] = made
        if made.outcome == "refused":
            self.ended += len(made.touches)
            self.last = made.id
        self.take_in()
        for event in self.held_of(made):
            check(
                event.seq is not None and event.seq > self.highest,
                f"a call begins at #{event.seq} where #{self.highest} was given: numbers strictly increase",
            )
        self._count(made)

    def end(self, made: Made) -> None:
        """A call has ended just now, with the outcome that it has."""
        self.ended += len(made.touches)
        self.last = made.id
        self.take_in()
        for event in self.held_of(made):
            check(
                event.end_seq is not None and event.end_seq > self.highest,
                f"a call ends at #{event.end_seq} where #{self.highest} was given: numbers strictly increase",
            )
        self._count(made)

    def _count(self, made: Made) -> None:
        numbers = [number for event in self.held_of(made) for number in (event.seq, event.end_seq) if number is not None]
        self.highest = max([self.highest, *numbers])

    def take_in(self) -> None:
        """What the log holds now, against what it must hold."""
        events = self.log.events()
        by_id = {event.id: event for event in events}
        check(len(by_id) == len(events), "events() holds two events with one id: an id names one event of a log")
        by_call: dict[str, list[Event]] = {}
        for event in events:
            by_call.setdefault(event.call, []).append(event)
        for call in by_call:
            check(call in self.made, f"events() holds {by_call[call][0].name!r} of a call that nobody made: call={call!r}")
        returned = (by_id.keys() & self.truth.keys()) - self.held
        check(not returned, f"events() holds {sorted(returned)} again, which the log had dropped")
        for event in events:
            was = self.truth.get(event.id, event)
            check(
                (was.seq, was.start_time) == (event.seq, event.start_time),
                f"the {event.kind} of {event.name!r} that began at #{was.seq} begins at #{event.seq} now: what happened"
                " stays as it was",
            )
        self.held = frozenset(by_id)
        self.truth.update(by_id)
        for id, made in self.made.items():
            self._check_call(made, by_call.get(id, []))

    def _check_call(self, made: Made, events: Sequence[Event]) -> None:
        told = repr(made)
        if not events:
            check(not self.must_hold(made), f"{told} is lost: the log must hold it, and events() does not")
            made.is_dropped = True
            return
        touched = sorted((event.name, event.kind, event.validity_window_seconds or 0) for event in events)
        check(
            touched == sorted((name, kind, (window or 0) / 1_000_000) for name, kind, window in made.touches),
            f"{told} is recorded as {touched}: each name that it touches is one event, with its window",
        )
        for event in events:
            check(event.outcome == made.outcome, f"{told} is recorded as {event.outcome!r}")
            keys = tuple(each.id if each.name is None else (each.id, each.name) for each in event.depends_on)
            check(keys == made.depends_on, f"{told} rests on {made.depends_on}, and is recorded as resting on {keys}")
            origin = made.origin
            check(
                (event.parent, event.session, event.tool) == (made.parent, origin.session, origin.tool),
                f"{told} was made in call={made.parent!r} by tool={origin.tool!r} in session={origin.session!r}, and is"
                " recorded otherwise",
            )

    def must_hold(self, made: Made) -> bool:
        """Open calls, lost writes that may land, what is in use, and what ended last; all, until the bound is passed."""
        if made.is_dropped:
            return False
        if self.max_events is None or self.ended <= self.max_events or made.id == self.last or made.outcome == "pending":
            return True
        if made.may_land and not self.has_lapsed(made):
            return True
        known = [event for event in self.truth.values() if not self.made[event.call].is_dropped]
        used = SequenceLogView(known, moment(present(self.log)[2]), self.highest + 1).in_use()
        return any(each.id in used for each in self.events_of(made))

    def has_lapsed(self, made: Made) -> bool:
        """Whether the time is up until which its lost writes may land."""
        now = moment(present(self.log)[2])
        return any(each.may_land_until is not None and each.may_land_until < now for each in self.events_of(made))

    def running(self) -> list[Made]:
        """The calls that are pending."""
        return [made for made in self.made.values() if made.outcome == "pending"]

    def settled(self) -> list[Made]:
        """The calls that are not; the lost ones are among them."""
        return [made for made in self.made.values() if made.outcome != "pending"]

    def lost(self) -> list[Made]:
        """The calls of which it is not known how they ended."""
        return [made for made in self.made.values() if made.outcome == "unknown"]

    def events_of(self, made: Made) -> list[Event]:
        """Its events as they were last seen."""
        return [event for event in self.truth.values() if event.call == made.id]

    def held_of(self, made: Made) -> list[Event]:
        """Those of them that the log holds."""
        return [event for event in self.events_of(made) if event.id in self.held]

    def beside(self) -> Agreement:
        """The log and the reference as they are now."""
        return Agreement(self.log, self.truth, self.highest + 1)
