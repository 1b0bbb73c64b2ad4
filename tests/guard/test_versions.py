"""What a result tells of its own truth: `version=` and `probe=`, and `observed_at=` of what came out of a cache."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from helpers import BASE, Clock, Thread, guard_at, outcomes
from judging import judged

from intervalguard import Dependency, Event, Guard, GuardError, StaleReadError, last_event, with_event


class Files:
    """Files with contents that are their versions, read through a guard, and changed behind its back or not."""

    def __init__(self, **options: Any) -> None:
        self.clock = Clock()
        self.guard = guard = guard_at(self.clock, **options)
        self.contents = {"f": "one"}
        self.probed: list[str] = []
        self.during: Callable[[], object] = lambda: None
        self.done: list[str] = []

        def probe(name: str) -> str:
            self.probed.append(name)
            self.during()
            return self.contents[name]

        @guard.tool(reads=lambda name: name, version=lambda result: result, probe=probe, validity_window_seconds=30)
        def read(name: str) -> str:
            return self.contents[name]

        @guard.tool(writes=lambda name: name)
        def write(name: str, text: str = "new") -> None:
            self.done.append(name)

        self.read, self.write = read, write

    def seen(self, name: str = "f") -> Event:
        return with_event(self.read, name)[1]

    def reason(self, *on: Event, tool: Any = None) -> str | None:
        """Why a write elsewhere that rests on these is refused, if it is."""
        try:
            (tool or self.write)("elsewhere", depends_on=on)
        except StaleReadError as error:
            return error.findings[0].reason
        return None


@pytest.fixture
def files() -> Files:
    return Files()


# -------------------------------------------------------------------------------------------------- version, probe


def test_a_version_is_recorded(files: Files) -> None:
    """With the read that returned it."""
    assert files.seen().version == "one"
    assert files.probed == []


def test_what_changed_with_no_write_in_the_log_is_stale(files: Files) -> None:
    """An untracked writer is found out by the version, and the message says so."""
    read = files.seen()
    assert files.reason(read) is None
    files.contents["f"] = "two"
    with pytest.raises(StaleReadError, match="its version changed without a write in the log") as caught:
        files.write("elsewhere", depends_on=read)
    (finding,) = caught.value.findings
    assert (finding.verdict, finding.reason, finding.by) == ("stale", "version", None)
    assert files.done == ["elsewhere"]
    assert files.probed == ["f", "f"]


def test_an_equal_version_outlives_a_write_that_changed_nothing(files: Files) -> None:
    """Content beats clock: a formatter wrote the file, what was read of it is the same. Without a version it is refused."""
    with files.guard.read("f") as bare:
        pass
    read = files.seen()
    files.guard.record_write("f")
    assert files.reason(read) is None
    assert files.reason(bare.event) == "superseded"


def test_a_write_after_the_probe_counts(files: Files) -> None:
    """An equal version moves the observation to the probe, and the ordinary rule goes on from there."""
    read = files.seen()
    files.during = lambda: files.guard.record_write("f")
    assert files.reason(read) == "overlapped"
    files.during = lambda: None
    assert files.reason(read) is None


def test_a_write_while_a_slow_probe_looks_is_suspect(files: Files) -> None:
    """Which came first nobody knows; it ran outside of any lock, for another thread could write."""
    read = files.seen()

    def write() -> None:
        with files.guard.write("f"):
            pass

    files.during = lambda: Thread(write).get()
    assert files.reason(read) == "overlapped"


def test_a_write_in_flight_is_none_that_a_probe_rules_out(files: Files) -> None:
    """It may land after the probe."""
    read = files.seen()
    block = files.guard.write("f")
    Thread(block.__enter__).get()
    assert files.reason(read) == "in-flight"


def test_an_equal_version_renews_the_age(files: Files) -> None:
    """The window counts from the probe; a read that is not probed has expired."""
    read = files.seen()
    files.clock.seconds = 31
    assert files.reason(read) is None

    @files.guard.tool(reads="g", validity_window_seconds=30)
    def get() -> None: ...

    _, other = with_event(get)
    files.clock.seconds = 62
    assert files.reason(other) == "expired"
    assert files.reason(read) is None


def test_a_part_is_probed_as_the_whole(files: Files) -> None:
    """The version is that of what was read."""
    read = files.seen()
    assert files.reason({"id": read.id, "name": "f/line"}) is None  # type: ignore[arg-type]
    assert files.probed == ["f"]


def test_each_dependency_is_probed_once(files: Files) -> None:
    """And what has no version, or no probe, is not."""
    files.contents["g"] = "three"
    one, two = files.seen("f"), files.seen("g")

    @files.guard.tool(reads="h", version=lambda result: None, probe=files.probed.append)
    def get() -> None: ...

    _, three = with_event(get)
    assert files.reason(one, two, three) is None
    assert files.probed == ["f", "g"]


def test_a_session_is_probed_too(files: Files) -> None:
    """What it resolves by itself as well as what is named."""
    with files.guard.session():
        files.read("f")
        files.contents["f"] = "two"
        with pytest.raises(StaleReadError, match="its version changed"):
            files.write("f")


def test_a_call_that_rests_on_nothing_probes_nothing(files: Files) -> None:
    """The hot path does not change because one tool can be probed."""
    files.seen()
    files.write("f")
    files.read("f")
    assert files.probed == []


@pytest.mark.parametrize("mode", ["enforce", "warn", "observe"])
@pytest.mark.parametrize("how", ["raises", "async"])
def test_a_probe_that_fails(mode: Any, how: str, caplog: pytest.LogCaptureFixture) -> None:
    """Enforced, the write does not run; else the ordinary rule decides alone, and the fault is logged."""
    files = Files(mode=mode)
    read = files.seen()
    if how == "raises":
        files.contents.clear()
    else:

        async def probe(name: str) -> str:
            return "one"

        files.during = lambda: None
        entry = files.guard.log.find(files.guard.log.number_of(read.id))
        assert entry is not None
        object.__setattr__(entry.origin, "probe", probe)
    if mode == "enforce":
        with pytest.raises(GuardError, match=r"probe= of .* failed") as caught:
            files.write("elsewhere", depends_on=read)
        assert caught.value.for_model() == (
            "This call was not carried out: it rests on 'f', and the look at whether that has changed failed. Nothing was"
            " changed. Try the same call again in a moment; if it fails again, ask someone for help: to read 'f' again"
            " does not mend that."
        )
        assert files.done == []
        assert outcomes(files.guard) == [("read", "f", "ok")]
    else:
        files.write("elsewhere", depends_on=read)
        assert files.done == ["elsewhere"]
        assert [(each.levelname, each.exc_info is not None) for each in caplog.records] == [("WARNING", True)]


class Odd:
    """A version that cannot be compared."""

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError

    __hash__ = None  # type: ignore[assignment]


def test_a_version_that_cannot_be_compared_lets_nothing_through() -> None:
    """The write does not run, and nothing of it stays pending."""
    guard = guard_at()
    done = []

    @guard.tool(reads="f", version=lambda result: Odd(), probe=lambda name: Odd())
    def read() -> None: ...

    @guard.tool(writes="g")
    def write() -> None:
        done.append(1)

    _, event = with_event(read)
    with pytest.raises((GuardError, ZeroDivisionError)):
        write(depends_on=event)
    assert done == []
    assert outcomes(guard) == [("read", "f", "ok")]


@pytest.mark.parametrize("is_async", [False, True])
def test_an_async_tool_takes_either_kind_of_probe(is_async: bool) -> None:
    """It awaits what is awaitable, and other tasks run meanwhile."""
    guard = guard_at()
    current = ["one"]
    order: list[str] = []

    async def slow(name: str) -> str:
        order.append("probe begins")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        order.append("probe ends")
        return current[0]

    @guard.tool(reads="f", version=lambda result: result, probe=slow if is_async else lambda name: current[0])
    async def read() -> str:
        return current[0]

    @guard.tool(writes="g")
    async def write() -> None: ...

    async def other() -> None:
        order.append("other")

    async def main() -> None:
        _, event = await with_event(read)
        await asyncio.gather(write(depends_on=event), other())
        current[0] = "two"
        with pytest.raises(StaleReadError, match="its version changed"):
            await write(depends_on=event)

    asyncio.run(main())
    if is_async:
        assert order[:3] == ["probe begins", "other", "probe ends"]


def test_a_withheld_read_is_judged_by_the_probe_that_let_it_in(files: Files) -> None:
    """A write since then withholds it; one before, that changed nothing, does not."""
    read = files.seen()
    files.guard.record_write("f")

    @files.guard.tool(reads="sum")
    def add(late: bool) -> int:
        if late:
            files.guard.record_write("f")
        return 7

    assert add(False, depends_on=read) == 7
    with pytest.raises(StaleReadError) as caught:
        add(True, depends_on=read)
    assert caught.value.phase == "return"


# --------------------------------------------------------------------------------------------------- observed_at


class Cache:
    """A cache that answers with what it knew some seconds ago."""

    def __init__(self, **options: Any) -> None:
        self.clock = Clock(100)
        self.guard: Guard = guard_at(self.clock, **options)

        @self.guard.tool(reads="a", observed_at=lambda seen: seen, validity_window_seconds=30)
        def get(seen: datetime | None) -> datetime | None:
            self.clock.seconds += 1
            return seen

        self.get = get

    def at(self, seconds: float) -> datetime:
        return BASE + timedelta(seconds=seconds)

    def reason(self, on: Event) -> str | None:
        try:
            with self.guard.write("b", depends_on=on):
                return None
        except StaleReadError as error:
            return error.findings[0].reason


def test_a_cached_value_keeps_the_instant_of_its_source() -> None:
    """A write after that instant supersedes it, though the read began later; a write before does not."""
    cache = Cache()
    cache.clock.seconds = 90
    cache.guard.record_write("a")
    cache.clock.seconds = 100
    _, after = with_event(cache.get, cache.at(91))
    _, tie = with_event(cache.get, cache.at(90))
    _, before = with_event(cache.get, cache.at(89))
    assert after.observed_at == cache.at(91)
    assert (cache.reason(after), cache.reason(tie), cache.reason(before)) == (None, None, "superseded")


def test_what_overlaps_a_read_does_not_touch_what_it_saw_before() -> None:
    """An instant is no interval: the write is after it, not beside it."""
    cache = Cache()

    @cache.guard.tool(reads="a", observed_at=lambda seen: seen)
    def get() -> datetime:
        cache.guard.record_write("a")
        return cache.at(99)

    _, read = with_event(get)
    assert cache.reason(read) == "superseded"


def test_age_counts_from_the_instant_seen() -> None:
    """Not from when the cache was asked; at the boundary it is fresh."""
    cache = Cache()
    _, read = with_event(cache.get, cache.at(90))
    cache.clock.seconds = 120
    assert cache.reason(read) is None
    cache.clock.seconds = 120.000001
    assert cache.reason(read) == "expired"


def test_the_end_of_the_read_is_the_last_instant_it_can_have_seen() -> None:
    """As far as its own end; later is an error, and nothing can rest on the read."""
    cache = Cache()
    assert cache.get(cache.at(101)) == cache.at(101)
    with pytest.raises(GuardError, match="after the read's end: its clock must be the log's"):
        cache.get(cache.at(102.000001))
    assert [each.outcome for each in cache.guard.log.events()] == ["ok", "error"]


def test_what_was_seen_at_the_very_end_was_seen_at_the_end() -> None:
    """A write of someone else's that began no later may have been before it."""
    cache = Cache()
    _, read = with_event(cache.get, cache.at(101))
    cache.clock.seconds = 110
    cache.guard.record_write("a", since=cache.at(100.5))
    assert cache.reason(read) == "overlapped"


def test_what_could_land_no_longer_did_not_come_after_what_was_seen_later() -> None:
    """Of two times between which nothing happened the later one is later."""
    for seen, reason in ((105, "unknown-outcome"), (106, None)):
        cache = Cache()
        with pytest.raises(TimeoutError), cache.guard.write("a", may_land_for_seconds=5.5):
            raise TimeoutError
        cache.clock.seconds = 109
        _, read = with_event(cache.get, cache.at(seen))
        assert cache.reason(read) == reason


def test_an_instant_that_is_yet_to_come_is_told_and_not_rested_on_when_not_enforced(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The value goes through; the read counts as an error."""
    cache = Cache(mode="warn")
    with caplog.at_level(logging.WARNING):
        assert cache.get(cache.at(500)) == cache.at(500)
    assert [each.outcome for each in cache.guard.log.events()] == ["error"]
    assert len(caplog.records) == 1


@pytest.mark.parametrize("seen", [datetime(2026, 7, 30), 7, "2026-07-30"])
def test_an_instant_has_a_zone(seen: Any) -> None:
    """What is none is a fault: nothing is taken for an instant in silence."""
    cache = Cache()
    with pytest.raises(GuardError, match=r"observed_at=.* is no datetime with a time zone"):
        cache.get(seen)


def test_none_says_that_it_was_read_just_now() -> None:
    """A cache that was missed: the read has its own interval."""
    cache = Cache()
    _, read = with_event(cache.get, None)
    assert read.observed_at is None
    assert cache.reason(read) is None


def test_what_was_seen_before_all_that_is_held_is_not_fresh() -> None:
    """A write that was dropped may have come between the source and the cache."""
    from intervalguard.logs import MemoryLog

    clock = Clock()
    guard = Guard(MemoryLog(max_events=3, clock=clock), wait_seconds=0)

    @guard.tool(reads=lambda name: name, observed_at=lambda seen: seen)
    def get(name: str, seen: float) -> datetime:
        return BASE + timedelta(seconds=seen)

    clock.seconds = 10
    guard.record_write("a")
    for second in range(20, 40):
        clock.seconds = second
        guard.record_write("x")
    _, old = with_event(get, "a", 5)
    _, new = with_event(get, "a", 39)
    _, quiet = with_event(get, "quiet", 5)

    def reason(on: Event) -> str | None:
        raws = judged(guard.log, [guard.log.number_of(on.id)])
        return guard.log.findings(raws, "e")[0].reason if raws else None

    assert (reason(old), reason(new), reason(quiet)) == ("history-dropped", None, None)


def test_a_write_has_no_instant_that_it_saw() -> None:
    """Of a tool that reads and writes the read alone is old."""
    guard = guard_at(Clock(100))

    @guard.tool(reads="a", writes="b", observed_at=lambda seen: seen, version=lambda seen: "v")
    def move() -> datetime:
        return BASE

    move()
    event = last_event()
    assert event is not None
    events = {each.name: each for each in guard.log.events()}
    assert (events["a"].observed_at, events["b"].observed_at) == (BASE, None)


def counted() -> tuple[Guard, dict[str, int], dict[str, Any]]:
    """A guard over one order whose version counts its changes, and is probed."""
    guard, order = Guard(wait_seconds=5, refuse="stale"), {"rev": 0, "refunded": 0}
    get = guard.tool(reads="orders/{id}", version=lambda read: read["rev"], probe=lambda name: order["rev"])

    @get
    def read(id: str) -> dict[str, int]:
        return dict(order)

    @guard.tool(writes="orders/{id}/refunded", rests_on="orders/{id}")
    def refund(id: str) -> None:
        order["rev"] += 1
        order["refunded"] += 1

    @guard.tool(writes="orders/{id}/note", rests_on=[])
    def note(id: str) -> None:
        order["rev"] += 1

    return guard, order, {"read": read, "refund": refund, "note": note}


def test_a_version_that_the_sessions_own_write_changed_is_no_surprise() -> None:
    """A write of one's own changes the version, and one knows of it: the next write is not refused."""
    guard, order, tools = counted()
    with guard.session("desk"):
        tools["read"]("1")
        tools["refund"]("1")
        tools["refund"]("1")
    assert order["refunded"] == 2


def test_a_version_that_a_write_to_another_part_changed_says_nothing_of_this_one() -> None:
    """What rests on a part is not refused because the whole has another version, if the log tells of a write beside it."""
    guard, order, tools = counted()
    with guard.session("desk"):
        tools["read"]("1")
        (read,) = guard.log.events()
        with guard.session("other"):
            tools["note"]("1")
        with guard.write("orders/1/refunded", depends_on=Dependency(read.id, "orders/1/refunded")):
            order["refunded"] += 1
        with pytest.raises(StaleReadError, match="superseded"):
            tools["refund"]("1")
    assert order["refunded"] == 1


def test_the_version_is_looked_at_again_after_a_wait() -> None:
    """What was looked at before a wait for another's write says nothing of what that write left."""
    guard, order, tools = counted()
    with guard.session("one"):
        tools["read"]("1")
    with guard.session("two"):
        tools["read"]("1")
    inside, go = threading.Event(), threading.Event()

    @guard.tool(writes="orders/{id}/refunded", rests_on="orders/{id}")
    def slow(id: str) -> None:
        inside.set()
        assert go.wait(30)
        order["rev"] += 1
        order["refunded"] += 1

    def first() -> None:
        with guard.session("one"):
            slow("1")

    def second() -> None:
        with guard.session("two"), pytest.raises(StaleReadError) as caught:
            tools["refund"]("1")
        reasons.append(caught.value.findings[0].verdict)

    reasons: list[str] = []
    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    assert inside.wait(30)
    threads[1].start()
    while not guard.log._waiters and threads[1].is_alive():
        time.sleep(0.001)
    go.set()
    for each in threads:
        each.join()
    assert (order["refunded"], reasons) == (1, ["stale"])


def test_a_version_that_ones_own_write_left_is_probed_too() -> None:
    """Who rests on what it wrote learns from the probe that someone has changed it behind the guard's back."""
    guard, order = Guard(), {"rev": 0}

    @guard.tool(writes="orders/1", rests_on=[], version=lambda result: result, probe=lambda name: order["rev"])
    def put() -> int:
        order["rev"] += 1
        return order["rev"]

    put()
    (written,) = guard.log.events()
    with guard.write("ledger", depends_on=written):
        pass
    order["rev"] += 1
    with pytest.raises(StaleReadError, match="its version changed"), guard.write("mail", depends_on=written):
        pass
