"""Calls in calls: the parent is recorded, ancestors never block, siblings do, and nobody waits in a circle."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from typing import Any

import pytest
from helpers import LONG, Thread, guard_at, outcomes, settled, wait_for

from intervalguard import ConflictError, GuardError, StaleReadError, with_event


def parents(guard: Any) -> dict[str, str | None]:
    """The name of each call's parent, by its own name."""
    names = {each.id: each.name for each in guard.log.events()}
    return {each.name: None if each.parent is None else names[each.parent] for each in guard.log.events()}


def test_a_call_made_inside_another_has_it_as_its_parent() -> None:
    """Sync in sync, async in async, sync in async, and after the inner one ended the outer one again."""
    guard = guard_at()

    @guard.tracked("{name}", writes=False)
    def get(name: str) -> None: ...

    @guard.tracked("outer", writes=True)
    def outer() -> None:
        get("one")
        middle()
        get("two")

    @guard.tracked("middle", writes=True)
    def middle() -> None:
        get("inner")

    @guard.tracked("async", writes=True)
    async def later() -> None:
        get("three")
        await asyncio.sleep(0)
        async with guard.write("block"):
            get("four")

    outer()
    asyncio.run(later())
    get("apart")
    assert parents(guard) == {
        "outer": None, "one": "outer", "middle": "outer", "inner": "middle", "two": "outer",
        "async": None, "three": "async", "block": "async", "four": "block", "apart": None,
    }  # fmt: skip


def test_a_call_that_was_refused_or_raised_is_no_ones_parent() -> None:
    """What is called after it stands where it stood."""
    guard = guard_at()
    with guard.read("x") as read:
        pass
    guard.record_write("x")
    with guard.write("outer"):
        with pytest.raises(StaleReadError), guard.write("y", depends_on=read.event):
            pytest.fail("the body ran")
        with pytest.raises(ValueError), guard.write("z"):  # noqa: PT011
            raise ValueError
        with guard.read("after"):
            pass
    assert parents(guard)["after"] == "outer"


def test_an_ancestor_never_blocks() -> None:
    """A nested call may read and write what its ancestors write, and what they rest on, at any depth."""
    guard = guard_at()
    with guard.read("y") as read:
        pass
    with guard.write("x", depends_on=read.event), guard.write("x/part"), guard.write("x"):
        with guard.read("x") as inner:
            pass
        with guard.write("y"):
            pass
        with guard.write("z", depends_on=inner.event):
            pass
    assert {each[2] for each in outcomes(guard)} == {"ok"}


def test_siblings_block_each_other() -> None:
    """Two calls in one parent that write the same thing at once: the second loses, at once."""
    guard = guard_at(wait_seconds=LONG)

    @guard.tracked("part", writes=True)
    async def part(go: asyncio.Event) -> None:
        await go.wait()

    @guard.tracked("whole", writes=True)
    async def whole() -> None:
        go = asyncio.Event()
        first = asyncio.create_task(part(go))
        await asyncio.sleep(0)
        with pytest.raises(ConflictError) as caught:
            await part(go)
        assert caught.value.blocker.name == "part"
        go.set()
        await first
        await part(go)

    asyncio.run(asyncio.wait_for(whole(), LONG))
    assert [each[1:] for each in outcomes(guard)] == [("whole", "ok"), ("part", "ok"), ("part", "refused"), ("part", "ok")]


def test_a_nested_write_supersedes_what_a_sibling_rests_on() -> None:
    """The parent's own children are strangers to each other: the second rests on what the first overwrote."""
    guard = guard_at()
    with guard.read("x") as read:
        pass
    with guard.write("whole"):
        with guard.write("x"):
            pass
        with pytest.raises(StaleReadError), guard.write("y", depends_on=read.event):
            pytest.fail("the body ran")


def test_what_a_call_does_inside_itself_does_not_make_its_result_stale() -> None:
    """A derived read whose nested call writes what it rests on is not withheld; a stranger's write is another matter."""
    guard = guard_at()
    with guard.read("order") as read:
        pass
    with guard.read("summary", depends_on=read.event), guard.write("order/note"):
        pass
    assert {each[2] for each in outcomes(guard)} == {"ok"}


def test_a_younger_nested_call_dies_and_an_older_one_waits() -> None:
    """Wait-die: a nested call waits for calls whose outermost is younger than its own, and loses to older ones at once."""
    guard = guard_at(wait_seconds=LONG)
    old, young = guard.write("old"), guard.write("young")
    contexts = contextvars.Context(), contextvars.Context()
    contexts[0].run(old.__enter__)
    contexts[1].run(young.__enter__)
    by_old, by_young = guard.write("a"), guard.write("b")
    contexts[0].run(by_old.__enter__)
    contexts[1].run(by_young.__enter__)
    with pytest.raises(ConflictError):
        contexts[1].run(guard.write("a").__enter__)
    waiting = guard.write("b")
    thread = Thread(contexts[0].run, waiting.__enter__)
    while not guard.log._waiters and thread.is_alive():
        time.sleep(0.0005)
    by_young.__exit__(None, None, None)
    thread.get()
    for block in (waiting, by_old, young, old):
        block.__exit__(None, None, None)
    assert settled(guard)


def test_a_read_in_a_nested_call_goes_ahead_where_it_may_not_wait() -> None:
    """A read that would have to wait for an older call's write goes ahead at once, and is suspect for what rests on it."""
    guard = guard_at(wait_seconds=LONG)
    held = guard.write("x")
    contextvars.Context().run(held.__enter__)
    with guard.write("outer"), guard.read("x") as read:
        pass
    assert read.event.outcome == "ok"
    held.__exit__(None, None, None)
    with pytest.raises(StaleReadError), guard.write("y", depends_on=read.event):
        pytest.fail("the body ran")


def test_a_background_task_that_outlives_its_parent_is_not_in_it_any_more() -> None:
    """While the parent runs, its tasks' calls are inside it; from its end on they stand alone."""
    guard = guard_at()
    go = []

    async def background(ended: asyncio.Event) -> None:
        async with guard.write("early"):
            pass
        await ended.wait()
        async with guard.write("late"):
            pass

    @guard.tracked("parent", writes=True)
    async def parent(ended: asyncio.Event) -> None:
        go.append(asyncio.create_task(background(ended)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def main() -> None:
        ended = asyncio.Event()
        async with guard.write("grand"):
            await parent(ended)
            ended.set()
            await go[0]

    asyncio.run(main())
    assert parents(guard) == {"grand": None, "parent": "grand", "early": "parent", "late": "grand"}


def test_a_background_task_of_a_call_that_ended_blocks_as_a_stranger() -> None:
    """The parent's own later children wait for it no more than for anyone: it is no ancestor and no sibling."""
    guard = guard_at(wait_seconds=0)
    held: list[Any] = []

    @guard.tracked("parent", writes=True)
    def parent() -> None:
        held.append(contextvars.copy_context())

    parent()
    block = guard.write("x")
    held[0].run(block.__enter__)
    assert block.event.parent is None
    with pytest.raises(ConflictError), guard.write("x"):
        pytest.fail("the body ran")
    block.__exit__(None, None, None)


def test_a_call_on_another_log_is_not_inside() -> None:
    """The parent is the innermost call on the same log: a guard of another log in between changes nothing."""
    one, other = guard_at(), guard_at()
    with one.write("outer"), other.write("middle"), one.write("inner"):
        pass
    assert parents(one) == {"outer": None, "inner": "outer"}
    assert parents(other) == {"middle": None}


def test_threads_that_nest_calls_in_every_order_do_not_deadlock() -> None:
    """Each takes two or three of a few resources, nested, in an order of its own, and again where it lost: all finish."""
    guard = guard_at(wait_seconds=LONG)
    names = ["a", "b", "c", "a/x"]
    start = threading.Barrier(6)
    count = [0]

    def worker(number: int) -> None:
        start.wait(LONG)
        for turn in range(25):
            picked = [names[(number + turn * each) % 4] for each in (1, 2, 3)][: 2 + number % 2]
            while True:
                try:
                    take(picked)
                    break
                except ConflictError:
                    continue
        count[0] += 1

    def take(left: list[str]) -> None:
        if left:
            with guard.write(left[0]):
                take(left[1:])

    threads = [Thread(worker, each) for each in range(6)]
    for thread in threads:
        thread.get()
    assert count == [6]
    assert settled(guard)


def test_threads_that_rest_on_each_others_resources_do_not_deadlock() -> None:
    """Reads, pins and nested writes over crossed resources: all finish, and nobody acts on what moved."""
    guard = guard_at(wait_seconds=LONG)
    values = {"a": 0, "b": 0}
    start = threading.Barrier(4)

    @guard.tracked("{name}", writes=False)
    def get(name: str) -> int:
        return values[name]

    @guard.tracked("{name}", writes=True)
    def put(name: str, seen: int, other: str) -> None:
        with guard.read(f"log/{other}"):
            pass
        assert values[other] == seen
        values[name] += 1

    def worker(number: int) -> None:
        mine, other = ("a", "b") if number % 2 else ("b", "a")
        start.wait(LONG)
        for _ in range(40):
            while True:
                seen, read = with_event(get, other)
                try:
                    put(mine, seen, other, depends_on=read)
                    break
                except GuardError:
                    continue

    for thread in [Thread(worker, each) for each in range(4)]:
        thread.get()
    assert values == {"a": 80, "b": 80}


def test_a_bound_function_runs_inside_the_call_that_bound_it() -> None:
    """Through a session's bind the enclosing call goes along into a thread; without it the thread starts afresh."""
    guard = guard_at()

    def work(name: str) -> None:
        with guard.read(name):
            pass

    with guard.session("s") as session, guard.write("outer"):
        Thread(session.bind(work), "bound").get()
        Thread(work, "free").get()
    bound = session.bind(work)
    Thread(bound, "after").get()
    assert parents(guard) == {"outer": None, "bound": "outer", "free": None, "after": None}
    assert {each.name: each.session for each in guard.log.events()} == {
        "outer": "s", "bound": "s", "free": None, "after": "s"
    }  # fmt: skip


def test_a_parent_that_ends_while_its_child_waits_lets_it_go_through() -> None:
    """A child that began to wait inside its parent is admitted when its blocker ends, whatever the parent did."""
    guard = guard_at(wait_seconds=LONG)
    asked = threading.Event()
    contexts = contextvars.Context(), contextvars.Context()
    parent, blocker, child = guard.write("parent"), guard.write("x"), guard.write("x")
    contexts[0].run(parent.__enter__)
    contexts[1].run(blocker.__enter__)

    def enter() -> None:
        asked.set()
        child.__enter__()

    thread = Thread(contexts[0].run, enter)
    wait_for(asked)
    while not guard.log._waiters and thread.is_alive():
        time.sleep(0.0005)
    parent.__exit__(None, None, None)
    blocker.__exit__(None, None, None)
    thread.get()
    assert child.event.parent is None
    child.__exit__(None, None, None)
    assert settled(guard)
