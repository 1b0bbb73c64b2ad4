"""`GuardMachine` drives async tools on an event loop whose turns are those of the story."""

from __future__ import annotations

import asyncio
import time

import pytest
from sample.stories import STORIES, played
from sample.waits import Waits

from intervalguard import Guard
from intervalguard.testing import Agent, act, check_guard
from intervalguard.testing.scripts import Move


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


@pytest.mark.parametrize(
    ("act_of_ann", "arguments"),
    [("adds", {"name": "a"}), ("adds_on_a_thread", {}), ("notes_two", {})],
)
def test_others_come_in_where_an_act_awaits(act_of_ann: str, arguments: dict[str, str]) -> None:
    """At a sleep of any length, of no length, and at a pause on a thread that the loop made."""
    machine = Waits()
    reads = Move("ann", "reads_both")
    moves = (reads, Move("ann", act_of_ann, arguments, 1), Move("bob", "takes_the_lock"), Move("ann"))
    assert played(machine, *moves) == ""
    assert [part.step.move.agent for part in machine._parts[1:]] == ["ann", "bob", "ann", "bob"]
    assert {step.outcome for step in machine._steps} == {"ok"}


def test_what_an_act_leaves_behind_ends_with_it() -> None:
    """Its tasks are cancelled, and its streams closed, as `asyncio.run` does it: a stream that was left is read."""
    ended: list[str] = []

    class Leaves(Waits):
        @act()
        async def leaves(self, agent: Agent) -> None:
            async def sleeps() -> None:
                try:
                    await asyncio.sleep(9)
                finally:
                    ended.append(agent.name)

            self.task = asyncio.get_running_loop().create_task(sleeps())
            self.stream = self.follow("a")
            await anext(self.stream)

    machine = Leaves()
    assert played(machine, Move("ann", "leaves"), Move("bob", "takes_the_lock")) == ""
    assert ended == ["ann"]
    assert machine.task.cancelled()
    assert [event.outcome for event in machine.guard.log.events()] == ["ok"]


def test_a_group_of_refusals_is_a_refusal() -> None:
    """What a task group raises is what its tasks raised; one error among them that is none is the act's."""

    class Group(Waits):
        broken = False

        @act()
        async def adds_in_a_group(self, agent: Agent) -> None:
            agent.knows("a")
            async with asyncio.TaskGroup() as group:
                group.create_task(self.add("a", agent.effect()))
                if self.broken:
                    raise LookupError

    moves = (Move("ann", "reads_both"), Move("bob", "reads_both"), Move("bob", "adds", {"name": "a"}))
    machine = Group()
    assert played(machine, *moves, Move("ann", "adds_in_a_group")) == ""
    assert machine._steps[-1].outcome == "The guard refused it (StaleReadError)"
    machine = type("Broken", (Group,), {"broken": True})()
    assert played(machine, *moves, Move("ann", "adds_in_a_group")).startswith("ann raised ExceptionGroup.")
