"""Law L5, of the memory log: it answers every question of a `View` as `SequenceView` does over its events.

A state machine does to a log whatever can be done to one, and after each step asks both. What the log has dropped the
machine still knows: then the log finds what is true or worse, and something where nothing is only if it says that
history was dropped.
What a session knows is restated here from its own events.
"""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from strategies import NAMES, below, moment, times

from intervalguard.kernel.admission import pinned
from intervalguard.kernel.events import Event, conflict, covers
from intervalguard.kernel.sessions import Unread
from intervalguard.kernel.staleness import HISTORY_DROPPED, NO_RESULT, REASONS, Claim, Raw, judge
from intervalguard.kernel.views import Entry, SequenceView, View
from intervalguard.logs.calls import Learned, Origin
from intervalguard.logs.memory import MemoryLog

ASKED = (*NAMES, "a/b/c/z", "a/z", "e/z", "b")
"""The names that are written, names below them, and one that no event has."""

SESSIONS = ("s", "t")

ORIGINS = {session: Origin(f"tool of {session}", session) for session in (None, *SESSIONS)}

_NAME = st.sampled_from(("a", "a/b", *NAMES))
_TOUCH = st.tuples(_NAME, st.sampled_from(("write", "read")), st.sampled_from((None, None, None, 2_000_000)))
_TOUCHES = st.one_of(
    st.lists(_TOUCH, min_size=1, max_size=1),
    st.lists(_TOUCH, min_size=0, max_size=3, unique_by=lambda touch: touch[:2]),
)
_BACK = st.integers(0, 7)
_OUTCOME = st.sampled_from(("ok", "ok", "ok", "ok", "error", "unknown", "unknown", "failed"))
_LEARNED = st.sampled_from((None, None, None, None, "old", "older", "oldest", "version"))
_LEAST = st.sampled_from((None, None, 0, 3))


class Answers(RuleBasedStateMachine):
    """A log in use, the truth beside it. Times are whole seconds."""

    @initialize(max_events=st.sampled_from((None, None, None, 3, 4, 5, 8, 20)))
    def begin_log(self, max_events: int | None) -> None:
        self.seconds = 100
        self.max_events = max_events
        self.log = MemoryLog(max_events=max_events, clock=lambda: moment(self.seconds))
        self.pending: list[Entry] = []
        self.truth: dict[str, Event] = {}
        self.turns: list[float | None] = [None]
        self.random = Random(0)
        self.numbers: set[int] = set()

    # -- what happens

    @rule(seconds=st.sampled_from((1, 1, 2, 5, -3)))
    def time_passes(self, seconds: int) -> None:
        self.seconds += seconds

    @rule()
    def a_turn_begins(self) -> None:
        self.turns.append(self.log.position())

    @rule(data=st.data(), touches=_TOUCHES, session=st.sampled_from((None, *SESSIONS)), least=_LEAST)
    def a_call_begins(self, data: Any, touches: list[Any], session: str | None, least: int | None) -> None:
        keys = [self._key(data) for _ in range(data.draw(st.sampled_from((0, 0, 1, 1, 2))))] if self.truth else []
        if session is not None and data.draw(st.booleans()):
            until = data.draw(st.sampled_from(self.turns))
            names = [name for name, kind, _ in touches if kind == "write"]
            keys += self.log.resting_by_itself(session, names, until)
        named = [first for first in self.pending if first.name]
        parent = data.draw(st.sampled_from(named)).id if named and data.draw(_BACK) == 0 else None
        keys = tuple(dict.fromkeys(keys))
        _, first = self.log.admit(ORIGINS[session], touches, keys, parent, least, None, True, least is None)
        assert first is not None
        assert first.start not in self.numbers
        self.numbers.add(first.start)
        if first.outcome == "pending":
            self.pending.append(first)
        elif len(touches) == 1:
            self._happened(first)

    def _key(self, data: Any) -> Any:
        """Something to rest on: mostly what happened of late, whole or in part; seldom what no log has heard of."""
        if data.draw(st.integers(0, 20)) == 0:
            return "nobody"
        events = list(self.truth.values())
        event = events[-1 - data.draw(_BACK) % len(events)]
        number = self.log.number_of(event.id)
        if data.draw(_BACK) < 2 and self.log.find(number) is not None:
            return number, data.draw(st.sampled_from(below(event.name)))
        return number

    @precondition(lambda self: self.pending)
    @rule(data=st.data(), outcome=_OUTCOME, how=_LEARNED, least=_LEAST, late=st.sampled_from((None, None, 1, 3)))
    def a_call_ends(self, data: Any, outcome: Any, how: str | None, least: int | None, late: int | None) -> None:
        first = self.pending.pop(data.draw(st.integers(0, len(self.pending) - 1)))
        names = data.draw(st.lists(_NAME, max_size=2, unique=True)) if first.name == "" else []
        now = max(self.seconds, (first.start_time - _BASE) // 1_000_000)
        learned = None
        if outcome == "ok" and (names or how):
            seen = {"old": now, "older": now - 3, "oldest": now - 200}.get(how or "")
            learned = Learned([(name, None) for name in names], "v1" if how else None, seen and moment(seen))
        for_seconds = None if late is None else late * 1_000_000
        self.log.settle(first, outcome, least, least is None, None, learned, for_seconds)
        assert first.end not in self.numbers
        self.numbers.add(first.end)

    @precondition(lambda self: self.pending)
    @rule(data=st.data(), outcome=_OUTCOME)
    def a_finalizer_ends_a_call(self, data: Any, outcome: Any) -> None:
        first = self.pending.pop(data.draw(st.integers(0, len(self.pending) - 1)))
        with self.log._lock:
            self.log.settle_from_anywhere(first, outcome)

    @precondition(lambda self: any(event.outcome == "unknown" for event in self.truth.values()))
    @rule(data=st.data(), outcome=st.sampled_from(("ok", "ok", "failed", "error")))
    def a_lost_call_is_settled(self, data: Any, outcome: Any) -> None:
        lost = [event for event in self.truth.values() if event.outcome == "unknown"]
        event = lost[-1 - data.draw(_BACK) % len(lost)]
        try:
            self.log.resolve(self.log.number_of(event.id), outcome)
        except ValueError:
            assert self._lapsed(event)
        except LookupError:
            assert self._lapsed(event) or not self._writes(event)
        else:
            assert not self._lapsed(event)

    def _lapsed(self, event: Event) -> bool:
        until = [each.may_land_until for each in self.truth.values() if each.call == event.call]
        return any(each is not None and each < self.log.now() for each in until)

    def _writes(self, event: Event) -> bool:
        return any(each.kind == "write" for each in self.truth.values() if each.call == event.call)

    @rule(name=_NAME, since=st.sampled_from((None, None, 0, 1, 3, 5, 60)))
    def someone_else_writes(self, name: str, since: int | None) -> None:
        entry = self.log.write_outside(Origin(), name, None if since is None else moment(self.seconds - since))
        self._happened(entry)

    def _happened(self, entry: Entry) -> None:
        """Take note of what the log may have dropped at once."""
        event = self.log.event(entry)
        self.truth[event.id] = event

    # -- what is asked

    @invariant()
    def answers_agree(self) -> None:
        if not hasattr(self, "log"):
            return
        log, random = self.log, self.random
        events = log.events()
        assert len(log) == len(events)
        held = {event.id for event in events}
        assert len(held) == len(events)
        self.truth.update((event.id, event) for event in events)
        asker = Event("q", log.now(), id="asker", seq=log._view.next)
        truth = SequenceView([*self.truth.values(), asker])
        at = truth.entries.pop().start
        everything = len(held) == len(self.truth)
        if everything:
            self._the_views_agree(truth, at)
            for session in SESSIONS:
                assert [raw.grade for raw in log.stale(session, None)].count(HISTORY_DROPPED) == 0
        calls = {event.call: event for event in reversed(self.truth.values()) if event.call in held}
        claims = [Claim(call, event.parent, truth.rests_on(call)) for call, event in calls.items()]
        some = [random.choice([*self.truth.values()]) for _ in range(4)] if self.truth else []
        claims += [Claim(None, None, [event.id]) for event in some]
        claims += [Claim(None, None, [self._narrow(event) for event in some])]
        for claim in claims:
            self._findings_agree(truth, claim, at, everything)
        self._sessions_agree(held)

    def _narrow(self, event: Event) -> Any:
        return (event.id, self.random.choice(below(event.name)))

    def _the_views_agree(self, truth: SequenceView, at: Any) -> None:
        log, random, held = self.log, self.random, self.log._view
        places: list[tuple[Any, Any]] = []
        for each in truth.entries:
            mine = held.find(log.number_of(each.id))
            assert mine is not None
            assert log.event(mine) == each.origin
            assert [log.id_of(event.id) for event in held.call(mine.call)] == [e.id for e in truth.call(each.call)]
            assert [_public(log, key) for key in held.rests_on(mine.call)] == truth.rests_on(each.call)
            assert held.is_derived(mine) == truth.is_derived(each)
            places += [(each.start, mine.start), (each.end, mine.end)]
            if each.extra is not None and each.extra.seen is not None and mine.kind == "read":
                places += [(min(each.extra.seen, each.end), min(mine.extra.seen, mine.end))]
        places = [(theirs, mine) for theirs, mine in places if mine is not None]
        for name in ASKED:
            for theirs, mine in random.sample(places, min(2, len(places))):
                out = set(random.sample(sorted(self.truth), min(2, len(self.truth))))

                def spared(write: Entry, out: set[str] = out) -> bool:
                    return (write.id if type(write.id) is str else log.id_of(write.id)) in out

                for how in (_nobody, spared):
                    expected = [each and each.origin.seq for each in _writes(truth, name, theirs, at, how)]
                    found = [each and each.start for each in _writes(held, name, mine, held.next, how)]
                    assert expected == found, (name, mine, out, expected, found)
                if held.undisturbed(name, mine, held.next):
                    assert truth.undisturbed(name, theirs, at)
                assert not held.dropped_since(name, mine)
        if random.random() < 0.5:  # what is kept of pending calls is made at the first question after they began
            self._what_pending_calls_rest_on_agrees(truth)

    def _what_pending_calls_rest_on_agrees(self, truth: SequenceView) -> None:
        log, held = self.log, self.log._view
        calls = sorted({log.number_of(each.call) for each in truth.entries if each.outcome == "pending"})
        for name in ASKED:
            for out in (None, *calls):
                expected = first_pinning(truth, name, lambda event, out=out: log.number_of(event.call) == out)
                found = held.first_pinning(name, lambda event, out=out: event.call == out)
                assert (expected and expected[0].origin.seq) == (found and found[0].start)
                assert found is None or found[0].kind == "write"
                assert (expected and expected[1]) == (found and found[1])
        if self.max_events is None or not all(first.name for first in self.pending):
            return  # nothing is ever dropped; or a call has no name yet, and is no event to anyone
        used = in_use(truth)
        for each in truth.entries:
            mine = held.find(log.number_of(each.id))
            assert mine is not None
            assert held.in_use([mine]) == (each.id in used)

    def _findings_agree(self, truth: SequenceView, claim: Claim, at: Any, everything: bool) -> None:
        log = self.log
        expected = {raw.dependency: raw for raw in judge(truth, claim, at, _micros(log))}
        keys = [_number(log, key) for key in claim.depends_on]
        parent = claim.parent and log.number_of(claim.parent)
        call = claim.call and log.number_of(claim.call)
        raws = judge(log._view, Claim(call, parent, keys), log._view.next, _micros(log))
        found = {log.id_of(raw.dependency): raw for raw in raws}
        assert len(found) == len(raws)
        if everything:
            told = [{id: _told(raw) for id, raw in raws.items()} for raws in (expected, found)]
            assert told[0] == told[1], told
        else:
            for id in expected.keys() | found.keys():
                true, said = expected.get(id), found.get(id)
                assert said is not None, (id, true and _told(true))
                if said.grade != HISTORY_DROPPED:
                    assert true is not None, (id, _told(said))
                    assert said.grade >= true.grade, (id, _told(true), _told(said))

    def _sessions_agree(self, held: set[str]) -> None:
        log = self.log
        known = {(e.session, e.name, e.id in held) for e in self.truth.values() if e.session and e.outcome == "ok"}
        gone = [each for each in known if not each[2] and (*each[:2], True) not in known]
        let_go = self.max_events is not None and len(gone) > self.max_events
        for session in SESSIONS:
            own = [each for each in self.truth.values() if each.session == session and each.outcome == "ok"]
            own.sort(key=lambda each: each.end_seq or 0)
            for until in (None, self.random.choice(self.turns)):
                known = [each for each in own if until is None or (each.end_seq or 0) <= until]
                for name in ASKED:
                    for expected, keys in (
                        (rests(known, name), log.resting(session, [name], until)),
                        (rests_by_itself(known, name), log.resting_by_itself(session, [name], until)),
                    ):
                        forgotten = any(type(k) is Unread or log.find(_id(k)) is None for k in keys) or let_go
                        if expected is None:
                            assert keys == [name]
                        elif not forgotten:
                            calls = {(self.truth[log.id_of(_id(k))].call, self._part(k)) for k in keys}
                            assert simplest(expected) == simplest(calls), (session, name, until)
                        else:
                            assert any(self.truth[id].id not in held for id in self.truth), (session, name)

    def _part(self, key: Any) -> str:
        return key[1] if type(key) is tuple else self.truth[self.log.id_of(key)].name


_BASE = int(moment(0).timestamp()) * 1_000_000


def first_pinning(view: SequenceView, name: str, spared: Any) -> tuple[Entry, str] | None:
    """`LogView.first_pinning` by looking at each pending call."""
    for each in sorted(view.entries, key=lambda entry: entry.start):
        if each.kind == "write" and each.outcome == "pending" and not spared(each):
            for pin in pinned(view, view.rests_on(each.call)):
                if conflict(pin, name):
                    return each, pin
    return None


def in_use(view: SequenceView) -> set[str]:
    """What the pending calls rest on, through reads."""
    used: set[str] = set()
    stack = [key for each in view.entries if each.outcome == "pending" for key in view.rests_on(each.call)]
    while stack:
        source = view.find(_id(stack.pop()))
        if source is not None and source.id not in used:
            used.add(source.id)
            if source.kind == "read":
                stack += view.rests_on(source.call)
    return used


def rests(own: list[Event], name: str) -> set[tuple[str, str]] | None:
    """Section 4 again: the last own event that covers the name, narrowed, and every later one that conflicts with it.

    Each as its call and the part that counts. ``None``: nothing covers it.
    """
    covering = [each for each in own if covers(each.name, name)]
    if not covering:
        return None
    last = max(each.end_seq or 0 for each in covering)
    found = [max((each for each in covering if each.end_seq == last), key=lambda each: len(each.name))]
    found += [each for each in own if (each.end_seq or 0) > last and conflict(each.name, name)]
    return {(each.call, max(each.name, name, key=len)) for each in found}


def rests_by_itself(own: list[Event], name: str) -> set[tuple[str, str]]:
    """What a write rests on: its own resource; where nothing covers that, each part of it that is known."""
    itself = rests(own, name)
    if itself is not None:
        return itself
    return {each for part in own if covers(name, part.name) for each in rests(own, part.name) or ()}


def simplest(parts: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Without the parts of what the same call is relied on for as a whole."""
    return {(call, name) for call, name in parts if not any(c == call and n != name and covers(n, name) for c, n in parts)}


def _writes(view: View, name: str, since: Any, at: Any, spared: Any) -> list[Entry | None]:
    return [
        view.first_after(name, since, at, spared),
        view.first_ended(name, "ok", since, at, spared),
        view.first_ended(name, "error", since, at, spared),
        view.first_open(name, at, spared),
        view.first_lost(name, at, spared),
    ]


def _nobody(_: Entry) -> bool:
    return False


def _told(raw: Raw) -> tuple[Any, ...]:
    """A finding, its witness and source by where they start: of equal starts either will do.

    Of several sources without a result a log may have told of one before an earlier one had ended.
    """
    if raw.grade == NO_RESULT:
        return (REASONS[raw.grade],)
    return (REASONS[raw.grade], *(each and _start(each) for each in (raw.by, raw.via)))


def _start(entry: Entry) -> int:
    return entry.origin.seq if isinstance(entry.origin, Event) else entry.start


def _id(key: Any) -> Any:
    return key[0] if type(key) is tuple else key


def _number(log: MemoryLog, key: Any) -> Any:
    return (log.number_of(key[0]), key[1]) if type(key) is tuple else log.number_of(key)


def _public(log: MemoryLog, key: Any) -> Any:
    return (log.id_of(key[0]), key[1]) if type(key) is tuple else log.id_of(key)


def _micros(log: MemoryLog) -> int:
    return log._now()


Answers.TestCase.settings = settings(times(0.5), stateful_step_count=30, report_multiple_bugs=False)
TestAnswers = Answers.TestCase
