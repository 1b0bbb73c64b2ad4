"""Threads, executors and forks: one log, one order, nothing lost and nothing counted twice."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from helpers import BASE, LONG, Thread, guard_at, outcomes, settled, wait_for

from intervalguard import ConflictError, Event, Guard, GuardError, StaleReadError, last_event, with_event
from intervalguard.kernel.events import conflict
from intervalguard.kernel.views import Entry
from intervalguard.logs import MemoryLog


@pytest.fixture(autouse=True)
def _quick_switches() -> Any:
    """Threads change places far more often than they do by themselves."""
    was = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(was)


def together(count: int, work: Callable[[int], Any]) -> list[Any]:
    """``work`` in ``count`` threads that begin at once."""
    barrier = threading.Barrier(count)

    def begin(number: int) -> Any:
        barrier.wait(LONG)
        return work(number)

    return [thread.get() for thread in [Thread(begin, each) for each in range(count)]]


def test_eight_threads_keep_one_counter_exact() -> None:
    """Read, then write back what was read plus one, and again where refused: not one increment is lost."""
    guard = guard_at(wait_seconds=LONG)
    value = [0]

    @guard.tracked("counter", writes=False)
    def get() -> int:
        return value[0]

    @guard.tracked("counter", writes=True)
    def put(new: int) -> None:
        value[0] = new

    refusals: list[type] = []

    def worker(number: int) -> None:
        for _ in range(60):
            while True:
                old, read = with_event(get)
                try:
                    put(old + 1, depends_on=read)
                    break
                except GuardError as error:
                    refusals.append(type(error))

    together(8, worker)
    assert value == [480]
    assert settled(guard)
    assert set(refusals) <= {StaleReadError, ConflictError}
    assert [each[2] for each in outcomes(guard)].count("refused") == len(refusals)


def test_a_call_that_reads_and_writes_is_one_step() -> None:
    """With both in one call nothing is refused and nothing retried: the calls wait for each other."""
    guard = guard_at(wait_seconds=LONG)
    value = [0]

    @guard.tool(reads=["counter"], writes=["counter"])
    def increment() -> None:
        old = value[0]
        with guard.read("elsewhere"):
            pass
        value[0] = old + 1

    together(8, lambda number: [increment() for _ in range(25)])
    assert value == [200]
    assert {each[2] for each in outcomes(guard)} == {"ok"}


def test_the_log_is_in_one_order() -> None:
    """Both ends of all events of many threads are numbered from one counter, without a gap or a double."""
    guard = guard_at(wait_seconds=LONG)

    def worker(number: int) -> None:
        for each in range(100):
            with guard.read(f"{number}/{each % 3}"):
                pass

    together(4, worker)
    events = guard.log.events()
    numbers = sorted(number for each in events for number in (each.seq, each.end_seq))
    assert numbers == list(range(1, 801))
    assert [each.seq for each in events] == sorted(each.seq for each in events)
    times = {each.seq: each.start_time for each in events} | {each.end_seq: each.end_time for each in events}
    assert [times[each] for each in numbers] == sorted(times.values())


def test_conflicting_writes_never_overlap() -> None:
    """Of writes to one resource and to those above and below it, each ends before the next begins."""
    guard = guard_at(wait_seconds=LONG)
    names = ["a", "a/b", "a/c", "d"]

    def worker(number: int) -> None:
        for each in range(40):
            with guard.write(names[(number * 3 + each) % 4]):
                pass

    together(6, worker)
    events = guard.log.events()
    for place, one in enumerate(events):
        for other in events[place + 1 :]:
            assert not conflict(one.name, other.name) or one.end_seq < other.seq


def test_no_admitted_write_takes_effect_on_a_superseded_premise() -> None:
    """Derived facts, pins, conflicts and retries by many threads: at the effect, what it rests on still is what was read."""
    guard = guard_at(wait_seconds=LONG)
    world = dict.fromkeys("abc", 0)
    wrong: list[Any] = []

    @guard.tracked("{name}", writes=False)
    def get(name: str) -> int:
        return world[name]

    @guard.tracked("sum/{one}/{other}", writes=False)
    def total(one: str, other: str) -> tuple[int, Event, Event]:
        left, first = with_event(get, one)
        right, second = with_event(get, other)
        return left + right, first, second

    @guard.tracked("{name}", writes=True)
    def put(name: str, one: str, other: str, seen: int) -> None:
        if world[one] + world[other] != seen:
            wrong.append((name, one, other))
        world[name] += 1

    @guard.tracked("derived/{one}/{other}", writes=False)
    def derive(one: str, other: str, value: int) -> int:
        return value

    def worker(number: int) -> None:
        one, other, name = ("abc", "bca", "cab")[number % 3]
        for _ in range(30):
            while True:
                try:
                    value, first, second = total(one, other)
                    value, fact = with_event(derive, one, other, value, depends_on=[first, second])
                    put(name, one, other, value, depends_on=fact)
                    break
                except GuardError:
                    continue

    together(6, worker)
    assert wrong == []
    assert sum(world.values()) == 180


def test_an_event_may_be_looked_at_while_it_ends() -> None:
    """The events of a log that is being written are whole at each moment: open, or ended with an end and an outcome."""
    guard = Guard(MemoryLog(max_events=50), wait_seconds=0)
    stop = threading.Event()

    def look(number: int) -> int:
        looks = 0
        while not stop.is_set():
            for each in guard.log.events():
                assert (each.outcome == "pending") == (each.end_time is None) == (each.end_seq is None)
            event = last_event()
            assert event is None or event.outcome
            looks += 1
        return looks

    def write(number: int) -> None:
        try:
            for _ in range(3000):
                with guard.read("x") as block:
                    assert block.event.outcome == "pending"
        finally:
            stop.set()

    together(3, lambda number: write(number) if number == 0 else look(number))


def test_an_event_is_whole_in_the_middle_of_its_end() -> None:
    """Between any two steps of the settlement, another thread that looks finds the event open or ended, not half."""
    guard = guard_at()
    seen: list[Event] = []
    block = guard.write("x")
    block.__enter__()
    entry = block._running.first  # type: ignore[union-attr]

    class Watched(Entry):
        __slots__ = ()

        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            seen.append(guard.log.event(self))

    entry.__class__ = Watched
    block.__exit__(None, None, None)
    entry.__class__ = Entry
    assert {each.outcome for each in seen} == {"pending", "ok"}


def test_last_event_is_the_threads_own() -> None:
    """Each thread sees the event of its own last call, however they interleave."""
    guard = guard_at()

    def worker(number: int) -> None:
        for each in range(50):
            with guard.read(f"{number}/{each}"):
                pass
            event = last_event()
            assert event is not None
            assert event.name == f"{number}/{each}"

    together(4, worker)


def test_executors_and_to_thread() -> None:
    """A pool's threads start outside any call and session; to_thread goes along with the task's own."""
    guard = guard_at(wait_seconds=LONG)

    @guard.tracked("{name}", writes=False)
    def get(name: str) -> str:
        return name

    async def main() -> None:
        async with guard.session("s") as session, guard.write("outer"):
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                assert list(pool.map(get, ["free"])) == ["free"]
                assert list(pool.map(session.bind(get), ["bound"])) == ["bound"]
                loop = asyncio.get_running_loop()
                assert await loop.run_in_executor(pool, get, "loop") == "loop"
            assert await asyncio.to_thread(get, "thread") == "thread"

    asyncio.run(main())
    events = {each.name: each for each in guard.log.events()}
    outer = events["outer"].id
    assert {name: (each.session, each.parent) for name, each in events.items()} == {
        "outer": ("s", None),
        "free": (None, None),
        "bound": ("s", outer),
        "loop": (None, None),
        "thread": ("s", outer),
    }


# ------------------------------------------------------------------------------------------ fork


def in_child(work: Callable[[], Any]) -> Any:
    """What ``work`` gives in a forked child, as JSON carries it."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            try:
                told = {"result": work()}
            except BaseException:
                told = {"error": traceback.format_exc()}
            with os.fdopen(writing, "w") as pipe:
                json.dump(told, pipe)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    told = json.loads(text)
    assert "error" not in told, told["error"]
    return told["result"]


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@needs_fork
def test_a_forked_child_goes_on_with_a_log_of_its_own() -> None:
    """What was known before the fork may be rested on in both; ids made since do not collide, nor do they pass over."""
    guard = guard_at()
    with guard.read("x") as read:
        pass
    held = read.event

    def child() -> Any:
        with guard.write("y", depends_on=held):
            pass
        with guard.read("z"):
            pass
        grandchild = in_child(lambda: [write("x"), [each.id for each in guard.log.events()]][1])
        return [each.id for each in guard.log.events()], grandchild

    def write(name: str) -> None:
        with guard.write(name):
            pass

    ids, grand = in_child(child)
    with guard.write("y", depends_on=held), guard.read("w"):
        pass
    own = [each.id for each in guard.log.events()]
    assert len({*ids, *grand, *own}) == len({held.id}) + 2 + 1 + 2
    assert held.id in set(ids) & set(grand) & set(own)
    foreign = next(each for each in ids if each not in own)
    with pytest.raises(LookupError), guard.write("y", depends_on=foreign):
        pytest.fail("the body ran")


@needs_fork
def test_calls_that_were_pending_count_as_unknown_in_the_child() -> None:
    """The parent goes on with them, and the child cannot know: nothing there waits for them, and nothing trusts them."""
    guard = guard_at(wait_seconds=LONG)
    with guard.read("x") as read:
        pass
    held = read.event
    block = guard.write("x")
    Thread(block.__enter__).get()

    def child() -> Any:
        told = [each.outcome for each in guard.log.events()]
        try:
            with guard.write("y", depends_on=held):
                return "the body ran"
        except StaleReadError as error:
            told.append(error.findings[0].reason)
        with guard.write("x"):
            pass
        return told

    assert in_child(child) == ["ok", "unknown", "unknown-outcome"]
    block.__exit__(None, None, None)
    assert [each.outcome for each in guard.log.events()] == ["ok", "ok"]


@needs_fork
def test_a_call_that_forks_in_its_body_ends_in_the_parent() -> None:
    """A child made inside a call that makes calls of its own and exits does not touch the parent's call."""
    guard = guard_at()

    @guard.tracked("x", writes=True)
    def put() -> Any:
        def child() -> Any:
            with guard.write("x/part"), guard.read("x"):
                pass
            return [each.outcome for each in guard.log.events()]

        return in_child(child)

    assert put() == ["unknown", "ok", "ok"]
    assert outcomes(guard) == [("write", "x", "ok")]


@needs_fork
def test_the_locks_of_a_child_are_free() -> None:
    """Forked while other threads are in the middle of the log's steps, again and again: the child's log is whole."""
    guard = Guard(MemoryLog(max_events=100), wait_seconds=LONG)
    stop = threading.Event()
    began = threading.Event()

    def worker() -> None:
        while not stop.is_set():
            with guard.write("x"), guard.write("y"):
                began.set()

    threads = [Thread(worker) for _ in range(3)]
    wait_for(began)
    try:
        for _ in range(15):

            def child() -> Any:
                with guard.write("z"):
                    pass
                events = guard.log.events()
                numbers = [n for each in events for n in (each.seq, each.end_seq)]
                return [len(numbers) - len(set(numbers)), sorted({each.outcome for each in events} - {"ok", "unknown"})]

            assert in_child(child) == [0, []]
    finally:
        stop.set()
    for thread in threads:
        thread.get()


@needs_fork
def test_a_fork_waits_for_the_step_that_a_log_is_in() -> None:
    """The child's copy of a log is never one in the middle of a step."""
    clock_in, clock_out = threading.Event(), threading.Event()
    slow = [False]

    def clock() -> Any:
        if slow[0] and threading.current_thread() is not threading.main_thread():
            slow[0] = False
            clock_in.set()
            clock_out.wait(LONG)
        return BASE

    guard = Guard(MemoryLog(clock=clock), wait_seconds=0)

    def work() -> None:
        with guard.write("x"):
            pass

    slow[0] = True
    thread = Thread(work)
    wait_for(clock_in)
    releaser = threading.Timer(0.05, clock_out.set)
    releaser.start()
    assert in_child(lambda: len(guard.log.events())) in (0, 1)
    assert clock_out.is_set()
    thread.get()
    releaser.join()
