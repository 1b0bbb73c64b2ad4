"""Law L5, asked of one log at one moment: does its view answer as the reference does over the same events?

What is not so is told in a sentence, by a `Nonconforming`.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

from ..kernel.admission import LogView
from ..kernel.events import Event, moment
from ..kernel.staleness import HISTORY_DROPPED, NO_RESULT, REASONS, Claim, Grade, Raw, judge
from ..kernel.views import Entry, Key, Position, Spared, View
from ..logs.protocol import EventLog
from .reference import ForgetfulView


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


class Agreement:
    """A log beside the reference over ``truth``, the events as they were last seen, by their ids; it holds the ``held``."""

    def __init__(self, log: EventLog, truth: Mapping[str, Event], held: frozenset[str], number: int) -> None:
        """``number`` is greater than all that the log has given."""
        self.log = log
        self.truth = truth
        self.held = held
        self.view: LogView = log.view()
        self.at: Position
        self.at, self.time = log.ticks()
        known = [event for event in truth.values() if event.id in held]
        dropped = [event for event in truth.values() if event.id not in held]
        self.reference = ForgetfulView(known, dropped, moment(self.time), number)

    def said(self, id: str | None) -> str:
        """An event in words."""
        if id is None:
            return "nothing"
        event = self.truth.get(id)
        if event is None:
            return f"id={id!r}"
        return f"the {event.outcome} {event.kind} of {reprlib.repr(event.name)} (#{event.seq})"

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

    # -- the questions of a view

    def check_views(self, names: Sequence[str], random: Random) -> None:
        """All questions about all of these names, as of now, and since where some of the events begin and end."""
        places = self._check_events()
        for name in names:
            for out, (theirs, mine) in zip((0, 2), random.sample(places, min(2, len(places))), strict=False):
                spared = partial(self._is_among, set(random.sample([*self.truth], min(out, len(self.truth)))))
                check(
                    self.view.dropped_since(name, mine) or not self.reference.dropped_since(name, theirs),
                    f"dropped_since({name!r}) is false, and a write that conflicts and was dropped had not ended by then",
                )
                check(
                    not self.view.dropped_since(name, mine) or len(self.held) < len(self.truth),
                    f"dropped_since({name!r}) is true, and the log has dropped nothing",
                )
                if not self.view.dropped_since(name, mine):  # else a rule asks no further
                    self._check_writes(name, theirs, mine, spared)
                check(
                    self.reference.undisturbed(name, theirs, self.reference.at)
                    or not self.view.undisturbed(name, mine, self.at),
                    f"undisturbed({name!r}) is true, and a write that conflicts had not ended by then:"
                    " it may say no where it is so, and never yes where it is not",
                )
        self._check_flight(names)

    def _check_events(self) -> list[tuple[Position, Position]]:
        """Each event by itself; where they begin and end, in the reference's order and in the log's."""
        view, places = self.view, []
        for each in self.reference.entries:
            number, said = self.log.number_of(each.id), self.said(each.id)
            for mine in (view.find(number), self.log.find(number)):
                check(mine is not None, f"find() does not know {said}, which events() tells of")
                assert mine is not None
                check(
                    self._id(mine) == each.id and self.log.event(mine) == each.origin,
                    f"find() gives another event than {said}, which events() tells of: {self.log.event(mine)}",
                )
            mine = view.find(number)
            assert mine is not None
            calls = [self._id(event) for event in view.call(mine.call)], [e.id for e in self.reference.call(each.call)]
            check(
                set(calls[0]) == set(calls[1]) and calls[0][0] == each.call,
                f"call() does not give the events of the call of {said}, the first one first: {calls[0]}, not {calls[1]}",
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
        for id in self.truth.keys() - self.held:
            number = self.log.number_of(id)
            check(view.find(number) is None, f"find() gives {self.said(id)}, which events() does not tell of any more")
            check(view.was_dropped(number), f"was_dropped() is false of {self.said(id)}, which the log held once")
        for id in ("nobody", ""):
            number = self.log.number_of(id)
            is_known = view.find(number) is not None or view.was_dropped(number)
            check(not is_known, f"find() or was_dropped() knows id={id!r}, which the log never gave")
        return places

    def _check_writes(self, name: str, theirs: Position, mine: Position, spared: Spared) -> None:
        for question, (ask, meaning) in _QUESTIONS.items():
            expected = self._reference_id(ask(self.reference, name, theirs, self.reference.at, spared))
            found = self._id(ask(self.view, name, mine, self.at, spared))
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

    def check_findings(self, claim: Claim) -> None:
        """What the log says of these dependencies of a call is what is true; of what it dropped never that it is fresh.

        Where it has dropped something it may say that of more than it must: it keeps of the dropped what it has room for.
        """
        expected = {str(raw.dependency): raw for raw in self.findings_of(self.reference, claim)}
        mine = Claim(self.number(claim.call), self.number(claim.parent), [self.key(key) for key in claim.depends_on])
        found = {self.log.id_of(raw.dependency): raw for raw in self.findings_of(self.view, mine)}
        for key in claim.depends_on:
            id = key[0] if type(key) is tuple else key
            true, said = expected.get(id), found.get(id)
            told = f"a dependency on {self.said(id)} is {self.verdict(said)}"
            if id in self.truth and id not in self.held:
                check(
                    said is not None and said.grade == HISTORY_DROPPED,
                    f"{told}, and the log holds it no longer: what was dropped is history-dropped, never fresh",
                )
            elif len(self.held) == len(self.truth):
                check(self.agrees(true, said), f"{told}, and by the events it is {self.verdict(true)}")
            else:
                check(
                    self.agrees(true, said) or (said is not None and said.grade == HISTORY_DROPPED),
                    f"{told}, and by all events that there were it is {self.verdict(true)}: where history was dropped a log"
                    " says what is true, or history-dropped",
                )

    def agrees(self, true: Raw | None, said: Raw | None) -> bool:
        """Whether the log's finding is the reference's."""
        return self._tell(true, str) == self._tell(said, self.log.id_of)

    def number(self, id: str | None) -> Any:
        """What the log calls this event, or call."""
        return None if id is None else self.log.number_of(id)

    def findings_of(self, view: View, claim: Claim) -> list[Raw]:
        """What the rule says of a claim to the reference, or to the log's view."""
        at, time = (self.at, self.time) if view is self.view else (self.reference.at, self.reference.time)
        return judge(view, claim, at, time)

    def reason(self, grade: Grade) -> str:
        """A grade in words."""
        return REASONS[grade]

    def verdict(self, raw: Raw | None) -> str:
        """The finding's reason, or that there is none."""
        return "fresh" if raw is None else REASONS[raw.grade]

    def _tell(self, raw: Raw | None, id_of: Callable[[Any], str]) -> tuple[Any, ...]:
        """A finding by what it says: of events that begin together, and of sources without a result, any will do."""
        if raw is None or raw.grade == NO_RESULT:
            return (self.verdict(raw),)
        seqs = [None if each is None else self.truth[id_of(each.id)].seq for each in (raw.by, raw.via)]
        return (REASONS[raw.grade], *seqs)

