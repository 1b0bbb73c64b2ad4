"""A cooperative scheduler for real threads: every line-level schedule, up to a bound on preemptions.

Each traced line is a point at which another thread may go on instead. A thread that is blocked, or has ended, makes way
for free; taking the turn from one that could go on is a preemption. The threads are real, but one runs at a time, so a
schedule can be run again.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import attrs


class Barrier(Protocol):
    """What may block a thread."""

    def is_shut(self) -> bool: ...


class _Abandoned(BaseException):
    """The schedule is over for a thread that will never be able to go on."""


@attrs.define(eq=False)
class Worker:
    body: Callable[[], None]
    turn: threading.Lock
    blocked_on: Barrier | None = None
    is_done: bool = False
    error: BaseException | None = None


class Schedule:
    """One run of some threads. ``choices`` say who goes on at the first points; after that, whoever runs does.

    ``trail`` are the choices made where there was one, each with the number of those that there were. ``is_hung`` says
    that there came a point from which nobody could go on.
    """

    def __init__(self, choices: Sequence[int], preemptions: int, traced: Sequence[str]) -> None:
        self.trail: list[tuple[int, int]] = []
        self.is_hung = False
        self._choices = choices
        self._left = preemptions
        self._traced = frozenset(traced)
        self._workers: list[Worker] = []
        self._running: Worker | None = None
        self._over = threading.Lock()
        self._over.acquire()

    def run(self, bodies: Sequence[Callable[[], None]]) -> list[BaseException]:
        """Run the threads to their ends, or until all that are left hang. The errors that came out of them."""
        for body in bodies:
            turn = threading.Lock()
            turn.acquire()
            self._workers.append(Worker(body, turn))
        threads = [threading.Thread(target=self._run, args=(each,), daemon=True) for each in self._workers]
        for thread in threads:
            thread.start()
        self._hand_over(None)
        self._over.acquire()
        for thread in threads:
            thread.join()
        return [each.error for each in self._workers if each.error is not None]

    def block(self, on: Barrier) -> None:
        """The thread that runs goes on when ``on`` is not shut any more."""
        worker = self._running
        assert worker is not None
        while on.is_shut():
            worker.blocked_on = on
            self._hand_over(worker)
        worker.blocked_on = None

    def _run(self, worker: Worker) -> None:
        worker.turn.acquire()
        try:
            if not self.is_hung:
                sys.settrace(lambda frame, event, argument: self._trace(worker, frame))
                worker.body()
        except _Abandoned:
            pass
        except BaseException as error:
            worker.error = error
        finally:
            sys.settrace(None)
            worker.is_done = True
            self._hand_over(worker)

    def _trace(self, worker: Worker, frame: Any) -> Any:
        if frame.f_code.co_filename not in self._traced:
            return None

        def local(frame: Any, event: str, argument: Any) -> Any:
            if event == "line" and not self.is_hung:
                self._hand_over(worker)
            return local

        return local

    def _hand_over(self, worker: Worker | None) -> None:
        """Let whoever is chosen go on, and return when that is ``worker`` again."""
        if self.is_hung:
            self._abandon_next(worker)
            return
        if worker is not None and not self._left and not worker.is_done and worker.blocked_on is None:
            return
        ready = [
            each for each in self._workers
            if not each.is_done and (each.blocked_on is None or not each.blocked_on.is_shut())
        ]  # fmt: skip
        if not ready:
            self.is_hung = not all(each.is_done for each in self._workers)
            self._abandon_next(worker)
            return
        can_go_on = worker in ready
        if worker is not None and can_go_on:
            ready = [worker, *(each for each in ready if each is not worker)] if self._left else [worker]
        chosen = ready[0] if len(ready) == 1 else ready[self._choose(len(ready))]
        if can_go_on and chosen is not worker:
            self._left -= 1
        self._running = chosen
        if chosen is not worker:
            chosen.turn.release()
            if worker is not None and not worker.is_done:
                worker.turn.acquire()
                if self.is_hung:
                    raise _Abandoned

    def _choose(self, options: int) -> int:
        place = len(self.trail)
        choice = self._choices[place] if place < len(self._choices) else 0
        self.trail.append((choice, options))
        return choice

    def _abandon_next(self, worker: Worker | None) -> None:
        """End the threads that hang one by one, and then the schedule."""
        if worker is not None and not worker.is_done:
            raise _Abandoned
        left = next((each for each in self._workers if not each.is_done), None)
        if left is None:
            self._over.release()
        else:
            left.turn.release()


class CooperativeLock:
    """A re-entrant lock, of which the scheduler knows who waits for it."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._owner: int | None = None
        self._depth = 0

    def is_shut(self) -> bool:
        return self._owner is not None

    def acquire(self, blocking: bool = True) -> bool:
        if not self._is_owned():
            if self._owner is not None and not blocking:
                return False
            if self._owner is not None:
                self._schedule.block(self)
            self._owner = threading.get_ident()
        self._depth += 1
        return True

    def release(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._owner = None

    def _is_owned(self) -> bool:
        return self._owner == threading.get_ident()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()


class Gate:
    """What a thread waits at until another opens it."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._is_open = False

    def is_shut(self) -> bool:
        return not self._is_open

    def open(self) -> None:
        self._is_open = True

    def wait(self) -> None:
        if self.is_shut():
            self._schedule.block(self)


Scenario = Callable[[Schedule], tuple[Sequence[Callable[[], None]], Callable[[], str | None]]]
"""Sets up a run: the bodies of its threads, and what is asked afterwards: what broke, if anything."""


def every_schedule(scenario: Scenario, preemptions: int, traced: Sequence[str]) -> Iterator[str | None]:
    """Run every schedule, depth first, and tell of each what broke, if anything."""
    choices: list[int] = []
    while True:
        schedule = Schedule(choices, preemptions, traced)
        bodies, broken = scenario(schedule)
        errors = schedule.run(bodies)
        assert [choice for choice, _ in schedule.trail[: len(choices)]] == choices, "the threads are not deterministic"
        yield "hangs" if schedule.is_hung else repr(errors[0]) if errors else broken()
        trail = schedule.trail
        while trail and trail[-1][0] + 1 >= trail[-1][1]:
            trail.pop()
        if not trail:
            return
        choices = [choice for choice, _ in trail[:-1]] + [trail[-1][0] + 1]
