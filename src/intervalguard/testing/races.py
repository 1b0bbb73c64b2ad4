"""Two threads and one log: each step is atomic, whatever the threads' schedule.

One thread is stopped at a line of its step, the other makes its own step or runs into the log's lock, and the first goes
on: at the first line, the second, and so on to the last. These are all schedules by lines with one switch in the middle
of a step.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from ..kernel import admission, events, staleness, views
from ..kernel.admission import Admit
from ..kernel.views import Entry, Key
from ..logs.calls import Origin
from ..logs.protocol import EventLog
from . import reference
from .agreement import Nonconforming, check
from .factories import LogFactory
from .stories import moment

_ORIGIN = Origin("a racing tool")
_LOCKED_SECONDS = 0.01
"""A step that takes longer than this is taken to wait for the lock of the one that was stopped."""
_HUNG_SECONDS = 30.0

_PURE = {module.__name__ for module in (admission, staleness, events, views, reference)}
"""Functions without a state: to be stopped in one of them is to be stopped at the line that calls it."""


def check_races(factory: LogFactory) -> None:
    """Race two calls for one resource, a writer against the premise of another, and two settlements of one call; and let
    a finalizer settle a call at each line of a step on the same thread.
    """
    _race(factory, _for_one_resource)
    _race(factory, _for_a_premise)
    _race(factory, _to_settle)
    _finalize(factory)


class _Lines:
    """Counts the lines of a log's step as a trace function, without those of the rules, and calls ``at`` at one of them."""

    def __init__(self, stop_at: int, at: Callable[[], None]) -> None:
        self.count = 0
        self._stop_at = stop_at
        self._at = at

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_globals.get("__name__") in _PURE:
            return None
        if event == "line":
            self.count += 1
            if self.count == self._stop_at:
                self._at()
        return self


class _Race:
    """Two steps on a fresh log, and what must hold of their answers."""

    def __init__(self, one: Callable[[], Any], other: Callable[[], Any], verdict: Callable[[Any, Any], None]) -> None:
        self.one = one
        self.other = other
        self.verdict = verdict


def _for_one_resource(log: EventLog) -> _Race:
    def verdict(one: Any, other: Any) -> None:
        through = [first for decision, first in (one, other) if type(decision) is Admit]
        check(
            len(through) == 1,
            f"admission is not atomic: of two threads that race to write 'a', {len(through)} were let through at once",
        )
        pending = [event for event in log.events() if event.outcome == "pending"]
        check(len(pending) == 1, f"admission is not atomic: of two racing writers {len(pending)} are recorded as pending")

    return _Race(lambda: _write(log, "a"), lambda: _write(log, "a"), verdict)


def _for_a_premise(log: EventLog) -> _Race:
    _, read = log.admit(_ORIGIN, [("a", "read", None)])
    if read is None:
        raise Nonconforming("admit() does not record a read on an empty log")
    log.settle(read, "ok")

    def verdict(one: Any, other: Any) -> None:
        check(
            [type(decision) is Admit for decision, _ in (one, other)].count(True) == 1,
            "admission is not atomic: of two threads, one that writes 'b' by what it read of 'a' and one that writes 'a',"
            " both were let through: the premise must be pinned in the step that checks it",
        )

    return _Race(lambda: _write(log, "b", read.id), lambda: _write(log, "a"), verdict)


def _to_settle(log: EventLog) -> _Race:
    _, first = _write(log, "a")

    def verdict(one: Any, other: Any) -> None:
        check(
            (one is None) != (other is None),
            "settlement is not once: of two threads that settle one call, exactly one is to be told that it did",
        )

    return _Race(lambda: log.settle(first, "ok"), lambda: log.settle(first, "failed"), verdict)


def _write(log: EventLog, name: str, *depends_on: Key) -> Any:
    return log.admit(_ORIGIN, [(name, "write", None)], depends_on)


def _race(factory: LogFactory, make: Callable[[EventLog], _Race]) -> None:
    """The race, with the first thread stopped at its first line, its second, and so on until it has no more."""
    stop_at, is_stopped = 0, True
    while is_stopped:
        stop_at += 1
        race = make(factory(clock=lambda: moment(100), max_events=None))
        is_stopped, one, other = _run(race, stop_at)
        race.verdict(one, other)


def _run(race: _Race, stop_at: int) -> tuple[bool, Any, Any]:
    """Stop the first step at that line, let the second run, and then the first; whether it had that many lines."""
    stopped, go, done = threading.Event(), threading.Event(), threading.Event()
    answers: list[Any] = [None, None]
    faults: list[BaseException] = []

    def stand() -> None:
        stopped.set()
        go.wait(_HUNG_SECONDS)

    lines = _Lines(stop_at, stand)

    def first() -> None:
        sys.settrace(lines)
        try:
            answers[0] = race.one()
        except BaseException as fault:
            faults.append(fault)
        finally:
            sys.settrace(None)
            stopped.set()

    def second() -> None:
        try:
            answers[1] = race.other()
        except BaseException as fault:
            faults.append(fault)
        finally:
            done.set()

    threads = [threading.Thread(target=each, daemon=True) for each in (first, second)]
    threads[0].start()
    stopped.wait(_HUNG_SECONDS)
    threads[1].start()
    done.wait(_LOCKED_SECONDS)
    go.set()
    for thread in threads:
        thread.join(_HUNG_SECONDS)
        check(
            not thread.is_alive(),
            "two steps of the log hang: each waits for what the other holds, or one is to wait and does so itself",
        )
    if faults:
        raise faults[0]
    return lines.count >= stop_at, answers[0], answers[1]


def _finalize(factory: LogFactory) -> None:
    """A call begins, and at its first line, its second, and so on a finalizer settles another one on the same thread."""
    stop_at, is_stopped = 0, True
    while is_stopped:
        stop_at += 1
        log = factory(clock=lambda: moment(100), max_events=None)
        _, other = log.admit(_ORIGIN, [("b", "write", None)])
        assert other is not None
        is_stopped, decision = _interrupt(log, other, stop_at)
        outcomes = [event.outcome for event in log.events()]
        check(
            not is_stopped or (type(decision) is Admit and outcomes == ["ok", "pending"]),
            "settle_from_anywhere() came from a finalizer in the middle of an admission, and the events of the two calls are"
            f" {outcomes} after that: the other call is to be settled, at the latest in the next step",
        )


def _interrupt(log: EventLog, other: Entry, stop_at: int) -> tuple[bool, Any]:
    """Admit a call, with the other one settled at that line; whether it had that many lines, and the decision."""
    answers: list[Any] = []
    lines = _Lines(stop_at, lambda: log.settle_from_anywhere(other, "ok"))

    def step() -> None:
        sys.settrace(lines)
        try:
            answers.append(_write(log, "a")[0])
        except BaseException as fault:
            answers.append(fault)
        finally:
            sys.settrace(None)

    thread = threading.Thread(target=step, daemon=True)
    thread.start()
    thread.join(_HUNG_SECONDS)
    check(
        not thread.is_alive(),
        "settle_from_anywhere() hangs where a finalizer calls it in the middle of a step: it waits for no lock, not even one"
        " that its own thread holds",
    )
    return lines.count >= stop_at, answers[0]
