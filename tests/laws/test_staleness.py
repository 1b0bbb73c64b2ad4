"""Laws L2, L3, L4 and L6: what the shipped rule finds is what section 2 of the design says, in both ways of asking.

`oracle.py` restates the section from its text. Beside the agreement, each law is also tested by itself: a log is
changed in a way of which the law says what it does to the findings.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import attrs
import oracle
import pytest
from both_ways import WAYS, Findings, call_by_call, one_pass, told
from hypothesis import assume, example, given
from hypothesis import strategies as st
from oracle import Story, by_cases
from strategies import BASE, NAMES, Log, logs, made, moment, reports, times, webs

from intervalguard.kernel.audit import findings, findings_of
from intervalguard.kernel.events import DEEPEST, Dependency, Event, check_name, check_window, conflict, micros
from intervalguard.kernel.staleness import REASONS, Claim, Probe, judge, observation, verdict_of
from intervalguard.kernel.views import Order, SequenceView, by_id, entry

ask = call_by_call
"""The rule itself. That the audit is the same is what L6 says, and is tested once."""


def agree(found: Findings, said: dict[tuple[str, str], oracle.Said]) -> None:
    """The same findings, with the same verdict and reason and a witness and source that the oracle admits."""
    assert {key: (each.verdict, each.reason) for key, each in said.items()} == {
        key: (each.verdict, each.reason) for key, each in found.items()
    }
    for key, each in found.items():
        assert (each.by, each.via) in said[key].witnesses, key


def of(call: str, found: Findings) -> Findings:
    """The findings on the call with this first event."""
    return {key: each for key, each in found.items() if key[0] == call}


def firsts(events: Log) -> list[Event]:
    """The first event of each call."""
    story = Story(events)
    return [story.of_call(call)[0] for call in dict.fromkeys(event.call for event in events)]


def is_single(events: Log, event: Event) -> bool:
    """Whether an event is all of its call, and no other call is made in it or rests on it."""
    return not any(
        each is not event and (each.call == event.call or each.parent == event.call or rests(each, event)) for each in events
    )


def rests(event: Event, on: Event) -> bool:
    return any(each.id == on.id for each in event.depends_on)


# --- Agreement ---


@times(6)
@given(events=logs())
def test_the_rule_is_the_design(events):
    """L2, L3, L6: on any log the rule finds what the design says, with its verdict, reason, witness and source."""
    said = oracle.findings(events)
    for find in WAYS.values():
        agree(find(events), said)


IN_FLIGHT_FOR_EVER = Log(
    made({"name": "a", **fields})
    for fields in (
        {"id": "r", "kind": "read", "start": 0, "end": 1},
        {"id": "w", "kind": "write", "start": 2, "end": None},
        {"id": "d", "kind": "read", "start": 3, "end": 4, "depends_on": [Dependency("r")]},
    )
)


def _tied(**ends: int) -> Log:
    """A read that begins at the very number, or time, at which the write ended that it rests on."""
    written = {"id": "w", "name": "x", "kind": "write", "start": 1, "end": 2, "seq": 1}
    read = {"id": "r", "name": "x", "kind": "read", "start": 2, "end": 2, "depends_on": [Dependency("w")], "seq": 1}
    use = {"id": "u", "name": "y", "kind": "read", "start": 3, "end": 3, "depends_on": [Dependency("r")], "seq": 2}
    if ends:
        read["seq"], use["seq"] = 2, 4
    return Log(
        made(each | ({"end_seq": ends[each["id"]]} if ends else {})) for each in (written, read, use)
    )


@times(6)
@given(events=st.one_of(logs(calls=30), reports(), webs()))
@example(events=IN_FLIGHT_FOR_EVER)
@example(events=_tied())
@example(events=_tied(w=2, r=3, u=5))
def test_one_pass_is_call_by_call(events):
    """L6: on long logs too, and where many calls rest on one derived read, the audit is the rule call by call."""
    starts = {entry.id: entry.start for entry in SequenceView(events).entries}

    def by_start(found: Findings) -> dict:
        """Of witnesses that began together either will do."""
        return {key: (each.verdict, each.reason, starts.get(each.by)) for key, each in found.items()}

    assert by_start(call_by_call(events)) == by_start(one_pass(events))


@given(events=st.one_of(logs(calls=12), webs()))
def test_an_audit_may_be_asked_again(events):
    """L6: what the first audit remembered is forgotten."""
    order = Order(events)
    held = by_id([entry(each, order, place) for place, each in enumerate(events)])
    once, again = (told((first.id, raw) for first, raw in findings(held)) for _ in range(2))
    assert once == again


@times(2)
@given(events=logs())
def test_one_call_is_judged_as_in_the_whole_log(events):
    """L6: `findings_of` an event of a log finds what the design says of its call."""
    said = oracle.findings(events)
    for first in firsts(events):
        if first.outcome != "refused":
            found = told((first.id, raw) for raw in findings_of(first, events))
            agree(found, {key: each for key, each in said.items() if key[0] == first.id})


@times(2)
@given(events=logs(), now=st.integers(0, 15))
def test_one_call_is_judged_as_of_now(events, now):
    """L2: as of a time, which stands after every endpoint of that time, a call's findings are the design's."""
    story = Story(events)
    for first in firsts(events):
        said = oracle.findings_of(story, first.call, story.bare(moment(now)), moment(now))
        found = told((first.id, raw) for raw in findings_of(first, events, moment(now)))
        agree(found, {(first.id, id): each for id, each in said.items()})


@times(2)
@given(events=logs(), data=st.data())
def test_an_event_by_hand_is_placed_by_its_times(events, data):
    """L2: an event that a log does not hold is judged against it by its times, whatever numbers it has itself."""
    on = data.draw(st.lists(st.sampled_from(events), min_size=1, max_size=2))
    parent = data.draw(st.sampled_from([None, *(event.call for event in events)]))
    seq = data.draw(st.sampled_from((None, 0)))
    start = moment(data.draw(st.integers(0, 15)))
    hand = Event("e", start, None, None, [event.id for event in on], "write", "hand", seq, parent=parent)
    story = Story(events, hand)
    said = oracle.findings_of(story, "hand", story.bare(start), start)
    found = told(("hand", raw) for raw in findings_of(hand, events))
    agree(found, {("hand", id): each for id, each in said.items()})


# --- L2: exact verdicts ---


def cases_of(events: Log) -> int:
    """How many cases `by_cases` would try for one dependency, at most."""
    count = 1
    for event in events:
        effective = event.kind == "write" and event.outcome not in ("failed", "refused")
        count *= 3 * (2 * len(events) + 1) if effective else 1
    return count


@times(2)
@given(events=logs(calls=5))
def test_verdicts_are_what_the_intervals_allow(events):
    """L2: stale is in every case, fresh in none and suspect in some, over all instants that the intervals allow."""
    assume(cases_of(events) < 30_000)
    meant = {key: said.verdict for key, said in oracle.findings(events, by_cases).items()}
    assert meant == {key: said.verdict for key, said in oracle.findings(events).items()}
    for find in WAYS.values():
        assert meant == {key: found.verdict for key, found in find(events).items()}


def every_order(writes: int, numbers: int, outcomes: tuple[str, ...]) -> Iterator[Log]:
    """Every numbered log of a read, some writes to its name and a call that rests on it, ties of numbers included."""
    places = range(numbers)
    spans = [(start, end) for start in places for end in places if start <= end]
    for (r0, r1), d in itertools.product(spans, places):
        if r1 > d:
            continue
        read, call = _numbered("r", "read", r0, r1, "ok"), _numbered("c", "write", d, 99, "ok", ["r"])
        for wrote in itertools.product(itertools.product(spans, outcomes), repeat=writes):
            events = [read]
            for each, ((w0, w1), outcome) in enumerate(wrote):
                w1 = None if outcome in ("pending", "lost") else w1
                events.append(_numbered(f"w{each}", "write", w0, w1, outcome.replace("lost", "unknown")))
            yield Log([*events, call])


def _numbered(id: str, kind: str, seq: int, end_seq: int | None, outcome: str, on: list[str] | None = None) -> Event:
    end = None if end_seq is None else BASE
    name = "out" if id == "c" else "k"
    return Event(name, BASE, end, None, on, kind, id, seq, end_seq=end_seq, outcome=outcome)


@pytest.mark.parametrize(
    ("writes", "numbers", "outcomes"),
    [(1, 5, ("ok", "error", "unknown", "failed", "refused", "pending", "lost")), (2, 3, ("ok", "error", "pending"))],
    ids=["one write", "two writes"],
)
def test_verdicts_are_exact_for_every_order(writes, numbers, outcomes):
    """L2: for every weak order of the ends of a read, a call and its writes the verdict is what the intervals allow."""
    verdicts = set()
    for events in every_order(writes, numbers, outcomes):
        meant = {key: said.verdict for key, said in oracle.findings(events, by_cases).items()}
        for find in WAYS.values():
            assert meant == {key: found.verdict for key, found in find(events).items()}, events
        verdicts.add(meant.get(("c", "r")))
    assert verdicts == {None, "stale", "suspect"}


@times(2)
@given(events=logs(orders=("seq", "numbered")), data=st.data())
def test_where_numbers_are_lines_are_nothing(events, data):
    """L2: a log whose events are numbered says the same in whatever order its lines stand."""
    assume(len({event.seq for event in events}) == len(events))
    shuffled = Log(data.draw(st.permutations(events)))
    assert call_by_call(events) == call_by_call(shuffled) == one_pass(shuffled)


@pytest.mark.parametrize("order", ["line", "numbered"])
def test_a_bare_time_stands_after_every_endpoint_of_that_time(order):
    """Section 1: `now`, `observed_at` and `may_land_until` stand after what begins or ends at their time."""

    def log(*events: Event) -> Log:
        if order == "line":
            return Log(events)
        return Log(attrs.evolve(event, seq=2 * place, end_seq=2 * place + 1) for place, event in enumerate(events))

    def reason(events: Log, now: float | None = None) -> str | None:
        found = findings_of(events[-1], events, None if now is None else moment(now))
        return REASONS[found[0].grade] if found else None

    def read(start: float, end: float, **fields: object) -> Event:
        return Event("k", moment(start), moment(end), id="r", **fields)

    def write(start: float, end: float, outcome: str = "ok", **fields: object) -> Event:
        return Event("k", moment(start), moment(end), kind="write", id="w", outcome=outcome, **fields)

    call = Event("out", moment(9), moment(9), depends_on="r", kind="write", id="c")
    assert reason(log(read(0, 1), write(2, 3), call), now=3) == "superseded"
    assert reason(log(read(0, 1), write(3, 3), call), now=3) == "superseded"
    assert reason(log(read(0, 1), write(3, 4), call), now=3) == "in-flight"
    assert reason(log(read(0, 1), write(3, 4), call), now=2) is None
    assert reason(log(write(2, 3), read(4, 5, observed_at=moment(3)), call)) is None
    assert reason(log(write(3, 3), read(4, 5, observed_at=moment(3)), call)) is None
    assert reason(log(write(3, 4), read(5, 6, observed_at=moment(3)), call)) == "overlapped"
    assert reason(log(read(1, 2, observed_at=moment(2)), write(2, 2), call)) == "superseded"
    lost = {"outcome": "unknown", "may_land_until": moment(9)}
    assert reason(log(write(2, 3, **lost), read(4, 5), call)) == "unknown-outcome"
    lost["may_land_until"] = moment(4)
    assert reason(log(write(2, 3, **lost), read(4, 5), call)) == "unknown-outcome"
    lost["may_land_until"] = moment(3)
    assert reason(log(write(2, 3, **lost), read(4, 5), call)) is None


# --- L3: only writes supersede, and not all ---


@times(2)
@given(events=logs())
def test_failed_and_refused_writes_never_supersede(events):
    """L3: whatever a failed or refused write touched, nothing else is found."""
    for event in events:
        if event.kind == "write" and event.outcome in ("failed", "refused") and not any(rests(e, event) for e in events):
            assert ask(events) == ask(events.but(event.id, name="a")) == ask(events.but(event.id, name="elsewhere"))


@times(2)
@given(events=logs(), data=st.data())
def test_reads_never_supersede(events, data):
    """L3: whatever a read touched that nothing rests on, nothing else is found; as a read no witness is ever named."""
    found = ask(events)
    kinds = {event.id: event.kind for event in events}
    assert {kinds[each.by] for each in found.values() if each.by} <= {"write"}
    for event in events:
        if event.kind == "read" and not any(rests(each, event) for each in events):
            assert found == ask(events.but(event.id, name=data.draw(st.sampled_from(NAMES))))


READ, FAILED, REFUSED = ("read", "ok"), ("write", "failed"), ("write", "refused")


@times(2)
@given(events=logs(orders=("line",)), name=st.sampled_from(NAMES), data=st.data())
def test_a_call_of_reads_and_failed_writes_changes_nothing(events, name, data):
    """L3: a log with more reads and failed writes in it gives the findings that it gave."""
    place = data.draw(st.integers(0, len(events)))
    start = data.draw(st.integers(0, 10))
    more = [
        Event(name, moment(start), moment(start + 1), kind=kind, id=f"more-{outcome}", call="more", outcome=outcome)
        for kind, outcome in data.draw(st.sampled_from(((READ, FAILED), (READ, REFUSED), (FAILED, REFUSED))))
    ]
    assert ask(events) == ask(Log([*events[:place], *more, *events[place:]]))


@times(2)
@given(events=logs())
def test_own_ancestors_and_nested_writes_never_supersede(events):
    """L3: the witness against a call is none any more once it is of the call, above it or below it."""
    by_id = {event.id: event for event in events}
    for (id, dependency), found in ask(events).items():
        if found.by is None:
            continue
        witness, call = by_id[found.by], by_id[id].call
        mine = [event for event in events if event.call == call]
        above, below = Story(events).above(call), Story(events).above(witness.call)
        if witness.parent is None and call not in below:
            nested = Log(attrs.evolve(e, parent=call) if e.call == witness.call else e for e in events)
            now = ask(nested).get((id, dependency))
            assert now is None or now.by != witness.id
        if by_id[id].parent is None and witness.call not in above and call not in below:
            inside = Log(attrs.evolve(e, parent=witness.call) if e in mine else e for e in events)
            now = ask(inside).get((id, dependency))
            assert now is None or now.by != witness.id


@times(2)
@given(events=logs())
def test_acknowledged_writes_supersede_nothing_directly_and_are_not_inherited(events):
    """L3: a write that a call names supersedes nothing that it rests on directly, and all that is derived as before."""
    by_id = {event.id: event for event in events}
    found = ask(events)
    for (id, dependency), each in found.items():
        if each.by is None or rests(by_id[id], by_id[each.by]):
            continue
        aware = events.but(id, depends_on=[*by_id[id].depends_on, each.by])
        now = ask(aware).get((id, dependency))
        if each.via is None:
            assert now is None or now.by != each.by or now.via is not None
        else:
            assert now == each
        calls = {key: said for key, said in found.items() if by_id[key[0]].call != by_id[id].call}
        if by_id[id].kind == "write" and is_single(events, by_id[id]):
            assert calls == {key: said for key, said in ask(aware).items() if key[0] != id}


# --- L4: no clairvoyance, monotone ---


@times(2)
@given(events=logs(steps=False))
def test_what_starts_later_changes_nothing(events):
    """L4: a call's findings are the same in the log of what had started when it did."""
    story = Story(events)
    found = ask(events)
    for first in firsts(events):
        d = story.start(first)
        kept = {event.call for event in firsts(events) if story.start(event) <= d}
        known = Log(event for event in events if event.call in kept)
        held = {event.id for event in known} | {"nobody"}
        whole = {None, *kept} >= {event.parent for event in known}  # Starts of one time may stand in any order.
        if whole and all(each.id in held for event in known for each in event.depends_on):
            assert of(first.id, found) == of(first.id, ask(known))


@times(2)
@given(events=logs(steps=False), data=st.data())
def test_more_events_never_heal(events, data):
    """L4: what is superseded in a log is superseded in every log that holds more."""
    alone = [event.id for event in events if event.kind == "write" and is_single(events, event)]
    fewer = events.without(data.draw(st.sets(st.sampled_from(alone))) if alone else ())
    found = ask(events)
    for key, each in ask(fewer).items():
        if each.reason == "superseded":
            assert found[key].reason == "superseded"


@times(2)
@given(events=logs(steps=False), nows=st.tuples(st.integers(0, 20), st.integers(0, 20)).map(sorted))
def test_what_is_stale_stays_stale(events, nows):
    """L4: a call that is not made in time finds what was stale stale, for age only grows and no write is undone."""
    for first in firsts(events):
        sooner, later = (
            {raw.dependency: verdict_of(raw.grade) for raw in findings_of(first, events, moment(now))} for now in nows
        )
        for dependency, verdict in sooner.items():
            assert verdict != "stale" or later[dependency] == "stale"


# --- Age ---


@given(
    end=st.integers(0, 10**12),
    window=st.one_of(st.integers(0, 10**6), st.floats(0, 10**6)),
    late=st.sampled_from((-1, 0, 1)),
    source=st.sampled_from((None, 0, 5_000_000)),
)
def test_at_the_end_of_its_window_a_read_is_fresh(end, window, late, source):
    """L4: a read outlives its window a microsecond after it, counted from its end or from its source's instant."""
    seen = end if source is None else end - source
    read = Event("k", moment(-9), moment(end / 10**6), window, id="r")
    if source is not None:
        read = attrs.evolve(read, observed_at=read.end_time + (moment(-source / 10**6) - BASE))
        read = attrs.evolve(read, start_time=min(read.start_time, read.observed_at))
    seen = micros(read.observed_at or read.end_time)
    span = round(window * 10**6)
    assume(seen + span + late >= micros(read.end_time))
    at = moment((seen + span + late - micros(BASE)) // 10**6)
    at = at.replace(microsecond=(seen + span + late) % 10**6)
    call = Event("out", at, depends_on="r", kind="write", id="c")
    expected = {("c", "r"): ("stale", "expired", None, None)} if late == 1 else {}
    for find in WAYS.values():
        assert expected == find([read, call])


@times(2)
@given(events=logs())
def test_age_is_not_transitive(events):
    """Section 2: the windows of what a call does not rest on directly are nothing to it."""
    found = ask(events)
    for first in firsts(events):
        direct = {each.id for event in events if event.call == first.call for each in event.depends_on}
        aged = Log(event if event.id in direct else attrs.evolve(event, validity_window_seconds=0) for event in events)
        assert of(first.id, found) == of(first.id, ask(aged))


# --- The closure, calls and names ---


@times(2)
@given(events=logs())
def test_the_closure_stops_at_writes(events):
    """Section 2: what a write rested on is nothing to a call that rests on the write."""
    found = ask(events)
    for event in events:
        if event.kind == "write" and event.depends_on and all(e is event or e.call != event.call for e in events):
            now = ask(events.but(event.id, depends_on=()))
            assert {key: said for key, said in found.items() if key[0] != event.id} == now


@times(1)
@given(events=logs())
def test_a_call_that_rests_on_nothing_is_never_found(events):
    """Section 2: only calls that rest on something have findings, and only on what they rest on."""
    story = Story(events)
    rested = {(first.id, id) for first in firsts(events) for id, _ in story.rests_on(first.call)}
    assert ask(events).keys() <= rested
    assert ask(Log(attrs.evolve(event, depends_on=()) for event in events)) == {}


@times(2)
@given(events=logs())
def test_what_a_call_rests_on_is_the_union_over_its_events(events):
    """Section 1: it is the same on which of its events a call names what it rests on, and how often."""
    story = Story(events)
    moved = Log(events)
    for first in firsts(events):
        union = [Dependency(id, name) for id, name in story.rests_on(first.call)]
        moved = Log(
            attrs.evolve(event, depends_on=union if event.id == first.id else ()) if event.call == first.call else event
            for event in moved
        )
    assert ask(events) == ask(moved)


@times(2)
@given(events=logs())
def test_names_are_compared_by_segment(events):
    """Section 1: `ab` is not below `a`, so it may as well be called anything else."""

    def renamed(name: str) -> str:
        return "/".join("q:" if segment == "ab" else segment for segment in name.split("/"))

    other = Log(
        attrs.evolve(
            event,
            name=renamed(event.name),
            depends_on=[Dependency(each.id, each.name and renamed(each.name)) for each in event.depends_on],
        )
        for event in events
    )
    assert ask(events) == ask(other)


@given(*[st.lists(st.sampled_from(("a", "b", "ab", "a:b", "é")), min_size=1, max_size=4).map("/".join)] * 2)
def test_names_conflict_by_segment(one, other):
    """Section 1: two names conflict when the segments of one begin with those of the other."""
    assert oracle.segments_conflict(one, other) == conflict(one, other) == conflict(other, one)


@given(st.integers(1, 2 * DEEPEST), st.sampled_from(("a", "orders", "é")))
def test_a_name_has_a_bound_of_segments(depth, segment):
    """A name of `DEEPEST` segments is one, whatever they are; a deeper one is refused in words that are short."""
    name = "/".join([segment] * depth)
    if depth <= DEEPEST:
        assert check_name(name) == name
    else:
        with pytest.raises(ValueError, match=f"^{depth} segments in name=") as raised:
            check_name(name)
        assert len(str(raised.value)) < 150


@times(2)
@given(events=logs())
def test_a_narrower_dependency_is_never_worse(events):
    """Section 1: only the part counts: whoever rests on the whole finds all that he finds who rests on a part."""
    whole = Log(attrs.evolve(event, depends_on=[Dependency(each.id) for each in event.depends_on]) for event in events)
    found = ask(whole)
    rank = list(oracle.REASONS)
    for key, each in ask(events).items():
        assert rank.index(found[key].reason) <= rank.index(each.reason)


# --- Probes ---


@times(1)
@given(events=logs(orders=("line", "seq")), data=st.data())
def test_a_probe_is_a_read(events, data):
    """Section 2: another version is stale where no logged write tells of it; the same one moves it on."""
    pairs = [
        (first, read)
        for first, read in itertools.product(firsts(events), events)
        if rests(first, read) and read.kind == "read" and read.end_time and read.end_time <= first.start_time
    ]
    assume(pairs)
    first, read = data.draw(st.sampled_from(pairs))
    events = events.but(read.id, version="v1")
    start = data.draw(st.integers(0, int((first.start_time - BASE).total_seconds())))
    looked = moment(start), data.draw(st.sampled_from((moment(start), first.start_time)))
    moved = events.but(read.id, start_time=looked[0], end_time=looked[1], observed_at=None)
    view, anew = SequenceView(events), SequenceView(moved)
    at, keys = view.find(first.id).start, view.rests_on(first.call)
    look = anew.find(read.id)
    assume(look.end <= at)

    def judged(view: SequenceView, version: str | None) -> tuple[str, str | None] | None:
        probes = version and {read.id: Probe(version != "v1", look.start, look.end, micros(looked[1]))}
        claim = Claim(first.call, first.parent, keys, probes or None)
        found = [raw for raw in judge(view, claim, at, micros(first.start_time)) if raw.dependency == read.id]
        return (REASONS[found[0].grade], found[0].by and found[0].by.id) if found else None

    assert judged(view, "v1") == judged(anew, None)
    plain, other = judged(view, None), judged(view, "v2")
    rank = list(oracle.REASONS)
    held = view.find(read.id)
    since, own = observation(held)[0], lambda write: write.call == held.call
    told_of = any(
        found is not None
        for found in (
            *(view.first_ended(held.name, outcome, since, at, own) for outcome in ("ok", "error")),
            view.first_open(held.name, at, own),
            view.first_lost(held.name, at, own),
        )
    )
    if plain is None and told_of:
        assert other is None
    elif plain is None or (rank.index(plain[0]) > rank.index("version") and not told_of):
        assert other == ("version", None)
    elif rank.index(plain[0]) > rank.index("version"):
        assert other in (plain, ("version", None))
    else:
        assert other == plain


# --- What is malformed ---


@pytest.mark.parametrize("find", WAYS.values(), ids=WAYS.keys())
def test_what_is_malformed_raises(find):
    """An id names one event, and a dependency is narrowed only to what its event's name covers."""
    read = Event("a/b", moment(0), moment(1), id="r")
    with pytest.raises(ValueError, match="two events have id='r'"):
        find([read, read])
    for name in ("a", "a/bc", "e"):
        with pytest.raises(ValueError, match="cannot be narrowed"):
            find([read, Event("e", moment(2), moment(3), depends_on={"id": "r", "name": name}, id="c")])


@pytest.mark.parametrize("seconds", [-1, -0.5, math.nan, math.inf, 10**400, 0, 1.5])
def test_a_window_is_finite_and_not_negative(seconds):
    """A window is a number of seconds from 0 up, however large, and is never infinite."""
    if seconds >= 0 and seconds != math.inf:
        assert check_window(seconds) == seconds
    else:
        with pytest.raises(ValueError, match="not finite and >= 0"):
            check_window(seconds)
