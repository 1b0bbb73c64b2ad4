"""The conformance check: it passes the project's log, and tells of each broken one what is wrong with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from pathlib import Path
from traceback import walk_tb
from typing import Any

import pytest
from broken_logs import BROKEN
from broken_steps import STEPS
from broken_stores import STORES
from hypothesis import Phase, settings
from strategies import times

from intervalguard.logs import MemoryLog, forks
from intervalguard.testing import (
    EventLogMachine,
    Nonconforming,
    bench,
    check_agreement,
    check_event_log,
    races,
)
from intervalguard.testing.bench import within
from intervalguard.testing.cases import CASES, check_cases
from intervalguard.testing.conformance import run_machine
from intervalguard.testing.races import check_races

QUICK = settings(
    stateful_step_count=30, deadline=None, derandomize=True, database=None, phases=[Phase.generate], max_examples=40
)
ALL = [*BROKEN, *STEPS, *STORES]
CASE = {case.__name__: case for case in CASES}
KIT = Path(bench.__file__).parent


@pytest.fixture(scope="module", autouse=True)
def forks_go_on() -> Iterator[None]:
    """A broken log may hang for good with its lock held, and a fork waits for the locks of all logs that there are."""
    before = set(forks._live)
    yield
    for log in set(forks._live) - before:
        forks._live.discard(log)


class MemoryLogs(EventLogMachine):
    def make(self, **options: Any) -> MemoryLog:
        return MemoryLog(**options)


MemoryLogs.TestCase.settings = settings(times(0.15), stateful_step_count=40, report_multiple_bugs=False)
TestMemoryLogs = MemoryLogs.TestCase


def test_the_memory_log_lets_no_race_through() -> None:
    """At no line of a step does it matter that another thread makes its own."""
    check_races(MemoryLog)


def test_logs_pass_side_by_side() -> None:
    """The memory log with a bound and without one, in one story."""

    def unbounded(**options: Any) -> MemoryLog:
        return MemoryLog(clock=options["clock"], max_events=None)

    check_agreement(unbounded, MemoryLog, settings=settings(QUICK, max_examples=15))


class RunsAhead(MemoryLog):
    """Right by itself, and its clock is a second ahead of the other logs'."""

    def __init__(self, *, clock: Any, max_events: int | None) -> None:
        super().__init__(clock=lambda: clock() + timedelta(seconds=1), max_events=max_events)


@cache
def apart() -> Nonconforming | None:
    """What is said of two logs that are right, and not alike."""
    try:
        check_agreement(MemoryLog, RunsAhead, settings=QUICK)
    except Nonconforming as fault:
        return fault
    return None


def test_logs_that_are_apart_are_told_of() -> None:
    """Each is right by itself, and they hold other times."""
    assert "the logs do not agree" in str(apart())
    with pytest.raises(ValueError, match="give two or more"):
        check_agreement(MemoryLog)


class Durable(MemoryLog):
    """A log that is there after its process, as far as anyone can tell."""

    def reopen(self) -> MemoryLog:
        return self


class Loses(Durable):
    """A durable log that counts what was pending for lost when it is opened anew."""

    def reopen(self) -> MemoryLog:
        for entry in self._view.entries():
            if entry.outcome == "pending" and entry.call == entry.id:
                self.settle(entry, "unknown")
        return self


class Shared(Durable):
    """A log that is shared, by what is one object."""

    def another(self) -> MemoryLog:
        return self


@pytest.mark.parametrize("factory", [Durable, Loses, Shared])
def test_durable_and_shared_logs_pass(factory: type[Any]) -> None:
    """They are opened anew and taken in turns, and what was pending may be lost by that."""
    within(CASE["_reopening"], factory)
    run_machine([factory], settings(QUICK, max_examples=3))


def _run(broken: type[Any], only: str | None) -> None:
    """The whole check, or what alone shows a fault that comes late in it."""
    if only == "races":
        check_races(broken)
    elif only == "machine":
        run_machine([broken], QUICK)
    elif only is not None:
        within(CASE[only], broken)
    else:
        check_event_log(broken, settings=QUICK)


@cache
def caught(broken: type[Any]) -> Nonconforming | None:
    """What is said of a broken log."""
    with pytest.MonkeyPatch.context() as patch:
        if hasattr(broken, "HANGS"):
            patch.setattr(bench, "HUNG_SECONDS", 0.5)
            patch.setattr(races, "_HUNG_SECONDS", 0.5)
        patch.setattr("intervalguard.testing.driver.WAKE_SECONDS", 0.05)
        try:
            _run(broken, getattr(broken, "ONLY", None))
        except Nonconforming as fault:
            return fault
    return None


@pytest.mark.parametrize("broken", ALL, ids=lambda broken: broken.__name__)
def test_a_broken_log_is_caught(broken: type[Any]) -> None:
    """And the message says in a sentence what is wrong."""
    fault = caught(broken)
    assert fault is not None
    with pytest.raises(Nonconforming, match=broken.SAYS):
        raise fault


def test_the_memory_log_passes_the_cases() -> None:
    """Each of them, on a log that is shared: two take turns on one store."""
    check_cases(Shared)


def test_every_check_is_tripped_by_a_broken_log() -> None:
    """A check that no broken log trips may as well not be there."""
    checks = {
        (path.name, node.lineno, node.end_lineno or node.lineno)
        for path in KIT.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "check"
    }
    tripped = {site for broken in ALL for site in _sites(caught(broken))} | _sites(apart())
    idle = {each for each in checks if not any(each[0] == name and each[1] <= line <= each[2] for name, line in tripped)}
    assert sorted(idle) == []


def _sites(fault: BaseException | None) -> set[tuple[str, int]]:
    """Where a fault was found, by file and line; one that a case wraps is told of by its cause."""
    found = set()
    while fault is not None:
        found |= {(Path(frame.f_code.co_filename).name, line) for frame, line in walk_tb(fault.__traceback__)}
        fault = fault.__cause__
    return found
