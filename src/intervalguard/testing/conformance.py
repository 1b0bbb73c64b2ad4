"""The conformance check of a log: does it keep what it is told, and answer as the reference does, whatever happens to it?

`EventLogMachine` does to a log what a guard can do to one, keeps its own account of what must be recorded, and after each
step holds the log against it: its events, its numbers, its decisions, and every answer of its view (law L5).
`check_event_log` runs it, and then the races of two threads that one thread cannot show.
"""

from __future__ import annotations

from datetime import timedelta
from random import Random

from hypothesis import Phase
from hypothesis import settings as Settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ..kernel.admission import Admit, Decision, Refuse, Touch, Wait, admit
from ..kernel.admission import settle as may_settle
from ..kernel.events import Outcome
from ..kernel.staleness import Claim
from ..kernel.views import Key
from ..logs.calls import Origin
from ..logs.memory import MemoryLog
from .account import Account, Made
from .agreement import Agreement, Nonconforming, check, narrowed
from .eventlogs import Clock, EventLog, LogFactory
from .races import check_races
from .stories import moment
from .strategies import NAMES, below

__all__ = ["EventLogMachine", "Nonconforming", "check_event_log"]

ASKED = (*NAMES, "a/z", "b")
"""The names that are written, one below them, and one that no event has."""

_ORIGINS = {session: Origin(f"tool of {session}", session) for session in (None, "s", "t")}
_SESSION = st.sampled_from(tuple(_ORIGINS))
_NAME = st.sampled_from(("a", "a/b", *NAMES))
_TOUCH = st.tuples(_NAME, st.sampled_from(("write", "read")), st.sampled_from((None, None, None, 2_000_000)))
_TOUCHES = st.one_of(
    st.lists(_TOUCH, min_size=1, max_size=1),
    st.lists(_TOUCH, min_size=1, max_size=3, unique_by=lambda touch: touch[:2]),
)
_OUTCOME: st.SearchStrategy[Outcome] = st.sampled_from(("ok", "ok", "ok", "ok", "error", "unknown", "unknown", "failed"))
_SETTLED: st.SearchStrategy[Outcome] = st.sampled_from(("ok", "ok", "failed", "error"))
_LEAST = st.sampled_from((0, 0, None, 3))
_BACK = st.integers(0, 7)
_MICROSECONDS = 1_000_000


class EventLogMachine(RuleBasedStateMachine):
    """A log in use, and beside it an account of what it must hold. Subclass it and `make` the log.

    ``EventLogSubclass.TestCase`` is a test then; `check_event_log` is the short form, and shows races too. Raises
    `Nonconforming`, with a sentence that says what is wrong, in the shortest run that shows it.
    """

    log: EventLog | MemoryLog

    def make(self, *, clock: Clock, max_events: int | None) -> EventLog | MemoryLog:
        """An empty log. It may ignore both: a log that tells the time itself, and one that keeps everything."""
        raise NotImplementedError("an EventLogMachine needs make(): return an empty log")

    @initialize(max_events=st.sampled_from((None, None, None, 3, 4, 5, 8, 20)))
    def begin(self, max_events: int | None) -> None:
        self.seconds = 100
        self.random = Random(0)
        self.woken: list[str] = []
        self.waiting: dict[str, int] = {}
        self.log = self.make(clock=lambda: moment(self.seconds), max_events=max_events)
        self.account = Account(self.log, max_events)

    # -- what happens

    @rule(seconds=st.sampled_from((1, 1, 2, 5)))
    def time_passes(self, seconds: int) -> None:
        self.seconds += seconds

    @rule(data=st.data(), touches=_TOUCHES, session=_SESSION, least=_LEAST, waited=st.sampled_from((True, True, False)))
    def a_call_begins(
        self, data: st.DataObject, touches: list[Touch], session: str | None, least: int | None, waited: bool
    ) -> None:
        count = data.draw(st.sampled_from((0, 0, 1, 1, 2))) if self.account.truth else 0
        keys = tuple(dict.fromkeys(self._key(data) for _ in range(count)))
        running = self.account.running()
        parent = data.draw(st.sampled_from(running)).id if running and data.draw(_BACK) == 7 else None
        agreement = self.account.beside()
        reference = agreement.reference
        claim = Claim(None, parent, keys)
        expected = admit(reference, claim, touches, least, reference.at, reference.time, waited)
        mine = tuple(agreement.key(key) for key in keys)
        number = None if parent is None else self.account.made[parent].first.id
        decision, first = self.log.admit(
            _ORIGINS[session], touches, mine, number, least, waited=waited, wake=lambda: self.woken.append("")
        )
        self._check_decision(agreement, decision, expected)
        is_kept = type(decision) is not Wait or waited
        check((first is not None) == is_kept, _RECORDED.format(type(decision).__name__, waited, "not " * (first is None)))
        if isinstance(decision, Wait) and not waited:
            blocker = self.log.id_of(decision.blocker.call)
            self.waiting[blocker] = self.waiting.get(blocker, 0) + 1
        if first is not None:
            outcome: Outcome = "pending" if type(decision) is Admit else "refused"
            self.account.record(Made(first, self.log.id_of(first.id), touches, keys, parent, _ORIGINS[session], outcome))

    def _key(self, data: st.DataObject) -> Key:
        """Something to rest on: mostly what happened of late, whole or in part; seldom what no log has heard of."""
        if data.draw(st.integers(0, 20)) == 20:
            return "nobody"
        events = list(self.account.truth.values())
        event = events[-1 - data.draw(_BACK) % len(events)]
        if data.draw(_BACK) > 5 and event.id in self.account.held:
            return event.id, data.draw(st.sampled_from(below(event.name)))
        return event.id

    def _check_decision(self, agreement: Agreement, decision: Decision, expected: Decision) -> None:
        """A log that holds everything decides as the rule does. One that dropped something lets nothing through that is
        refused by all events that there were; it may refuse more, and knows no pins through what it dropped.
        """
        is_whole = len(self.account.held) == len(self.account.truth)
        allowed = {type(expected)} if is_whole else {Refuse} if type(expected) is Refuse else {Admit, Wait, Refuse}
        names = [each.__name__ for each in (type(decision), type(expected))]
        check(type(decision) in allowed, "admit() decides {}, and the rule says {} of the same events".format(*names))
        if is_whole and isinstance(decision, Wait) and isinstance(expected, Wait):
            theirs, mine = str(expected.blocker.id), self.log.id_of(decision.blocker.id)
            check(
                agreement.same(theirs, mine) and (expected.name, expected.patient) == (decision.name, decision.patient),
                f"admit() waits for {agreement.said(mine)}, and by the rule for {agreement.said(theirs)}",
            )

    @precondition(lambda self: self.account.running())
    @rule(data=st.data(), outcome=_OUTCOME, least=_LEAST, late=st.sampled_from((None, None, 1, 3)))
    def a_call_ends(self, data: st.DataObject, outcome: Outcome, least: int | None, late: int | None) -> None:
        self._settle(data.draw(st.sampled_from(self.account.running())), outcome, least, late)

    @precondition(lambda self: self._derived_reads())
    @rule(data=st.data())
    def a_derived_read_returns(self, data: st.DataObject) -> None:
        self._settle(data.draw(st.sampled_from(self._derived_reads())), "ok", 0, None)

    def _derived_reads(self) -> list[Made]:
        return [made for made in self.account.running() if made.depends_on and not made.writes()]

    def _settle(self, made: Made, outcome: Outcome, least: int | None, late: int | None) -> None:
        woken, waiting = len(self.woken), self.waiting.pop(made.id, 0)
        withheld = self._is_to_be_withheld(made, outcome, least)
        decision = self.log.settle(made.first, outcome, least, may_land_for=late and late * _MICROSECONDS)
        check(decision is not None, "settle() says of a pending call that it had been settled already")
        if withheld is not None:
            check(
                type(decision) is (Refuse if withheld else Admit),
                f"settle() answers {type(decision).__name__} for {made!r}, and what it read is"
                f" {'' if withheld else 'not '}to be withheld: a derived read is judged again as it returns",
            )
        made.outcome = "refused" if type(decision) is Refuse else outcome
        made.may_land = outcome == "unknown" and made.writes()
        self.account.end(made)
        if made.may_land and late is not None:
            for event in self.account.held_of(made):
                until = event.end_time + timedelta(seconds=late) if event.end_time and event.kind == "write" else None
                check(event.may_land_until == until, f"{made!r} may land until {until}, not {event.may_land_until}")
        check(
            len(self.woken) - woken == waiting,
            f"settle() woke {len(self.woken) - woken} of the {waiting} calls that wait for the one that it settled",
        )

    def _is_to_be_withheld(self, made: Made, outcome: Outcome, least: int | None) -> bool | None:
        """Whether what the call returns is, or ``None`` where the log has dropped what could tell."""
        if not made.depends_on or outcome != "ok" or made.writes():
            return False
        reference = self.account.beside().reference
        claim, first = Claim(made.id, made.parent, made.depends_on), reference.call(made.id)[0]
        is_stale = type(may_settle(reference, first, claim, "ok", least, reference.at, reference.time)) is Refuse
        return is_stale if is_stale or len(self.account.held) == len(self.account.truth) else None

    @precondition(lambda self: self.account.settled())
    @rule(data=st.data(), outcome=_OUTCOME)
    def a_call_ends_again(self, data: st.DataObject, outcome: Outcome) -> None:
        made = data.draw(st.sampled_from(self.account.settled()))
        again = self.log.settle(made.first, outcome)
        check(again is None, f"settle() settles a call twice: it was {made.outcome!r} already, and settlement is once")

    @precondition(lambda self: self.account.lost())
    @rule(data=st.data(), outcome=_SETTLED)
    def a_lost_call_is_settled(self, data: st.DataObject, outcome: Outcome) -> None:
        made = data.draw(st.sampled_from(self.account.lost()))
        lapsed = self.account.has_lapsed(made)
        try:
            self.log.resolve(self.log.number_of(made.id), outcome)
        except ValueError:
            check(lapsed, "resolve() refuses to settle an unknown call that may still land")
        except LookupError:
            check(not self.account.must_hold(made), "resolve() does not know an unknown call that the log must hold")
        else:
            check(not lapsed, "resolve() settles a call that can land no longer: it counts as an error since then")
            made.outcome, made.may_land = outcome, False
            self.account.end(made)

    @precondition(lambda self: self.account.settled())
    @rule(data=st.data(), outcome=_SETTLED)
    def what_is_not_lost_is_settled(self, data: st.DataObject, outcome: Outcome) -> None:
        made = data.draw(st.sampled_from(self.account.settled()))
        if made.outcome == "unknown":
            return
        try:
            self.log.resolve(self.log.number_of(made.id), outcome)
        except (LookupError, ValueError):
            return
        raise Nonconforming(f"resolve() settles a call that is {made.outcome!r}: only an unknown one can be, and once")

    @rule(name=_NAME, since=st.sampled_from((None, None, 0, 1, 3)))
    def someone_else_writes(self, name: str, since: int | None) -> None:
        time = None if since is None else moment(self.seconds - since)
        first = self.log.write_outside(_ORIGINS[None], name, time)
        made = Made(first, self.log.id_of(first.id), [(name, "write", None)], (), None, _ORIGINS[None], "ok")
        self.account.made[made.id] = made
        before = list(self.account.truth.values())
        self.account.end(made)
        begun = min((event.seq for event in self.account.held_of(made) if event.seq is not None), default=0)
        later = [event.seq for event in before if time and event.start_time > time and event.seq is not None]
        later += [event.end_seq for event in before if time and event.end_time and event.end_time > time and event.end_seq]
        check(
            all(begun <= number for number in later),
            f"a write that took effect at some instant since {time} begins at #{begun}, after #{min(later, default=0)},"
            " which was later than that",
        )

    # -- what is asked

    @invariant()
    def the_log_agrees(self) -> None:
        if not hasattr(self, "log"):
            return
        self.account.take_in()
        agreement, random = self.account.beside(), self.random
        if len(self.account.held) == len(self.account.truth):
            agreement.check_views(ASKED, random)
        for made in self.account.running():
            agreement.check_findings(Claim(made.id, made.parent, made.depends_on), self.account.held)
        if self.account.truth:
            some = [random.choice([*self.account.truth.values()]) for _ in range(3)]
            agreement.check_findings(Claim(None, None, [event.id for event in some]), self.account.held)
            parts = [narrowed(event, random.choice(below(event.name))) for event in some]
            agreement.check_findings(Claim(None, None, parts), self.account.held)


_RECORDED = "admit() decides {} with waited={}, and the call is {}recorded: Admit and Refuse are, and a Wait that has waited"


def check_event_log(factory: LogFactory, *, settings: Settings | None = None) -> None:
    """Check a log of one's own. ``factory(clock=..., max_events=...)`` makes an empty one, as `MemoryLog` does.

    Raises `Nonconforming`, with a sentence that says what is wrong, below the shortest run that shows it. ``settings``
    are Hypothesis'; by default those of the profile, with 30 steps a run. It takes some seconds for 100 runs of a log
    in memory.
    """

    class Checked(EventLogMachine):
        def make(self, *, clock: Clock, max_events: int | None) -> EventLog | MemoryLog:
            return factory(clock=clock, max_events=max_events)

    chosen = Settings(stateful_step_count=30, deadline=None) if settings is None else settings
    phases = [phase for phase in chosen.phases if phase is not Phase.explain]  # it traces each line: minutes for a log
    run_state_machine_as_test(Checked, settings=Settings(chosen, phases=phases, report_multiple_bugs=False))
    check_races(factory)
