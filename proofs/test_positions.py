"""Where `SequenceView` puts the ends of events, which the proofs on symbolic positions leave out.

Two events, with every weak order of their times and, in numbered logs, every weak order of their numbers beside it.
Whoever asks for a place among these ends asks about one before, at or between them, so whole seconds are enough.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from kernels import SHIPPED, Broken, Kernel
from symbolic import Refuted
from weak_orders import interval_orders

BASE = datetime(2026, 7, 30, tzinfo=UTC)
SPANS = interval_orders(2)
BARE = range(-1, 8)
"""Times in half seconds: before, at, between and after those of the events."""


def claim(holds: bool, law: str, *about: Any) -> None:
    if not holds:
        raise Refuted(f"{law}: {about}")


def same_order(one: Any, other: Any, than: Any, that: Any) -> bool:
    """Whether ``one`` is to ``other`` as ``than`` is to ``that``: before, at the same place, or after."""
    return (one < other, one == other, one > other) == (than < that, than == that, than > that)


def at(half_seconds: int) -> datetime:
    return BASE + timedelta(seconds=half_seconds / 2)


def ends(kernel: Kernel, times: tuple[int, ...], seqs: Any, end_seqs: Any) -> tuple[Any, list[Any]]:
    """The view of two events, and the positions of their ends: a0, a1, b0, b1."""
    views, events = kernel.views, kernel.events
    a, b = (
        events.Event("a", at(2 * start), at(2 * end), id=id, seq=seq, end_seq=end_seq)
        for id, start, end, seq, end_seq in zip("ab", times[::2], times[1::2], seqs, end_seqs, strict=True)
    )
    view = views.SequenceView([a, b])
    return view, [end for each in view.entries for end in (each.start, each.end)]


def bare(kernel: Kernel, view: Any, half_seconds: int) -> Any:
    return view.order.bare(kernel.events.micros(at(half_seconds)))


def prove_numbers_are_positions(kernel: Kernel) -> int:
    """A numbered log: its ends stand as their numbers do; a bare time after all that is not later, before what follows."""
    for times, numbers in itertools.product(SPANS, repeat=2):
        view, positions = ends(kernel, times, numbers[::2], numbers[1::2])
        for one, other in itertools.product(range(4), repeat=2):
            same = same_order(positions[one], positions[other], numbers[one], numbers[other])
            claim(same, "ends stand as their numbers", times, numbers)
        for half in BARE:
            place = bare(kernel, view, half)
            highest = max((numbers[end] for end in range(4) if 2 * times[end] <= half), default=-1)
            for end in range(4):
                before = positions[end] < place if numbers[end] <= highest else positions[end] > place
                claim(before, "a bare time is after every end of its time and what that is after", times, numbers, half)
            claim(not place > bare(kernel, view, half + 1), "later is no earlier", times, numbers, half)
    return len(SPANS) ** 2


def prove_times_are_positions(kernel: Kernel) -> int:
    """A log without numbers of both ends: its ends stand as their times, those of one time as their lines or ``seq``."""
    cases: Iterator[Any] = itertools.product(SPANS, ((None, None), (7, 8), (8, 7)))
    for times, seqs in cases:
        view, positions = ends(kernel, times, seqs, (None, None))
        line = (0, 0, 1, 1) if seqs != (8, 7) else (1, 1, 0, 0)
        for one, other in itertools.product(range(4), repeat=2):
            meant = (times[one], line[one]), (times[other], line[other])
            claim(same_order(positions[one], positions[other], *meant), "ends stand as their times", times, seqs)
        for half, end in itertools.product(BARE, range(4)):
            after = positions[end] < bare(kernel, view, half)
            claim(after == (2 * times[end] <= half), "a bare time is after every end of its time", times, seqs, half)
    return len(SPANS) * 3


def prove_given_times_are_bare(kernel: Kernel) -> int:
    """What gives a time and no number, in a log that numbers its ends and in one that does not, stands as a bare time.

    That is the instant seen, the time until which a write may land, and both ends of an event that was made by hand.
    """
    views, events = kernel.views, kernel.events
    cases = itertools.product(SPANS, BARE, (True, False))
    for times, half, numbered in cases:
        seqs = ((0, 2), (1, 3)) if numbered else ((None, None), (None, None))
        view, _ = ends(kernel, times, *seqs)
        given = {"seen": ("observed_at", {"outcome": "ok"}), "until": ("may_land_until", {"outcome": "unknown"})}
        for field, (name, outcome) in given.items():
            event = events.Event("a", at(-1), at(7), id="c", **{name: at(half)}, **outcome)
            extra = views.entry(event, view.order, None).extra
            stands = extra is not None and getattr(extra, field) == bare(kernel, view, half)
            claim(stands, f"{name} stands as a bare time", times, half, numbered)
        if numbered:
            hand = views.entry(events.Event("a", at(-1), at(half), id="c"), view.order, 2)
            places = bare(kernel, view, -1), bare(kernel, view, half)
            claim((hand.start, hand.end) == places, "what is made by hand stands as bare times", times, half)
    return len(SPANS) * len(BARE) * 2


def prove_what_has_no_numbers_gives_no_order(kernel: Kernel) -> int:
    """In a numbered log a bare time stands where it would without the events made by hand; one still open counts."""
    views, events = kernel.views, kernel.events
    for times, half in itertools.product(SPANS, BARE):
        both = [
            events.Event("a", at(2 * start), at(2 * end), id=id, seq=seq, end_seq=seq + 1)
            for id, start, end, seq in zip("ab", times[::2], times[1::2], (0, 2), strict=True)
        ]
        still = events.Event("a", at(half), id="o", seq=7)
        among = views.Order([*both, still])
        for by_hand in ({}, {"end_time": at(half + 1)}, {"end_time": at(half + 1), "seq": 9}):
            order = views.Order([*both, events.Event("a", at(half), id="h", **by_hand)])
            for each in BARE:
                time = events.micros(at(each))
                claim(order.bare(time) == views.Order(both).bare(time), "what is made by hand is no number", times, by_hand)
            stands = order.ends(events.Event("a", at(half), id="h", **by_hand), 2)
            end = by_hand.get("end_time") and order.bare(events.micros(by_hand["end_time"]))
            meant = order.bare(events.micros(at(half))), end
            claim(stands == meant, "what is made by hand stands by its times", times, by_hand)
        for each in BARE:
            time = events.micros(at(each))
            claim((among.bare(time) > (7, 0)) == (each >= half), "what is open has its number", times, half, each)
        claim(among.ends(still, 2)[1] is None, "what is open has no end", times, half)
        apart, line = events.Event("a", at(half), at(half + 1), id="o", seq=7, end_seq=8), views.Order(())
        for order in (among, line):
            stands = order.ends(apart, None)
            meant = tuple(order.bare(events.micros(each)) for each in (at(half), at(half + 1)))
            claim(stands == meant, "what is not in the sequence stands by its times, whatever its numbers", times, half)
    return len(SPANS) * len(BARE)


def counts(write: Any, until: Any, now: int) -> tuple[str, int | None] | None:
    """How a write counts, from the text: as what it is if it has ended, as an error from when it can land no more."""
    if write.outcome in ("failed", "refused") or write.start > now:
        return None
    if write.outcome == "unknown" and until is not None and until <= now:
        return "error", until
    if write.outcome == "unknown" and (write.end is None or write.end <= now):
        return "lost", None
    return ("open", None) if write.end is None or write.end > now else (write.outcome, write.end)


def prove_how_writes_stand(kernel: Kernel) -> int:
    """A write counts as of each position as its outcome, its end and the time until which it may land say."""
    views, outcomes = kernel.views, ("ok", "error", "failed", "refused", "unknown", "pending")
    extras = ((None, None), (views.Extra(version="v"), None), (views.Extra(until=3), 3))
    cases = [*itertools.product(outcomes, (None, 1, 5), extras, range(-1, 7))]
    for outcome, end, (extra, until), now in cases:
        write = views.Entry("x", "a", "write", outcome, 0, end, 0, 1, (), None, "x", None, None, extra)
        claim(views.standing(write, now) == counts(write, until, now), "a write stands so", outcome, end, until, now)
    return len(cases)


def prove_answers(kernel: Kernel) -> int:
    """The plain view answers each question about two writes, and a read beside them, as the `View` protocol has it."""
    views, every = kernel.views, (("ok", 3), ("ok", 6), ("error", 5), ("pending", None), ("unknown", None), ("failed", 5))
    names = (("a", "a/b/c"), ("d", "a/b"))
    cases = [*itertools.product(every, every, names, range(2, 8), range(3, 7))]
    for one, other, (name, beside), since, now in cases:
        log = [
            views.Entry("y", beside, "write", other[0], 4, other[1], 4, 1, (), None, "y", None),
            views.Entry("x", name, "write", one[0], 2, one[1], 2, 1, (), None, "x", None),
            views.Entry("z", "a/b", "read", "ok", 1, 3, 1, 1, (), None, "z", None),
        ]
        view = object.__new__(views.SequenceView)
        view.entries = log
        told = [(each, *(counts(each, None, now) or (None, None))) for each in (log[1], log[0])]
        told = [each for each in told if each[1] and each[0].name != "d"]
        for but in (None, "x"):
            left = [each for each in told if each[0].call != but]
            right: dict[str, Any] = {how: [each for each, its, end in left if its == how] for how in ("open", "lost")}
            right |= {
                how: [each for each, its, end in left if its == how and end is not None and end >= since]
                for how in ("ok", "error")
            }
            right["after"] = [each for each, its, _ in left if its == "ok" and each.start > since]

            def spared(write: Any, but: str | None = but) -> bool:
                return bool(write.call == but)

            got = {how: view.first_ended("a/b", how, since, now, spared) for how in ("ok", "error")}
            got |= {"open": view.first_open("a/b", now, spared), "lost": view.first_lost("a/b", now, spared)}
            got |= {"after": view.first_after("a/b", since, now, spared)}
            first = {how: next(iter(its), None) for how, its in right.items()}
            claim(got == first, "the first by start of those that count is given", one, other, name, since, now, but)
            calm = all(end is not None and end < since for _, _, end in left)
            claim(view.undisturbed("a/b", since, now, but) == calm, "it is calm where all had ended", one, other, name)
    return len(cases)


def prove_an_entry_is_its_event(kernel: Kernel) -> None:
    """What a view makes of an event is what the event says, in whole microseconds, and it finds it by its id and call."""
    events, views = kernel.events, kernel.views
    every = {"outcome": "error", "call": "k", "parent": "p"}
    late = {"observed_at": at(6), "version": "v", "may_land_until": at(9)}
    rests = ["x", events.Dependency("y", "c")]
    full = events.Event("a/b", at(4), at(7), 1.25, rests, "write", "e", **every, **late)
    plain = events.Event("a", at(3), id="o", call="k")
    view = views.SequenceView([full, plain])
    entry, other = view.entries
    start = round((at(4) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) * 1_000_000
    meant = {"id": "e", "name": "a/b", "kind": "write", "start_time": start, "took": 1_500_000, "window": 1_250_000, **every}
    meant |= {"depends_on": ("x", ("y", "c")), "origin": full, "memo": None, "probes": None}
    claim({name: getattr(entry, name) for name in meant} == meant, "an entry is its event", entry)
    times = entry.extra.seen_time, entry.extra.version, entry.extra.until_time
    claim(times == (start + 1_000_000, "v", start + 2_500_000), "so it is for what few events have", times)
    claim(
        (other.end, other.took, other.window, other.extra, other.parent) == (None,) * 5, "what is not there is none", other
    )
    for name, given in late.items():
        extra = views.entry(events.Event("a", at(4), at(7), **{name: given}), view.order, None).extra
        there = {each: getattr(extra, each) is not None for each in ("seen", "seen_time", "version", "until", "until_time")}
        fields = {"observed_at": {"seen", "seen_time"}, "version": {"version"}, "may_land_until": {"until", "until_time"}}
        claim({each for each in there if there[each]} == fields[name], "one of these alone is kept", name, there)
    claim(view.call("k") == [other, entry] and view.call("e") == [], "a call is its events, by start")
    claim((view.find("e"), view.find("k")) == (entry, None), "an event is found by its id")
    claim((view.was_dropped("k"), view.dropped_since("a", 0), view.memory()) == (False, False, None), "nothing is dropped")
    claim(entry.memo is None is not views.GONE is not views.MISSING, "what a log has dropped bears another mark")
    for micros in (0, -1, 1_785_369_600_000_001):
        claim(type(events.micros(events.moment(micros))) is int, "microseconds are whole", micros)
        claim(events.micros(events.moment(micros)) == micros, "a moment is its microseconds", micros)
        claim(events.moment(micros).utcoffset() == timedelta(0), "a moment is in UTC", micros)
    for seconds in (0, 0.0000014, 0.0000016, 2.5, 30):
        claim(events.window_micros(seconds) == timedelta(seconds=seconds) // timedelta(microseconds=1), "a window", seconds)
    twice = [events.Event("a", at(each), id="ab"[each % 2]) for each in range(1, 4)]
    try:
        views.SequenceView(twice)
    except ValueError as raised:
        claim("id='b'" in str(raised), "the id that is given twice is named", raised)
    else:
        claim(False, "an id names one event")


def prove_names_are_narrowed(kernel: Kernel) -> None:
    """A dependency counts by its event's name, or by a name that this covers; any other is refused."""
    entry = kernel.views.entry(kernel.events.Event("a/b", at(0), at(1)), kernel.views.Order(()), None)
    for name, right in {None: "a/b", "a/b": "a/b", "a/b/c": "a/b/c", "a": None, "a/bc": None, "a/b/": None}.items():
        try:
            claim(kernel.views.narrowed(entry, name) == right, "a narrower name counts", name)
        except ValueError:
            claim(right is None, "what is no narrower name is refused", name)


def test_an_entry_is_its_event() -> None:
    """Section 1: every field of an event, there and not there."""
    prove_an_entry_is_its_event(SHIPPED)


def test_names_are_narrowed() -> None:
    """Section 1: the same name, one below, one above, one beside, and none."""
    prove_names_are_narrowed(SHIPPED)


def test_given_times_are_bare() -> None:
    """L2: the instant seen, the end of what may land, and what is made by hand are placed as times without a number."""
    assert prove_given_times_are_bare(SHIPPED) == 468


def test_what_has_no_numbers_gives_no_order() -> None:
    """L2: events made by hand, in a log that numbers both ends of two others, move no bare time."""
    assert prove_what_has_no_numbers_gives_no_order(SHIPPED) == 234


def test_how_writes_stand() -> None:
    """L2: six outcomes, with an end and without, and with a time until which it may land and without."""
    assert prove_how_writes_stand(SHIPPED) == 432


def test_answers() -> None:
    """L2: two writes of six kinds, to what covers a name, to what is below it, and elsewhere."""
    assert prove_answers(SHIPPED) == 1728


def test_numbers_are_positions() -> None:
    """L2: where a log numbers both ends, these are the order, whatever the clock said."""
    assert prove_numbers_are_positions(SHIPPED) == 676


def test_times_are_positions() -> None:
    """L2: elsewhere the clock is, and what it cannot tell apart stands in the order of its numbers or lines."""
    assert prove_times_are_positions(SHIPPED) == 78


LEFT = "__import__('bisect').bisect_left(self"
HIGHEST = "max(number, self._highest[-1]) if self._highest"
START = "return (event.seq, -_LAST), None if"
BROKEN = {
    "a bare time is before what ends then": (prove_numbers_are_positions, "bisect_right(self", LEFT),
    "the latest end has the highest number": (prove_numbers_are_positions, HIGHEST, "number if True"),
    "ends are not counted": (prove_numbers_are_positions, "ends += [(micros(e.end_time)", "[(micros(e.end_time)"),
    "a start stands at its end": (prove_numbers_are_positions, START, START.replace("event.seq", "event.end_seq")),
    "a bare time is before every end": (prove_times_are_positions, "return (time, _LAST)", "return (time, -_LAST)"),
    "a number that is not there counts": (prove_given_times_are_bare, "or _by_time(event):", "and _by_time(event):"),
    "a given time is forgotten": (prove_given_times_are_bare, "event.observed_at is not None or", "False or"),
    "the one time is the other": (prove_given_times_are_bare, "order.bare(until_time)", "order.bare(seen_time or 0)"),
    "a window is kept in seconds": (prove_an_entry_is_its_event, "window_micros(event.validity_window_seconds)", "1"),
    "a call's events are in the log's order": (
        prove_an_entry_is_its_event,
        "key=lambda each: each.start)",
        "key=lambda each: 0)",
    ),
    "a dependency can be widened": (prove_names_are_narrowed, "not covers(entry.name, check_name(name))", "False"),
    "what is made by hand is numbered": (prove_what_has_no_numbers_gives_no_order, " and not _by_time(e)]", "]"),
    "what may land until then is an error before": (prove_how_writes_stand, "and extra.until <= at", ""),
    "whose calm was asked is forgotten": (prove_answers, "lambda write: bool(write.call == but)", "lambda write: False"),
    "lines count for more than seq": (prove_times_are_positions, "event.seq if self._by_seq else place", "place"),
}


@pytest.mark.parametrize(("prove", "right", "wrong"), BROKEN.values(), ids=BROKEN)
def test_a_wrong_place_is_found(prove: Any, right: str, wrong: str) -> None:
    """Each of these faults puts an end or a time in a wrong place of some order, and it is found."""
    with pytest.raises(Refuted):
        prove(Broken("views", right, wrong).kernel())
