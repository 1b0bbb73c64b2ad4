"""Faults that were found by trying to break the guard; each test is of the whole kind."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from helpers import BASE, Clock, guard_at
from hypothesis import given
from hypothesis import strategies as st
from judging import judged

from intervalguard import (
    ConflictError,
    Dependency,
    Event,
    Guard,
    GuardError,
    StaleReadError,
    UnknownDependencyError,
    check_dependencies,
    last_event,
    with_event,
)
from intervalguard.edges.files import read_events, write_events
from intervalguard.kernel.staleness import REASONS
from intervalguard.logs import MemoryLog


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_bare_time_is_placed_rightly_beside_a_call_of_many_names(count: int) -> None:
    """`observed_at=` of a cached read counts from its source's time, whatever long call named its events at its end."""
    clock = Clock()
    guard = guard_at(clock)
    listing = guard.tool(reads=lambda result: result)(lambda body: body())
    write = guard.tool(writes="x", rests_on=[])(lambda: None)

    def body() -> list[str]:
        clock.seconds = 6
        write()
        clock.seconds = 10
        return [f"item/{number}" for number in range(count)]

    listing(body)
    clock.seconds = 12
    cached = guard.tool(reads="x", observed_at=lambda seen: seen)(lambda seen: seen)
    cached(BASE + timedelta(seconds=5.5))
    read = last_event()
    assert read is not None
    assert read.observed_at == BASE + timedelta(seconds=5.5)
    with pytest.raises(StaleReadError, match="superseded"):
        guard.write("y", depends_on=read).__enter__()
    later = Event("y", datetime.max.replace(tzinfo=BASE.tzinfo), depends_on=read)
    assert check_dependencies(later, guard.log.events()) == ["x"]


def test_each_block_and_tool_of_a_session_is_recorded_as_its_own() -> None:
    """A tool that is gone lends its name and its probe to none that comes after it."""
    guard = Guard()
    with guard.session("desk"):
        for number in range(50):
            with guard.write(f"x/{number}", rests_on=[], tool=f"tool{number}"):
                pass
            gc.collect(0)
    assert [each.tool for each in guard.log.events()] == [f"tool{number}" for number in range(50)]


def test_a_probe_is_run_for_a_call_of_another_guard_on_the_same_log() -> None:
    """Who rests on what another guard's tool read has its version looked at too."""
    one, world = Guard(), {"version": 1}
    other = Guard(one.log)
    one.tool(reads="x", version=lambda seen: seen, probe=lambda name: world["version"])(lambda: world["version"])()
    read = last_event()
    world["version"] = 2
    with pytest.raises(StaleReadError, match="its version changed"), other.write("y", depends_on=read):
        pass


def test_an_async_tool_that_gives_a_stream_runs_until_the_stream_ends() -> None:
    """A write is in flight while what its tool gave back has not run."""
    guard, done = Guard(wait_seconds=0), []

    def body() -> Iterator[int]:
        done.append(1)
        yield 1

    async def given() -> Iterator[int]:
        return body()

    async def main() -> None:
        stream = await guard.tool(writes="x", rests_on=[])(given)()
        with pytest.raises(ConflictError):
            guard.write("x").__enter__()
        assert list(stream) == [1]

    asyncio.run(main())
    assert [each.outcome for each in guard.log.events()] == ["ok", "refused"]
    assert done == [1]


def test_a_stream_that_was_left_early_ended_last() -> None:
    """After a loop that was left with break, `last_event()` is the stream's event."""
    guard = Guard()

    @guard.tool(reads="a")
    def before() -> None: ...

    @guard.tool(reads="items")
    def stream() -> Iterator[int]:
        yield from range(10)

    before()
    for _ in stream():
        break
    event = last_event()
    assert event is not None
    assert event.name == "items"


def test_a_stream_in_disguise_has_no_event_yet() -> None:
    """`with_event` of a function that gives back a generator is an error, not another call's event."""
    lazy = Guard().tool(reads="a")(lambda: (each for each in [1]))
    with pytest.raises(TypeError, match="gave a stream"):
        with_event(lazy)


def test_what_a_call_rests_on_does_not_shrink_with_its_siblings() -> None:
    """L4: the event's own dependencies count, also where the list holds other events of its call."""
    day = BASE
    at: Callable[[int], datetime] = lambda seconds: day + timedelta(seconds=seconds)  # noqa: E731
    read, write = Event("x", at(0), at(1), id="r"), Event("x", at(2), at(3), kind="write", id="w")
    mine = Event("y", at(4), at(5), depends_on="r", id="c1", call="c")
    sibling = Event("z", at(4), at(5), id="c2", call="c")
    for events in ([read, write], [read, write, sibling], [read, write, sibling, mine]):
        assert check_dependencies(mine, events) == ["x"]


@pytest.mark.parametrize("place", ["before the body", "in the settlement"])
def test_an_interrupt_leaves_no_call_pending(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that an interrupt tore from its wrapper is lost, not pending for ever."""
    guard = Guard(wait_seconds=0)
    write = guard.tool(writes="x", rests_on=[])(lambda: None)

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        if place == "in the settlement":
            patched.setattr(guard.log, "settle", interrupt)
        else:
            patched.setattr("intervalguard.shell.wrappers.current", type("V", (), {"set": interrupt})())
        with pytest.raises(KeyboardInterrupt):
            write()
    gc.collect()
    assert [each.outcome for each in guard.log.events()] == ["unknown"]
    write()


def test_a_nested_call_whose_parent_is_not_held_is_told_of_the_conflict() -> None:
    """After `clear()` in the middle of a call, a call inside it meets a conflict and no stranger error."""
    guard = Guard(wait_seconds=0)
    with guard.write("a"):
        guard.log.clear()
        hold = contextvars.Context().run(guard.write("x").__enter__)  # as another task holds it
        with pytest.raises(ConflictError):
            guard.write("x").__enter__()
        hold.__exit__(None, None, None)


@pytest.mark.parametrize("mode", ["enforce", "warn", "observe"])
@given(data=st.data())
def test_an_id_that_was_guessed_never_becomes_an_event(mode: Any, data: st.DataObject) -> None:
    """What rests on an id that the log had not given yet stays unverifiable, and harms no call, audit or file after it."""
    guard = guard_at(mode=mode)
    names = st.sampled_from(["a", "a/b", "c", "c/d"])
    made: list[Event] = []
    prefix = with_event(guard.tool(reads="a")(len), "")[1].id.rpartition("-")[0]
    for _ in range(data.draw(st.integers(2, 6))):
        ids = [Dependency(each.id) for each in made]
        guess = f"{prefix}-{guard.log.position() + 0.5 + data.draw(st.integers(0, 7)):.0f}"
        guessed = data.draw(st.sampled_from([Dependency(guess), Dependency(guess, "a/b/x"), *ids]))
        before = len(guard.log)
        held = contextvars.Context().run(guard.write(data.draw(names), mode="observe", depends_on=[guessed]).__enter__)
        block = guard.write(data.draw(names), depends_on=data.draw(st.sampled_from([[], [held.event], ids])))
        with suppress(ConflictError, StaleReadError, UnknownDependencyError), block:
            pass
        held.__exit__(None, None, None)
        assert len(guard.log) == before + 2
        made += [held.event, guard.log.events()[-1]]
        if guessed not in ids:
            (raw,) = judged(guard.log, guard.keys(held.event.depends_on))
            assert REASONS[raw.grade] == "unknown-dependency"
    events = guard.log.events()
    for each in events:
        with suppress(UnknownDependencyError):
            check_dependencies(each, events)
    with tempfile.TemporaryDirectory() as folder:
        write_events(f"{folder}/log.jsonl", events)
        assert list(read_events(f"{folder}/log.jsonl").events) == events


@pytest.mark.parametrize("seen", ["raises", "the future", "no time"])
def test_what_a_mixed_call_could_not_date_is_not_known(seen: str) -> None:
    """What it wrote it wrote; what it read is an error, in the log and to its session."""
    guard = Guard(wait_seconds=0)
    told = {"raises": lambda _: 1 / 0, "the future": lambda _: guard.log.now() + timedelta(days=1), "no time": lambda _: 3}
    get = guard.tool(reads="cache/{key}", writes="audit/{key}", observed_at=told[seen])(lambda key: key)
    mail = guard.tool(writes="mails/{key}", rests_on="cache/{key}")(lambda key: "sent")
    with guard.session("desk"):
        with pytest.raises(GuardError):
            get("1")
        assert {each.kind: each.outcome for each in guard.log.events()} == {"read": "error", "write": "ok"}
        with pytest.raises(UnknownDependencyError):
            mail("1")


@pytest.mark.parametrize("hours", [-2, 2])
def test_an_instant_that_no_clock_has_is_a_fault_at_once(hours: int) -> None:
    """An aware time outside the years of UTC does not get into the log, which could never show it."""
    guard = Guard()
    edge = datetime.min if hours > 0 else datetime.max
    odd = edge.replace(tzinfo=timezone(timedelta(hours=hours)))
    get = guard.tracked("cache", writes=False, observed_at=lambda _: odd)(lambda: 1)
    with pytest.raises(GuardError, match="outside the years"):
        get()
    assert [each.outcome for each in guard.log.events()] == ["error"]


def test_a_call_without_a_name_hides_no_nesting() -> None:
    """What was called in it was called in what it was called in, however deep, and whatever ends first."""
    guard = Guard(wait_seconds=0)
    look = guard.tracked("orders/{order}", writes=False)(lambda order: 1)
    write = guard.tracked("orders/{order}", writes=True)(lambda order: 1)

    @guard.tool(reads=lambda result: [])
    def search(depth: int) -> list[str]:
        write("1")
        return search(depth - 1) if depth else []

    report = guard.tool(reads="report")(lambda: search(3))
    _, read = with_event(look, "1")
    assert report(depends_on=read) == []
    assert not guard.log._view._within


def test_a_search_that_found_nothing_is_not_kept() -> None:
    """Also where the log dropped what was before it while it ran."""
    guard = Guard(MemoryLog(max_events=10))
    look = guard.tracked("pages/{page}", writes=False)(lambda page: 0)

    @guard.tool(reads=lambda result: result)
    def search() -> list[str]:
        for page in range(20):
            look(page)
        return []

    for _ in range(50):
        search()
    assert len(guard.log._view.older) < 20


def test_what_builds_on_a_read_in_use_is_forgotten_with_it() -> None:
    """A long call rests on a derived read, on which thousands of others build meanwhile."""
    guard = Guard(MemoryLog(max_events=20), wait_seconds=0)
    source, digest = (guard.tracked(name, writes=False)(lambda: 1) for name in ("source", "digest"))
    part = guard.tracked("parts/{part}", writes=False)(lambda part: 1)
    mail = guard.tracked("mails/{part}", writes=True)(lambda part: 1)
    _, first = with_event(source)
    _, read = with_event(digest, depends_on=first)
    job = guard.write("job", depends_on=read)
    contextvars.Context().run(job.__enter__)
    for number in range(500):
        _, other = with_event(part, number % 5, depends_on=read)
        mail(number % 5, depends_on=other)
    kept = guard.log.find(guard.log.number_of(read.id))
    assert len(kept.memo.above) < 100


def test_a_turn_knows_what_it_knew_last_though_it_was_dropped() -> None:
    """What a pending call keeps in the log is not taken for it."""

    def told(max_events: int | None) -> str:
        guard = Guard(MemoryLog(max_events=max_events), wait_seconds=0)
        look = guard.tracked("page", writes=False)(lambda: 1)
        brief = guard.tracked("page", 0.001, writes=False)(lambda: 1)
        noise = guard.tracked("noise/{number}", writes=False)(lambda number: 1)
        act = guard.tool(writes="mails/1", rests_on="page")(lambda: "sent")
        with guard.session("desk") as session:
            look()
            _, read = with_event(look)
            with guard.read("job", depends_on=read):
                brief()
                time.sleep(0.01)
                with session.turn():
                    for _ in range(40):
                        look()
                    contextvars.Context().run(lambda: [noise(number) for number in range(30)])
                    with pytest.raises(GuardError) as raised:
                        act()
        return raised.value.findings[0].reason

    assert [told(bound) for bound in (None, 5, 12)] == ["expired", "history-dropped", "history-dropped"]
