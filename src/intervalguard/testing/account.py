"""An account of what a log must hold, kept beside it by what it was told."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs

from ..kernel.admission import Touch
from ..kernel.events import Event, Outcome
from ..kernel.views import Entry, Key
from ..logs.calls import Learned, Origin
from ..logs.protocol import EventLog
from .agreement import check
from .reference import SequenceLogView

LAST = datetime.max.replace(tzinfo=UTC)
_NOTHING = Learned()


@attrs.define(eq=False, repr=False)
class Made:
    """A call that was recorded, as it must be: what its events are to say until it ends, and after that.

    ``log`` is the one that it was made on. ``late`` is how many microseconds its lost writes may land for, ``may_land``
    whether they may have to be reckoned with, ``looked`` its probes as the reference and as the log knows them, ``learned``
    what its result told.
    """

    log: EventLog
    first: Entry
    id: str
    touches: Sequence[Touch]
    depends_on: tuple[Key, ...]
    parent: str | None
    origin: Origin
    outcome: Outcome
    late: int | None = None
    may_land: bool = False
    looked: tuple[Any, Any] = (None, None)
    learned: Learned = _NOTHING
    is_outside: bool = False
    is_dropped: bool = False
    highest: int = 0

    def writes(self) -> bool:
        """Whether it writes anything."""
        return any(kind == "write" for _, kind, _ in self.touches)

    def outcome_of(self, kind: str) -> str:
        """The outcome of its reads, or of its writes: the reads are errors where nobody can tell what they saw."""
        return "error" if self.learned.unread and kind == "read" else self.outcome

    def __repr__(self) -> str:
        touches = " and ".join(f"{kind}s {name!r}" for name, kind, _ in self.touches) or "has no name yet"
        return f"the {self.outcome} call that {touches}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Hypothesis writes it into the story of a run, and would tell of every field."""
        printer.text(repr(self))


class Account:
    """What a log was told, against what it says that it holds.

    ``made`` are the calls that were recorded, ``truth`` their events as they were last seen, by their ids and in the order
    in which they were recorded, ``held`` the ids that the log holds now, ``highest`` the last number that it gave,
    ``ended`` how many events have ended, ``given`` the ids of calls that were ever given.
    """

    def __init__(self, max_events: int | None) -> None:
        self.max_events = max_events
        self.given: set[str] = set()
        self.highest = 0
        self.forget()

    def forget(self) -> None:
        """The log was cleared."""
        self.made: dict[str, Made] = {}
        self.truth: dict[str, Event] = {}
        self.held: frozenset[str] = frozenset()
        self.ended = 0
        self.last: str | None = None

    def record(self, made: Made, log: EventLog) -> None:
        """A call was recorded just now, as pending or as refused."""
        check(made.id not in self.given, f"admit() gives the id {made.id!r} a second time: an id names one event")
        self.given.add(made.id)
        self.made[made.id] = made
        made.highest = self.highest
        if made.outcome == "refused":
            self.ended += len(made.touches)
            self.last = made.id
        self.take_in(log)
        self._check_is_last(made)
        self._check_starts(made)
        self._count(made)

    def end(self, made: Made, log: EventLog) -> None:
        """A call has ended just now, with the outcome that it has; what someone else wrote is recorded by that, too."""
        if made.is_outside and self.made.get(made.id) is not made:
            check(made.id not in self.given, f"write_outside() gives the id {made.id!r} a second time: it names one event")
            self.given.add(made.id)
            self.made[made.id] = made
        self.ended += len(made.touches)
        self.last = made.id
        self.take_in(log)
        self._check_starts(made)
        for event in self.held_of(made):
            check(
                event.end_seq is not None and event.end_seq > self.highest,
                f"a call ends at #{event.end_seq} where #{self.highest} was given: numbers strictly increase",
            )
        self._count(made)

    def _check_starts(self, made: Made) -> None:
        for event in self.held_of(made):
            check(
                event.seq is not None and (event.seq > made.highest or made.is_outside),
                f"a call begins at #{event.seq} where #{made.highest} was given: numbers strictly increase",
            )

    def _check_is_last(self, made: Made) -> None:
        count = len(self.held_of(made))
        last = [id for id in self.truth if id in self.held][-count:] if count else []
        check(
            all(self.truth[id].call == made.id for id in last),
            f"{made!r} was recorded just now, and events() does not give it last: events are in the order of their records",
        )

    def _count(self, made: Made) -> None:
        numbers = [number for event in self.held_of(made) for number in (event.seq, event.end_seq) if number is not None]
        self.highest = max([self.highest, *numbers])

    def take_in(self, log: EventLog) -> None:
        """What the log holds now, against what it must hold."""
        try:
            events = log.events()
        except ValueError as error:  # what an Event refuses to be
            check(False, f"events() cannot tell what the log holds: {error}")
        by_id = {event.id: event for event in events}
        check(len(by_id) == len(events), "events() holds two events with one id: an id names one event of a log")
        by_call: dict[str, list[Event]] = {}
        for event in events:
            by_call.setdefault(event.call, []).append(event)
        for call in by_call:
            check(call in self.made, f"events() holds {by_call[call][0].name!r} of a call that nobody made: call={call!r}")
        returned = (by_id.keys() & self.truth.keys()) - self.held
        check(not returned, f"events() holds {sorted(returned)} again, which the log had dropped")
        order = [id for id in by_id if id in self.truth]
        check(
            order == [id for id in self.truth if id in by_id],
            "events() gives its events in another order than before: it is that in which they were recorded",
        )
        for event in events:
            self._check_unchanged(self.truth.get(event.id, event), event)
        self.held = frozenset(by_id)
        late = [id for id in by_id if id not in self.truth]
        self.truth.update(by_id)
        if late and order and list(by_id)[-len(late) :] != late:  # a call got its name: it stands where it began
            gone = {id: event for id, event in self.truth.items() if id not in by_id}
            self.truth = {**gone, **by_id}
        for id, made in self.made.items():
            self._check_call(made, by_call.get(id, []))
        check(len(log) == len(events), f"len() is {len(log)}, and events() holds {len(events)}")

    def _check_unchanged(self, was: Event, event: Event) -> None:
        check(
            (was.seq, was.start_time) == (event.seq, event.start_time),
            f"the {event.kind} of {event.name!r} that began at #{was.seq} begins at #{event.seq} now: what happened"
            " stays as it was",
        )
        check(
            was.outcome in ("pending", "unknown") or attrs.evolve(was, parent=event.parent) == event,
            f"the {was.outcome} {event.kind} of {event.name!r} (#{was.seq}) is told of otherwise now: what has ended stays"
            f" as it was, {was}, not {event}",
        )

    def _check_call(self, made: Made, events: Sequence[Event]) -> None:
        told = repr(made)
        if not events:
            check(not self.must_hold(made), f"{told} is lost: the log must hold it, and events() does not")
            made.is_dropped = made.is_dropped or bool(made.touches)
            return
        touched = sorted((event.name, event.kind, -1 if _no(event) else event.validity_window_seconds) for event in events)
        check(
            touched == sorted((name, kind, -1 if window is None else window / 1e6) for name, kind, window in made.touches),
            f"{told} is recorded as {touched}: each name that it touches is one event, with its window (-1 is none)",
        )
        origin, learned = made.origin, made.learned
        for event in events:
            expected = made.outcome_of(event.kind)
            check(event.outcome == expected, f"{told} is recorded as {event.outcome!r}; its {event.kind} is {expected!r}")
            keys = tuple(each.id if each.name is None else (each.id, each.name) for each in event.depends_on)
            check(keys == made.depends_on, f"{told} rests on {made.depends_on}, and is recorded as resting on {keys}")
            check(
                (event.parent, event.session, event.tool, event.batch, event.run, event.agent)
                == (made.parent, origin.session, origin.tool, origin.batch, origin.run, origin.agent),
                f"{told} was made in call={made.parent!r} by {origin}, and is recorded otherwise: {event}",
            )
            self._check_landing(made, event)
            if made.outcome == "ok":
                check(
                    type(event.version) is type(learned.version) and repr(event.version) == repr(learned.version),
                    f"{told} learned version={learned.version!r}, and is recorded with {event.version!r}: a version is"
                    " compared with what a probe gives, so it must be the very value",
                )
                seen = learned.observed_at if event.kind == "read" else None
                check(event.observed_at == seen, f"{told} saw the world at {seen}, and is recorded with {event.observed_at}")

    def _check_landing(self, made: Made, event: Event) -> None:
        until = None
        if made.outcome == "unknown" and made.late is not None and event.kind == "write" and event.end_time is not None:
            until = event.end_time + min(timedelta(microseconds=min(made.late, 10**18)), LAST - event.end_time)
        check(event.may_land_until == until, f"{made!r} may land until {until}, not {event.may_land_until}")

    def must_hold(self, made: Made) -> bool:
        """Open calls, lost writes that may land, what is in use, and what ended last; all, until the bound is passed."""
        if made.is_dropped or not made.touches:
            return False
        if self.max_events is None or self.ended <= self.max_events or made.id == self.last or made.outcome == "pending":
            return True
        if made.may_land and not self.has_lapsed(made):
            return True
        known = [event for event in self.truth.values() if not self.made[event.call].is_dropped]
        used = SequenceLogView(known, made.log.now(), self.highest + 1).in_use()
        return any(each.id in used for each in self.events_of(made))

    def has_lapsed(self, made: Made) -> bool:
        """Whether the time is up until which its lost writes may land."""
        now = made.log.now()
        return any(each.may_land_until is not None and each.may_land_until < now for each in self.events_of(made))

    def running(self) -> list[Made]:
        """The calls that are pending."""
        return [made for made in self.made.values() if made.outcome == "pending"]

    def events_of(self, made: Made) -> list[Event]:
        """Its events as they were last seen."""
        return [event for event in self.truth.values() if event.call == made.id]

    def held_of(self, made: Made) -> list[Event]:
        """Those of them that the log holds."""
        return [event for event in self.events_of(made) if event.id in self.held]

    def dropped(self) -> list[Event]:
        """The events that the log holds no longer, as they were last seen."""
        return [event for event in self.truth.values() if event.id not in self.held]


def _no(event: Event) -> bool:
    return event.validity_window_seconds is None
