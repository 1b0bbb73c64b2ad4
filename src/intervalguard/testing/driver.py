"""Drives one log through its protocol, as a guard does, and holds each answer against the reference.

The steps are those of the conformance machine, of the agreement machine and of the cases. With a factory that is shared
or durable there are two logs on one store: each step goes to the next one, and is checked on the other.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from random import Random
from typing import Any

from ..kernel.admission import Admit, Decision, Refuse, Touch, Wait, admit, settle
from ..kernel.events import Outcome
from ..kernel.staleness import HISTORY_DROPPED, REASONS, Claim, Probe
from ..kernel.views import GONE, Entry, Key
from ..logs.calls import Learned, Origin
from ..logs.protocol import EventLog
from .account import Account, Made
from .agreement import Agreement, check
from .factories import Clock, DurableFactory, LogFactory, SharedFactory
from .knowledge import Turn, check_knowledge
from .reference import key_of
from .strategies import below

WAKE_SECONDS = 2.0
"""A wait ends as its blocker settles; a log that is told of that by another process has so long."""

_ASKED_AT_ONCE = 4
"""After each step so many names are asked about, drawn anew."""

OUTSIDE = Origin(agent="someone else")
"""Whose a write is that no guarded call made."""


class Holder:
    """Who holds a call, as the guard does."""

    first: Entry


class Waiter:
    """A call that waits, and how often it was told that the wait is over."""

    def __init__(self) -> None:
        self.woken = 0

    def wake(self) -> None:
        """The wait is over."""
        self.woken += 1


def _woken(waiters: Sequence[Waiter]) -> list[int]:
    """How often each was told that its wait is over, by the time in which it has to be."""
    deadline = time.monotonic() + WAKE_SECONDS
    while not all(waiter.woken for waiter in waiters) and time.monotonic() < deadline:
        time.sleep(0.001)
    return [waiter.woken for waiter in waiters]


class Driver:
    """A log, or several on one store, and the account of what it was told. ``calls`` are its calls by their ordinals."""

    def __init__(self, factory: LogFactory, clock: Clock, max_events: int | None) -> None:
        self.factory = factory
        self.logs = [factory(clock=clock, max_events=max_events)]
        if isinstance(factory, SharedFactory):
            self.logs.append(factory.another(self.logs[0]))
        self.account = Account(max_events)
        self.turns: list[Turn] = []
        self.waiting: dict[str, list[Waiter]] = {}
        self.given_up: list[Waiter] = []
        self.latest: dict[EventLog, datetime] = {}
        self.random = Random(0)

    @property
    def log(self) -> EventLog:
        """The log whose turn it is."""
        return self.logs[0]

    def _next(self) -> EventLog:
        """The log that makes a step; it is checked on the next one."""
        log = self.logs.pop(0)
        self.logs.append(log)
        return log

    def beside(self, log: EventLog | None = None) -> Agreement:
        """The log and the reference as they are now."""
        account = self.account
        return Agreement(log or self.log, account.truth, account.held, account.highest + 1)

    # -- steps

    def begin(
        self,
        touches: Sequence[Touch],
        keys: tuple[Key, ...] = (),
        *,
        origin: Origin,
        parent: Made | None = None,
        least: int | None = 0,
        waited: bool = True,
        bear: bool = False,
        looked: Mapping[str, bool] | None = None,
        gives_up: bool = False,
    ) -> tuple[Decision, Made | None]:
        """A call begins, which rests on these public ids; ``looked`` are those whose version was probed, and is another."""
        log = self._next()
        agreement = self.beside(log)
        before, above = log.now(), None if parent is None else parent.id
        theirs, mine = self._probes(agreement, looked)
        claim = Claim(None, above, keys, theirs)
        reference = agreement.reference
        expected = admit(reference, claim, touches, least, reference.at, reference.time, waited)
        holder, waiter = Holder(), Waiter()
        depends_on = tuple(agreement.key(key) for key in keys)
        outer = None if parent is None else parent.first.id
        decision, first = log.admit(origin, touches, depends_on, outer, least, mine, waited, bear, waiter.wake, holder)
        self._check_decision(agreement, decision, expected)
        is_last = waited or type(decision) is Refuse
        check(
            (first is not None) == (is_last or type(decision) is Admit),
            f"admit() decides {type(decision).__name__} with waited={waited}, and the call is {'not ' * (first is None)}"
            "recorded: Admit and Refuse are, and a Wait that has waited",
        )
        if first is None:
            assert type(decision) is Wait
            self._wait(log, decision, waiter, gives_up)
            return decision, None
        check(
            getattr(holder, "first", None) is first,
            "admit() records a call, and does not put its first event into holder.first: whoever holds the call could not"
            " settle it if the answer were lost to an interrupt",
        )
        outcome: Outcome = "pending" if bear or type(decision) is Admit else "refused"
        check(
            first.outcome == outcome and first.name == (touches[0][0] if touches else ""),
            f"admit() hands out a first event of {first.name!r} that says {first.outcome!r}, and the call is {outcome!r}",
        )
        made = Made(log, first, log.id_of(first.id), list(touches), keys, above, origin, outcome, looked=(theirs, mine))
        self.account.record(made, self.log)
        self._check_times(made, before)
        return decision, made

    def _probes(self, agreement: Agreement, looked: Mapping[str, bool] | None) -> tuple[Any, Any]:
        if not looked:
            return None, None
        theirs, mine = agreement.reference, agreement
        return (
            {id: Probe(other, theirs.at, theirs.at, theirs.time) for id, other in looked.items()},
            {mine.number(id): Probe(other, mine.at, mine.at, mine.time) for id, other in looked.items()},
        )

    def _check_decision(self, agreement: Agreement, decision: Decision, expected: Decision) -> None:
        """A log decides as the rule does of what it holds, and refuses besides where it says that history was dropped."""
        is_unsure = len(agreement.held) < len(agreement.truth) and any(
            raw.grade == HISTORY_DROPPED for raw in decision.findings
        )
        if is_unsure and type(decision) is Refuse:
            return
        names = [each.__name__ for each in (type(decision), type(expected))]
        check(names[0] == names[1], "admit() decides {}, and the rule says {} of the same events".format(*names))
        if isinstance(decision, Wait) and isinstance(expected, Wait):
            theirs, mine = str(expected.blocker.id), agreement.log.id_of(decision.blocker.id)
            check(
                agreement.same(theirs, mine)
                and decision.patient == expected.patient
                and (decision.name == expected.name or theirs != mine),  # each is named for the event that it gives
                f"admit() waits for {agreement.said(mine)}, and by the rule for {agreement.said(theirs)}",
            )
            check(
                agreement.log.event(decision.blocker) == agreement.truth[mine],
                f"event() tells of another event than {agreement.said(mine)}, for which admit() waits",
            )
        if not is_unsure:
            true = {str(raw.dependency): raw for raw in expected.findings}
            said = {agreement.log.id_of(raw.dependency): raw for raw in decision.findings}
            for id in true.keys() | said.keys():
                check(
                    agreement.agrees(true.get(id), said.get(id)),
                    f"admit() finds a dependency on {agreement.said(id)} {agreement.verdict(said.get(id))}, and by the"
                    f" events it is {agreement.verdict(true.get(id))}",
                )
        self._check_findings(agreement, decision)

    def _check_findings(self, agreement: Agreement, decision: Decision) -> None:
        log = agreement.log
        told = log.findings(decision.findings, "q", agreement.time)
        expected = [(log.id_of(raw.dependency), REASONS[raw.grade]) for raw in decision.findings]
        found = [(each.dependency, each.reason) for each in told]
        check(found == expected, f"findings() tells of {found}, and the rule found {expected}")
        for raw, each in zip(decision.findings, told, strict=True):
            by = None if raw.by is None else agreement.truth[log.id_of(raw.by.id)]
            said = each.by and (each.by.id, each.by.name, each.by.tool, each.by.start_time, each.by.end_time)
            check(
                said == (by and (by.id, by.name, by.tool, by.start_time, by.end_time)) and each.event == "q",
                f"findings() tells of {said} as the witness of {each.reason}, and that is {by}",
            )

    def _wait(self, log: EventLog, decision: Wait, waiter: Waiter, gives_up: bool) -> None:
        if gives_up:
            log.stop_waiting(decision.blocker, waiter.wake)
            self.given_up.append(waiter)
        else:
            self.waiting.setdefault(log.id_of(decision.blocker.call), []).append(waiter)

    def end(
        self,
        made: Made,
        outcome: Outcome,
        *,
        least: int | None = None,
        bear: bool = False,
        late: int | None = None,
        learned: Learned | None = None,
    ) -> None:
        """A call ends; ``late`` is how many microseconds its lost writes may land for."""
        self._next()
        log, before, agreement = made.log, made.log.now(), self.beside(made.log)
        withheld = self._is_to_be_withheld(agreement, made, outcome, least)
        decision = log.settle(made.first, outcome, least, bear, made.looked[1], learned, may_land_for=late)
        check(decision is not None, f"settle() says of {made!r} that it had been settled already")
        if withheld is not None:
            check(
                type(decision) is (Refuse if withheld else Admit),
                f"settle() answers {type(decision).__name__} for {made!r}, and what it read is"
                f" {'' if withheld else 'not '}to be withheld: a derived read is judged again as it returns",
            )
        is_refused = type(decision) is Refuse and not bear
        self._ended(made, "refused" if is_refused else outcome, late, learned, before)

    def end_from_anywhere(self, made: Made, outcome: Outcome, late: int | None = None) -> None:
        """A finalizer ends a call, at a moment when nothing is in its way."""
        self._next()
        before = made.log.now()
        made.log.settle_from_anywhere(made.first, outcome, late)
        self._ended(made, outcome, late, None, before)

    def _ended(
        self, made: Made, outcome: Outcome, late: int | None, learned: Learned | None, before: datetime
    ) -> None:
        made.outcome, made.late = outcome, late
        made.may_land = outcome == "unknown" and made.writes()
        if learned is not None:
            made.learned = learned
            made.touches = [*made.touches, *((name, "read", window) for name, window in learned.names)]
        self.account.end(made, self.log)
        self._check_times(made, before)
        said = made.outcome_of(made.touches[0][1]) if made.touches else outcome
        check(
            made.first.outcome == said and bool(made.first.name) == bool(made.touches),
            f"{made!r} has settled, and its first event, as admit() handed it out, says {made.first.outcome!r} of"
            f" {made.first.name!r}: it is live, for the guard reads there what became of the call",
        )
        waiters = self.waiting.pop(made.id, [])
        woken = _woken(waiters)
        check(
            all(count == 1 for count in woken),
            f"settle() woke {sum(map(bool, woken))} of the {len(waiters)} calls that wait for the one that it settled"
            f", {sum(woken)} times",
        )

    def _is_to_be_withheld(self, agreement: Agreement, made: Made, outcome: Outcome, least: int | None) -> bool | None:
        """Whether what the call returns is, or ``None`` where the log may say that what could tell was dropped."""
        if not made.depends_on or outcome != "ok" or made.writes():
            return False
        reference = agreement.reference
        claim = Claim(made.id, made.parent, made.depends_on, made.looked[0])
        decision = settle(reference, made.first, claim, outcome, least, reference.at, reference.time)
        is_stale = type(decision) is Refuse
        return is_stale if is_stale or len(agreement.held) == len(agreement.truth) else None

    def _check_times(self, made: Made, before: datetime) -> None:
        """What begins or ends in a step does so between the log's time before it and after it, to the microsecond."""
        after = made.log.now()
        for event in self.account.held_of(made):
            time = event.start_time if event.end_time is None else event.end_time
            check(
                before <= time <= after,
                f"the {event.kind} of {event.name!r} is recorded at {time}, and by the log's clock it was between {before}"
                f" and {after}: times are kept to the microsecond, in any zone",
            )

    def end_again(self, made: Made, outcome: Outcome) -> None:
        """A call that has settled ends once more."""
        again = made.log.settle(made.first, outcome)
        check(again is None, f"settle() settles a call twice: it was {made.outcome!r} already, and settlement is once")
        made.log.settle_from_anywhere(made.first, outcome)

    def resolve(self, made: Made, outcome: Outcome) -> None:
        """Someone says what became of a lost call, if it is one and may still land."""
        log, lapsed = self._next(), self.account.has_lapsed(made)
        before = log.now()
        number = log.number_of(self.random.choice(self.account.events_of(made)).id)
        try:
            settled = log.resolve(number, outcome)
        except ValueError:
            lost = made.outcome == "unknown" and not lapsed
            check(not lost, "resolve() refuses to settle an unknown call that may still land")
        except LookupError:
            held = self.account.must_hold(made)
            check(not held, f"resolve() does not know {made!r}, which the log must hold")
        else:
            check(
                made.outcome == "unknown",
                f"resolve() settles a call that is {made.outcome!r}: only an unknown one can be, and once",
            )
            check(not lapsed, "resolve() settles a call that can land no longer: it counts as an error since then")
            made.outcome, made.may_land = outcome, False
            self.account.end(made, self.log)
            self._check_times(made, before)
            told, known = [event.id for event in settled], self.account.events_of(made)
            is_all = sorted(told) == sorted(event.id for event in known) and told[0] == made.id
            check(is_all, f"resolve() answers with {told}, and the call's events are {known}, the first one first")

    def write_outside(self, name: str, since: datetime | None) -> Made:
        """Someone else wrote it, at some instant since then."""
        log = self._next()
        before, start = list(self.account.truth.values()), log.now()
        is_whole = len(self.account.held) == len(before)
        first = log.write_outside(OUTSIDE, name, since)
        made = Made(log, first, log.id_of(first.id), [(name, "write", None)], (), None, OUTSIDE, "ok", is_outside=True)
        self.account.end(made, self.log)
        self._check_times(made, start)
        ends = [(event.start_time, event.seq) for event in before]
        ends += [(event.end_time, event.end_seq) for event in before if event.end_time]
        for event in self.account.held_of(made):
            since = event.start_time if since is None else min(since, event.start_time)
            later = [number for time, number in ends if time > since and number is not None]
            check(
                all(event.seq is not None and event.seq <= number for number in later),
                f"a write that took effect at some instant since {since} begins at #{event.seq}, after"
                f" #{min(later, default=0)}, which was later than that",
            )
            earlier = [number for time, number in ends if time <= since and number is not None]
            check(
                not is_whole or all(event.seq is not None and event.seq >= number for number in earlier),
                f"a write that took effect at some instant since {since} begins at #{event.seq}, before"
                f" #{max(earlier, default=0)}, which was no later: it would make suspect what it cannot have changed",
            )
        return made

    def turn(self) -> None:
        """A turn begins."""
        self.turns.append(Turn(self.log.position(), self.account.highest))

    def reopen(self) -> None:
        """The process dies, and another opens what the log has stored; nothing is done with a log that cannot that."""
        if not isinstance(self.factory, DurableFactory):
            return
        self.logs = [self.factory.reopen(self.logs[0])]
        if isinstance(self.factory, SharedFactory):
            self.logs.append(self.factory.another(self.logs[0]))
        self.waiting.clear()
        self.turns.clear()
        told = {event.id: event for event in self.log.events()}
        for made in self.account.made.values():
            made.log = self.log
            first = self.log.find(self.log.number_of(made.id))
            made.first = made.first if first is None else first
            if made.outcome == "pending" and not made.touches:
                made.outcome = "failed"  # it was no event yet, and whoever made it is no more
            elif made.outcome == "pending" and made.id in told and told[made.id].outcome == "unknown":
                made.outcome, made.may_land = "unknown", made.writes()
                self.account.ended += len(made.touches)
        self.check_account()

    def clear(self) -> None:
        """Everything is forgotten."""
        log, made = self._next(), list(self.account.made.values())
        waiters = [each for waiting in self.waiting.values() for each in waiting]
        ids = list(self.account.truth)
        log.clear()
        self.account.forget()
        self.waiting.clear()
        self.check_account()
        for each in made:
            is_gone = each.first.memo is GONE or each.outcome != "pending" or each.log is not log
            is_over = is_gone and each.log.settle(each.first, "ok") is None
            is_gone = each.first.memo is GONE or each.outcome != "pending"
            check(
                is_over and is_gone,
                f"clear() forgets {each!r}, and its first event is not GONE, or settle() still settles it",
            )
        known = [id for id in ids if log.find(log.number_of(id)) is not None]
        check(not known, f"clear() forgets everything, and find() knows {known}")
        check(set(_woken(waiters)) <= {1}, "clear() does not wake, once, those who wait for what it forgets")

    # -- checks

    def check_account(self) -> None:
        """What the log holds is what it must hold."""
        self.account.take_in(self.log)

    def check(self, names: Sequence[str], sessions: Sequence[str] = ()) -> None:
        """Everything that can be asked of the log, about some of these names."""
        now = self.log.now()
        latest = self.latest.setdefault(self.log, now)
        check(now >= latest, f"now() goes back from {latest} to {now}: an age only grows, whatever the clock does")
        self.latest[self.log] = now
        self.check_account()
        agreement, random, account = self.beside(), self.random, self.account
        some_names = random.sample(list(names), min(_ASKED_AT_ONCE, len(names)))
        agreement.check_views(some_names, random)
        for made in account.running():
            agreement.check_findings(Claim(made.id, made.parent, made.depends_on))
        if account.truth:
            some = [random.choice([*account.truth.values()]) for _ in range(3)]
            agreement.check_findings(Claim(None, None, [event.id for event in some]))
            agreement.check_findings(Claim(None, None, [key_of(e, random.choice(below(e.name))) for e in some]))
        check_knowledge(account, agreement, self.turns, sessions, some_names, random)
        early = [waiter for waiters in (*self.waiting.values(), self.given_up) for waiter in waiters if waiter.woken]
        check(not early, "wake() is called of a wait that was given up, or before what it waits for has settled")
