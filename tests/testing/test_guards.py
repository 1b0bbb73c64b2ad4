"""`GuardMachine`: it finds each fault of the sample project, none where that is guarded properly, and tells it shortly."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from sample import tools
from sample.machine import ShopMachine
from sample.shop import Shop

from intervalguard import Guard, last_event
from intervalguard.logs import MemoryLog
from intervalguard.shell.calls import Tool
from intervalguard.testing import Agent, GuardFault, GuardMachine, act, check_guard
from intervalguard.testing.scripts import Move, shortest

STORIES = settings(derandomize=True, max_examples=40, stateful_step_count=20, deadline=None, database=None)


def machine_of(make_tools: Callable[[Shop], tools.Tools]) -> type[ShopMachine]:
    return type("Machine", (ShopMachine,), {"make_tools": staticmethod(make_tools)})


def story_of(machine: type[GuardMachine]) -> str:
    with pytest.raises(GuardFault) as caught:
        check_guard(machine, settings=STORIES)
    return str(caught.value)


def steps(story: str) -> list[str]:
    return re.findall(r"^\d+\. .*", story, re.MULTILINE)


# -- the sample project


def test_a_project_that_is_guarded_properly_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No false alarm, over stories in which every act happens and is let through, and some are refused; none waits."""
    seen: dict[str, set[str]] = {}
    waited: list[Tool] = []

    def wait(tool: Tool, *_: Any) -> None:
        waited.append(tool)

    monkeypatch.setattr(Tool, "_wait", wait)

    class Watched(machine_of(tools.guarded)):  # type: ignore[misc]
        def teardown(self) -> None:
            for step in self._steps:
                seen.setdefault(step.move.act, set()).add(step.outcome)
                seen.setdefault("in a pause" if step.during else "by itself", set()).add(step.outcome)

    check_guard(Watched, settings=settings(STORIES, max_examples=100))
    assert waited == []
    assert Tool._wait is wait
    assert set(seen) == {"looks", "refunds", "sets", "pays", "in a pause", "by itself"}
    refused, lost = "The guard refused it (StaleReadError)", "The guard refused it (ConflictError)"
    assert {"ok", refused, lost} <= seen["refunds"] & seen["sets"]
    assert {"ok", refused} <= seen["pays"] & seen["in a pause"]


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
    """Two looks, a change, and the act that rests on what was before it; the same each time."""
    story = story_of(machine_of(tools.with_a_silent_payment))
    assert story == story_of(machine_of(tools.with_a_silent_payment))
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

    def goes_wrong(moves: Sequence[Move]) -> bool:
        order = [(move.agent, move.act) for each in moves for move in (each, *each.inside.get(1, ()))]
        return any(one[1] == "x" and other[1] == "y" and one[0] != other[0] for one, other in pairwise(order))

    idle = [Move("bob", "z", {"n": number}) for number in range(20)]
    inside = Move("bob", "x", {"n": 1000}, {1: [Move("ann", "y", {"n": 12}), Move("ann", "z", {"n": 3})]})
    short = shortest([*idle, inside, *idle], goes_wrong)
    assert [(each.agent, each.act, each.arguments, each.inside) for each in short] == [
        ("ann", "x", {"n": 0}, {}),
        ("bob", "y", {"n": 0}, {}),
    ]


def test_what_must_come_in_between_stays_there() -> None:
    """A move inside another is made before or after it only where that goes wrong too."""
    moves = [Move("ann", "x", {}, {2: [Move("bob", "y", {}), Move("bob", "z", {})]})]
    short = shortest(moves, lambda moves: any(each.act == "y" for move in moves for each in move.inside.get(2, ())))
    assert [(each.act, [inner.act for inner in each.inside[2]]) for each in short] == [("x", ["y"])]


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
    assert len(steps(story)) == 2
    assert "while step 1 was still running" in story
    assert "The guard's log" not in story
    check_guard(type("Guarded", (Counting,), {"guarded": True}), settings=STORIES)


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

    story = story_of(Dirty)
    assert len(steps(story)) == 3
    assert "was still running" in story
    assert re.search(r"flickers\(\)\. It changed 'a' from 0 to 5\. It changed 'a' from 5 to 0\.\n", story)
    assert re.search(r"adds\(.*since \w+ had changed it in step \d\. It changed 'b' from None to \d\.\n", story), story


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
    check_guard(Rows, settings=STORIES)
    assert "acted on a value that was stale" in story_of(type("Silent", (Rows,), {"says_it": False}))


def test_a_story_has_no_event_loop() -> None:
    """A tool that waits for one is told so, with its story."""

    class Waits(Rows):
        @act()
        async def sleeps(self, agent: Agent) -> None:
            import asyncio

            await asyncio.sleep(0)

    with pytest.raises(TypeError, match=r"sleeps\(\) waits for an event loop, of which a story has none") as caught:
        check_guard(Waits, settings=STORIES)
    assert caught.value.__notes__ == ["ann raised TypeError.\n\n1. ann: sleeps(). It raised TypeError.\n   "
                                      "The guard's log of it: nothing."]  # fmt: skip


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
            if any(step.move.act == "adds" for step in self._running):
                raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing") as caught:
        check_guard(Raises, settings=STORIES)
    assert caught_by_the_body == []
    assert len(steps(caught.value.__notes__[0])) == 2


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

    check_guard(Own, settings=STORIES)
