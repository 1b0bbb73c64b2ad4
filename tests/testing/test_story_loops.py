"""`GuardMachine` drives async tools on an event loop whose turns are those of the story."""

from __future__ import annotations

import asyncio
import time

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
