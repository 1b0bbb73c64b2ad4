"""Writers outside of the guard, and writes of which nobody knows what became: `record_write`, `settle`, and their time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from helpers import BASE, Clock, Thread, guard_at, outcomes
from judging import judged

from intervalguard import ConflictError, Event, Guard, StaleReadError, UnknownDependencyError
from intervalguard.logs import MemoryLog


class World:
    """A guard on a clock that one sets, and short ways to act."""

    def __init__(self, **options: Any) -> None:
        self.clock = Clock()
        self.guard = guard_at(self.clock, **options)

    def read(self, name: str = "a", begin: float | None = None, end: float | None = None) -> Event:
        self.at(begin)
        with self.guard.read(name) as block:
            self.at(end)
        return block.event

    def at(self, seconds: float | None) -> None:
        if seconds is not None:
            self.clock.seconds = seconds

    def lose(self, name: str = "a", error: BaseException | None = None, **options: Any) -> Event:
        """A write that is lost."""
        block = self.guard.write(name, **options)
        with pytest.raises(BaseException), block:  # noqa: B017, PT011
            raise error or TimeoutError()
        return block.event

    def reason(self, *on: Event) -> str | None:
        """Why a write that rests on these is refused, if it is."""
        try:
            with self.guard.write("b", depends_on=on):
                return None
        except (StaleReadError, UnknownDependencyError) as error:
            return error.findings[0].reason


@pytest.fixture
def world() -> World:
    return World()


def at(seconds: float) -> datetime:
    return BASE + timedelta(seconds=seconds)


# ---------------------------------------------------------------------------------------------- record_write


def test_a_write_of_someone_else_supersedes(world: World) -> None:
    """It is a write like any other, with the name of who made it; now, unless it says since when."""
    read = world.read(end=1)
    world.at(2)
    event = world.guard.record_write("a/b", tool="webhook", agent="shop")
    assert (event.kind, event.outcome, event.start_time, event.end_time) == ("write", "ok", at(2), at(2))
    assert (event.tool, event.agent, event.session, event.depends_on) == ("webhook", "shop", None, ())
    assert world.reason(read) == "superseded"
    assert world.reason(world.read()) is None
    assert world.guard.log.events()[1] == event


@pytest.mark.parametrize(
    ("since", "reason"),
    [
        (None, "superseded"),
        (11, "superseded"),
        (10, "superseded"),
        (9, "overlapped"),
        (5, "overlapped"),
        (-99, "overlapped"),
    ],
)
def test_since_says_how_far_back_it_may_have_been(world: World, since: float | None, reason: str) -> None:
    """The read ended at 10: a write since later is after it, a write since earlier may have been before it."""
    world.read("x", 0, 1)
    read = world.read("a", 8, 10)
    world.read("x", 12, 13)
    world.at(20)
    event = world.guard.record_write("a", since=None if since is None else at(since))
    assert event.end_time == at(20)
    assert world.reason(read) == reason


def test_a_write_since_before_a_read_leaves_reads_after_it_fresh(world: World) -> None:
    """It was over when they began."""
    world.read("a", 8, 10)
    world.guard.record_write("a", since=at(5))
    assert world.reason(world.read()) is None


def test_since_reaches_derived_reads_that_were_judged_before(world: World) -> None:
    """What was found fresh is not remembered against a write that comes in late."""
    source = world.read("a", 0, 1)
    world.at(2)
    with world.guard.read("sum", depends_on=source) as derived:
        pass
    assert world.reason(derived.event) is None
    world.at(9)
    world.guard.record_write("a", since=at(3))
    assert world.reason(derived.event) == "superseded"


def test_since_yet_to_come_is_now(world: World) -> None:
    """Another machine's clock may run ahead, and this log's may stand still while the machine sleeps: no write is lost."""
    event = world.guard.record_write("a", since=at(50))
    assert (event.start_time, event.end_time) == (at(0), at(0))


@pytest.mark.parametrize("since", [datetime(2026, 7, 30), 7, "2026-07-30"])
def test_since_has_a_zone(world: World, since: Any) -> None:
    """A time without one names no instant."""
    with pytest.raises(ValueError, match=r"since=.* is no datetime with a time zone"):
        world.guard.record_write("a", since=since)


@pytest.mark.parametrize("name", ["", "/a", "a//b"])
def test_a_name_is_one(world: World, name: str) -> None:
    """And nothing is recorded where it is not."""
    with pytest.raises(ValueError, match="empty segment"):
        world.guard.record_write(name)
    with pytest.raises(ValueError, match=r"it is no template, so \{oid\} in it stands for nothing"):
        world.guard.record_write("orders/{oid}")
    assert world.guard.log.events() == []


def test_a_write_of_someone_else_waits_for_nobody(world: World) -> None:
    """It has happened: what is pinned or being written does not hold it back, and it is found at the end."""
    read = world.read("a")

    @world.guard.tool(reads="sum")
    def add() -> None:
        world.guard.record_write("a")

    with pytest.raises(StaleReadError):
        add(depends_on=read)
    with world.guard.write("a"):
        Thread(world.guard.record_write, "a").get()
    assert [outcome for kind, _, outcome in outcomes(world.guard) if kind == "write"] == ["ok", "ok", "ok"]


def test_since_before_all_that_is_held_is_no_proof_of_order() -> None:
    """What the log dropped may lie between: an old read in use overlaps the write, it is not called superseded."""
    clock = Clock()
    guard = Guard(MemoryLog(max_events=3, clock=clock), wait_seconds=0)
    clock.seconds = 10
    with guard.read("a") as read:
        clock.seconds = 20
    with guard.write("z", depends_on=read.event):
        for second in range(30, 60):
            clock.seconds = second
            Thread(lambda: guard.read("x").__enter__().__exit__(None, None, None)).get()
        event = guard.record_write("a", since=at(15))
        assert event.start_time == at(15)
        raws = judged(guard.log, [guard.log.number_of(read.event.id)])
        assert next(each.message for each in guard.log.findings(raws, "e")).startswith("event 'a'")
        assert [each.reason for each in guard.log.findings(raws, "e")] == ["overlapped"]


# ------------------------------------------------------------------------------------------- lost writes


def test_reads_are_suspect_until_a_lost_write_is_settled(world: World) -> None:
    """It may land at any time: reads before it and after it are suspect, and reading again does not heal that."""
    before = world.read()
    lost = world.lose()
    after = world.read()
    assert (lost.outcome, world.guard.log.events()[1].end_seq is not None) == ("unknown", True)
    assert world.reason(before) == world.reason(after) == "unknown-outcome"
    assert world.reason(world.read()) == "unknown-outcome"


@pytest.mark.parametrize(
    ("outcome", "before", "after", "later"),
    [
        ("ok", "superseded", "overlapped", None),
        ("failed", None, None, None),
        ("error", "unknown-outcome", "unknown-outcome", None),
    ],
)
def test_what_a_lost_write_turned_out_to_be(
    world: World, outcome: Any, before: str | None, after: str | None, later: str | None
) -> None:
    """Settled, it is over: it took effect, or not, or nobody will ever know, and a new read knows."""
    old = world.read()
    lost = world.lose()
    mid = world.read()
    event = world.guard.settle(lost.id, outcome)
    assert (event.id, event.outcome, event.end_time) == (lost.id, outcome, at(0))
    assert (world.reason(old), world.reason(mid), world.reason(world.read())) == (before, after, later)


@pytest.mark.parametrize("outcome", ["ok", "failed", "error"])
@pytest.mark.parametrize("name", ["x", "x/y"])
def test_what_a_lost_write_turned_out_to_be_ends_no_other(outcome: Any, name: str) -> None:
    """While another write is in flight, of the same resource or below it, that one still holds what it writes."""
    guard = guard_at()
    with pytest.raises(TimeoutError), guard.write("x"):
        raise TimeoutError
    lost = guard.log.events()[0]
    with guard.write(name):
        guard.settle(lost.id, outcome)
        with pytest.raises(ConflictError):
            Thread(lambda: guard.write("x").__enter__()).get()
    with guard.write("x"):
        pass


def test_a_call_is_settled_once(world: World) -> None:
    """A second word on it is an error, whatever it says."""
    lost = world.lose()
    world.guard.settle(lost.id, "failed")
    for outcome in ("failed", "ok"):
        with pytest.raises(ValueError, match="is 'failed': only an unknown call can be settled"):
            world.guard.settle(lost.id, outcome)  # type: ignore[arg-type]
    assert outcomes(world.guard) == [("write", "a", "failed")]


def test_only_what_is_unknown_can_be_settled(world: World) -> None:
    """Neither what ended well, nor what is running, nor an id of elsewhere."""
    read = world.read()
    with pytest.raises(ValueError, match="is 'ok': only an unknown call"):
        world.guard.settle(read.id, "failed")
    with world.guard.write("a") as block, pytest.raises(ValueError, match="is 'pending': only an unknown call"):
        world.guard.settle(block.event.id, "ok")
    for id in ("nobody", "", "-1", World().read().id):
        with pytest.raises(LookupError, match="is no event that the log holds"):
            world.guard.settle(id, "ok")
    with pytest.raises(TypeError, match=r"pass event\.id"):
        world.guard.settle(read, "ok")  # type: ignore[arg-type]


@pytest.mark.parametrize("outcome", ["unknown", "pending", "refused", "done", None, ["ok"]])
def test_a_call_is_settled_to_one_of_three(world: World, outcome: Any) -> None:
    """The others are no answers."""
    lost = world.lose()
    with pytest.raises(ValueError, match="is not one of 'ok', 'failed', 'error'"):
        world.guard.settle(lost.id, outcome)


def test_all_events_of_a_lost_call_are_settled(world: World) -> None:
    """By the id of any of them."""

    @world.guard.tool(writes=["a", "b"], reads="c")
    def move() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        move()
    world.guard.settle(world.guard.log.events()[1].id, "failed")
    assert [outcome for _, _, outcome in outcomes(world.guard)] == ["failed"] * 3


def test_what_was_derived_from_a_lost_read_hears_that_it_is_settled(world: World) -> None:
    """It rested on no result, and that was remembered; once the read is known to have worked it rests on one."""
    block = world.guard.read("a")
    with pytest.raises(TimeoutError), block:
        raise TimeoutError
    with world.guard.read("sum", depends_on=block.event, mode="observe") as derived:
        pass
    assert world.reason(derived.event) == "no-result"
    world.guard.settle(block.event.id, "ok")
    assert world.reason(derived.event) is None


# ---------------------------------------------------------------------------------------------- may land


def test_a_lost_write_may_land_for_so_long(world: World) -> None:
    """To the very end of its time it may; a microsecond later it counts as an error that ended then."""
    world.at(1)
    lost = world.lose(may_land_for_seconds=10)
    assert lost.may_land_until == at(11)
    world.at(11)
    assert world.reason(world.read()) == "unknown-outcome"
    within = world.read()
    world.at(11.000001)
    assert world.reason(within) == "unknown-outcome"
    assert world.reason(world.read()) is None
    assert world.guard.log.events()[0].outcome == "unknown"


def test_what_can_land_no_longer_cannot_be_settled(world: World) -> None:
    """It counts as an error; until then it can."""
    first, second = (world.lose(may_land_for_seconds=10) for _ in range(2))
    world.at(10)
    assert world.guard.settle(first.id, "ok").may_land_until is None
    world.at(10.5)
    with pytest.raises(ValueError, match="can land no longer"):
        world.guard.settle(second.id, "ok")


def test_what_was_settled_does_not_lapse(world: World) -> None:
    """What is known of it stays known when its time is over."""
    world.guard.settle(world.lose(may_land_for_seconds=10).id, "failed")
    read = world.read("a", 1, 2)
    world.at(20)
    assert world.reason(read) is None


def test_only_a_lost_write_gets_a_time(world: World) -> None:
    """One that ended well or raised is over."""
    with world.guard.write("a", may_land_for_seconds=10) as block:
        pass
    assert block.event.may_land_until is None
    assert world.lose(error=ValueError(), may_land_for_seconds=10).may_land_until is None


def test_a_time_without_end_is_told(world: World) -> None:
    """A bound that no calendar holds does not break the log."""
    world.lose(may_land_for_seconds=1e15)
    assert world.guard.log.events()[0].outcome == "unknown"


def test_a_lost_write_does_not_block_others(world: World) -> None:
    """Nobody waits for what may never end."""
    world.lose()
    with world.guard.write("a"):
        pass
    assert outcomes(world.guard)[-1] == ("write", "a", "ok")
