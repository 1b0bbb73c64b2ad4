"""`GuardMachine`: it finds each fault of the sample project, none where that is guarded properly, and tells it shortly."""

from __future__ import annotations

import asyncio
import re
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from itertools import pairwise
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from sample import tools
from sample.machine import ShopMachine
from sample.shop import Shop
from sample.tickets import TicketMachine

from intervalguard import Guard, last_event
from intervalguard.logs import MemoryLog
from intervalguard.shell import calls
from intervalguard.testing import Agent, GuardFault, GuardMachine, act, check_guard
from intervalguard.testing.scripts import Move, Script, shortest

STORIES = settings(derandomize=True, max_examples=25, stateful_step_count=5, deadline=None, database=None)

FEW = settings(STORIES, max_examples=10)


def machine_of(make_tools: Callable[[Shop], tools.Tools]) -> type[ShopMachine]:
    return type("Machine", (ShopMachine,), {"make_tools": staticmethod(make_tools)})


def story_of(machine: type[GuardMachine]) -> str:
    with pytest.raises(GuardFault) as caught:
        check_guard(machine, settings=STORIES)
    return str(caught.value)


def steps(story: str) -> list[str]:
    return re.findall(r"^\d+[a-z]*\. .*", story, re.MULTILINE)


def played(machine: GuardMachine, *moves: Move) -> str:
    """The story of these moves; empty if nothing goes wrong."""
    machine._play(moves)
    return machine._story() if machine._wrong else ""


# -- the sample project


def test_a_project_that_is_guarded_properly_passes() -> None:
    """No false alarm, over stories in which acts overlap, wait, are let through, and are refused."""
    seen: dict[str, set[str]] = {}

    class Watched(machine_of(tools.guarded)):  # type: ignore[misc]
        def teardown(self) -> None:
            order = [part.step for part in self._parts]
            for part in self._parts:
                seen.setdefault(part.step.move.act, set()).add(part.step.outcome)
                seen.setdefault(part.stood, set()).add(part.step.outcome)
            for one in order:
                first, last = order.index(one), len(order) - order[::-1].index(one)
                if any(order.index(other) > first and other in order[last:] for other in order[first:last]):
                    seen.setdefault("overlapped", set()).add(one.outcome)

    check_guard(Watched, settings=settings(STORIES, max_examples=40))
    refused = "The guard refused it (StaleReadError)"
    assert {"ok", refused} <= seen["refunds"] & seen["sets"]
    assert {"ok", refused} <= seen["pays"]
    assert "ok" in seen["It waited"]
    assert "ok" in seen["overlapped"]
    assert "ok" in seen["looks"]


@pytest.mark.parametrize(
    ("make_tools", "evidence"),
    [
        (tools.with_a_bare_writer, r"refunds\(.*\n   The guard's log of it: nothing\."),
        (tools.with_a_silent_payment, r"pays\(.*\n   The guard's log of it: write 'payments/\S+' ok, rests on nothing\."),
        (tools.with_names_as_they_are_spelled, r"The guard's log of it: (read|write) 'orders/042' ok"),
    ],
)
def test_each_fault_of_the_sample_is_found(make_tools: Callable[[Shop], tools.Tools], evidence: str) -> None:
    """The story is short, says what had been seen and what it was by then, and shows what the guard was not told."""
    story = story_of(machine_of(make_tools))
    assert "acted on a value that was stale, and the guard let it through." in story.splitlines()[0]
    assert len(steps(story)) <= 4
    assert len(re.findall(r"It rested on '\w+': \d+, but it was \d+ when it acted, since \w+ had changed it", story)) == 1
    assert re.search(evidence, story), story


def test_the_story_word_for_word() -> None:
    """Two looks, a change, and the act that rests on what was before it."""
    story = story_of(machine_of(tools.with_a_silent_payment))
    first, second, change, fault = steps(story)
    assert re.fullmatch(r"1\. (ann|bob): looks\(order_id='(\w+)'\)\. It saw '\w+': 10\.", first)
    assert re.fullmatch(r"2\. (ann|bob): looks\(order_id='(\w+)'\)\. It saw '\w+': 10\.", second)
    assert re.fullmatch(
        r"3\. \w+: \w+\(.*\)\. It rested on '\w+': 10\. It changed '\w+' from 10 to \d\. Its effect is '\w+-1'\.", change
    )
    assert re.fullmatch(
        r"4\. \w+: pays\(.*\)\. It rested on '\w+': 10, but it was \d when it acted, since \w+ had changed it in step 3\."
        r" It changed '\w+-2' from None to 10\. Its effect is '\w+-2'\.",
        fault,
    )


def test_a_guard_that_does_not_enforce_lets_faults_through() -> None:
    """The same tools under a guard that only warns."""

    def watching(shop: Shop) -> tools.Tools:
        made = tools.guarded(shop)
        for each in (made.get_order, made.refund, made.set_left, made.pay):
            each.__intervalguard__.asked = None  # type: ignore[attr-defined]
        return made

    assert "acted on a value that was stale" in story_of(machine_of(watching))


# -- the shortest script


def test_nothing_can_be_left_out_of_the_shortest_script() -> None:
    """What is left goes wrong, stands one after the other if it can, with short arguments and agents in order."""

    def goes_wrong(moves: Script) -> bool:
        acts = [(move.agent, move.act) for move in moves if move.act in ("x", "y")]
        return any(one[1] == "x" and other[1] == "y" and one[0] != other[0] for one, other in pairwise(acts))

    idle = [Move("bob", "z", {"n": number}) for number in range(20)]
    both = [Move("bob", "x", {"n": 1000}, 3), Move("ann", "y", {"n": 12}), Move("ann", "z", {"n": 3}), Move("bob")]
    short = shortest([*idle, *both, *idle], goes_wrong)
    assert [(each.agent, each.act, each.arguments, each.stops_at) for each in short] == [
        ("ann", "x", {"n": 0}, 0),
        ("bob", "y", {"n": 0}, 0),
    ]


def test_what_must_come_in_between_stays_there() -> None:
    """An act is made before or after another only where that goes wrong too, and it does not stop more than it must."""

    def goes_wrong(moves: Script) -> bool:
        acts = [each.act for each in moves]
        return acts.count("y") >= 1 and moves[acts.index("x")].stops_at > 0 if "x" in acts else False

    moves = [Move("ann", "x", {}, 3), Move("bob", "y", {}, 2), Move("ann", "", {}, 1), Move("bob"), Move("ann")]
    short = shortest(moves, goes_wrong)
    assert [(each.act, each.stops_at) for each in short] == [("x", 1), ("y", 0)]


def test_the_search_for_the_shortest_ends() -> None:
    """It tries 2000 times at most, and what it has by then goes wrong."""
    tried: list[int] = []

    def goes_wrong(moves: Script) -> bool:
        tried.append(len(moves))
        return len({move.arguments["n"] for move in moves if move.arguments}) == 90

    short = shortest([Move("ann", "x", {"n": number}) for number in (*range(90), *range(90))], goes_wrong)
    assert len(tried) <= 2001
    assert goes_wrong(short)
    assert len(short) < 180


# -- interleavings


def test_a_fault_that_shows_only_where_two_calls_overlap() -> None:
    """The check is outside the guarded body. Inside it, the guard lets nobody else begin."""
    ann, bob = Move("ann", "adds", {}, 1), Move("bob", "adds", {}, 1)
    assert played(TicketMachine(), ann, Move("bob", "adds"), Move("ann")) == ""
    assert played(TicketMachine(), Move("ann", "adds"), Move("bob", "adds")) == ""
    story = played(TicketMachine(), ann, bob, Move("ann"), Move("bob"))
    assert story.splitlines()[0] == "ann acted, was told that all went well, and its effect is lost."
    assert steps(story) == [
        "1a. ann: adds(). It paused.",
        "2a. bob: adds(). It paused.",
        "1b. ann went on: adds(). It changed 'list' from 0 to 1. Its effect is 'ann-1'.",
        "2b. bob went on: adds(). Its effect is 'bob-2'.",
    ]
    assert steps(story_of(TicketMachine)) == steps(story)
    check_guard(type("Inside", (TicketMachine,), {"checks_inside": True}), settings=FEW)


# -- effects


class Counting(GuardMachine):
    """One counter, which a guarded tool reads and writes in two steps."""

    twice = False
    slow = True
    guarded = False

    def start(self) -> Guard | None:
        guard = Guard()
        self.applied: list[str] = []
        self.tool = guard.tool(writes="counter")(self.add) if self.guarded else self.add
        return guard if self.guarded else None

    def add(self, reference: str) -> None:
        held = [*self.applied, reference]
        if self.slow:
            self.pause()
        self.applied = [*held, reference] if self.twice else held

    def states(self) -> Mapping[str, Any]:
        return {"counter": len(self.applied)}

    def effects(self) -> list[str]:
        return self.applied

    @act()
    def adds(self, agent: Agent) -> None:
        self.tool(agent.effect())


def test_a_lost_effect() -> None:
    """Two bodies that interleave overwrite each other; guarded, the second is not let in."""
    story = story_of(Counting)
    assert "acted, was told that all went well, and its effect is lost." in story
    assert story.splitlines()[2:] == [
        "1a. ann: adds(). It paused.",
        "2. bob: adds(). It changed 'counter' from 0 to 1. Its effect is 'bob-2'.",
        "1b. ann went on: adds(). Its effect is 'ann-1'.",
    ]
    check_guard(type("Guarded", (Counting,), {"guarded": True}), settings=FEW)


def test_an_effect_that_takes_place_twice() -> None:
    """One act is enough, though it says that all went well."""
    story = story_of(type("Twice", (Counting,), {"twice": True, "guarded": True}))
    assert "acted once, and its effect took place more than once." in story
    assert len(steps(story)) == 1


def test_an_effect_alone_is_one() -> None:
    """An act whose effect shows in no state is judged all the same."""

    class Mails(Counting):
        def states(self) -> Mapping[str, Any]:
            return {"address": getattr(self, "address", "here")}

        @act()
        def looks(self, agent: Agent) -> None:
            agent.sees("address", self.states()["address"])

        @act()
        def moves(self, agent: Agent) -> None:
            self.address = "there"

        @act()
        def adds(self, agent: Agent) -> None:
            agent.knows("address")
            self.add(agent.effect())

    story = story_of(type("Quick", (Mails,), {"slow": False}))
    assert "3. ann: adds(). It rested on 'address': 'here', but it was 'there' when it acted" in story


def test_a_change_that_is_taken_back() -> None:
    """What a body changed before it paused is its own change, and whoever acts in the pause acts on that."""

    class Dirty(Rows):
        @act()
        def flickers(self, agent: Agent) -> None:
            self.rows["a"] += 5
            self.pause()
            self.rows["a"] -= 5

        @act()
        async def adds(self, agent: Agent) -> None:
            self.rows["b"] = agent.knows("a")

    moves = (Move("ann", "flickers", {}, 1), Move("bob", "reads"), Move("ann"), Move("bob", "adds"))
    assert steps(played(Dirty(), *moves)) == [
        "1a. ann: flickers(). It changed 'a' from 0 to 5. It paused.",
        "2. bob: reads(). It saw 'a': 5.",
        "1b. ann went on: flickers(). It changed 'a' from 5 to 0.",
        "3. bob: adds(). It rested on 'a': 5, but it was 0 when it acted, since ann had changed it in step 1b."
        " It changed 'b' from None to 5.",
    ]


# -- waits


def waiting(*moves: Move) -> list[str]:
    """The parts of a story on the guarded sample in which ann has looked and pays while bob sets what is left."""
    machine = machine_of(tools.guarded)()
    looks = [Move("ann", "looks", {"order_id": "42"}), Move("bob", "looks", {"order_id": "42"})]
    assert played(machine, *looks, *moves) == ""
    last = {part.step: part for part in machine._parts}
    return [
        f"{part.step.move.agent} {'late ' * part.is_late}{part.step.outcome if last[part.step] is part else part.stood}"
        for part in machine._parts[2:]
    ]


PAYS = Move("ann", "pays", {"order_id": "42"}, 1)
SETS = Move("bob", "sets", {"order_id": "42", "left": 3})


def test_a_call_waits_until_who_is_in_its_way_has_ended() -> None:
    """What a payment rests on is pinned while it runs; then the write is let in."""
    assert waiting(PAYS, SETS) == ["ann It paused", "bob It waited", "ann ok", "bob ok"]
    assert waiting(PAYS, SETS, Move("ann"), Move("bob")) == ["ann It paused", "bob It waited", "ann ok", "bob ok"]


def test_the_time_to_wait_is_up_when_it_is_one_s_turn() -> None:
    """Without real time: five seconds pass in the story, and the race is lost."""
    lost = "bob late The guard refused it (ConflictError)"
    started = time.monotonic()
    assert waiting(PAYS, SETS, Move("bob")) == ["ann It paused", lost, "ann ok"]
    assert time.monotonic() - started < 4


def test_the_guard_waits_as_before_outside_a_story() -> None:
    """The shell's own lock and clock are back, whatever happened, and other threads had them all the time."""
    inside: list[bool] = []

    class Looks(Counting):
        def add(self, reference: str) -> None:
            inside.append(calls.threading is threading)
            super().add(reference)

    assert played(Looks(), Move("ann", "adds")) == ""
    assert inside == [False]
    assert calls.threading is threading
    assert calls.time is time


# -- threads


def test_no_thread_is_left_behind() -> None:
    """After a fault, an error, an interrupt, and an exit, with acts that stand at a pause and at a wait."""

    class Ends(Counting):
        ending: BaseException
        cleaned: ClassVar[list[str]]

        @act()
        def stands(self, agent: Agent) -> None:
            try:
                self.pause()
            finally:
                self.cleaned.append(agent.name)
                self.pause()

        @act()
        async def sleeps(self, agent: Agent) -> None:
            try:
                await asyncio.sleep(9)
            finally:
                self.cleaned.append(agent.name)

        @act()
        def ends(self, agent: Agent) -> None:
            raise self.ending

    for ending in (LookupError("x"), KeyboardInterrupt(), SystemExit(1)):
        Ends.ending, Ends.cleaned, Ends.agents = ending, [], ("ann", "bob", "cid")
        machine = Ends()
        with suppress(KeyboardInterrupt, SystemExit):
            assert "raised LookupError" in played(machine, Move("ann", "stands", {}, 1), Move("bob", "sleeps", {}, 1),
                                                  Move("cid", "ends"))  # fmt: skip
        assert machine.cleaned == ["ann", "bob"]
        assert threading.active_count() == 1
    check_guard(machine_of(tools.guarded), settings=FEW)
    assert threading.active_count() == 1


def test_an_interrupt_of_the_test_ends_the_story() -> None:
    """It comes to the thread that waits for the act, and the act ends at its next pause."""

    class Long(Counting):
        def add(self, reference: str) -> None:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)  # type: ignore[arg-type]
            self.started = True
            for _ in range(500):
                time.sleep(0.01)
                self.pause()
            self.went_on = True

    machine = Long()
    with pytest.raises(KeyboardInterrupt):
        machine._play([Move("ann", "adds")])
    assert machine.started
    assert not hasattr(machine, "went_on")
    assert threading.active_count() == 1


# -- ways to write tools


class Rows(GuardMachine):
    """Tools without sessions that say by hand what they rest on; one of them is async, and its slow part pauses."""

    says_it = True

    def start(self) -> Guard:
        guard = Guard(MemoryLog())
        self.rows = {"a": 0}

        @guard.tracked("rows/{name}", writes=False)
        async def read(name: str) -> int:
            value = self.rows[name]
            self.pause()
            return value

        @guard.tool(writes="rows/{name}", rests_on=[])
        async def write(name: str, value: int) -> None:
            self.pause()
            self.rows[name] = value

        self.read, self.write = read, write
        return guard

    def states(self) -> Mapping[str, int]:
        return self.rows

    @act()
    async def reads(self, agent: Agent) -> None:
        agent.sees("a", await self.read("a"))

    @act(more=st.integers(1, 3))
    async def adds(self, agent: Agent, more: int) -> None:
        value = agent.knows("a")
        await self.write("a", value + more, **{"depends_on": agent.depends_on} if self.says_it else {})


def test_async_tools_and_dependencies_by_hand() -> None:
    """What is said by hand holds as a session's knowledge does, and its absence is found."""
    check_guard(Rows, settings=FEW)
    assert "acted on a value that was stale" in story_of(type("Silent", (Rows,), {"says_it": False}))


class Waits(GuardMachine):
    """Tools that wait for a loop: for a while, for each other, in parallel, on other threads, as streams."""

    def start(self) -> Guard:
        guard = Guard()
        self.rows = {"a": 0, "b": 0}
        self.lock = asyncio.Lock()
        self.arrived = asyncio.Event()
        self.said: list[str] = []
        self.notes: list[str] = []

        @guard.tracked("rows/{name}", writes=False)
        async def read(name: str) -> int:
            await asyncio.sleep(3600)
            return self.rows[name]

        @guard.tracked("rows/{name}", writes=True)
        async def add(name: str, reference: str) -> None:
            value = self.rows[name]
            await asyncio.sleep(0)
            self.rows[name] = value + 1
            self.notes = [*self.notes, reference]

        @guard.tool(writes="notes/{text}", rests_on=[])
        async def note(text: str) -> None:
            await asyncio.sleep(1)
            self.notes = [*self.notes, text]

        @guard.tracked("rows/{name}", writes=True)
        def add_at_once(name: str) -> None:
            value = self.rows[name]
            self.pause()
            self.rows[name] = value + 1

        @guard.tracked("rows/{name}", writes=False)
        async def follow(name: str) -> AsyncIterator[int]:
            for _ in range(3):
                await asyncio.sleep(1)
                yield self.rows[name]

        @guard.tracked("rows/{name}", writes=False)
        def listing(name: str) -> Iterator[int]:
            for _ in range(3):
                self.pause()
                yield self.rows[name]

        self.read, self.add, self.add_at_once, self.note = read, add, add_at_once, note
        self.follow, self.listing = follow, listing
        return guard

    def effects(self) -> list[str]:
        return self.notes

    def states(self) -> Mapping[str, int]:
        return self.rows

    @act()
    async def reads_both(self, agent: Agent) -> None:
        async with guarded_turn(self):
            a, b = await asyncio.gather(self.read("a"), self.read("b"))
        agent.sees("a", a)
        agent.sees("b", b)

    @act(name=st.sampled_from("ab"))
    async def adds(self, agent: Agent, name: str) -> None:
        agent.knows(name)
        await self.add(name, agent.effect())

    @act()
    async def notes_two(self, agent: Agent) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(self.note(agent.effect()))

    @act()
    async def adds_on_a_thread(self, agent: Agent) -> None:
        agent.knows("a")
        await asyncio.to_thread(self.add_at_once, "a")

    @act()
    async def follows(self, agent: Agent) -> None:
        async for value in self.follow("a"):
            agent.sees("a", value)
            break

    @act()
    def lists(self, agent: Agent) -> None:
        for value in self.listing("a"):
            agent.sees("a", value)

    @act()
    async def takes_the_lock(self, agent: Agent) -> None:
        async with self.lock:
            self.said.append(f"{agent.name} in")
            await asyncio.sleep(1)
            self.said.append(f"{agent.name} out")

    @act()
    async def gives_up(self, agent: Agent) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(5):
                await asyncio.Event().wait()
        asyncio.get_running_loop().create_task(asyncio.sleep(9))


def guarded_turn(machine: GuardMachine) -> Any:
    from intervalguard.shell.sessions import seat

    assert seat.get() is not None
    return seat.get().session.turn()  # type: ignore[union-attr]


def test_acts_that_wait_for_a_loop() -> None:
    """No false alarm, none waits in real time, all that was begun ends, and each act comes to an end of its own."""
    outcomes: dict[str, set[str]] = {}

    class Watched(Waits):
        def teardown(self) -> None:
            for step in self._steps:
                outcomes.setdefault(step.move.act, set()).add(step.outcome)
            assert not [event for event in self.guard.log.events() if event.outcome == "pending"]
            assert [each.split()[0] for each in self.said[::2]] == [each.split()[0] for each in self.said[1::2]]

    started = time.monotonic()
    check_guard(Watched, settings=STORIES)
    assert time.monotonic() - started < 60
    assert all("ok" in each for each in outcomes.values())
    assert len(outcomes) == 8


def test_one_loop_is_shared_and_each_act_runs_its_own_part() -> None:
    """Who has a lock of asyncio's keeps others out, over a sleep; whom nothing wakes is told so."""
    machine = Waits()
    locks = (Move("ann", "takes_the_lock", {}, 1), Move("bob", "takes_the_lock", {}, 1), Move("bob"), Move("ann"))
    assert played(machine, *locks) == ""
    assert machine.said == ["ann in", "ann out", "bob in", "bob out"]

    class Forgets(Waits):
        @act()
        async def waits(self, agent: Agent) -> None:
            await self.arrived.wait()

        @act()
        def comes(self, agent: Agent) -> None:
            self.arrived.set()

    assert played(Forgets(), Move("ann", "waits"), Move("bob", "comes")) == ""
    machine = Forgets()
    assert "ann waits for ever." in played(machine, Move("ann", "waits"))
    assert isinstance(machine._error, RuntimeError)


def test_what_a_story_s_loop_does_not_have_is_said() -> None:
    """Nothing in a story reaches out of it."""

    class Reaches(Waits):
        @act()
        async def reaches(self, agent: Agent) -> None:
            await asyncio.open_connection("localhost", 1)

    machine = Reaches()
    played(machine, Move("ann", "reaches"))
    assert "the event loop of a story has no 'create_connection'" in str(machine._error)


def test_parallel_calls_that_do_not_see_each_other_s_effect_are_found() -> None:
    """A fault of async tools that shows only where two acts overlap between two awaits."""

    class Loses(Waits):
        def start(self) -> Guard:
            guard = super().start()
            self.add = self.add.__wrapped__
            return guard

    read = [Move(name, "reads_both") for name in ("ann", "bob")]
    moves = [*read, *(Move(name, "adds", {"name": "a"}, 1) for name in ("ann", "bob"))]
    assert "acted on a value that was stale" in played(Loses(), *moves)
    assert played(Waits(), *moves) == ""


def test_an_error_in_a_pause_is_not_the_outer_tool_s() -> None:
    """What another agent raises comes out of the machine, not out of the body that paused."""
    caught_by_the_body: list[Exception] = []

    class Raises(Counting):
        def add(self, reference: str) -> None:
            try:
                self.pause()
            except Exception as error:
                caught_by_the_body.append(error)
            self.applied = [*self.applied, reference]

        @act()
        def fails(self, agent: Agent) -> None:
            if len(self._running) > 1:
                raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing") as caught:
        check_guard(Raises, settings=STORIES)
    assert caught_by_the_body == []
    assert len(steps(caught.value.__notes__[0])) == 2


class Failing(Counting):
    """A tool that fails before its effect or after it; some of its agents do not take that for an answer."""

    guarded = True
    may_raise = (TimeoutError, LookupError)
    tries = 1

    def add(self, reference: str) -> None:
        self.pause()
        if self.fails == "before":
            raise LookupError("nothing was done")
        self.applied = [*self.applied, reference]
        if self.fails == "after":
            raise TimeoutError("and yet it was done")

    @act(fails=st.sampled_from(["before", "after", ""]))
    def adds(self, agent: Agent, fails: str = "") -> None:
        self.fails, reference = fails, agent.effect()
        for left in reversed(range(self.tries)):
            with suppress(TimeoutError if left else ()):
                self.tool(reference)
                break


def test_what_acts_may_raise_is_no_fault() -> None:
    """Nobody was told that all went well, so the effect may be there or not; that of a second try is one too many."""
    check_guard(Failing, settings=FEW)
    story = story_of(type("Insists", (Failing,), {"tries": 2}))
    assert "acted once, and its effect took place more than once." in story
    assert re.fullmatch(r"1\. (\w+): adds\(fails='after'\)\. .* It raised TimeoutError\.", *steps(story))
    lax = played(type("Lax", (Failing,), {"may_raise": ()})(), Move("ann", "adds", {"fails": "before"}))
    assert lax.startswith("ann raised LookupError.")


# -- what is wrong with a machine


def test_what_does_not_fit_is_said_at_once() -> None:
    """Parameters and strategies, no acts, no start, an object instead of the class."""
    with pytest.raises(TypeError, match=r"does not fit act\(order_id\): write def pay\(self, agent, order_id\)"):

        class Wrong(GuardMachine):
            @act(order_id=st.text())
            def pay(self, agent: Agent, order: str) -> None: ...

    with pytest.raises(TypeError, match=r"has no acts: put @act\(...\) above what its agents do"):
        check_guard(GuardMachine)
    with pytest.raises(NotImplementedError, match=r"has no start\(\)"):
        check_guard(type("NoStart", (Counting,), {"start": GuardMachine.start}))
    with pytest.raises(TypeError, match="is no subclass of GuardMachine"):
        check_guard(Rows())  # type: ignore[arg-type]


def test_states_that_a_read_does_not_show_are_noticed() -> None:
    """Values that could never be compared are an error of the machine's, not a fault of the guard."""

    class Shows(Rows):
        def states(self) -> Mapping[str, str]:  # type: ignore[override]
            return {name: str(value) for name, value in self.rows.items()}

    with pytest.raises(ValueError, match=r"sees\('a', 0\): the real state was never that, but '0':"):
        check_guard(Shows, settings=STORIES)


def test_an_agent_is_asked_within_its_act() -> None:
    """Not before, and not after."""
    machine = Rows()
    with pytest.raises(RuntimeError, match="'ann' is not acting"):
        machine._agents["ann"].knows("a")


def test_hostile_texts_stay_on_their_line() -> None:
    """Values and names of resources are shown escaped."""
    hostile = "\x1b[2J\n\u202ex"

    class Hostile(Counting):
        twice = True

        @act(text=st.just(hostile))
        def adds(self, agent: Agent, text: str) -> None:  # type: ignore[override]
            agent.sees(hostile, None)
            agent.knows(hostile)
            self.tool(agent.effect())

    story = story_of(Hostile)
    assert not {"\x1b", "\u202e"} & set(story)
    assert len(story.splitlines()) == 3


def test_own_writes_are_known() -> None:
    """An agent knows what it wrote, as the guard holds it to know: acting on that is no fault."""

    class Own(Rows):
        @act()
        async def adds_again(self, agent: Agent) -> None:
            value = agent.knows("a")
            await self.write("a", value + 1, depends_on=agent.depends_on)
            await self.write("a", value + 2, depends_on=[event for event in [last_event()] if event])

    check_guard(Own, settings=FEW)
