"""The memory log: ids and numbers, time, retention and what it costs, threads, and forgetting it all."""

from __future__ import annotations

import gc
import re
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging import judged
from strategies import times

from intervalguard import Event, Guard, StaleReadError, UnknownDependencyError, with_event
from intervalguard.kernel.audit import findings_of
from intervalguard.kernel.staleness import REASONS
from intervalguard.logs import MemoryLog
from intervalguard.logs.calls import Origin
from intervalguard.logs.memory import DEFAULT_MAX_EVENTS

BASE = datetime(2026, 7, 30, 12, tzinfo=UTC)


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> datetime:
        return BASE + timedelta(seconds=self.seconds)


class Tools:
    """Plain tools on a log."""

    def __init__(self, max_events: int | None = None, clock: Any = None) -> None:
        self.clock = Clock() if clock is None else clock
        self.log = MemoryLog(max_events=max_events, clock=self.clock)
        self.guard = guard = Guard(self.log, wait_seconds=0)

        @guard.tool(reads=lambda name: name)
        def read(name: str) -> None: ...

        @guard.tool(writes=lambda name: name, no_effect_on=KeyError, unknown_on=OSError)
        def write(name: str, error: type[Exception] | None = None) -> None:
            if error is not None:
                raise error

        self._read, self._write = read, write

    def read(self, name: str = "a", **options: Any) -> Event:
        return with_event(self._read, name, **options)[1]

    def write(self, name: str = "a", **options: Any) -> Event:
        return with_event(self._write, name, **options)[1]

    def fail(self, name: str, error: type[Exception]) -> Event:
        with pytest.raises(error):
            self._write(name, error)
        return self.log.events()[-1]

    @contextmanager
    def open(self, kind: str, name: str, **options: Any) -> Iterator[Event]:
        """A call that stays open, with what else is done no part of it."""
        block = getattr(self.guard, kind)(name, **options)
        threading.Thread(target=block.__enter__).start()
        _join()
        yield block.event
        block._tool.leave(block._running, (), {}, None)

    def reason(self, *on: Event) -> str | None:
        """Why a write that rests on these is refused, if it is."""
        try:
            self._write("elsewhere", depends_on=on)
        except (StaleReadError, UnknownDependencyError) as error:
            return error.findings[0].reason
        return None

    def names(self) -> list[str]:
        return [each.name for each in self.log.events()]


def _join() -> None:
    for each in threading.enumerate():
        if each is not threading.current_thread() and not each.daemon:
            each.join(30)


# --------------------------------------------------------------------------------------------- ids and numbers


def test_ids_are_unique_within_and_across_logs() -> None:
    """A fault of 0.1.1: of 8 hex digits two were soon the same."""
    ids = [event.id for log in (Tools(), Tools(), Tools()) for event in [log.read() for _ in range(2_000)]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[0-9a-f]{12}-[1-9][0-9]*", id) for id in ids)


def test_many_logs_have_prefixes_of_their_own() -> None:
    """48 random bits each."""
    assert len({MemoryLog().id_of(1) for _ in range(2_000)}) == 2_000


@pytest.mark.parametrize(
    "make", ["{p}-0", "{p}-01", "{p}-+1", "{p}-1 ", "{p}-\u0661", "{p}-1_0", "{p}-", "{p}", "1", "-1", "", "{p}-" + "1" * 40]
)
def test_an_id_is_what_the_log_wrote_and_nothing_like_it(make: str) -> None:
    """What merely resembles an event's id names no event."""
    tools = Tools()
    id = tools.read().id
    given = make.format(p=id.partition("-")[0])
    assert given != id
    assert tools.log.number_of(given) == given
    with pytest.raises(UnknownDependencyError):
        tools.write(depends_on=given)


def test_an_id_of_another_log_is_unknown() -> None:
    """Though it has an event of that number."""
    one, two = Tools(), Tools()
    two.read()
    with pytest.raises(UnknownDependencyError, match="the log does not hold it"):
        two.write(depends_on=one.read())


def test_an_id_that_was_not_given_yet_is_unknown_for_good() -> None:
    """A call that names one, in part even, is let through only where nothing is enforced, and then it is in no one's way
    when an event gets that id."""
    tools = Tools()
    prefix, _, number = tools.read("a").id.partition("-")
    forged = f"{prefix}-{int(number) + 3}"
    assert tools.log.number_of(forged) == f"{forged} (not given yet)"
    with tools.open("write", "b", depends_on={"id": forged, "name": "x/y"}, mode="observe") as pending:
        assert tools.read("z").id == forged
        assert tools.write("c").outcome == "ok"
        assert tools.write("c", depends_on=forged).outcome == "ok"
        raws = judged(tools.log, tools.log.find(tools.log.number_of(pending.id)).depends_on)
        assert [REASONS[raw.grade] for raw in raws] == ["unknown-dependency"]


def test_both_ends_are_numbered_from_one_counter() -> None:
    """Strictly increasing, whatever the clock says; an end comes after its start."""
    tools = Tools()
    with tools.open("write", "a"), tools.open("write", "b"):
        tools.read("x")
    tools.write("c")
    found = [(each.name, each.seq, each.end_seq) for each in tools.log.events()]
    assert found == [("a", 1, 6), ("b", 2, 5), ("x", 3, 4), ("c", 7, 8)]
    assert len({each.start_time for each in tools.log.events()}) == 1


def test_order_is_by_number_where_the_clock_steps_back() -> None:
    """A fault of 0.1.1: misses and false alarms. Time never runs back in the log, and every interval has a length >= 0."""
    tools = Tools()
    tools.clock.seconds = 100
    old = tools.read()
    tools.clock.seconds = 50
    tools.guard.record_write("a")
    tools.clock.seconds = 10
    new = tools.read()
    assert (tools.reason(old), tools.reason(new)) == ("superseded", None)
    events = tools.log.events()
    assert [each.start_time for each in events] == [BASE + timedelta(seconds=100)] * len(events)
    tools.clock.seconds = 101
    assert tools.read().start_time == BASE + timedelta(seconds=101)


def test_time_is_the_wall_clocks_at_the_start() -> None:
    """And runs on from there."""
    before = datetime.now(UTC)
    log = MemoryLog()
    first, second = log.now(), log.now()
    assert first <= second
    assert abs((first - before).total_seconds()) < 5


# ------------------------------------------------------------------------------------------ what it holds


def test_events_are_what_happened() -> None:
    """Oldest first, with every field that was told."""
    tools = Tools()
    tools.clock.seconds = 1
    read = tools.read("a")
    with tools.open("write", "b", depends_on={"id": read.id, "name": "a/x"}, validity_window_seconds=2.5) as running:
        tools.clock.seconds = 3
        tools.fail("c", KeyError)
        tools.fail("d", ValueError)
        tools.fail("e", OSError)
        events = tools.log.events()
        assert [(each.name, each.outcome) for each in events] == [
            ("a", "ok"), ("b", "pending"), ("c", "failed"), ("d", "error"), ("e", "unknown"),
        ]  # fmt: skip
        assert (events[1].end_time, events[1].end_seq) == (None, None)
    (done,) = [each for each in tools.log.events() if each.id == running.id]
    assert (done.start_time, done.end_time) == (BASE + timedelta(seconds=1), BASE + timedelta(seconds=3))
    assert (done.validity_window_seconds, done.depends_on[0].id, done.depends_on[0].name) == (2.5, read.id, "a/x")
    assert len(tools.log) == 5


def test_an_event_once_read_stays_as_it_is() -> None:
    """It is frozen; the log's next answer is another."""
    tools = Tools()
    with tools.open("write", "a") as event:
        assert event.outcome == "pending"
    assert event.outcome == "pending"
    assert tools.log.events()[0].outcome == "ok"


@given(
    st.lists(
        st.tuples(st.sampled_from(["read", "write", "record"]), st.sampled_from(["a", "a/b", "c"]), st.integers(0, 4)),
        max_size=25,
    )
)
@times(0.5)
def test_what_was_let_through_is_sound_on_the_log_that_it_left(steps: list[tuple[str, str, int]]) -> None:
    """The rule over the plain events says what admission said: let through with nothing against it, or refused for it."""
    tools = Tools()
    reads: list[Event] = []
    for kind, name, back in steps:
        if kind == "record":
            tools.guard.record_write(name)
        elif kind == "read":
            reads.append(tools.read(name))
        elif reads:
            tools.reason(reads[-1 - back % len(reads)])
    events = tools.log.events()
    for each in events:
        against = [REASONS[raw.grade] for raw in findings_of(each, events)]
        assert bool(against) == (each.outcome == "refused"), each


# ---------------------------------------------------------------------------------------------------- retention


@pytest.mark.parametrize("max_events", [1, 2, 7, 100])
def test_the_bound_holds(max_events: int) -> None:
    """At most so many settled events, the newest, however many there were."""
    tools = Tools(max_events)
    for number in range(300):
        (tools.read if number % 3 else tools.write)(f"n/{number % 11}")
        assert len(tools.log) == len(tools.log.events()) <= max_events
    assert len(tools.log) == max_events
    assert tools.log.events()[-1].seq == 599


def test_there_is_a_bound_unless_none_is_asked_for() -> None:
    """A fault of 0.1.1: the log grew for ever. `None` is no bound, and says so."""
    assert MemoryLog()._max_events == DEFAULT_MAX_EVENTS == 100_000
    tools = Tools(None)
    for _ in range(500):
        tools.read()
    assert len(tools.log) == 500


@pytest.mark.parametrize(
    ("given", "error"), [(0, ValueError), (-1, ValueError), (True, TypeError), (1.5, TypeError), ("9", TypeError)]
)
def test_a_bound_is_a_number_from_one(given: Any, error: type[Exception]) -> None:
    """Or `None`, which the message tells."""
    with pytest.raises(error, match=r"None"):
        MemoryLog(max_events=given)


def test_open_calls_are_never_dropped() -> None:
    """Neither reads nor writes; they end as if nothing had been dropped around them."""
    tools = Tools(3)
    with tools.open("write", "w") as write, tools.open("read", "r") as read:
        for _ in range(50):
            tools.read("x")
        assert {write.id, read.id} <= {each.id for each in tools.log.events()}
        assert tools.log.events()[0].id == write.id
        old = tools.read("w")
        assert tools.reason(old) == "in-flight"
    assert tools.reason(old) in ("overlapped", "superseded", "history-dropped")
    for _ in range(10):
        tools.read("x")
    assert len(tools.log) <= 3


def test_a_lost_write_is_not_dropped_while_it_may_land() -> None:
    """Its resource stays suspect; once settled it goes like any other."""
    tools = Tools(3)
    lost = tools.fail("a", OSError)
    for _ in range(50):
        tools.read("x")
    assert tools.reason(tools.read("a")) == "unknown-outcome"
    assert tools.log.events()[0].id == lost.id
    tools.guard.settle(lost.id, "failed")
    for _ in range(10):
        tools.read("x")
    assert len(tools.log) <= 3
    assert "a" not in tools.names()


def test_a_lost_write_that_can_land_no_longer_is_dropped() -> None:
    """Time-outs with a bound do not pile up; and what overlapped its time is not fresh when it is gone."""
    tools = Tools(3)
    for _ in range(40):
        with pytest.raises(TimeoutError), tools.guard.write("a", may_land_for_seconds=5):
            raise TimeoutError
        tools.clock.seconds += 10
    for _ in range(10):
        tools.read("x")
    assert len(tools.log) <= 3
    assert tools.reason(tools.read("a")) is None


def test_a_lost_read_is_dropped_like_any_other() -> None:
    """It changes nothing, so nothing needs it."""
    tools = Tools(3)
    for _ in range(40):
        with pytest.raises(TimeoutError), tools.guard.read("a"):
            raise TimeoutError
    assert len(tools.log) <= 3


@pytest.mark.parametrize("kind", ["read", "write"])
@pytest.mark.parametrize("in_use", [False, True])
def test_settling_what_was_lost_leaves_the_bound_as_it_is(kind: str, in_use: bool) -> None:
    """A call that was lost and is settled counts once against the bound, however often that happens."""
    tools = Tools(6)
    for _ in range(30):
        block = getattr(tools.guard, kind)("a")
        with pytest.raises(TimeoutError), block:
            raise TimeoutError
        with tools.open("read", "sum", depends_on=block.event if in_use else (), mode="observe"):
            for _ in range(10 if in_use else 1):
                tools.read("x")
            tools.guard.settle(block.event.id, "ok")
    for _ in range(20):
        tools.read("x")
        assert len(tools.log) == 6
    assert tools.log._retention.droppable == 6


@pytest.mark.parametrize("source", ["read", "record"])
def test_what_a_running_call_rests_on_is_not_dropped(source: str) -> None:
    """Nor what that was derived from, through reads; a narrower part, a write of someone's, all the same."""
    tools = Tools(4)
    root = tools.read("root") if source == "read" else tools.guard.record_write("root")
    middle = tools.read("middle", depends_on=root)
    leaf = tools.read("leaf", depends_on={"id": middle.id, "name": "middle/x"})
    with tools.open("read", "sum", depends_on=leaf):
        for _ in range(50):
            tools.read("x")
        assert {root.id, middle.id, leaf.id} <= {each.id for each in tools.log.events()}
        assert judged(tools.log, [tools.log.number_of(leaf.id)]) == []
    for _ in range(10):
        tools.read("x")
    assert len(tools.log) <= 4


def test_a_refused_call_takes_nothing_out_of_use() -> None:
    """What it named is in use by another, which still runs."""
    tools = Tools(4)
    leaf = tools.read("leaf")
    with tools.open("read", "sum", depends_on=leaf):
        for _ in range(10):
            tools.read("x")
        assert tools.reason(leaf, tools.read("x")) is None
        lost = tools.fail("lost", ValueError)
        assert tools.reason(leaf, lost) == "no-result"
        for _ in range(10):
            tools.read("x")
        assert leaf.id in {each.id for each in tools.log.events()}


def test_what_is_used_again_as_its_last_use_ends_is_not_dropped() -> None:
    """The log looks again before it drops what was in use when its turn came."""
    tools = Tools(4)
    leaf = tools.read("leaf")

    def time_out() -> None:
        with tools.guard.write("lost", depends_on=leaf):
            for _ in range(10):
                tools.read("x")
            raise TimeoutError

    with pytest.raises(TimeoutError):
        time_out()
    with tools.open("read", "sum", depends_on=leaf):
        for _ in range(10):
            tools.read("x")
        assert leaf.id in {each.id for each in tools.log.events()}
    for _ in range(10):
        tools.read("x")
    assert leaf.id not in {each.id for each in tools.log.events()}


def test_a_dropped_dependency_is_unverifiable() -> None:
    """Never fresh: the log says that it no longer holds it, which is another thing than that it never did."""
    tools = Tools(3)
    read = tools.read("a")
    for _ in range(10):
        tools.read("x")
    with pytest.raises(UnknownDependencyError, match="the log no longer holds it") as caught:
        tools.write(depends_on=read)
    assert caught.value.findings[0].reason == "history-dropped"


def test_a_dropped_write_makes_what_it_touched_unverifiable() -> None:
    """The read is held, the write that came during it is gone: history-dropped, and only there."""
    tools = Tools(3)
    with tools.open("read", "a") as slow, tools.open("read", "b") as quiet, tools.open("read", "c/d"):
        tools.write("a")
        tools.write("c")
        for _ in range(20):
            tools.write("x")
    raws = [judged(tools.log, [tools.log.number_of(each.id)]) for each in (slow, quiet)]
    assert [[REASONS[raw.grade] for raw in each] for each in raws] == [["history-dropped"], []]


def test_a_quiet_resource_stays_verifiable() -> None:
    """Much traffic elsewhere, all of it dropped: what is held and was not written is fresh."""
    tools = Tools(50)
    with tools.open("read", "quiet") as slow:
        for number in range(2_000):
            tools.write(f"busy/{number % 40}")
    assert judged(tools.log, [tools.log.number_of(slow.id)]) == []
    for number in range(40):
        tools.write(f"busy/{number}")
    assert tools.reason(slow) is None


def test_a_resource_below_or_above_what_was_dropped_is_not_verifiable() -> None:
    """Names conflict by what covers what, after they were dropped too."""
    tools = Tools(5)
    names = ("a", "a/b", "a/b/c", "ab", "a/d")
    with ExitStack() as stack:
        reads = [stack.enter_context(tools.open("read", name)) for name in names]
        tools.write("a/b")
        for _ in range(20):
            tools.write("x")
    found = [bool(judged(tools.log, [tools.log.number_of(each.id)])) for each in reads]
    assert dict(zip(names, found, strict=True)) == {"a": True, "a/b": True, "a/b/c": True, "ab": False, "a/d": False}


def kept(log: MemoryLog) -> int:
    """How many names the log keeps for the sake of writes."""
    return len(log._view._at) + len(log._view._below)


@pytest.mark.parametrize("how", ["ok", "error", "failed"])
def test_the_names_kept_are_bounded(how: str) -> None:
    """A million resources, each written once, do not stay for ever; then old reads are unverifiable, never fresh."""
    tools = Tools(20)
    with tools.open("read", "first") as slow:
        for number in range(1_000):
            if how == "ok":
                tools.write(f"n/{number}")
            else:
                tools.fail(f"n/{number}", {"error": ValueError, "failed": KeyError}[how])
    assert kept(tools.log) <= 4 * 20 + 10
    if how != "failed":
        assert REASONS[judged(tools.log, [tools.log.number_of(slow.id)])[0].grade] == "history-dropped"
    assert tools.reason(tools.read("first")) is None


@pytest.mark.parametrize("part", ["", "/part"])
def test_the_names_of_derived_reads_are_bounded(part: str) -> None:
    """What is remembered of closures goes with the reads."""
    tools = Tools(20)
    for number in range(1_000):
        source = tools.read(f"n/{number}")
        derived = tools.read("sum", depends_on={"id": source.id, "name": f"n/{number}{part}"})
        assert tools.reason(derived) is None
    assert kept(tools.log) <= 4 * 20 + 10


def test_memory_is_bounded() -> None:
    """With every kind of event, session and name: what 600 calls more leave behind is next to nothing."""
    tools = Tools(100)

    def use(count: int) -> int:
        for number in range(count):
            with tools.guard.session(f"s{number % 150} of {count}"):
                tools.read(f"n/{number}")
                tools.write(f"n/{number}")
            tools.fail(f"m/{number}", KeyError) if number % 7 == 0 else None
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        use(200)
        first = use(300)
        second = use(301)
    finally:
        tracemalloc.stop()
    assert second - first < 60_000


def test_reads_that_name_nothing_leave_nothing() -> None:
    """Names that only the result tells: a search that found nothing touched nothing."""
    tools = Tools(10)

    @tools.guard.tool(reads=lambda result: result)
    def search(found: list[str]) -> list[str]:
        assert len(tools.log) == len(tools.log.events())
        return found

    for _ in range(100):
        search([])
    assert tools.log.events() == []
    assert not tools.log._view.calls
    search(["a", "b"])
    assert tools.names() == ["a", "b"]
    for number in range(100):
        search([f"n/{number}"])
        search([])
    assert len(tools.log) <= 10


# ------------------------------------------------------------------------------------------------------ threads


def test_many_threads_at_once() -> None:
    """Ids and numbers are unique, the bound holds, and every call is settled."""
    tools = Tools(200, clock=lambda: datetime.now(UTC))
    barrier = threading.Barrier(8)
    seen: list[list[Event]] = [[] for _ in range(8)]

    def work(mine: list[Event]) -> None:
        barrier.wait()
        for number in range(150):
            mine.append(tools.read(f"n/{number % 5}"))
            tools.guard.record_write(f"n/{number % 5}")

    threads = [threading.Thread(target=work, args=(each,)) for each in seen]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    reads = [event for each in seen for event in each]
    ends = [number for event in reads for number in (event.seq, event.end_seq)]
    assert len({event.id for event in reads}) == len(reads) == 8 * 150
    assert len(set(ends)) == len(ends)
    assert len(tools.log) <= 200
    assert all(event.outcome == "ok" for event in tools.log.events())


# -------------------------------------------------------------------------------------------------------- clear


def test_clear_forgets_everything() -> None:
    """Events, sessions, lost writes; what was before is unknown, not dropped, and numbers go on."""
    tools = Tools()
    with tools.guard.session("s"):
        read = tools.read("a")
    lost = tools.fail("a", OSError)
    tools.log.clear()
    assert (tools.log.events(), len(tools.log), tools.guard.session("s").stale()) == ([], 0, [])
    assert tools.reason(tools.read("a")) is None
    assert tools.reason(read) == "unknown-dependency"
    with pytest.raises(LookupError):
        tools.guard.settle(lost.id, "ok")
    assert min(each.seq or 0 for each in tools.log.events()) > (lost.end_seq or 0)
    block = tools.guard.write("b", rests_on="a")
    with tools.guard.session("s"), pytest.raises(UnknownDependencyError, match="nothing in this session"), block:
        pytest.fail("the body ran")


def test_clear_wakes_who_waits() -> None:
    """The call that was waited for is on the log no more; it settles into nothing."""
    log = MemoryLog()
    guard = Guard(log, wait_seconds=20)
    block = guard.write("a")
    entered, waiting = threading.Event(), threading.Event()
    guard.on_decision = lambda notice: entered.set()
    threading.Thread(target=block.__enter__).start()
    assert entered.wait(20)

    def write() -> None:
        waiting.set()
        with guard.write("a"):
            pass

    other = threading.Thread(target=write)
    other.start()
    assert waiting.wait(20)
    while not log._waiters:
        assert other.is_alive()
    log.clear()
    other.join(10)
    assert not other.is_alive()
    block._tool.leave(block._running, (), {}, None)
    assert [each.outcome for each in log.events()] == ["ok"]


def test_a_write_outside_is_recorded_with_whose_it_is() -> None:
    """What the log is told of its origin, it tells."""
    log = MemoryLog()
    entry = log.write_outside(Origin("webhook", agent="shop"), "a", None)
    assert (log.event(entry).tool, log.party(entry).agent) == ("webhook", "shop")
