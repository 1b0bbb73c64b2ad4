"""The conformance check of a log: does it keep what it is told, and answer as the reference does, whatever happens to it?

`EventLogMachine` does to a log what a guard can do to one, keeps its own account of what must be recorded, and after each
step holds the log against it: its events, its numbers, its decisions, and every answer of its view (law L5). With several
logs it does the same to all of them, side by side. `check_event_log` runs the cases that chance seldom meets, the machine,
and then the races of two threads that one thread cannot show; `check_agreement` runs the machine on several logs.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

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

from ..kernel.admission import Touch
from ..kernel.events import Outcome
from ..logs.calls import Learned, Origin
from ..logs.protocol import EventLog
from .agreement import Nonconforming
from .cases import check_cases
from .factories import Clock, LogFactory
from .races import check_races
from .side_by_side import Company, Part
from .stories import moment
from .strategies import NAMES, below

__all__ = ["EventLogMachine", "Nonconforming", "check_agreement", "check_event_log"]

ASKED = (*NAMES, "a/z", "b")
"""The names that are written, one below them, and one that no event has."""

SESSIONS = ("s", "t")

_ORIGINS = {
    session: Origin(f"tool of {session}", session, f"batch of {session}", "r", f"agent of {session}")
    for session in (None, *SESSIONS)
}
_SESSION = st.sampled_from(tuple(_ORIGINS))
_NAME = st.sampled_from(("a", "a/b", *NAMES))
_TOUCH = st.tuples(_NAME, st.sampled_from(("write", "read")))
_WINDOW = st.sampled_from((None, None, None, 2_000_000, 0))
_TOUCHES = st.one_of(st.lists(_TOUCH, min_size=1, max_size=1), st.lists(_TOUCH, min_size=0, max_size=3, unique=True))
_OUTCOME: st.SearchStrategy[Outcome] = st.sampled_from(("ok", "ok", "ok", "ok", "error", "unknown", "unknown", "failed"))
_SETTLED: st.SearchStrategy[Outcome] = st.sampled_from(("ok", "ok", "failed", "error"))
_LEAST = st.sampled_from((0, 0, None, 3))
_BACK = st.integers(0, 7)
_BORNE = st.sampled_from((False, False, False, True))
_LATE = st.sampled_from((None, None, 1_000_000, 3_000_000, 0))
_TOLD = st.sampled_from((None, None, None, None, "now", "older", "oldest", "version", "unread"))
_WAITS = st.sampled_from(("waited", "waited", "waits", "gives up"))


class Beginning(NamedTuple):
    """How a call begins: the names and kinds that it touches, and what is asked of the log for it."""

    touched: list[tuple[str, str]]
    window: int | None
    session: str | None
    least: int | None
    how: str
    bear: bool
    probes: bool


_BEGINNING = st.builds(Beginning, _TOUCHES, _WINDOW, _SESSION, _LEAST, _WAITS, _BORNE, _BORNE)


class EventLogMachine(RuleBasedStateMachine):
    """A log in use, and beside it an account of what it must hold. Subclass it and `make` the log.

    ``EventLogSubclass.TestCase`` is a test then; `check_event_log` is the short form, and shows races too. Raises
    `Nonconforming`, with a sentence that says what is wrong, in the shortest run that shows it.
    """

    factories: Sequence[LogFactory] = ()
    """What makes the logs that are driven side by side; by default it is `make` alone."""

    def make(self, *, clock: Clock, max_events: int | None) -> EventLog:
        """An empty log. It may ignore both: a log that tells the time itself, and one that keeps everything."""
        raise NotImplementedError("an EventLogMachine needs make(): return an empty log")

    @initialize(max_events=st.sampled_from((None, None, None, 3, 4, 5, 8, 20)))
    def begin(self, max_events: int | None) -> None:
        self.seconds = 100
        factories = self.factories or (self.make,)
        self.company = Company(factories, lambda: moment(self.seconds), max_events)

    # -- what happens

    @rule(seconds=st.sampled_from((1, 1, 2, 5, -3)), is_a_turn=_BORNE)
    def time_passes(self, seconds: int, is_a_turn: bool) -> None:
        self.seconds += seconds
        if is_a_turn:
            self.company.turn()

    @rule(data=st.data(), call=_BEGINNING)
    def a_call_begins(self, data: st.DataObject, call: Beginning) -> None:
        company = self.company
        touches: list[Touch] = [(name, kind, call.window) for name, kind in call.touched]
        count = data.draw(st.sampled_from((0, 0, 1, 1, 2))) if company.parts() else 0
        parts = tuple(dict.fromkeys(self._part(data) for _ in range(count)))
        if call.session is not None and data.draw(_BORNE):
            parts += company.knows(call.session, [name for name, kind in call.touched if kind == "write"])
        running = [ordinal for ordinal in company.running() if company.is_named(ordinal)]
        parented = bool(running) and data.draw(_BORNE)
        company.begin(
            touches,
            tuple(dict.fromkeys(parts)),
            origin=_ORIGINS[call.session],
            parent=data.draw(st.sampled_from(running)) if parented else None,
            least=call.least,
            waited=call.how == "waited",
            bear=call.bear,
            looked={part: data.draw(_BORNE) for part in parts} if call.probes else {},
            gives_up=call.how == "gives up",
        )

    @rule(data=st.data(), call=_BEGINNING)
    def another_call_begins(self, data: st.DataObject, call: Beginning) -> None:
        """So that every third step or so is one: what follows needs calls to follow."""
        self.a_call_begins(data, call)

    def _part(self, data: st.DataObject) -> Part:
        """Something to rest on: mostly what happened of late, whole or in part; seldom what no log has heard of."""
        if data.draw(st.integers(0, 20)) == 20:
            return Part.nobody()
        parts = self.company.parts()
        part = parts[-1 - data.draw(_BACK) % len(parts)]
        if data.draw(_BACK) > 5 and self.company.is_held(part):
            return part.narrowed(data.draw(st.sampled_from(below(part.name))))
        return part

    @precondition(lambda self: self.company.running())
    @rule(data=st.data(), outcome=_OUTCOME, least=_LEAST, bear=_BORNE, late=_LATE, told=_TOLD, abandoned=_BORNE)
    def a_call_ends(
        self,
        data: st.DataObject,
        outcome: Outcome,
        least: int | None,
        bear: bool,
        late: int | None,
        told: str | None,
        abandoned: bool,
    ) -> None:
        ordinal = data.draw(st.sampled_from(self.company.running()))
        if abandoned:  # a finalizer ends it
            self.company.end_from_anywhere(ordinal, outcome, late)
            return
        learned = None
        named = self.company.is_named(ordinal)
        names = [] if named else data.draw(st.lists(_NAME, max_size=2, unique=True))
        if outcome == "ok" and (told or names):
            ago = {"now": 0, "older": 3, "oldest": 200}.get(told or "")
            seen = None if ago is None else self.company.now() - timedelta(seconds=ago)
            unread = told == "unread" and named
            learned = Learned([(name, None) for name in names], "v1" if told == "version" else None, seen, unread)
            outcome = "error" if unread and not self.company.writes(ordinal) else outcome
        self.company.end(ordinal, outcome, least=least, bear=bear, late=late, learned=learned)

    @precondition(lambda self: self.company.derived_reads())
    @rule(data=st.data())
    def a_derived_read_returns(self, data: st.DataObject) -> None:
        self.company.end(data.draw(st.sampled_from(self.company.derived_reads())), "ok", least=0)

    @precondition(lambda self: self.company.settled())
    @rule(data=st.data(), outcome=_OUTCOME)
    def a_call_ends_again(self, data: st.DataObject, outcome: Outcome) -> None:
        ordinal = data.draw(st.sampled_from(self.company.settled()))
        self.company.end_again(ordinal, outcome)
        if self.company.is_named(ordinal):
            self.company.resolve(ordinal, outcome if outcome in ("failed", "error") else "ok")

    @precondition(lambda self: self.company.lost())
    @rule(data=st.data(), outcome=_SETTLED)
    def a_lost_call_is_settled(self, data: st.DataObject, outcome: Outcome) -> None:
        self.company.resolve(data.draw(st.sampled_from(self.company.lost())), outcome)

    @rule(name=_NAME, since=st.sampled_from((None, None, 0, 1, 3, 60)))
    def someone_else_writes(self, name: str, since: int | None) -> None:
        self.company.write_outside(name, None if since is None else moment(self.seconds - since))

    @precondition(lambda self: self.company.is_durable())
    @rule()
    def the_log_is_opened_anew(self) -> None:
        self.company.reopen()

    # -- what is asked

    @invariant()
    def the_log_agrees(self) -> None:
        if hasattr(self, "company"):
            self.company.check(ASKED, SESSIONS)


def check_event_log(factory: LogFactory, *, settings: Settings | None = None) -> None:
    """Check a log of one's own. ``factory(clock=..., max_events=...)`` makes an empty one.

    Where the factory has ``reopen`` (`DurableFactory`) the log is opened anew in the middle of its stories; where it has
    ``another`` (`SharedFactory`) two logs on one store take turns. Raises `Nonconforming`, with a sentence that says what
    is wrong, below the shortest run that shows it. ``settings`` are Hypothesis'; by default those of the profile, with 30
    steps a run. It takes some seconds for 100 runs of a log in memory.
    """
    check_cases(factory)
    run_machine([factory], settings)
    check_races(factory)


def check_agreement(*factories: LogFactory, settings: Settings | None = None) -> None:
    """Drive any number of logs side by side by one story, and check that they answer alike, and each as the reference.

    Logs that keep everything hold the same events, but for their ids and for how far apart their numbers are. One that
    has dropped some is held against the reference alone from where it has decided otherwise for that. Raises
    `Nonconforming`, and ``ValueError`` for less than two factories.
    """
    if len(factories) < 2:
        raise ValueError(f"{len(factories)} factories: give two or more, as in check_agreement(MyLog, OtherLog)")
    run_machine(factories, settings)


def run_machine(factories: Sequence[LogFactory], settings: Settings | None = None) -> None:
    """Run the machine alone, on what these factories make."""
    made = tuple(factories)

    class Checked(EventLogMachine):
        factories = made

    chosen = Settings(stateful_step_count=30, deadline=None) if settings is None else settings
    phases = [phase for phase in chosen.phases if phase is not Phase.explain]  # it traces each line: minutes for a log
    run_state_machine_as_test(Checked, settings=Settings(chosen, phases=phases, report_multiple_bugs=False))
