"""The pytest plugin: its fixtures, its option, what it costs those who do not use it, and the assertion beside it."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from intervalguard import Event, Guard
from intervalguard.logs import MemoryLog
from intervalguard.shell.calls import Tool
from intervalguard.testing import ManualClock, assert_fresh

pytest_plugins = ["pytester"]

DESK = """
from intervalguard import Guard, StaleReadError, last_event
import pytest

def tools(guard):
    @guard.tracked("orders/{order_id}", 30, writes=False)
    def look(order_id):
        return 10

    @guard.tracked("orders/{order_id}", writes=True)
    def refund(order_id):
        pass

    return look, refund

def act_on_an_old_read(guard):
    look, refund = tools(guard)
    look("42")
    seen = last_event()
    refund("42")
    refund("42", depends_on=seen)
    look("42")
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with two tools, and a function that acts on a read that is superseded."""
    pytester.makepyfile(desk=DESK)
    return pytester


def run(project: pytest.Pytester, tests: str, *options: str) -> pytest.RunResult:
    project.makepyfile(test_it=f"from desk import *\n{tests}")
    return project.runpytest_inprocess("-p", "no:cacheprovider", *options)


OBSERVED = """
def test_observed(intervalguard_guard):
    act_on_an_old_read(Guard(intervalguard_guard.log, mode="observe"))
"""


# -- fixtures


def test_each_test_has_a_guard_of_its_own(project: pytest.Pytester) -> None:
    """The log is empty, its clock is the manual one, and no call waits."""
    tests = """
@pytest.mark.parametrize("again", [1, 2])
def test_fresh(intervalguard_guard, intervalguard_clock, again):
    look, refund = tools(intervalguard_guard)
    assert intervalguard_guard.log.events() == []
    intervalguard_clock.advance(7)
    look("42")
    assert last_event().start_time == intervalguard_clock() == intervalguard_guard.log.now()
    assert intervalguard_guard.wait_seconds == 0
    intervalguard_clock.advance(31)
    with pytest.raises(StaleReadError):
        refund("42", depends_on=last_event())
"""
    run(project, tests).assert_outcomes(passed=2)


def test_a_guard_made_at_import_can_have_the_fresh_log(project: pytest.Pytester) -> None:
    """A project's own guard lives on another log for one test."""
    tests = """
guard = Guard()
look, refund = tools(guard)

@pytest.fixture(autouse=True)
def fresh(monkeypatch, intervalguard_guard):
    monkeypatch.setattr(guard, "log", intervalguard_guard.log)

@pytest.mark.parametrize("again", [1, 2])
def test_fresh(intervalguard_guard, again):
    look("42")
    assert len(intervalguard_guard.log.events()) == len(guard.log.events()) == 1
"""
    run(project, tests).assert_outcomes(passed=2)


# -- the option


def test_a_test_that_rested_on_something_stale_fails(project: pytest.Pytester) -> None:
    """With the option, a call that went through in observe mode fails its test, in the audit's words."""
    ask = Tool._ask
    run(project, OBSERVED).assert_outcomes(passed=1)
    result = run(project, OBSERVED, "--intervalguard-fail-on=stale")
    result.assert_outcomes(failed=1)
    assert Tool._ask is ask
    result.stdout.re_match_lines(
        [
            r"1 call rested on something that was not fresh:",
            r"stale +superseded +'orders/42' \(id=\w+-\d+\): event 'orders/42' \(id=\w+-1\) is stale: superseded by"
            r" 'orders/42' \(id=\w+-3\) at 2026-01-01T00:00:00Z; read again",
        ],
        consecutive=True,
    )
    assert result.stdout.lines.count("1 call rested on something that was not fresh:") == 1
    assert "Traceback" not in result.stdout.str()
    assert "pytest_intervalguard.py" not in result.stdout.str()


def test_warn_mode_and_any_guard(project: pytest.Pytester) -> None:
    """It does not matter which guard a call went through, nor whether that is still there."""
    tests = """
import logging
shared = Guard(mode="warn")

def test_of_its_own():
    act_on_an_old_read(Guard(mode="warn"))

def test_shared():
    act_on_an_old_read(shared)

def test_that_is_not_to_blame():
    look, refund = tools(shared)
    look("1")
    refund("1", depends_on=last_event())

def test_default():
    from intervalguard import tracked
    @tracked("x", writes=False, mode="observe")
    def read(): pass
    @tracked("x", writes=True, mode="observe")
    def write(): pass
    read()
    seen = last_event()
    write()
    write(depends_on=seen)
"""
    run(project, tests, "--intervalguard-fail-on=stale").assert_outcomes(failed=3, passed=1)


def test_what_the_guard_refused_is_no_fault(project: pytest.Pytester) -> None:
    """A refused call did not act: its test passes, as does one without guarded calls."""
    tests = """
def test_refused(intervalguard_guard):
    with pytest.raises(StaleReadError):
        act_on_an_old_read(intervalguard_guard)

def test_nothing():
    pass
"""
    run(project, tests, "--intervalguard-fail-on=suspect").assert_outcomes(passed=2)


def test_levels(project: pytest.Pytester) -> None:
    """What is merely suspect fails at level suspect alone; the configuration file has a say, the command line the last."""
    overlapped = """
def test_suspect(intervalguard_guard):
    guard = Guard(intervalguard_guard.log, mode="observe")
    look, refund = tools(guard)
    with guard.write("orders/42"):
        look("42")
        seen = last_event()
    with guard.write("payments/1", depends_on=seen):
        pass
"""
    run(project, overlapped, "--intervalguard-fail-on=stale").assert_outcomes(passed=1)
    run(project, overlapped, "--intervalguard-fail-on=suspect").assert_outcomes(failed=1)
    project.makeini("[pytest]\nintervalguard_fail_on = suspect\n")
    run(project, overlapped).assert_outcomes(failed=1)
    run(project, overlapped, "--intervalguard-fail-on=never").assert_outcomes(passed=1)
    project.makeini("[pytest]\nintervalguard_fail_on = sometimes\n")
    result = run(project, overlapped)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*level='sometimes' is not one of never, suspect, stale*"])


def test_a_test_may_say_otherwise(project: pytest.Pytester) -> None:
    """The marker is the option for one test, both ways; one that says nothing known fails."""
    tests = f"""
@pytest.mark.intervalguard_fail_on("never")
{OBSERVED.strip()}

@pytest.mark.intervalguard_fail_on("offen")
def test_misspelt():
    pass
"""
    result = run(project, tests, "--intervalguard-fail-on=stale", "--strict-markers")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*@pytest.mark.intervalguard_fail_on: level='offen' is not one of*"])
    tests = f'@pytest.mark.intervalguard_fail_on("stale")\n{OBSERVED.strip()}'
    run(project, tests, "--strict-markers").assert_outcomes(failed=1)


def test_a_test_that_fails_keeps_its_reason(project: pytest.Pytester) -> None:
    """The findings stand beside it, for they may be the cause; an expected failure is one."""
    tests = f"{OBSERVED}    assert 1 == 2, 'its own reason'\n"
    result = run(project, tests, "--intervalguard-fail-on=stale")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*its own reason*", "*Captured intervalguard call*", "1 call rested on something*"])
    assert result.stdout.str().count("1 call rested on something") == 1
    tests = f"@pytest.mark.xfail(strict=True)\n{OBSERVED.strip()}"
    run(project, tests, "--intervalguard-fail-on=stale").assert_outcomes(xfailed=1)


def test_fixtures_count(project: pytest.Pytester) -> None:
    """What a fixture did before the test is the test's too."""
    tests = """
@pytest.fixture
def acted():
    act_on_an_old_read(Guard(mode="observe"))

def test_it(acted):
    pass
"""
    run(project, tests, "--intervalguard-fail-on=stale").assert_outcomes(failed=1)


def test_names_cannot_reach_the_terminal(project: pytest.Pytester) -> None:
    """A name with a control character in it is shown escaped."""
    tests = r"""
def test_hostile(intervalguard_guard):
    guard = Guard(intervalguard_guard.log, mode="observe")
    name = "orders/\x1b[2J\u202e42\r\n'"
    with guard.read(name) as block:
        pass
    guard.record_write(name)
    with guard.write(name, depends_on=block.event):
        pass
"""
    result = run(project, tests, "--intervalguard-fail-on=stale", "--color=no")
    result.assert_outcomes(failed=1)
    assert r"'orders/\x1b[2J\u202e42\r\n\''" in result.stdout.str()
    assert not {"\x1b", "\u202e", "\r"} & set(result.stdout.str())


# -- what it costs


def test_the_entry_point_names_the_plugin() -> None:
    """Pytest finds it by itself."""
    (found,) = [each for each in entry_points(group="pytest11") if each.name == "intervalguard"]
    assert found.value == "pytest_intervalguard"


def test_it_costs_nothing_unused(project: pytest.Pytester) -> None:
    """A run that does not use it imports neither the package nor attrs nor Hypothesis."""
    project.makepyfile(
        test_it="""
import sys

def test_what_is_loaded():
    assert "pytest_intervalguard" in sys.modules
    loaded = {name.partition(".")[0] for name in sys.modules}
    assert not loaded & {"intervalguard", "attr", "attrs", "hypothesis"}
"""
    )
    project.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_hypothesis_is_left_alone(project: pytest.Pytester) -> None:
    """It imports as ever beside a plugin that is used, and its own plugin is content."""
    project.makepyfile(
        test_with="""
from hypothesis import given, strategies as st

def test_fixture(intervalguard_guard):
    pass

@given(st.integers())
def test_given(number):
    pass
"""
    )
    options = ["-p", "no:cacheprovider", "-W", "error", "--intervalguard-fail-on=stale"]
    project.runpytest_subprocess(*options).assert_outcomes(passed=2)


def test_it_does_without_hypothesis(project: pytest.Pytester) -> None:
    """Where that is not installed, the fixtures, the option and the assertion work all the same."""
    project.makepyfile(
        test_without="""
import sys
sys.modules["hypothesis"] = None

def test_fixture(intervalguard_guard, intervalguard_clock):
    from intervalguard.testing import assert_fresh
    assert_fresh(intervalguard_guard.log)
"""
    )
    options = ["-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-W", "error", "--intervalguard-fail-on=stale"]
    project.runpytest_subprocess(*options).assert_outcomes(passed=1)


def test_the_kit_loads_hypothesis_when_it_is_asked_for() -> None:
    """The clock and the assertion do without it."""
    code = (
        "import sys, intervalguard.testing as kit; assert 'hypothesis' not in sys.modules; kit.GuardMachine;"
        " assert 'hypothesis' in sys.modules; print(sorted(kit.__all__) == kit.__all__)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert said.stdout.split() == ["True"]


# -- the assertion


def stale_log(name: str = "orders/42") -> MemoryLog:
    guard = Guard(MemoryLog(clock=ManualClock(datetime(2026, 7, 30, 12, tzinfo=UTC))), mode="observe")
    with guard.read(name) as block:
        pass
    guard.record_write(name)
    with guard.write(name, depends_on=block.event):
        pass
    return guard.log


def test_the_assertion_explains_itself_as_the_audit_does(tmp_path: Path) -> None:
    """Its lines are those that ``intervalguard audit`` prints of the same events."""
    from intervalguard.files import write_events

    log = stale_log()
    with pytest.raises(AssertionError) as caught:
        assert_fresh(log)
    file = tmp_path / "run.jsonl"
    write_events(file, log.events())
    command = [sys.executable, "-m", "intervalguard", "audit", str(file)]
    audit = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert audit.returncode == 1
    assert str(caught.value).splitlines()[1:] == audit.stdout.splitlines()[:-1]


def test_it_says_whose_they_were() -> None:
    """The tools, agents and sessions that are known, in quotes that nothing in them ends."""
    guard = Guard(mode="observe")
    with guard.session("s\n'", agent="ann"):
        with guard.read("orders/42", tool="look") as block:
            pass
        guard.record_write("orders/42", tool="webhook")
        with guard.write("mails/9", depends_on=block.event, tool="mail"):
            pass
    with pytest.raises(AssertionError) as caught:
        assert_fresh(guard.log)
    assert str(caught.value).splitlines()[2:] == [
        r"    the call by tool 'mail', agent 'ann', session 's\n\''; the read by tool 'look', agent 'ann', session 's\n\'';"
        " the write by tool 'webhook'"
    ]


def test_it_takes_a_log_or_events() -> None:
    """A log, a list or an iterator of events; a fresh one passes, and other things are told apart from it."""
    assert_fresh(MemoryLog())
    assert_fresh([])
    for given in (stale_log(), stale_log().events(), iter(stale_log().events())):
        with pytest.raises(AssertionError, match="1 call rested on something that was not fresh"):
            assert_fresh(given)
    wrong: list[Any] = [7, "orders/42", [1]]
    for each in wrong:
        with pytest.raises(TypeError, match="is no log and no sequence of events"):
            assert_fresh(each)
    with pytest.raises(ValueError, match="fail_on='never' is not one of 'stale', 'suspect'"):
        assert_fresh([], fail_on="never")  # type: ignore[arg-type]


def test_its_level() -> None:
    """What is unverifiable counts as suspect, as in the audit."""
    now = datetime(2026, 7, 30, 12, tzinfo=UTC)
    call = Event("orders/42", now, now + timedelta(seconds=1), depends_on="gone", kind="write")
    assert_fresh([call], fail_on="stale")
    with pytest.raises(AssertionError, match="unverifiable unknown-dependency"):
        assert_fresh([call])
