"""`GuardMachine` lets acts overlap, waits out their waits without real time, and leaves no thread behind."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import pytest
from sample import tools
from sample.counting import Counting
from sample.stories import FEW, machine_of, played, steps, story_of
from sample.tickets import TicketMachine

from intervalguard.shell import waits
from intervalguard.testing import Agent, act, check_guard
from intervalguard.testing.scripts import Move

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
    """The shell's own waits are back, whatever happened, and other threads had them all the time."""
    real = waits.thread_event, waits.now
    inside: list[float] = []

    class Looks(Counting):
        def add(self, reference: str) -> None:
            inside.append(waits.now())
            thread = threading.Thread(target=lambda: inside.append(waits.now()))
            thread.start()
            thread.join()
            super().add(reference)

    assert played(Looks(), Move("ann", "adds")) == ""
    assert inside[0] == 0
    assert abs(inside[1] - time.monotonic()) < 60
    assert (waits.thread_event, waits.now) == real


# -- threads


@pytest.fixture
def threads() -> set[threading.Thread]:
    """Those that were there before: whoever runs the tests may have some."""
    return set(threading.enumerate())


def test_no_thread_is_left_behind(threads: set[threading.Thread]) -> None:
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
        assert set(threading.enumerate()) == threads
    check_guard(machine_of(tools.guarded), settings=FEW)
    assert set(threading.enumerate()) == threads


def test_an_interrupt_of_the_test_ends_the_story(threads: set[threading.Thread]) -> None:
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
    assert set(threading.enumerate()) == threads


STANDS_STILL = """
import signal, threading
from intervalguard.testing.scripts import Move
from sample.counting import Counting

class Locks(Counting):
    lock = threading.Lock()

    def add(self, reference):
        with self.lock:
            self.pause()

def interrupt():
    pause = 0.2
    while not ended.wait(pause):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        pause = 20  # again where it came to nothing: Python swallows one that comes while something is finalized

signal.signal(signal.SIGINT, signal.default_int_handler)
ended = threading.Event()
thread = threading.Thread(target=interrupt)
thread.start()
try:
    Locks()._play([Move("bob", "adds", {}, 1), Move("ann", "adds")])
except KeyboardInterrupt:
    print("interrupted")
ended.set()
thread.join()
print(threading.active_count())
"""


def test_an_interrupt_ends_a_story_that_stands_still() -> None:
    """An act that wants a lock which another holds over its pause goes on when that one has been ended.

    In a process of its own: what else ran in this one may keep interrupts from ending a wait for a lock.
    """
    ran = subprocess.run(
        [sys.executable, "-c", STANDS_STILL],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ran.stdout.split(), ran.stderr) == (["interrupted", "1"], "")


def test_a_fault_comes_before_what_its_act_raises() -> None:
    """An act that acted on a stale value and then failed is told of as the fault that it is."""

    class Fails(Counting):
        @act()
        def looks(self, agent: Agent) -> None:
            agent.sees("counter", len(self.applied))

        @act()
        def fails(self, agent: Agent) -> None:
            agent.knows("counter")
            self.add(agent.effect())
            raise LookupError

    machine = Fails()
    moves = (Move("ann", "looks"), Move("bob", "adds"), Move("ann", "fails"))
    assert played(machine, *moves).startswith("ann acted on a value that was stale.")
    assert machine._error is None
