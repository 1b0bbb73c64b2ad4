"""The kit's strategies: what they give is well-formed, everything that a log can hold occurs, and it shrinks to a story."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from intervalguard import Dependency, Event, Interval, relation
from intervalguard.files import read_events, write_events
from intervalguard.kernel.audit import findings_of
from intervalguard.kernel.events import KINDS, OUTCOMES, check_name, conflict, covers
from intervalguard.kernel.intervals import ALLEN, allen
from intervalguard.kernel.staleness import REASONS
from intervalguard.testing import Log, events, instants, intervals, logs, moment, names
from intervalguard.testing.stories import BASE, line
from intervalguard.testing.strategies import NAMES, below, made

SEARCH = settings(max_examples=3_000, derandomize=True, database=None, deadline=None)


def simplest(strategy: st.SearchStrategy[Any], holds: Callable[[Any], bool]) -> Any:
    return find(strategy, holds, settings=SEARCH)


def occurs(strategy: st.SearchStrategy[Any], holds: Callable[[Any], bool]) -> bool:
    """Whether it is found without being shrunk; ``find`` raises where it is not."""
    find(strategy, holds, settings=settings(SEARCH, phases=[Phase.generate]))
    return True


def reasons(log: Log) -> set[str]:
    """What is wrong with what the events of a log rest on."""
    return {REASONS[raw.grade] for event in log for raw in findings_of(event, log)}


# --------------------------------------------------------------------------------------------- what they give


@given(logs())
def test_logs_are_well_formed(log: Log) -> None:
    """Ids are unique, events stand behind what they rest on, families and numbers fit, and parts are parts."""
    by_id = {event.id: event for event in log}
    assert len(by_id) == len(log)
    starts = {event.id: event.seq for event in log}
    for event in log:
        assert event.parent is None or event.parent in {each.call for each in log}
        assert event.parent != event.call
        for on in event.depends_on:
            assert on.id == "nobody" or on.id in by_id
            if on.id in by_id:
                assert int(on.id[1:]) < int(event.id[1:])
                assert on.name is None or covers(by_id[on.id].name, on.name)
    kinds = {(event.seq is not None, event.end_time is None or event.end_seq is not None) for event in log}
    numbered = any(event.end_seq is not None for event in log)
    assert not numbered or kinds <= {(True, True)}
    assert not numbered or all(seq is not None for seq in starts.values())


@given(log=logs())
def test_a_log_can_be_judged_written_and_read(log: Log, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No part of the library calls a log of the kit malformed."""
    for event in log:
        findings_of(event, log)
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    write_events(path, log)
    assert list(read_events(path).events) == list(log)


@given(names(), names())
def test_names_are_names_of_a_small_hierarchy(one: str, other: str) -> None:
    """All of them are names."""
    assert check_name(one) in NAMES
    assert other in NAMES


@given(events())
def test_events_are_events(event: Event) -> None:
    """What a constructor would refuse is never drawn; the name is one of those asked for."""
    assert event.name in NAMES
    assert event == made({**_fields(event), "start": _seconds(event.start_time), "end": _seconds(event.end_time)})


def _seconds(time: Any) -> Any:
    return None if time is None else int((time - BASE).total_seconds())


def _fields(event: Event) -> dict[str, Any]:
    times = {"start_time", "end_time", "observed_at", "may_land_until"}
    fields = {name: getattr(event, name) for name in event.__slots__ if name not in times and name != "__weakref__"}
    return fields | {name: _seconds(getattr(event, name)) for name in ("observed_at", "may_land_until")}


@given(intervals(max_seconds=5), instants(max_seconds=5))
def test_times_stay_within_the_bound(interval: Interval[Any], instant: Any) -> None:
    """Whole seconds from the base on."""
    for time in (interval.start, interval.end, instant):
        assert 0 <= _seconds(time) <= 5
        assert time.microsecond == 0
    assert relation(interval, interval) == "during"


@given(events(among=["orders/42"]), logs(among=["orders/42"]))
def test_names_of_ones_own(event: Event, log: Log) -> None:
    """Events and logs touch the names that they are given, and no others."""
    assert {each.name for each in [event, *log]} == {"orders/42"}


@pytest.mark.parametrize("among", [[], ["a//b"], ["/a"], [""]])
def test_what_is_no_name_is_refused(among: list[str]) -> None:
    """With the value, and what to write."""
    with pytest.raises(ValueError, match=r"name"):
        names(among)


# ------------------------------------------------------------------------------------------------ what occurs


@pytest.mark.parametrize("outcome", sorted(OUTCOMES))
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_outcome_of_every_kind_occurs(kind: str, outcome: str) -> None:
    """In logs and among events."""
    for strategy in (logs(), events().map(lambda event: [event])):
        assert occurs(strategy, lambda log: any((each.kind, each.outcome) == (kind, outcome) for each in log))


@pytest.mark.parametrize("reason", [each for each in REASONS if each not in ("version", "history-dropped")])
def test_every_reason_that_a_sequence_can_give_occurs(reason: str) -> None:
    """The other two need a probe, and a log that drops events."""
    assert occurs(logs(), lambda log: reason in reasons(log))


@pytest.mark.parametrize("between", ALLEN)
def test_every_relation_of_intervals_occurs(between: str) -> None:
    """Instants among them."""
    assert occurs(st.tuples(intervals(), intervals()), lambda pair: allen(*pair) == between)


SHAPES: dict[str, Callable[[Log], bool]] = {
    "empty": lambda log: not log,
    "a tie": lambda log: len({each.start_time for each in log}) < len({each.call for each in log}),
    "in line order": lambda log: len(log) > 1 and all(each.seq is None for each in log),
    "seq alone": lambda log: any(each.seq is not None and each.end_time and each.end_seq is None for each in log),
    "both ends numbered": lambda log: any(each.end_seq is not None for each in log),
    "a clock against the numbers": lambda log: any(
        one.end_seq is not None and other.seq is not None and one.end_seq < other.seq and one.end_time > other.start_time
        for one in log if one.end_time for other in log
    ),
    "an open end": lambda log: any(each.end_time is None for each in log),
    "a lost write with an end": lambda log: any(each.outcome == "unknown" and each.end_time for each in log),
    "a write that may land until a time": lambda log: any(each.may_land_until for each in log),
    "a derived read": lambda log: any(
        read.kind == "read" and read.depends_on and read.id in {on.id for each in log for on in each.depends_on}
        for read in log
    ),
    "a narrowed dependency": lambda log: any(on.name for each in log for on in each.depends_on),
    "an unknown dependency": lambda log: any(on.id == "nobody" for each in log for on in each.depends_on),
    "several events in a call": lambda log: len({each.call for each in log}) + 1 < len(log),
    "a call nested in a nested one": lambda log: any(
        inner.parent == outer.call and outer.parent for inner in log for outer in log
    ),
    "an old observation": lambda log: any(each.observed_at and each.observed_at < each.start_time for each in log),
    "a conflict of two names": lambda log: any(
        one.name != other.name and conflict(one.name, other.name) for one in log for other in log
    ),
    "a prefix that is a text only": lambda log: {"a", "ab"} <= {each.name for each in log},
    "written as calls end": lambda log: [each.id for each in log] != sorted(each.id for each in log),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_log_occurs(shape: str) -> None:
    """All that the docstring promises."""
    assert occurs(logs(), SHAPES[shape])


# ------------------------------------------------------------------------------------------------- shrinking


def told(log: Log) -> list[str]:
    return [line(event) for event in log]


def superseded(log: Log) -> bool:
    return "superseded" in reasons(log)


def test_a_superseded_dependency_shrinks_to_a_few_calls() -> None:
    """Short ids, small whole seconds, the first names, and nothing that the story does not need."""
    log = simplest(logs(), superseded)
    assert len(log) <= 4
    assert {event.name for event in log} == {"a"}
    assert [event.id for event in log] == ["e0", "e1", "e2", "e3"][: len(log)]
    assert max(event.end_time for event in log) <= moment(5)
    words = re.sub(r"#\d+( to #\d+)?", "", " ".join(told(log))).split()
    assert len(words) <= 6 * len(log) + 3
    assert {event.outcome for event in log} == {"ok"}


def test_the_simplest_of_each() -> None:
    """Few, first and small."""
    assert told(simplest(logs(), lambda log: bool(log))) == ["e0 write a [1, 2] ok"]
    assert told(simplest(logs(), lambda log: len(log) == 2)) == ["e0 write a [1, 2] ok", "e1 write a [2, 3] ok"]
    assert line(simplest(events(), lambda _: True)) == "e0 read a [0, 1] ok"
    assert line(simplest(events(), lambda event: event.outcome == "unknown")) == "e0 read a [0, 1] unknown"
    assert simplest(intervals(), lambda _: True) == Interval(BASE, BASE)
    assert simplest(intervals(), lambda each: each.start < each.end) == Interval(BASE, moment(1))
    assert simplest(instants(), lambda _: True) == BASE
    assert simplest(names(), lambda _: True) == "a"


def test_a_log_shows_as_a_story() -> None:
    """One line an event, and only what was said."""
    log = Log([
        made({"id": "e0", "name": "a/b", "kind": "read", "start": 1, "end": 2, "observed_at": 0, "seq": 1, "end_seq": 2}),
        made({
            "id": "e1", "name": "a", "kind": "write", "start": 3, "end": None, "outcome": "unknown", "call": "k",
            "parent": "p", "depends_on": ["e0", {"id": "e0", "name": "a/b/c"}], "validity_window_seconds": 1.5,
            "may_land_until": 9, "seq": 3,
        }),
    ])  # fmt: skip
    assert repr(log) == (
        "\ne0 read a/b [1, 2] ok saw 0 #1 to #2"
        "\ne1 write a [3, ...] unknown in k under p rests on e0, e0@a/b/c window 1.5 until 9 #3\n"
    )
    assert told(log.but("e1", name="z").without({"e0"}))[0].startswith("e1 write z")


def test_below_is_a_name_and_what_it_covers() -> None:
    """And one below it that no event has."""
    assert below("a/b") == ("a/b", "a/b/c", "a/b/z")
    assert below("x") == ("x", "x/z")


# ------------------------------------------------------------------------------------------------ registration


@given(st.from_type(Event))
def test_the_type_alone_is_a_strategy(event: Event) -> None:
    """By the entry point that Hypothesis calls as it is imported: nothing here imported the strategies for it."""
    assert isinstance(event, Event)
    assert event.id in ("e0", "e3", "e4", "e5")


class Holder(NamedTuple):
    event: Event
    dependency: Dependency
    interval: Interval[datetime]


@given(st.from_type(Holder))
def test_what_holds_such_a_type_is_built(holder: Holder) -> None:
    """A dependency's name, where it has one, is a name, and an interval of anything has comparable ends."""
    assert holder.dependency.name is None or check_name(holder.dependency.name)
    assert holder.interval.start <= holder.interval.end


def ran(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True, timeout=120
    ).stdout.strip()


def test_the_package_never_imports_hypothesis() -> None:
    """Nor does the kit before something of it is used that needs it."""
    assert ran("import intervalguard, intervalguard.testing, sys; print('hypothesis' in sys.modules)") == "False"


def test_hypothesis_imports_none_of_the_strategies() -> None:
    """The entry point registers a function; the strategies come at the first use of `Event`."""
    loaded = "sorted(name for name in sys.modules if name.startswith('intervalguard.testing'))"
    code = f"import hypothesis, sys; print({loaded})"
    assert ran(code) == "['intervalguard.testing', 'intervalguard.testing.registering']"


def test_the_type_is_registered_whatever_is_imported_first() -> None:
    """Hypothesis, the package, or the kit."""
    use = "import hypothesis.strategies as st; from intervalguard import Event; print(st.from_type(Event))"
    for first in ("import hypothesis", "import intervalguard", "import intervalguard.testing.strategies"):
        assert ran(f"{first}; {use}") == "events()"


def test_the_kit_names_what_it_has() -> None:
    """Each public name is there, and another is an error as of any module."""
    import intervalguard.testing as kit

    assert [name for name in kit.__all__ if not hasattr(kit, name)] == []
    assert set(kit.__all__) == set(kit._HOME)
    assert sorted(kit.__all__) == sorted(set(kit.__all__))
    assert Path(kit.__file__).parent.name == "testing"
    with pytest.raises(AttributeError, match="has no attribute 'log'"):
        kit.log  # noqa: B018
