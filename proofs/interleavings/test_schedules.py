"""Law L7 with real threads: every line-level schedule of the memory log, with up to two preemptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import pytest

from intervalguard.kernel.admission import Admit, Wait, admit
from intervalguard.kernel.staleness import Claim
from intervalguard.logs import MemoryLog, memory, settling, waiters
from intervalguard.logs.calls import Origin

from .schedules import CooperativeLock, Gate, Scenario, Schedule, every_schedule

TRACED = (memory.__file__, settling.__file__, waiters.__file__)
"""The files whose every line is a point at which another thread may go on."""

BROKEN = "a write took effect on a superseded premise"

Story = Sequence[tuple[str | None, str]]
"""For each thread what it has read, if anything, and what it writes, resting on that."""

STORIES: dict[str, Story] = {
    "both write what both read": [("x", "x"), ("x", "x")],
    "each writes what the other read": [("x", "y"), ("y", "x")],
    "one writes what the other rests on": [("x", "y"), (None, "x")],
}


def scenario(story: Story, make: Callable[[], MemoryLog], said: Counter[str]) -> Scenario:
    """The threads of a story; what they have read, they have read before."""

    def set_up(schedule: Schedule) -> tuple[Sequence[Callable[[], None]], Callable[[], str | None]]:
        log = make()
        log._lock = lock_of(log, schedule)
        changes: Counter[str] = Counter()
        broken: list[str] = []
        origin = Origin()

        def effect(read: str | None, written: str) -> None:
            if read is not None and changes[read]:
                broken.append(BROKEN)
            changes[written] += 1

        def body(read: str | None, written: str, keys: tuple[int, ...]) -> Callable[[], None]:
            def run() -> None:
                while True:
                    gate = Gate(schedule)
                    decision, first = log.admit(origin, ((written, "write", None),), keys, wake=gate.open)
                    said[type(decision).__name__] += 1
                    if first is not None:
                        break
                    gate.wait()
                if first.outcome == "pending":
                    effect(read, written)
                    log.settle(first, "ok")

            return run

        bodies = []
        for read, written in story:
            keys: tuple[int, ...] = ()
            if read is not None:
                _, first = log.admit(origin, ((read, "read", None),))
                assert first is not None
                log.settle(first, "ok")
                keys = (first.id,)
            bodies.append(body(read, written, keys))
        return bodies, lambda: broken[0] if broken else None

    return set_up


def lock_of(log: MemoryLog, schedule: Schedule) -> Any:
    return Unlocked() if isinstance(log, WithoutLock) else CooperativeLock(schedule)


class Unlocked(nullcontext):  # type: ignore[type-arg]
    """What stands where a lock should be."""

    def _is_owned(self) -> bool:
        return False


class WithoutLock(MemoryLog):
    """A log whose steps are not atomic."""


class InTwoSteps(MemoryLog):
    """A log that checks in one step and records in another."""

    def admit(self, origin: Origin, touches: Any, depends_on: Any = (), *rest: Any, **options: Any) -> Any:
        with self._lock:
            claim = Claim(None, None, depends_on)
            decision = admit(self._view, claim, touches, 0, self._view.next, self._now())
        if isinstance(decision, Admit):
            return super().admit(origin, touches, depends_on, least=None)
        return super().admit(origin, touches, depends_on, *rest, **options)


class WakesLate(MemoryLog):
    """A log that notes who waits in a step of its own."""

    def admit(self, *asked: Any, wake: Any = None, **options: Any) -> Any:
        decision, first = super().admit(*asked, **options)
        if first is None:
            assert isinstance(decision, Wait)
            with self._lock:
                self._waiters.setdefault(decision.blocker.call, {})[wake] = None
        return decision, first


@pytest.mark.parametrize("story", STORIES)
def test_no_schedule_of_two_threads_breaks_the_law_or_hangs(story: str) -> None:
    """Whatever two preemptions do, no write takes effect on a superseded premise, and every wait ends."""
    said: Counter[str] = Counter()
    outcomes = Counter(every_schedule(scenario(STORIES[story], MemoryLog, said), 2, TRACED))
    assert outcomes.keys() == {None}
    assert outcomes[None] > 1000
    assert set(said) == {"Admit", "Wait", "Refuse"}


CIRCLE: Story = [("x", "y"), ("y", "z"), ("z", "x")]


def test_no_schedule_of_three_threads_breaks_the_law_or_hangs() -> None:
    """The same for three threads that read and write in a circle, and one preemption."""
    said: Counter[str] = Counter()
    outcomes = Counter(every_schedule(scenario(CIRCLE, MemoryLog, said), 1, TRACED))
    assert outcomes.keys() == {None}
    assert outcomes[None] > 500
    assert set(said) == {"Admit", "Wait", "Refuse"}


@pytest.mark.parametrize(
    ("wrong", "preemptions", "found"), [(WithoutLock, 1, BROKEN), (InTwoSteps, 1, BROKEN), (WakesLate, 2, "hangs")]
)
def test_a_wrong_log_is_found_out(wrong: type[MemoryLog], preemptions: int, found: str) -> None:
    """So few preemptions break a log without a lock, one that works in two steps, and one that forgets who waits."""
    story = STORIES["both write what both read"]
    assert found in every_schedule(scenario(story, wrong, Counter()), preemptions, (*TRACED, __file__))
