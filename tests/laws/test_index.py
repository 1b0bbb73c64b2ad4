"""Law L5, of the index: it answers every question of a `View` as `SequenceView` does, at every step of a log.

The audit's `Replay` plays a whole log into the index; it is stopped at each position, and asked about every name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import BASE, NAMES, logs, times

from intervalguard.kernel.audit import Replay
from intervalguard.kernel.events import Event, conflict
from intervalguard.kernel.index import Index
from intervalguard.kernel.staleness import observation
from intervalguard.kernel.views import Entry, Order, Position, SequenceView, View, by_id, entry, standing

ASKED = (*NAMES, "a/b/c/z", "a/z", "e/z", "b")
"""The names that are written, names below them, and one that no event has."""

Spares = Callable[[Entry], bool]


def replay(events: Iterable[Event]) -> Replay:
    sequence = tuple(events)
    order = Order(sequence)
    return Replay(by_id([entry(event, order, place) for place, event in enumerate(sequence)]))


def positions(view: SequenceView) -> list[Position]:
    """Everywhere something begins, ends, was seen or can land no longer, in order."""
    found = set()
    for each in view.entries:
        found |= {each.start, each.end}
        if each.extra is not None:
            found |= {each.extra.seen, each.extra.until}
    return sorted(found - {None})


def writes(view: View, name: str, since: Position, at: Position, spared: Spares) -> list[Position]:
    """The answers about the writes to one name, each by the write's start: of equal starts either write will do."""
    found = [
        view.first_after(name, since, at, spared),
        view.first_ended(name, "ok", since, at, spared),
        view.first_ended(name, "error", since, at, spared),
        view.first_open(name, at, spared),
        view.first_lost(name, at, spared),
    ]
    return [each and each.start for each in found]


def nobody(_: Entry) -> bool:
    return False


@times(2)
@given(events=logs(), data=st.data())
def test_the_index_answers_as_the_specification_at_every_step(events, data):
    """L5: at every position, about every name, from any position on and whoever is spared, the answers are the same."""
    specification, index = SequenceView(events), replay(events)
    places = positions(specification)
    out = data.draw(st.sets(st.sampled_from([event.id for event in events]), max_size=3))
    sinces = data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=2, unique=True))
    but = data.draw(st.sampled_from([event.call for event in events]))

    def some(write: Entry) -> bool:
        return write.id in out

    for at in places:
        index.advance(at)
        for name in ASKED:
            for since in sinces:
                for spared in (nobody, some):
                    expected = writes(specification, name, since, at, spared)
                    assert expected == writes(index, name, since, at, spared), (name, since, at)
                assert specification.undisturbed(name, since, at) == index.undisturbed(name, since, at)
                assert specification.undisturbed(name, since, at, but) >= index.undisturbed(name, since, at, but)


@times(1)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), min_size=1, max_size=8), st.integers(0, 10))
def test_only_its_own_writes_leave_a_call_undisturbed(writes, since):
    """L5: in whatever order writes come to their ends, as lost ones do that can land no longer."""
    index = Replay({})
    for number, (call, end) in enumerate(writes):
        index.finish(Entry(number, "x", "write", "ok", 0, end, 0, end, (), None, call, None))
    assert index.undisturbed("x", since, 99) == all(end < since for _, end in writes)
    for but in "abc":
        if index.undisturbed("x", since, 99, but):
            assert all(end < since for call, end in writes if call != but)


@times(1)
@given(events=logs(calls=25))
def test_each_witness_is_spared_in_its_turn(events):
    """L5: with the first answer spared the second is the same, and so on to the last."""
    specification, index = SequenceView(events), replay(events)
    at = positions(specification)[-1]
    index.advance(at)
    since = specification.entries[0].start
    for name in ("a", "a/b", "e"):
        out: set[str] = set()
        while True:

            def spared(write: Entry, out: frozenset[str] = frozenset(out)) -> bool:
                return write.id in out

            expected = writes(specification, name, since, at, spared)
            assert expected == writes(index, name, since, at, spared)
            firsts = [specification.first_after(name, since, at, spared), specification.first_lost(name, at, spared)]
            firsts += [specification.first_ended(name, how, since, at, spared) for how in ("ok", "error")]
            firsts += [specification.first_open(name, at, spared)]
            if not any(firsts):
                break
            out |= {each.id for each in firsts if each is not None}


@times(2)
@given(events=logs(), data=st.data())
def test_a_calls_own_writes_in_flight_may_be_left_out(events, data):
    """L5: played up to a call's start without its own writes in flight, the index is disturbed by all others alone."""
    specification, index = SequenceView(events), replay(events)
    since = data.draw(st.sampled_from(specification.entries)).start
    firsts = {specification.call(event.call)[0].id for event in events}
    for first in sorted(map(specification.find, firsts), key=lambda each: each.start):
        at, call = first.start, first.call

        def own(write: Entry, call: str = call, at: Position = at) -> bool:
            return write.call == call and (standing(write, at) or "-")[0] == "open"

        index.advance(at, call)
        for name in ASKED:
            expected = writes(specification, name, since, at, own)
            assert expected == writes(index, name, since, at, own)
            assert (expected[1:] == [None, None, None, None]) == index.undisturbed(name, since, at)


class Live(Index):
    """An index that hears of writes as they begin and end, and of no other events."""

    def find(self, id: str) -> None: ...

    def was_dropped(self, id: str) -> bool:
        return False

    def call(self, call: str) -> tuple[Entry, ...]:
        return ()

    def rests_on(self, call: str) -> tuple[str, ...]:
        return ()

    def hear(self, write: Entry, at: Position) -> None:
        """What happens to a write at a position: it begins, it ends or is lost, it can land no longer."""
        if write.kind != "write":
            return
        until = write.extra.until if write.outcome == "unknown" and write.extra is not None else None
        if write.start == at and (write.end is None or write.end > at) and write.outcome != "unknown":
            self.begin(write)
        elif write.outcome == "unknown" and write.start == at and until != at:
            self.finish(write)
        if write.end == at and write.outcome != "unknown":
            self.finish(write)
        if until == at:
            self.lapse(write)


@times(1)
@given(events=logs(), names=st.sampled_from((None, 0, 1)), data=st.data())
def test_an_index_that_drops_answers_or_says_that_it_dropped(events, names, data):
    """L5: fed by hand and forgetting old writes, it answers as one that keeps all, or says that a write was dropped."""
    for event in events:  # A lost write is lost from its start on here, and a failed one is none.
        outcome = "error" if event.outcome == "unknown" and event.end_time else event.outcome
        events = events.but(event.id, outcome=outcome)
    specification, index = SequenceView(events), Live(names)
    places = positions(specification)
    keeps = data.draw(st.integers(0, 3))
    one = data.draw(st.sampled_from(places))
    held: list[Entry] = []
    dropped: list[Entry] = []
    for at in places:
        for write in specification.entries:
            if write.outcome not in ("failed", "refused"):
                index.hear(write, at)
                if write.kind == "write" and write.end == at and write.outcome in ("ok", "error"):
                    held.append(write)
        while len(held) > keeps:
            dropped.append(held.pop(0))
            index.drop(dropped[-1])
        for name in ASKED:
            for since in {places[0], one, at}:
                missed = any(conflict(name, write.name) and write.end >= since for write in dropped)
                if not missed:
                    expected = writes(specification, name, since, at, nobody)
                    assert expected == writes(index, name, since, at, nobody)
                    assert specification.undisturbed(name, since, at) >= index.undisturbed(name, since, at)
                if names is None:
                    assert missed == index.dropped_since(name, since)
                    assert index.undisturbed(name, since, at) == (specification.undisturbed(name, since, at) and not missed)
                elif missed:
                    assert index.dropped_since(name, since)
                    assert not index.undisturbed(name, since, at)


@times(1)
@given(events=logs())
def test_the_index_finds_events_and_calls(events):
    """L5: events, calls and what they rest on are found as in the sequence; what is not there is not found."""
    specification, index = SequenceView(events), replay(events)
    for event in events:
        assert specification.find(event.id).origin is index.find(event.id).origin is event
        assert [each.id for each in specification.call(event.call)] == [each.id for each in index.call(event.call)]
        assert set(specification.rests_on(event.call)) == set(index.rests_on(event.call))
        assert specification.is_derived(specification.find(event.id)) == index.is_derived(index.find(event.id))
    for view in (specification, index):
        assert view.find("nobody") is None
        assert not view.was_dropped("nobody")
        assert not view.call("nobody")
        assert not view.rests_on("nobody")
        assert not view.dropped_since("a", positions(specification)[0])


@times(1)
@given(events=logs())
def test_an_observation_is_an_interval_within_the_reads_own_past(events):
    """Section 1: a dependency saw the world in its interval, or at one instant that is never past its end."""
    for each in SequenceView(events).entries:
        since, until = observation(each)
        if each.extra is None or each.extra.seen is None:
            assert (since, until) == (each.start, each.end)
        else:
            assert since == until == min(each.extra.seen, each.end)


def test_two_events_with_one_id_are_an_error():
    """An id names one event of a log, for every view."""
    event = Event("a", BASE, BASE, id="e")
    for view in (SequenceView, replay):
        with pytest.raises(ValueError, match="two events have id='e'"):
            view([event, event])
