"""The pytest plugin of intervalguard: a fresh guard for each test, and an option that fails tests that acted on stale reads.

Pytest loads this module in every run of everyone who has intervalguard installed, so it stands beside the package and
imports nothing at load but pytest: not the package, not attrs, not Hypothesis.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from intervalguard import Guard
    from intervalguard.testing import ManualClock

LEVELS = ("never", "suspect", "stale")
MARKER = "intervalguard_fail_on"

_touched = pytest.StashKey[dict[Any, Any]]()
"""The logs through which calls of a test went, each with the position at which the first of these found it."""


@pytest.fixture
def intervalguard_clock() -> ManualClock:
    """A `ManualClock`, new for each test; the log of ``intervalguard_guard`` takes its time from it."""
    from intervalguard.testing import ManualClock

    return ManualClock()


@pytest.fixture
def intervalguard_guard(intervalguard_clock: ManualClock) -> Guard:
    """A `Guard` on an empty log, new for each test, which stands at ``intervalguard_clock`` and does not wait."""
    from intervalguard import Guard
    from intervalguard.logs import MemoryLog

    return Guard(MemoryLog(max_events=None, clock=intervalguard_clock), wait_seconds=0)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option, on the command line and in the configuration file."""
    shown = "fail a test in which a guarded call rested on something stale, or suspect too: never (default), suspect, stale"
    parser.getgroup("intervalguard").addoption(
        "--intervalguard-fail-on", choices=LEVELS, default=None, help=shown, dest="intervalguard_fail_on"
    )
    parser.addini("intervalguard_fail_on", shown, default="never")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and refuse a level in the configuration file that is none."""
    config.addinivalue_line("markers", f"{MARKER}(level): what --intervalguard-fail-on is for this test")
    _checked(config.getini("intervalguard_fail_on"), "intervalguard_fail_on in the configuration file")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, None]:
    """Note the logs that the test's calls go through, its fixtures' included, where it is to be judged."""
    if _level(item) == "never":
        yield
        return
    touched = item.stash[_touched] = {}
    with _noting(touched):
        yield


@pytest.hookimpl(trylast=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Fail a test that passed, and whose calls rested on what they should not have."""
    touched = item.stash.get(_touched, None)
    if touched is None:
        return
    level = _checked(_level(item), f"@pytest.mark.{MARKER}")
    del item.stash[_touched]
    said = _judged(touched, level)
    if said:
        pytest.fail(said, pytrace=False)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """A test that failed for a reason of its own tells beside that what its calls rested on: it may be the cause."""
    touched = item.stash.get(_touched, None)
    if touched is not None and call.when == "call":
        said = _judged(touched, _level(item))
        if said:
            item.add_report_section("call", "intervalguard", said)
    yield


def _level(item: pytest.Item) -> str:
    """At what a test fails: as its marker says, else the command line, else the configuration file."""
    marker = item.get_closest_marker(MARKER)
    if marker is not None:
        return str(marker.args[0]) if len(marker.args) == 1 and not marker.kwargs else f"{marker.args}"
    given: str | None = item.config.getoption("intervalguard_fail_on")
    return given if given is not None else str(item.config.getini("intervalguard_fail_on"))


def _checked(level: str, where: str) -> str:
    if level not in LEVELS:
        raise pytest.UsageError(f"{where}: level={level!r} is not one of {', '.join(LEVELS)}")
    return level


@contextmanager
def _noting(touched: dict[Any, Any]) -> Iterator[None]:
    """While it lasts, the logs through which calls go are put into ``touched``, whichever guard they belong to."""
    from intervalguard.shell.calls import Tool

    ask = Tool._ask

    def noted(tool: Tool, *args: Any, **kwargs: Any) -> Any:
        log = tool.guard.log
        if log not in touched:
            touched[log] = log.position()
        return ask(tool, *args, **kwargs)

    Tool._ask = noted  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        Tool._ask = ask  # type: ignore[method-assign]


def _judged(touched: dict[Any, Any], level: str) -> str:
    """What the audit of each log says of the calls that were made in the test."""
    from intervalguard.testing.fresh import audited, report

    said = []
    for log, since in touched.items():
        events = log.events()
        made = {event.id for event in events if event.seq > since}
        told = report([each for each in audited(events) if each[0].id in made], level)  # type: ignore[arg-type]
        said += [told] if told else []
    return "\n".join(said)
