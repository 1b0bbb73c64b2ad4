"""The conformance check: it passes the project's log, and tells of each broken one what is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest
from broken_logs import BROKEN
from hypothesis import Phase, settings
from strategies import times

from intervalguard.logs import MemoryLog
from intervalguard.testing import EventLogMachine, Nonconforming, check_event_log
from intervalguard.testing.races import check_races

QUICK = settings(
    stateful_step_count=30, deadline=None, derandomize=True, database=None, phases=[Phase.generate]
)


class MemoryLogs(EventLogMachine):
    def make(self, **options: Any) -> MemoryLog:
        return MemoryLog(**options)


MemoryLogs.TestCase.settings = settings(times(0.5), stateful_step_count=40, report_multiple_bugs=False)
TestMemoryLogs = MemoryLogs.TestCase


def test_the_memory_log_lets_no_race_through() -> None:
    """At no line of a step does it matter that another thread makes its own."""
    check_races(MemoryLog)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_log_is_caught(broken: type[Any]) -> None:
    """And the message says in a sentence what is wrong."""
    with pytest.raises(Nonconforming, match=broken.SAYS):
        check_event_log(broken, settings=settings(QUICK, max_examples=getattr(broken, "RUNS", 200)))


def test_there_are_enough_of_them() -> None:
    """One for most of what the check looks at."""
    assert len(BROKEN) >= 30


def test_a_machine_without_a_log_says_what_it_needs() -> None:
    """Not an attribute error somewhere below."""
    with pytest.raises(NotImplementedError, match=r"needs make\(\)"):
        EventLogMachine().make(clock=None, max_events=None)  # type: ignore[arg-type]
