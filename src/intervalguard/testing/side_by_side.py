"""Several logs in one story: each step is made on all of them, and what they say is compared.

Ids and numbers are each log's own, so calls go by their ordinals in the story, and events by their call, name and kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from ..kernel.admission import Touch
from ..kernel.events import Event, Outcome, covers
from ..kernel.views import Key
from ..logs.calls import Origin
from .account import Made
from .agreement import check
from .driver import OUTSIDE, Driver
from .factories import Clock, DurableFactory, LogFactory


class Part(NamedTuple):
    """What a call rests on, whatever a log calls it: an event of a call, or the ``part`` of it that counts."""

    call: int
    name: str
    kind: str
    part: str | None = None

    @classmethod
    def nobody(cls) -> Part:
        """What no log has heard of."""
        return cls(-1, "", "")

    def narrowed(self, part: str) -> Part:
        """The part of it that has this name."""
        return self._replace(part=part) if part != self.name and covers(self.name, part) else self


class Company:
    """Logs that are driven side by side. The choices of a story are made by the first of them."""

    def __init__(self, factories: Sequence[LogFactory], clock: Clock, max_events: int | None) -> None:
        self.drivers = [Driver(factory, clock, max_events) for factory in factories]
        self.calls: list[dict[int, Made]] = [{} for _ in factories]
        self.in_step = [True for _ in factories]
        self.next = 0

    # -- steps

    def begin(
        self,
        touches: Sequence[Touch],
        parts: Sequence[Part],
        *,
        origin: Origin,
        parent: int | None,
        least: int | None,
        waited: bool,
        bear: bool,
        looked: Mapping[Part, bool],
        gives_up: bool,
    ) -> None:
        """A call begins in each log, as `Driver.begin` says."""
        told: list[tuple[str, str | None]] = []
        for place, driver in enumerate(self.drivers):
            decision, made = driver.begin(
                touches,
                tuple(dict.fromkeys(self._key(place, part) for part in parts)),
                origin=origin,
                parent=None if parent is None else self.calls[place].get(parent),
                least=least,
                waited=waited,
                bear=bear,
                looked={self._id(place, part): other for part, other in looked.items()},
                gives_up=gives_up,
            )
            if made is not None:
                self.calls[place][self.next] = made
            told.append((type(decision).__name__, None if made is None else made.outcome))
        self._follow(told)
        self.next += 1

    def end(self, ordinal: int, outcome: Outcome, **how: Any) -> None:
        """A call ends in each log, as `Driver.end` says."""
        self._each(ordinal, "pending", lambda driver, made: driver.end(made, outcome, **how))

    def end_from_anywhere(self, ordinal: int, outcome: Outcome, late: int | None) -> None:
        """A finalizer ends it."""
        self._each(ordinal, "pending", lambda driver, made: driver.end_from_anywhere(made, outcome, late))

    def end_again(self, ordinal: int, outcome: Outcome) -> None:
        """A call that has settled ends once more."""
        self._each(ordinal, None, lambda driver, made: driver.end_again(made, outcome))

    def resolve(self, ordinal: int, outcome: Outcome) -> None:
        """Someone says what became of it."""
        self._each(ordinal, None, lambda driver, made: driver.resolve(made, outcome))

    def _each(self, ordinal: int, outcome: str | None, step: Any) -> None:
        told: list[str | None] = []
        for place, driver in enumerate(self.drivers):
            made = self.calls[place].get(ordinal)
            if made is None or (made.outcome == "pending") != (outcome == "pending"):
                told.append(None)
            else:
                step(driver, made)
                told.append(made.outcome)
        self._follow(told)

    def _follow(self, told: Sequence[Any]) -> None:
        """Each log was held against the reference; one that was told otherwise goes its own way from here on: it, or the
        first, has dropped something.
        """
        for place in range(len(self.drivers)):
            self.in_step[place] = self.in_step[place] and told[place] == told[0]

    def _name(self, place: int) -> str:
        return getattr(self.drivers[place].factory, "__name__", f"factory {place}")

    def write_outside(self, name: str, since: datetime | None) -> None:
        """Someone else wrote it."""
        for place, driver in enumerate(self.drivers):
            self.calls[place][self.next] = driver.write_outside(name, since)
        self.next += 1

    def turn(self) -> None:
        """A turn begins."""
        for driver in self.drivers:
            driver.turn()

    def reopen(self) -> None:
        """Those that are durable are opened anew."""
        for place, driver in enumerate(self.drivers):
            was = [made.outcome for made in self.calls[place].values()]
            driver.reopen()
            if was != [made.outcome for made in self.calls[place].values()]:
                self.in_step[place] = False

    # -- what a story is made of

    def now(self) -> datetime:
        """The time of the first log; the others' is not before it."""
        return min(driver.log.now() for driver in self.drivers)

    def parts(self) -> list[Part]:
        """The events that there were."""
        ordinals = {made.id: ordinal for ordinal, made in self.calls[0].items()}
        events = self.drivers[0].account.truth.values()
        return [Part(ordinals[event.call], event.name, event.kind) for event in events]

    def is_held(self, part: Part) -> bool:
        """Whether each log holds it."""
        return all(self._id(place, part) in driver.account.held for place, driver in enumerate(self.drivers))

    def knows(self, session: str, names: Sequence[str]) -> tuple[Part, ...]:
        """What a write to these rests on, as the first log says."""
        driver, by_id = self.drivers[0], {made.id: ordinal for ordinal, made in self.calls[0].items()}
        keys = [driver.beside().public(key) for key in driver.log.resting_by_itself(session, names, None)]
        found = []
        for key in keys:
            id, part = key if type(key) is tuple else (key, None)
            event = driver.account.truth[id]
            found.append(Part(by_id[event.call], event.name, event.kind, part))
        return tuple(part for part in found if self.is_held(part))

    def running(self) -> list[int]:
        """The calls that are pending."""
        return [ordinal for ordinal, made in self.calls[0].items() if made.outcome == "pending"]

    def settled(self) -> list[int]:
        """The calls that are not; the lost ones are among them."""
        return [ordinal for ordinal, made in self.calls[0].items() if made.outcome != "pending"]

    def lost(self) -> list[int]:
        """The calls of which it is not known how they ended."""
        return [ordinal for ordinal, made in self.calls[0].items() if made.outcome == "unknown" and made.touches]

    def derived_reads(self) -> list[int]:
        """The pending calls that rest on something and write nothing."""
        made = self.calls[0]
        return [each for each in self.running() if made[each].depends_on and made[each].touches and not made[each].writes()]

    def is_named(self, ordinal: int) -> bool:
        """Whether a call has a name."""
        return bool(self.calls[0][ordinal].touches)

    def writes(self, ordinal: int) -> bool:
        """Whether a call writes anything."""
        return self.calls[0][ordinal].writes()

    def is_durable(self) -> bool:
        """Whether any of the logs outlives its process."""
        return any(isinstance(driver.factory, DurableFactory) for driver in self.drivers)

    def _id(self, place: int, part: Part) -> str:
        made = self.calls[place].get(part.call)
        if made is None:
            return "nobody"
        events = self.drivers[place].account.events_of(made)
        return next((event.id for event in events if (event.name, event.kind) == (part.name, part.kind)), "nobody")

    def _key(self, place: int, part: Part) -> Key:
        id = self._id(place, part)
        return id if part.part is None or id not in self.drivers[place].account.held else (id, part.part)

    # -- what is asked

    def check(self, names: Sequence[str], sessions: Sequence[str]) -> None:
        """Each log is as the reference, and those that are in step and have dropped nothing hold the same."""
        for driver in self.drivers:
            driver.check(names, sessions)
        if len(self.drivers) == 1:
            return
        stories = [
            (place, self._story(place))
            for place, driver in enumerate(self.drivers)
            if self.in_step[place] and len(driver.account.held) == len(driver.account.truth)
        ]
        for place, story in stories[1:]:
            check(
                story == stories[0][1],
                f"the logs do not agree: {self._name(stories[0][0])} holds {stories[0][1]}, and {self._name(place)} {story}",
            )

    def _story(self, place: int) -> list[tuple[Any, ...]]:
        account = self.drivers[place].account
        ordinals = {made.id: ordinal for ordinal, made in self.calls[place].items()}
        events = list(account.truth.values())
        numbers = sorted({n for event in events for n in (event.seq, event.end_seq) if n is not None})
        ranks: dict[int | None, int] = {number: rank for rank, number in enumerate(numbers)}
        ids = {event.id: (ordinals[event.call], event.name, event.kind) for event in events}
        return [self._told(event, ids, ordinals, ranks) for event in events]

    def _told(
        self, event: Event, ids: Mapping[str, Any], ordinals: Mapping[str, int], ranks: Mapping[int | None, int]
    ) -> tuple[Any, ...]:
        rests_on = [(ids.get(each.id), each.name) for each in event.depends_on]
        parent = None if event.parent is None else ordinals[event.parent]
        start: tuple[Any, ...]
        start, end = (ranks.get(event.seq), event.start_time), (ranks.get(event.end_seq), event.end_time)
        if event.agent == OUTSIDE.agent:
            start = ()  # it is told of late, and a log may place it by an event beside it
        return (*ids[event.id], event.outcome, parent, rests_on, start, end)
