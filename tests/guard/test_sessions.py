"""Sessions: what a conversation has seen is what its calls rest on, by names alone."""

from __future__ import annotations

import asyncio
import contextvars
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from helpers import Clock, Thread, guard_at
from hypothesis import given
from hypothesis import strategies as st

from intervalguard import (
    Event,
    Guard,
    GuardError,
    Session,
    StaleReadError,
    UnknownDependencyError,
    last_event,
    with_event,
)
from intervalguard.logs import MemoryLog


class Desk:
    """A guard with the tools of an order desk."""

    def __init__(self, guard: Guard | None = None) -> None:
        self.guard = guard = guard_at(Clock()) if guard is None else guard
        self.done: list[str] = []
        done = self.done.append

        @guard.tool(reads=lambda name: name)
        def read(name: str) -> None: ...

        @guard.tool(writes=lambda name: name)
        def write(name: str) -> None:
            done(name)

        @guard.tool(writes=lambda name: name, rests_on=[])
        def append(name: str) -> None:
            done(name)

        @guard.tool(writes=lambda name: name, rests_on=lambda on: on)
        def pay(name: str, on: list[str]) -> None:
            done(name)

        self.read, self.write, self.append, self.pay = read, write, append, pay

    def session(self, key: str | None = None, **options: Any) -> Session:
        return self.guard.session(key, **options)

    def rested(self) -> list[tuple[str, str]]:
        """What the last call rests on: (the event's kind and name, the part that counts)."""
        events = {each.id: each for each in self.guard.log.events()}
        event = last_event()
        assert event is not None
        return [
            (f"{events[each.id].kind} {events[each.id].name}", each.name or events[each.id].name)
            for each in event.depends_on
        ]

    def refused(self, tool: Any, *args: Any, **kwargs: Any) -> Any:
        """The findings' reasons of a call that must be refused; its body must not run."""
        before = list(self.done)
        with pytest.raises((StaleReadError, UnknownDependencyError)) as caught:
            tool(*args, **kwargs)
        assert self.done == before
        return [(each.name, each.reason) for each in caught.value.findings]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def elsewhere(write: Any, *args: Any) -> None:
    """Do it outside of all sessions."""
    Thread(write, *args).get()


# ------------------------------------------------------------------------------------- what names resolve to


def test_a_name_resolves_to_the_last_own_event_that_covers_it_narrowed_to_it(desk: Desk) -> None:
    """Section 4: of a read of the whole only the named part counts."""
    with desk.session():
        desk.read("orders/42")
        desk.pay("p", ["orders/42/total"])
        assert desk.rested() == [("read orders/42", "orders/42/total")]
        elsewhere(desk.append, "orders/42/note")
        desk.pay("p", ["orders/42/total"])
        assert desk.refused(desk.pay, "p", ["orders/42"]) == [("orders/42", "superseded")]
        elsewhere(desk.append, "orders/42/total")
        assert desk.refused(desk.pay, "p", ["orders/42/total"]) == [("orders/42", "superseded")]


def test_the_nearest_in_time_counts_not_the_nearest_in_name(desk: Desk) -> None:
    """The *last* own event that covers the name, be it a read of the name itself or of one above it."""
    with desk.session():
        desk.read("orders/42/total")
        desk.read("orders/42")
        desk.pay("p", ["orders/42/total"])
        assert desk.rested() == [("read orders/42", "orders/42/total")]
        desk.read("orders/42/total")
        desk.pay("p", ["orders/42/total"])
        assert desk.rested() == [("read orders/42/total", "orders/42/total")]


def test_every_later_own_event_that_conflicts_is_rested_on_too(desk: Desk) -> None:
    """What the session did to the resource since it was read is known to it; what is unrelated does not count."""
    with desk.session():
        desk.read("orders/42")
        desk.append("orders/42/note")
        desk.read("orders/42/total")
        desk.append("orders/43")
        desk.pay("p", ["orders/42"])
        assert desk.rested() == [
            ("read orders/42", "orders/42"),
            ("write orders/42/note", "orders/42/note"),
            ("read orders/42/total", "orders/42/total"),
        ]


def test_what_nothing_covers_is_unverifiable(desk: Desk) -> None:
    """A part does not cover the whole, nor one name another that begins alike: refused, "read it first"."""
    with desk.session():
        desk.read("orders/42/total")
        desk.read("orders/4")
        before = list(desk.done)
        with pytest.raises(UnknownDependencyError, match="nothing in this session had read it") as caught:
            desk.pay("p", ["orders/42"])
        (finding,) = caught.value.findings
        assert (finding.name, finding.reason, finding.unread) == ("orders/42", "unknown-dependency", True)
        assert finding.remedy == "read it first"
        assert "Read 'orders/42' first" in caught.value.for_model()
        assert desk.done == before


@pytest.mark.parametrize("how", ["error", "failed", "unknown", "refused"])
def test_only_what_went_well_is_known(desk: Desk, how: str) -> None:
    """A read that raised, was lost or was refused tells the session nothing."""
    guard = desk.guard

    @guard.tool(reads=lambda name: name, no_effect_on=KeyError)
    def read(name: str, error: Exception | None = None) -> None:
        if error is not None:
            raise error

    with desk.session():
        if how == "refused":
            old = guard.record_write("b")
            guard.record_write("b")
            with pytest.raises(StaleReadError):
                read("a", depends_on=old)
        else:
            error = {"error": ValueError(), "failed": KeyError(), "unknown": TimeoutError()}[how]
            with pytest.raises(type(error)):
                read("a", error)
        assert guard.log.events()[-1].outcome == how
        assert desk.refused(desk.pay, "p", ["a"]) == [("a", "unknown-dependency")]


def test_another_sessions_reads_are_not_known(desk: Desk) -> None:
    """What one conversation has read is nothing that another one knows."""
    with desk.session("one"):
        desk.read("a")
    with desk.session("two"):
        assert desk.refused(desk.pay, "p", ["a"]) == [("a", "unknown-dependency")]
    desk.read("a")
    with desk.session("two"):
        assert desk.refused(desk.pay, "p", ["a"]) == [("a", "unknown-dependency")]


# ------------------------------------------------------------------------------------------ writes by themselves


def test_a_write_rests_by_itself_on_its_own_resource(desk: Desk) -> None:
    """A lost update is refused, though nobody passed an id."""
    with desk.session():
        desk.read("orders/42")
        desk.write("orders/42")
        assert desk.rested() == [("read orders/42", "orders/42")]
        elsewhere(desk.append, "orders/42/total")
        assert desk.refused(desk.write, "orders/42") == [("orders/42", "superseded")]
        desk.read("orders/42")
        desk.write("orders/42")


def test_a_write_of_a_part_rests_on_the_part_of_what_was_read(desk: Desk) -> None:
    """The whole was read: a write to one part of it is not refused for a change of another."""
    with desk.session():
        desk.read("orders/42")
        elsewhere(desk.append, "orders/42/note")
        desk.write("orders/42/total")
        assert desk.rested() == [("read orders/42", "orders/42/total")]


def test_a_write_that_nothing_covers_rests_on_what_is_known_below(desk: Desk) -> None:
    """The parts were read: a write to the whole is refused where one of them moved, and a new read of it heals that."""
    with desk.session():
        desk.read("page/a")
        desk.read("page/b")
        elsewhere(desk.append, "page/a")
        assert desk.refused(desk.write, "page") == [("page/a", "superseded")]
        desk.read("page/a")
        desk.write("page")
        assert desk.rested() == [("read page/a", "page/a"), ("read page/b", "page/b")]


def test_parts_of_parts_are_rested_on_once(desk: Desk) -> None:
    """Below what is written the last that is known of each part counts, and no part twice."""
    with desk.session():
        desk.read("page/a/x")
        desk.read("page/a")
        desk.write("page")
        assert desk.rested() == [("read page/a", "page/a")]


def test_a_write_of_what_is_unknown_rests_on_nothing(desk: Desk) -> None:
    """A blind write is never refused by itself."""
    with desk.session():
        desk.read("b")
        elsewhere(desk.append, "a")
        desk.write("a")
        assert desk.rested() == []


def test_an_append_rests_on_nothing(desk: Desk) -> None:
    """`rests_on=[]` says so, whatever the session has read of the resource."""
    with desk.session():
        desk.read("a")
        elsewhere(desk.append, "a")
        desk.append("a")
        assert desk.rested() == []


def test_rests_on_replaces_what_a_write_rests_on_by_itself(desk: Desk) -> None:
    """Who says what a call rests on has said all of it."""
    with desk.session():
        desk.read("a")
        desk.read("b")
        elsewhere(desk.append, "a")
        desk.pay("a", ["b"])
        assert desk.rested() == [("read b", "b")]


def test_a_read_rests_on_nothing_by_itself_and_on_what_it_names(desk: Desk) -> None:
    """A read again is no derived read; one with `rests_on=` is."""

    @desk.guard.tool(reads="sum", rests_on=["a", "b"])
    def add() -> None: ...

    with desk.session():
        desk.read("a")
        elsewhere(desk.append, "a")
        desk.read("a")
        assert desk.rested() == []
        desk.read("b")
        add()
        assert desk.rested() == [("read a", "a"), ("read b", "b")]
        elsewhere(desk.append, "a")
        assert desk.refused(desk.pay, "p", ["sum"]) == [("sum", "superseded")]
        assert desk.refused(add) == [("a", "superseded")]


def test_depends_on_adds_to_what_the_session_supplies(desk: Desk) -> None:
    """An id that is given never takes the place of what the session knows."""
    _, other = with_event(desk.read, "c")
    with desk.session():
        desk.read("a")
        elsewhere(desk.append, "a")
        assert desk.refused(desk.write, "a", depends_on=other) == [("a", "superseded")]
        assert desk.refused(desk.write, "a", depends_on=[]) == [("a", "superseded")]
        desk.read("a")
        desk.write("a", depends_on=[other.id, other])
        assert desk.rested() == [("read a", "a"), ("read c", "c")]


def test_a_call_that_reads_and_writes_rests_on_what_it_writes(desk: Desk) -> None:
    """What a tool reads itself it need not have read before."""

    @desk.guard.tool(reads="a", writes="b")
    def copy() -> None: ...

    with desk.session():
        desk.read("a")
        desk.read("b")
        elsewhere(desk.append, "a")
        copy()
        assert desk.rested() == [("read b", "b")]


# --------------------------------------------------------------------------------------------- conversations


def test_two_conversations_in_turns_cannot_lose_an_update(desk: Desk) -> None:
    """Both read, both write: the second is refused, reads again, and goes through. The first's own write harms it not."""
    one, two = desk.session("one", agent="ann"), desk.session("two", agent="bob")
    with one:
        desk.read("a")
    with two:
        desk.read("a")
    with one:
        desk.write("a")
        desk.write("a")
    with two:
        with pytest.raises(StaleReadError, match="superseded by 'a'") as caught:
            desk.write("a")
        assert "agent 'ann'" in caught.value.for_model()
        desk.read("a")
        desk.write("a")
    with one:
        assert {name for name, _ in desk.refused(desk.write, "a")} == {"a"}
        desk.read("a")
        desk.write("a")


def test_a_write_of_ones_own_is_known_too(desk: Desk) -> None:
    """Who wrote a resource knows it, and rests on that from then on; what others write later counts against it."""
    with desk.session():
        desk.read("a")
        desk.write("a")
        desk.write("a")
        assert desk.rested() == [("write a", "a")]
        elsewhere(desk.append, "a")
        assert desk.refused(desk.write, "a") == [("a", "superseded")]


def test_ones_own_write_of_a_part_does_not_hide_what_others_wrote(desk: Desk) -> None:
    """Acknowledged are one's own writes alone, and a part does not cover the whole."""
    with desk.session():
        desk.read("a")
        elsewhere(desk.append, "a/c")
        desk.append("a/b")
        assert desk.refused(desk.pay, "p", ["a"]) == [("a", "superseded")]


def test_the_same_key_continues_a_conversation(desk: Desk) -> None:
    """In another session object, and in another thread; a session without a key is a new one."""
    with desk.session("key"):
        desk.read("a")

    def later() -> None:
        with desk.session("key"):
            desk.pay("p", ["a"])

    Thread(later).get()
    first, second = desk.session(), desk.session()
    assert first.key != second.key
    with first:
        assert desk.refused(desk.pay, "p", ["a"]) == [("a", "unknown-dependency")]


def test_who_continues_a_conversation_says_who_it_is(desk: Desk) -> None:
    """What it knows goes by the key; nobody is made out to be the agent who was there before."""
    with desk.session("key", agent="bob", run="r1"):
        desk.read("a")
    for agent in (None, "ann"):
        with desk.session("key", agent=agent):
            desk.pay("p", ["a"])
    assert [(each.agent, each.run) for each in desk.guard.log.events()] == [("bob", "r1"), (None, None), ("ann", None)]


def test_a_turn_may_be_entered_by_a_task(desk: Desk) -> None:
    """As its session may: what was read in it is not known to the calls of its message."""

    async def converse() -> None:
        async with desk.session("key") as session:
            async with session.turn("t1") as batch:
                assert batch == "t1"
                desk.read("a")
                assert desk.refused(desk.pay, "p", ["a"]) == [("a", "unknown-dependency")]
            desk.pay("p", ["a"])

    asyncio.run(converse())
    assert [each.batch for each in desk.guard.log.events()] == ["t1", "t1", None]


def test_a_turn_is_entered_once(desk: Desk) -> None:
    """It would begin when it had begun: it says how to have another."""
    session = desk.session("key")
    turn = session.turn()
    with session, turn:
        pass
    with pytest.raises(RuntimeError, match=r"call session\.turn\(\) again"), turn:
        pytest.fail("it was entered twice")


def test_events_carry_whose_they_are(desk: Desk) -> None:
    """Session, agent, run and batch are recorded with each event of a conversation."""
    session = desk.session("key", agent="ann", run="r1")
    with session as entered:
        assert entered is session
        desk.read("a")
        with session.turn("t1") as batch:
            desk.read("a")
        with session.turn() as other:
            desk.read("a")
    desk.read("a")
    found = [(each.session, each.agent, each.run, each.batch) for each in desk.guard.log.events()]
    assert batch == "t1"
    assert other not in (None, "", "t1")
    assert found == [
        ("key", "ann", "r1", None),
        ("key", "ann", "r1", "t1"),
        ("key", "ann", "r1", other),
        (None, None, None, None),
    ]


def test_a_session_within_another_ends_with_its_block(desk: Desk) -> None:
    """The inner conversation counts inside, the outer one after it, whatever was raised."""
    with desk.session("outer"):
        with pytest.raises(ValueError, match="field"), desk.session("inner"):
            desk.guard.tool(reads="{x}")(lambda: desk.read("a"))
        with desk.session("inner"):
            desk.read("a")
        assert desk.refused(desk.pay, "p", ["a"]) == [("a", "unknown-dependency")]
        desk.read("a")
        desk.pay("p", ["a"])
    assert [each.session for each in desk.guard.log.events() if each.kind == "read"] == ["inner", "outer"]


def test_a_session_of_another_guard_is_ignored() -> None:
    """It neither supplies anything nor hides a session of the guard's own that is around it."""
    one, other = Desk(), Desk()
    with other.session("key"):
        one.read("a")
        with pytest.raises(GuardError, match="outside a session"):
            one.pay("p", ["a"])
    with one.session("key"), other.session("key"):
        one.read("a")
        one.pay("p", ["a"])
    assert [each.session for each in one.guard.log.events()] == [None, "key", "key"]
    assert other.guard.log.events() == []


def test_a_nested_call_is_the_conversations_too(desk: Desk) -> None:
    """What a tool reads by calling another tool its session knows."""

    @desk.guard.tool(reads="report")
    def report() -> None:
        desk.read("a")

    with desk.session():
        report()
        desk.pay("p", ["a"])
        assert desk.rested() == [("read a", "a")]


def test_a_lost_write_of_ones_own_is_known_once_it_is_settled_ok(desk: Desk) -> None:
    """While it is unknown what it may do is feared; when it is known to have worked it is a write of one's own."""

    @desk.guard.tool(writes="a", rests_on=[])
    def lose() -> None:
        raise TimeoutError

    with desk.session():
        desk.read("a")
        with pytest.raises(TimeoutError):
            lose()
        lost = last_event()
        assert lost is not None
        assert desk.refused(desk.write, "a") == [("a", "unknown-outcome")]
        desk.guard.settle(lost.id, "ok")
        desk.write("a")
        assert desk.rested() == [("write a", "a")]


# --------------------------------------------------------------------------------------------------- turns


def test_calls_of_one_turn_are_judged_on_what_was_known_before_it(desk: Desk) -> None:
    """Section 4: two refunds chosen in one message both rest on the read before it, and the second is refused."""
    session = desk.session()
    with session:
        desk.read("a")
        with session.turn():
            desk.write("a")
            assert desk.refused(desk.write, "a") == [("a", "superseded")]
        desk.write("a")


def test_what_is_read_in_a_turn_counts_from_the_next_on(desk: Desk) -> None:
    """A model that asks for a read and a write in one message cannot have seen what was read."""
    session = desk.session()
    with session:
        with session.turn():
            desk.read("a")
            assert desk.refused(desk.pay, "p", ["a"]) == [("a", "unknown-dependency")]
        with session.turn():
            desk.pay("p", ["a"])


def test_a_read_again_within_a_turn_does_not_heal_it(desk: Desk) -> None:
    """The write was chosen on the old read; the new one serves the next turn."""
    session = desk.session()
    with session:
        desk.read("a")
        elsewhere(desk.append, "a")
        with session.turn():
            desk.read("a")
            assert desk.refused(desk.write, "a") == [("a", "superseded")]
        with session.turn():
            desk.write("a")


def test_what_another_wrote_before_a_call_of_the_turn_counts(desk: Desk) -> None:
    """A turn freezes what the conversation knows, not what happens to it."""
    session = desk.session()
    with session:
        desk.read("a")
        with session.turn():
            elsewhere(desk.append, "a")
            assert desk.refused(desk.write, "a") == [("a", "superseded")]


def test_parallel_calls_of_a_turn_share_its_view(desk: Desk) -> None:
    """Threads of one turn: of two writes of one resource that rest on one read, one goes through."""
    session = desk.session()

    def write() -> str:
        try:
            desk.write("a")
        except GuardError:
            return "refused"
        return "through"

    with session:
        desk.read("a")
        with session.turn(), ThreadPoolExecutor(2) as pool:
            ends = [pool.submit(session.bind(write)) for _ in range(2)]
            assert sorted(end.result() for end in ends) == ["refused", "through"]


def test_a_turn_begun_before_the_log_was_cleared_knows_nothing(desk: Desk) -> None:
    """What is recorded after a clear comes after every turn that began before it."""
    session = desk.session()
    with session:
        for _ in range(5):
            desk.read("a")
        with session.turn():
            desk.guard.log.clear()
            desk.read("a")
            assert desk.refused(desk.pay, "p", ["a"]) == [("a", "unknown-dependency")]


# -------------------------------------------------------------------------------- bind, async, misuse, stale()


def test_bind_carries_session_and_turn_into_threads(desk: Desk) -> None:
    """And the enclosing call; a thread without it is in no session."""
    session = desk.session("key")

    @desk.guard.tool(reads="outer")
    def outer() -> None:
        Thread(session.bind(desk.read), "a").get()

    with session, session.turn("t"):
        outer()
        Thread(desk.read, "b").get()
    events = {each.name: each for each in desk.guard.log.events()}
    assert (events["a"].session, events["a"].batch, events["a"].parent) == ("key", "t", events["outer"].id)
    assert (events["b"].session, events["b"].batch, events["b"].parent) == (None, None, None)


def test_bind_leaves_its_thread_as_it_was(desk: Desk) -> None:
    """A pool's thread is in no session afterwards, even where the function raised; arguments and result pass through."""
    session = desk.session("key")

    def work(first: int, *, second: int) -> int:
        """Adds."""
        desk.read("a")
        if not first:
            raise KeyError
        return first + second

    bound = session.bind(work)
    assert bound.__doc__ == "Adds."
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(bound, 1, second=2).result() == 3
        with pytest.raises(KeyError):
            pool.submit(bound, 0, second=2).result()
        pool.submit(desk.read, "b").result()
    assert [(each.name, each.session) for each in desk.guard.log.events()] == [("a", "key"), ("a", "key"), ("b", None)]


def test_bind_of_another_session_is_that_sessions_own_seat(desk: Desk) -> None:
    """Bound outside of its block, or inside of another's: the session that bound it counts."""
    mine = desk.session("mine")
    with desk.session("other"):
        bound = mine.bind(desk.read)
        bound("a")
        desk.read("b")
    assert [each.session for each in desk.guard.log.events()] == ["mine", "other"]


def test_bind_finds_the_turn_by_the_key(desk: Desk) -> None:
    """Another object of the same conversation binds into the turn that is open."""
    session = desk.session("key")
    with session, session.turn("t"):
        desk.session("key").bind(desk.read)("a")
    assert desk.guard.log.events()[0].batch == "t"


def test_bind_covers_what_is_awaited(desk: Desk) -> None:
    """A coroutine function, and a function that returns a coroutine, run in the session when they are awaited."""
    session = desk.session("key")

    @desk.guard.tool(reads="a")
    async def read() -> None:
        await asyncio.sleep(0)

    async def main() -> None:
        work = [session.bind(read)(), session.bind(lambda: read())(), read()]
        await asyncio.gather(*work)

    asyncio.run(main())
    assert sorted(str(each.session) for each in desk.guard.log.events()) == ["None", "key", "key"]


def test_bind_refuses_a_stream(desk: Desk) -> None:
    """Its body runs where it is consumed, which bind cannot reach: it says so, and does not lose the session."""

    def stream() -> Any:
        yield

    async def async_stream() -> Any:
        yield

    for each in (stream, async_stream):
        with pytest.raises(TypeError, match="bind the function that does"):
            desk.session().bind(each)


def test_tasks_have_sessions_of_their_own(desk: Desk) -> None:
    """One session for each task, entered with `async with`, and none leaks into the other."""

    @desk.guard.tool(reads=lambda name: name)
    async def read(name: str) -> None:
        await asyncio.sleep(0)

    async def talk(key: str) -> None:
        async with desk.session(key):
            for _ in range(3):
                await read(key)

    async def main() -> None:
        await asyncio.gather(talk("one"), talk("two"))
        await read("none")

    asyncio.run(main())
    assert {(each.name, each.session) for each in desk.guard.log.events()} == {
        ("one", "one"),
        ("two", "two"),
        ("none", None),
    }


def test_tasks_and_async_threads_inherit_the_session(desk: Desk) -> None:
    """`create_task` and `to_thread` carry it by themselves."""

    async def main() -> None:
        with desk.session("key"):
            await asyncio.gather(asyncio.to_thread(desk.read, "a"), asyncio.create_task(asyncio.to_thread(desk.read, "b")))

    asyncio.run(main())
    assert [each.session for each in desk.guard.log.events()] == ["key", "key"]


def test_rests_on_outside_a_session_is_an_error(desk: Desk) -> None:
    """There is nothing that it could resolve to; the message shows what to write. An append is none."""
    with pytest.raises(GuardError, match=r"outside a session.*with guard\.session\(key\):"):
        desk.pay("p", ["a"])
    assert desk.done == []
    desk.append("a")
    desk.write("a")
    desk.pay("p", [])
    assert desk.done == ["a", "a", "p"]


def test_require_session_makes_a_call_outside_one_an_error() -> None:
    """Of any kind, blocks included; inside a session all is as ever."""
    desk = Desk(guard_at(require_session=True))
    for call in (desk.read, desk.write, desk.append):
        with pytest.raises(GuardError, match="require_session=True"):
            call("a")
    with pytest.raises(GuardError, match="require_session=True"), desk.guard.write("a"):
        pytest.fail("the block was entered")
    assert desk.done == []
    with desk.session():
        desk.read("a")
        desk.write("a")


@given(data=st.data(), is_async=st.booleans())
def test_sessions_turns_and_blocks_may_be_left_in_any_order(data: st.DataObject, is_async: bool) -> None:
    """A call belongs to what was entered last and has not been left, whatever was left before it was."""
    guard, other = guard_at(), guard_at()
    sessions = [guard.session("a"), guard.session("b"), other.session("a")]
    opened: list[tuple[str, Any, str | None, Any]] = []  # what it is, the guard or event, the key, how to leave it
    number = 0

    async def enter(manager: Any) -> Any:
        return await manager.__aenter__() if is_async and hasattr(manager, "__aenter__") else manager.__enter__()

    async def leave(manager: Any) -> None:
        if is_async and hasattr(manager, "__aexit__"):
            await manager.__aexit__(None, None, None)
        else:
            manager.__exit__(None, None, None)

    def check() -> None:
        with guard.read("x") as block:
            event = block.event
        seats = [each for each in opened if each[0] != "block" and each[1] is guard]
        blocks = [each for each in opened if each[0] == "block"]
        assert event.session == (seats[-1][2] if seats else None)
        assert event.batch == (seats[-1][0] if seats and seats[-1][0] != "session" else None)
        assert event.parent == (blocks[-1][1].id if blocks else None)

    async def run() -> None:
        nonlocal number
        for _ in range(data.draw(st.integers(1, 12))):
            number += 1
            what = data.draw(st.sampled_from(["session", "turn", "block", *["leave"] * 3]))
            session = data.draw(st.sampled_from(sessions))
            if what == "leave" and opened:
                # Of a session that was entered twice the seats are alike: the innermost is left.
                place = data.draw(st.integers(0, len(opened) - 1))
                left = opened[place]
                place = max(index for index, each in enumerate(opened) if each[3] is left[3])
                await leave(opened.pop(place)[3])
            elif what == "session":
                await enter(session)
                opened.append(("session", session.guard, session.key, session))
            elif what == "turn":
                turn = session.turn(f"t{number}")
                await enter(turn)
                opened.append((f"t{number}", session.guard, session.key, turn))
            elif what == "block":
                block = guard.write(f"blocks/{number}", rests_on=[])
                await enter(block)
                opened.append(("block", block.event, None, block))
            check()
        while opened:
            await leave(opened.pop(data.draw(st.sampled_from([0, -1])))[3])
        check()

    asyncio.run(run())


def test_a_session_that_was_not_entered_here_is_not_left_here(desk: Desk) -> None:
    """A context that others have entered keeps its own, also where it is left in another task or twice."""
    with desk.session("outer"):
        inner = desk.session("inner")
        inner.__enter__()
        inner.__exit__()
        inner.__exit__()
        desk.read("a")
        task = contextvars.copy_context()
        inner.__enter__()
        task.run(desk.read, "a")
        task.run(inner.__exit__)
        task.run(desk.read, "a")
        desk.read("a")
        inner.__exit__()
    desk.read("a")
    assert [each.session for each in desk.guard.log.events()] == ["outer", "outer", "outer", "inner", None]


def test_what_is_left_here_is_not_left_where_it_was_carried_to(desk: Desk) -> None:
    """A task keeps the sessions in which it began, in whatever order its parent leaves them."""
    one, two = desk.session("one"), desk.session("two")
    one.__enter__()
    two.__enter__()
    task = contextvars.copy_context()
    one.__exit__()
    task.run(two.__exit__)
    task.run(desk.read, "a")
    desk.read("a")
    two.__exit__()
    assert [each.session for each in desk.guard.log.events()] == ["one", "two"]


@pytest.mark.parametrize(("key", "error"), [("", ValueError), (7, TypeError), (b"k", TypeError), (0, TypeError)])
def test_a_key_is_a_text(desk: Desk, key: Any, error: type[Exception]) -> None:
    """A session's key that is none is an error that says what is one."""
    with pytest.raises(error, match="is no session's key: it must be a text"):
        desk.session(key)


@pytest.mark.parametrize("value", [7, 0, b"k", ["a"], False])
@pytest.mark.parametrize("what", ["agent", "run", "batch", "tool of a block", "tool of a write", "agent of a write"])
def test_whose_a_call_is_is_a_text(desk: Desk, what: str, value: Any) -> None:
    """Anything else is an error where it is said, and nothing is recorded under it."""
    option = what.split()[0]
    make: dict[str, Any] = {
        "agent": desk.session,
        "run": desk.session,
        "batch": lambda batch: desk.session().turn(batch).__enter__(),
        "tool of a block": lambda tool: desk.guard.write("a", tool=tool),
        "tool of a write": lambda tool: desk.guard.record_write("a", tool=tool),
        "agent of a write": lambda agent: desk.guard.record_write("a", agent=agent),
    }
    with pytest.raises(TypeError, match=rf"^{option}=.* is no text$"):
        make[what](**{option: value})
    assert desk.guard.log.events() == []


def test_stale_tells_ahead_what_needs_reading_again(desk: Desk) -> None:
    """It names what moved since the session knew it, and nothing else; a read again empties it."""
    session = desk.session()
    assert session.stale() == []
    with session:
        desk.read("a")
        desk.read("b")
        desk.write("b")
    assert session.stale() == []
    elsewhere(desk.append, "a")
    (finding,) = session.stale()
    assert (finding.name, finding.reason, finding.remedy) == ("a", "superseded", "read again")
    with session:
        desk.read("a")
    assert session.stale() == []


def test_stale_tells_the_worst_of_each_event() -> None:
    """An event that counts under several names is told of once, by what is worst of it."""
    desk = Desk()
    session = desk.session()
    with session:
        for name in ("a", "a/b", "a"):
            desk.read(name)
    elsewhere(desk.append, "a/c")
    desk.guard.log.admit(desk.read.__intervalguard__.origin, [("a/b", "write", None)])
    assert [(each.name, each.reason) for each in session.stale()] == [("a", "superseded")]


def test_stale_knows_windows() -> None:
    """What has outlived its validity window needs reading again too."""
    clock = Clock()
    guard = guard_at(clock)

    @guard.tracked("a", 10, writes=False)
    def read() -> None: ...

    session = guard.session()
    with session:
        read()
    clock.seconds = 10
    assert session.stale() == []
    clock.seconds = 10.000001
    assert [each.reason for each in session.stale()] == ["expired"]


# ------------------------------------------------------------------------------------------------- retention


def small(max_events: int = 4) -> Desk:
    return Desk(Guard(MemoryLog(max_events=max_events, clock=Clock()), wait_seconds=0))


def fill(desk: Desk, count: int = 20) -> None:
    for number in range(count):
        elsewhere(desk.read, f"other/{number}")


@pytest.mark.parametrize("name", ["a", "a/b", "above"])
def test_a_dropped_read_of_ones_own_is_unverifiable(name: str) -> None:
    """It is never taken for what was never read, as a blind write would be."""
    desk = small()
    with desk.session() as session:
        desk.read("above/x" if name == "above" else "a")
        fill(desk)
        assert [reason for _, reason in desk.refused(desk.write, name)] == ["history-dropped"]
        assert [each.reason for each in session.stale()] == ["history-dropped"]
        if name != "above":
            assert [reason for _, reason in desk.refused(desk.pay, "p", [name])] == ["history-dropped"]
        desk.read(name)
        desk.write(name)


def test_a_turn_does_not_take_what_was_dropped_since_for_what_was_never_read() -> None:
    """What was read before the turn is gone, what was read in it is not: the write is refused all the same."""
    desk = small()
    with desk.session() as session:
        desk.read("a")
        with session.turn():
            fill(desk, 3)
            for _ in range(40):
                desk.read("a")
            assert [reason for _, reason in desk.refused(desk.write, "a")] == ["history-dropped"]


def test_a_session_forgets_what_it_holds_twice() -> None:
    """What is kept of dropped events is bounded by the names, not by how often they were touched."""
    desk = small(10)
    with desk.session("key"):
        for number in range(2_000):
            desk.read(f"a/{number % 5}")
    own = desk.guard.log._sessions["key"]
    assert sum(map(len, own._at.values())) <= 60
    assert sum(map(len, own._below.values())) <= 60


def test_sessions_that_nothing_is_held_of_are_bounded() -> None:
    """A server with a session for each conversation does not grow without end."""
    desk = small(10)
    for number in range(500):
        with desk.session(f"conversation {number}"):
            desk.read("a")
    assert len(desk.guard.log._sessions) <= 30
    with desk.session("conversation 480"):
        assert [reason for _, reason in desk.refused(desk.write, "a")] == ["history-dropped"]


def test_with_event_gives_the_sessions_event(desk: Desk) -> None:
    """The event of a call in a session says what it rests on."""
    with desk.session("key"):
        _, read = with_event(desk.read, "a")
        _, write = with_event(desk.write, "a")
    assert isinstance(write, Event)
    assert [each.id for each in write.depends_on] == [read.id]
