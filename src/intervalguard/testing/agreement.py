"""Law L5, asked of one log at one moment: does its view answer as the reference does over the same events?

What is not so is told in a sentence, by a `Nonconforming`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

from ..kernel.admission import LogView
from ..kernel.events import Event, covers, moment
from ..kernel.staleness import HISTORY_DROPPED, NO_RESULT, REASONS, Claim, Raw, judge
from ..kernel.views import Entry, Key, Position, View
from ..logs.memory import MemoryLog
from .eventlogs import EventLog, SequenceLogView, present


class Nonconforming(AssertionError):
    """The log does what no log may do; the message says what."""


def check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Nonconforming(otherwise)


_QUESTIONS: Mapping[str, tuple[Callable[..., Entry | None], str]] = {
    "first_after": (
        lambda view, name, since, at, spared: view.first_after(name, since, at, spared),
        "the first ok write that began after a position",
    ),
    "first_ended, ok": (
        lambda view, name, since, at, spared: view.first_ended(name, "ok", since, at, spared),
        "the first ok write that ended at or after a position",
    ),
    "first_ended, error": (
        lambda view, name, since, at, spared: view.first_ended(name, "error", since, at, spared),
        "the first write that ended in an error, or can land no longer, at or after a position",
    ),
    "first_open": (
        lambda view, name, since, at, spared: view.first_open(name, at, spared),
        "the first write that has begun and not ended",
    ),
    "first_lost": (
        lambda view, name, since, at, spared: view.first_lost(name, at, spared),
        "the first lost write that may still land",
    ),
}


def nobody(_: Entry) -> bool:
    return False


class Agreement:
    """A log beside the reference over ``truth``, the events as they were last seen, by their ids."""

    def __init__(self, log: EventLog | MemoryLog, truth: Mapping[str, Event], number: int) -> None:
        """``number`` is greater than all that the log has given."""
        self.log = log
        self.truth = truth
        self.view: LogView
        self.at: Position
        self.view, self.at, self.time = present(log)
        self.reference = SequenceLogView(truth.values(), moment(self.time), number)

    def said(self, id: str | None) -> str:
        """An event in words."""
        if id is None:
            return "nothing"
        event = self.truth.get(id)
        return f"id={id!r}" if event is None else f"the {event.outcome} {event.kind} of {event.name!r} (#{event.seq})"

    def key(self, key: Key) -> Key:
        """A dependency as the log knows it."""
        return (self.log.number_of(key[0]), key[1]) if type(key) is tuple else self.log.number_of(key)

    def public(self, key: Key) -> Key:
        """A dependency as people know it."""
        return (self.log.id_of(key[0]), key[1]) if type(key) is tuple else self.log.id_of(key)

    def _id(self, entry: Entry | None) -> str | None:
        return None if entry is None else self.log.id_of(entry.id)

    def _is_among(self, ids: set[str], entry: Entry) -> bool:
        return entry.id in ids or self._id(entry) in ids

    def same(self, one: str | None, other: str | None) -> bool:
        """Of the events of one call, which begin together, either will do."""
        if one is None or other is None or one not in self.truth or other not in self.truth:
            return one == other
        return self.truth[one].seq == self.truth[other].seq

    # -- the questions of a view, where the log has dropped nothing

    def check_views(self, names: Sequence[str], random: Random) -> None:
        """All questions about all of these names, as of now, and since where some of the events begin and end."""
        places = self._check_events()
        for name in names:
            for theirs, mine in random.sample(places, min(2, len(places))):
                out = set(random.sample([*self.truth], min(2, len(self.truth))))
                self._check_writes(name, theirs, mine, nobody, nobody)
                self._check_writes(name, theirs, mine, partial(self._is_among, out), partial(self._is_among, out))
                check(
                    self.reference.undisturbed(name, theirs, self.reference.at)
                    or not self.view.undisturbed(name, mine, self.at),
                    f"undisturbed({name!r}) is true, and a write that conflicts had not ended by then:"
                    " it may say no where it is so, and never yes where it is not",
                )
                check(
                    not self.view.dropped_since(name, mine),
                    f"dropped_since({name!r}) is true, and the log has dropped nothing",
                )
        self._check_flight(names)

    def _check_events(self) -> list[tuple[Position, Position]]:
        """Each event by itself; where they begin and end, in the reference's order and in the log's."""
        view, places = self.view, []
        for each in self.reference.entries:
            mine, said = view.find(self.log.number_of(each.id)), self.said(each.id)
            check(mine is not None, f"find() does not know {said}, which events() tells of")
            assert mine is not None
            check(
                (mine.name, mine.kind, mine.outcome in (each.outcome, "error"), self._id(mine))
                == (each.name, each.kind, True, each.id),
                f"find() gives another event than {said}, which events() tells of",
            )
            check(
                {self._id(event) for event in view.call(mine.call)} == {e.id for e in self.reference.call(each.call)},
                f"call() does not give the events of the call of {said}",
            )
            check(
                [self.public(key) for key in view.rests_on(mine.call)] == self.reference.rests_on(each.call),
                f"rests_on() does not give what the call of {said} rests on",
            )
            check(
                view.is_derived(mine) == self.reference.is_derived(each),
                f"is_derived() is wrong about {said}: it is derived where its call rests on anything",
            )
            check(not view.was_dropped(mine.id), f"was_dropped() is true of {said}, which the log holds")
            places += [(each.start, mine.start)]
            if each.end is not None and mine.end is not None:
                places += [(each.end, mine.end)]
        return places

    def _check_writes(self, name: str, theirs: Position, mine: Position, spared: Any, spares: Any) -> None:
        for question, (ask, meaning) in _QUESTIONS.items():
            expected = self._reference_id(ask(self.reference, name, theirs, self.reference.at, spared))
            found = self._id(ask(self.view, name, mine, self.at, spares))
            check(
                self.same(expected, found),
                f"{question} of {name!r} gives {self.said(found)}, and it is {self.said(expected)}: {meaning},"
                " to a name that conflicts, by segment",
            )

    def _check_flight(self, names: Sequence[str]) -> None:
        check(
            self.view.in_flight() == self.reference.in_flight(),
            f"in_flight() is {self.view.in_flight()}, and it is {self.reference.in_flight()} that a write is pending, or"
            " lost and may still land",
        )
        calls = dict.fromkeys(each.call for each in self.reference.entries if each.outcome == "pending")
        for name in names:
            for out in (None, *calls):
                expected = self.reference.first_pinning(name, partial(self._is_of, out))
                found = self.view.first_pinning(name, partial(self._is_of, out))
                theirs, mine = self._pin(expected, self._reference_id), self._pin(found, self._id)
                check(
                    self.same(theirs[0], mine[0]) and theirs[1] == mine[1],
                    f"first_pinning({name!r}) gives {self.said(mine[0])} with the pin {mine[1]!r}, and it is"
                    f" {self.said(theirs[0])} with {theirs[1]!r}: what a pending writer rests on is pinned until it settles",
                )

    def _is_of(self, call: str | None, entry: Entry) -> bool:
        return call is not None and call in (entry.call, self.log.id_of(entry.call))

    def _reference_id(self, entry: Entry | None) -> str | None:
        return None if entry is None else str(entry.id)

    def _pin(self, found: tuple[Entry, str] | None, id: Callable[[Entry], str | None]) -> tuple[str | None, str | None]:
        return (None, None) if found is None else (id(found[0]), found[1])

    # -- the rule, whatever the log has dropped

    def check_findings(self, claim: Claim, held: frozenset[str]) -> None:
        """What the log says of these dependencies of a call is what is true; of what it dropped never that it is fresh.

        Where it has dropped something it may say that, and else what is true or worse.
        """
        expected = self._findings(self.reference, claim, self.reference.at, self.reference.time, str)
        mine = Claim(self._number(claim.call), self._number(claim.parent), [self.key(key) for key in claim.depends_on])
        found = self._findings(self.view, mine, self.at, self.time, self.log.id_of)
        everything = len(held) == len(self.truth)
        for key in claim.depends_on:
            id = key[0] if type(key) is tuple else key
            true, said = expected.get(id), found.get(id)
            told = f"a dependency on {self.said(id)} is {self._verdict(said)}"
            if everything:
                check(
                    self._tell(true, str) == self._tell(said, self.log.id_of),
                    f"{told}, and by the events it is {self._verdict(true)}",
                )
            elif id in self.truth and id not in held:
                check(
                    said is not None and said.grade >= HISTORY_DROPPED,
                    f"{told}, and the log holds it no longer: what was dropped is history-dropped, never fresh",
                )
            else:
                least = -1 if true is None else true.grade
                found_grade = -1 if said is None else said.grade
                check(
                    found_grade >= HISTORY_DROPPED or (found_grade >= least and (true is not None or said is None)),
                    f"{told}, and by all events that there were it is {self._verdict(true)}: where history was dropped a log"
                    " says what is true, or history-dropped",
                )

    def _findings(
        self, view: View, claim: Claim, at: Position, time: int, id_of: Callable[[Any], str]
    ) -> dict[str, Raw]:
        return {id_of(raw.dependency): raw for raw in judge(view, claim, at, time)}

    def _number(self, id: str | None) -> Any:
        return None if id is None else self.log.number_of(id)

    def _verdict(self, raw: Raw | None) -> str:
        return "fresh" if raw is None else REASONS[raw.grade]

    def _tell(self, raw: Raw | None, id_of: Callable[[Any], str]) -> tuple[Any, ...]:
        """A finding by what it says: of events that begin together, and of sources without a result, any will do."""
        if raw is None or raw.grade == NO_RESULT:
            return (self._verdict(raw),)
        seqs = [None if each is None else self.truth[id_of(each.id)].seq for each in (raw.by, raw.via)]
        return (REASONS[raw.grade], *seqs)


def narrowed(event: Event, part: str) -> Key:
    """A dependency on an event, or on the ``part`` of it where its name covers that."""
    return (event.id, part) if covers(event.name, part) else event.id
