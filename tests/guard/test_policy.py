"""Policies: what is refused, what is merely said, who hears of it, and that no fault lets a write through in silence."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import Any

import pytest
from helpers import Clock, Thread, guard_at, outcomes

from intervalguard import (
    ConflictError,
    Event,
    Guard,
    GuardError,
    Notice,
    StaleReadError,
    UnknownDependencyError,
    last_event,
    with_event,
)

MODES = ("enforce", "warn", "observe")


class Premise:
    """A guard and a read of ``a`` that is as bad as its grade says."""

    def __init__(self, grade: str, **options: Any) -> None:
        self.notices: list[Notice] = []
        self.guard = guard = guard_at(Clock(), on_decision=self.notices.append, **options)
        self.done: list[str] = []
        self.keep: Any = None

        def read() -> Event:
            with guard.read("a") as block:
                pass
            return block.event

        if grade == "overlapped":
            with guard.read("a") as block:
                guard.record_write("a")
            self.read = block.event
        elif grade == "unknown":
            self.read = read()
            with pytest.raises(TimeoutError), guard.write("a"):
                raise TimeoutError
        elif grade == "in-flight":
            self.read = read()
            self.keep = guard.write("a")
            Thread(self.keep.__enter__).get()
        elif grade == "unverifiable":
            self.read = Event("a", Clock()(), Clock()(), id="nobody")
        else:
            self.read = read()
            if grade == "stale":
                guard.record_write("a")
        self.notices.clear()

    def act(self, name: str = "b", **options: Any) -> None:
        """A write that rests on it."""

        @self.guard.tool(writes=name, **options)
        def act() -> None:
            self.done.append(name)

        act(depends_on=self.read)


GRADES = {
    "fresh": None,
    "overlapped": StaleReadError,
    "unknown": StaleReadError,
    "in-flight": StaleReadError,
    "stale": StaleReadError,
    "unverifiable": UnknownDependencyError,
}
SUSPECT = ("overlapped", "unknown", "in-flight")


# ------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("grade", GRADES)
@pytest.mark.parametrize("refuse", ["suspect", "stale"])
@pytest.mark.parametrize("where", ["guard", "tool"])
def test_what_is_refused(grade: str, refuse: str, where: str) -> None:
    """`suspect` refuses all that is not fresh, `stale` all but what is merely suspect; on a guard or on a tool."""
    premise = Premise(grade, **({"refuse": refuse} if where == "guard" else {}))
    error = None if refuse == "stale" and grade in SUSPECT else GRADES[grade]
    options = {} if where == "guard" else {"refuse": refuse}
    if error is None:
        premise.act(**options)
        assert premise.done == ["b"]
        (notice,) = premise.notices
        assert notice.action == "admit"
        assert bool(notice.findings) == (grade != "fresh")
    else:
        with pytest.raises(error):
            premise.act(**options)
        assert premise.done == []
        assert [notice.action for notice in premise.notices] == ["refuse"]
        assert premise.guard.log.events()[-1].outcome == "refused"


@pytest.mark.parametrize("grade", GRADES)
@pytest.mark.parametrize("mode", ["warn", "observe"])
@pytest.mark.parametrize("where", ["guard", "tool"])
def test_what_is_not_enforced_goes_through_and_is_told(
    grade: str, mode: str, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    """`warn` logs a warning of what would have been refused, `observe` tells of it; the call runs and is recorded."""
    premise = Premise(grade, **({"mode": mode} if where == "guard" else {}))
    with caplog.at_level(logging.INFO, "intervalguard"):
        premise.act(**({} if where == "guard" else {"mode": mode}))
    assert premise.done == ["b"]
    assert outcomes(premise.guard)[-1] == ("write", "b", "ok")
    (notice,) = premise.notices
    assert notice.action == "admit"
    level = {"warn": "WARNING", "observe": "INFO"}[mode]
    if grade == "fresh":
        assert (notice.findings, caplog.records) == ((), [])
    else:
        (finding,) = notice.findings
        assert [(each.levelname, finding.message in each.getMessage()) for each in caplog.records] == [(level, True)]


def test_the_tool_outranks_the_guard() -> None:
    """One tool may observe under a guard that enforces, and enforce under one that observes."""
    premise = Premise("stale", mode="observe", refuse="stale")
    with pytest.raises(StaleReadError):
        premise.act(mode="enforce")
    premise = Premise("overlapped", refuse="stale")
    with pytest.raises(StaleReadError):
        premise.act(refuse="suspect")


def test_a_derived_read_is_withheld_by_the_same_policy() -> None:
    """What it rests on moved while it ran: withheld, warned of, or merely told."""
    for mode in MODES:
        premise = Premise("fresh", mode=mode)
        guard = premise.guard

        @guard.tool(reads="sum")
        def add(guard: Guard = guard) -> int:
            guard.record_write("a")
            return 7

        if mode == "enforce":
            with pytest.raises(StaleReadError) as caught:
                add(depends_on=premise.read)
            assert caught.value.phase == "return"
            assert [each.action for each in premise.notices] == ["admit", "withhold"]
            assert outcomes(guard)[-2:] == [("read", "sum", "refused"), ("write", "a", "ok")]
        else:
            assert add(depends_on=premise.read) == 7
            assert [each.action for each in premise.notices] == ["admit", "admit"]
            assert [each.reason for each in premise.notices[-1].findings] == ["superseded"]
            assert outcomes(guard)[-2:] == [("read", "sum", "ok"), ("write", "a", "ok")]


@pytest.mark.parametrize("mode", MODES)
def test_a_write_in_flight_is_a_conflict_only_where_it_is_enforced(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    """Two writes of one resource: the second is refused, or warned of, or told nothing of."""
    premise = Premise("in-flight", mode=mode)
    premise.read = ()  # type: ignore[assignment]
    with caplog.at_level(logging.WARNING, "intervalguard"):
        if mode == "enforce":
            with pytest.raises(ConflictError):
                premise.act("a")
            assert [each.action for each in premise.notices] == ["conflict"]
        else:
            premise.act("a")
            assert premise.done == ["a"]
    if mode == "warn":
        assert [each.levelname for each in caplog.records] == ["WARNING"]


# ------------------------------------------------------------------------------------------------ who hears


def test_every_decision_is_told() -> None:
    """`on_decision` gets a notice with the tool, the event and the findings of each."""
    premise = Premise("stale")
    premise.act(rests_on=[], refuse="suspect", mode="observe")
    with pytest.raises(StaleReadError) as caught:
        premise.act()
    events = premise.guard.log.events()
    assert [(each.action, each.event) for each in premise.notices] == [
        ("admit", events[-2].id),
        ("refuse", events[-1].id),
    ]
    assert {each.tool for each in premise.notices} == {"Premise.act.<locals>.act".rpartition("<locals>.")[2]}
    assert tuple(premise.notices[1].findings) == tuple(caught.value.findings)


def test_the_log_of_the_standard_library_sees_every_decision(caplog: pytest.LogCaptureFixture) -> None:
    """What goes through on `DEBUG`, what is refused on `INFO`, with the reason in words."""
    premise = Premise("stale")
    guard = Guard(premise.guard.log, wait_seconds=0)
    with caplog.at_level(logging.DEBUG, "intervalguard"):
        with guard.read("c"):
            pass
        with pytest.raises(StaleReadError):
            guard.write("b", depends_on=premise.read).__enter__()
    first, second = caplog.records
    assert (first.levelname, second.levelname) == ("DEBUG", "INFO")
    assert first.getMessage().startswith("admit 'guard.read'")
    assert second.getMessage().startswith("refuse 'guard.write'")
    assert "superseded by 'a'" in second.getMessage()


@pytest.mark.parametrize("grade", ["fresh", "stale"])
def test_a_callback_that_raises_changes_no_decision(grade: str, caplog: pytest.LogCaptureFixture) -> None:
    """What was decided stands, and the fault is logged with its traceback."""
    premise = Premise(grade)

    def raise_it(notice: Notice) -> None:
        raise ZeroDivisionError

    premise.guard.on_decision = raise_it
    if grade == "fresh":
        premise.act()
        assert premise.done == ["b"]
    else:
        with pytest.raises(StaleReadError):
            premise.act()
        assert premise.done == []
    assert any(each.levelname == "ERROR" and each.exc_info for each in caplog.records)


def test_a_callback_that_stops_the_program_leaves_nothing_pending() -> None:
    """An interrupt while the callback runs comes out, and the call that was let through has not begun."""
    premise = Premise("fresh")

    def interrupt(notice: Notice) -> None:
        raise KeyboardInterrupt

    premise.guard.on_decision = interrupt
    with pytest.raises(KeyboardInterrupt):
        premise.act()
    assert premise.done == []
    assert outcomes(premise.guard)[-1] == ("write", "b", "failed")


def test_a_callback_sees_the_log_unlocked() -> None:
    """It may ask the log, from another thread too."""
    found: list[int] = []
    guard = guard_at()
    guard.on_decision = lambda notice: found.append(len(Thread(guard.log.events).get()))
    with guard.read("a"):
        pass
    assert found == [1]


# --------------------------------------------------------------------------------------- faults in the guard


def broken(*_: object, **__: object) -> Any:
    raise ZeroDivisionError("broken")


@pytest.mark.parametrize("mode", MODES)
def test_a_fault_of_a_name_function(mode: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Enforced, the write does not run; else it runs, unguarded, and that is logged."""
    guard = guard_at(mode=mode)
    done = []

    @guard.tool(writes=lambda order: f"orders/{1 // order}")
    def write(order: int) -> int:
        done.append(order)
        return 7

    if mode == "enforce":
        with pytest.raises(GuardError, match=r"^writes= of '\S*write': function .*<lambda> raised ZeroDivision") as caught:
            write(0)
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        assert (done, caught.value.phase) == ([], "admission")
    else:
        assert write(0) == 7
        (record,) = caplog.records
        assert record.levelname == "WARNING"
        assert "unguarded" in record.getMessage()
        assert record.exc_info
    assert guard.log.events() == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("option", ["version", "observed_at", "names"])
def test_a_fault_of_a_function_of_the_result(mode: Any, option: str, caplog: pytest.LogCaptureFixture) -> None:
    """The read ran, but what it saw cannot be told: nothing can rest on it, in any mode."""
    guard = guard_at(mode=mode)
    options: dict[str, Any] = {"reads": "a", option: broken}
    if option == "names":
        options = {"reads": ["a", lambda result: broken()]}

    @guard.tool(**options)
    def read() -> int:
        return 7

    if mode == "enforce":
        with pytest.raises(GuardError, match="the call ran, but the guard could not read its result") as caught:
            read()
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        assert ("reads= of" in str(caught.value)) == (option == "names")
    else:
        assert read() == 7
        assert [each.levelname for each in caplog.records] == ["WARNING"]
    (event,) = guard.log.events()
    assert event.outcome == "error"


@pytest.mark.parametrize("mode", MODES)
def test_a_write_that_ran_took_effect_whatever_fault_follows(mode: Any) -> None:
    """The fault comes after the body: the write counts as what it is."""
    guard = guard_at(mode=mode)

    @guard.tool(reads="a", writes="b", version=broken)
    def move() -> int:
        return 7

    if mode == "enforce":
        with pytest.raises(GuardError):
            move()
    else:
        assert move() == 7
    assert ("write", "b", "ok") in outcomes(guard)


class Failing(Clock):
    """A clock that raises while it is ``down``, as a log does that cannot be reached."""

    down = False

    def __call__(self) -> datetime:
        if self.down:
            raise OSError("the log is down")
        return super().__call__()


class Uncomparable:
    """A version like an array: comparing it raises, or makes something that is neither true nor false."""

    def __init__(self, raises: bool) -> None:
        self.raises = raises

    def __eq__(self, other: object) -> Any:
        return 1 // 0 if self.raises else self

    __ne__ = __eq__
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise ValueError("ambiguous")


class Faulty:
    """A write under a guard with one fault, in every way in which code runs under a guard."""

    def __init__(self, fault: str, mode: Any) -> None:
        self.clock = Failing()
        self.notices: list[Notice] = []
        self.guard = guard = guard_at(self.clock, mode=mode, on_decision=self.notices.append)
        self.done: list[int] = []
        self.at_end = fault == "end"
        read = guard.tool(reads="a", version=lambda _: self.version, probe=self.probe)(lambda: None)
        self.version: Any = 1
        self.broken = False
        if fault in ("raising", "ambiguous"):
            self.version = Uncomparable(fault == "raising")
        _, event = with_event(read)
        self.on: Any = {"type": 7, "part": {"id": event.id, "name": "b"}, "none": None}.get(fault, event)
        self.broken = fault == "probe"
        self.name = (lambda: 1 // 0) if fault == "names" else "c"
        guard.require_session = fault == "session"
        self.clock.down = fault == "clock"
        self.notices.clear()

    def probe(self, name: str) -> Any:
        return 1 // 0 if self.broken else self.version

    def body(self) -> int:
        self.done.append(1)
        self.clock.down = self.clock.down or self.at_end
        return 7

    def run(self, form: str) -> tuple[Any, Event | None]:
        """The result of the call, and its event."""
        if form == "block":
            with self.guard.write("c", depends_on=self.on):
                result = self.body()
            return result, last_event()
        functions = {"plain": self.body, "async": self.later, "stream": self.items, "async stream": self.late_items}
        call: Any = self.guard.tool(writes=self.name)(functions[form])
        if form == "plain":
            return call(depends_on=self.on), last_event()
        if form == "stream":
            (result,) = call(depends_on=self.on)
            return result, last_event()
        return asyncio.run(self.awaited(call))

    async def later(self) -> int:
        return self.body()

    def items(self) -> Iterator[int]:
        yield self.body()

    async def late_items(self) -> AsyncIterator[int]:
        yield self.body()

    async def awaited(self, call: Any) -> tuple[Any, Event | None]:
        result = call(depends_on=self.on)
        if inspect.isawaitable(result):
            return await result, last_event()
        (item,) = [each async for each in result]
        return item, last_event()


UNGUARDED = ("names", "type", "none", "part", "clock")
FAULTS = (*UNGUARDED, "end", "probe", "raising", "ambiguous", "session")


FORMS = ("plain", "async", "stream", "async stream", "block")


@pytest.mark.parametrize(
    ("fault", "form"), [(fault, form) for fault in FAULTS for form in FORMS if (fault, form) != ("names", "block")]
)
@pytest.mark.parametrize("mode", MODES)
def test_a_fault_lets_nothing_through_or_is_logged(
    mode: Any, fault: str, form: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Enforced, the write does not run; elsewhere it runs, the guard raises nothing, and the fault is logged."""
    faulty = Faulty(fault, mode)
    if mode == "enforce":
        with pytest.raises((GuardError, TypeError, ValueError)) as caught:
            faulty.run(form)
        assert faulty.done == [1] * faulty.at_end
        if fault in ("names", "clock", "end", "probe", "raising", "ambiguous"):
            assert type(caught.value) is GuardError
            assert caught.value.phase == ("return" if faulty.at_end else "admission")
    else:
        result, event = faulty.run(form)
        assert result == 7
        record = caplog.records[-1]
        assert {each.levelname for each in caplog.records} == {"WARNING"}
        assert record.exc_info or fault == "session"
        unguarded = fault in UNGUARDED
        assert ("unguarded" in record.getMessage()) == unguarded
        assert (event is None) == unguarded
    faulty.clock.down = False
    recorded = [each[2] for each in outcomes(faulty.guard) if each[0] == "write"]
    assert recorded == (["ok"] if faulty.done and fault not in UNGUARDED else [])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", ["raises", "closed"])
def test_a_log_that_fails_at_the_end_hides_no_exception(mode: Any, how: str, caplog: pytest.LogCaptureFixture) -> None:
    """What the body raised comes out, and the log learns how the call ended as soon as it works again."""
    clock = Failing()
    guard = guard_at(clock, mode=mode)

    @guard.tool(writes="a")
    def write() -> Iterator[int]:
        yield 7
        clock.down = True
        raise KeyError("its own")

    if how == "raises":
        with pytest.raises(KeyError, match="its own"):
            list(write())
        assert [each.levelname for each in caplog.records] == ["WARNING"]
    else:
        stream = write()
        next(stream)
        clock.down = True
        stream.close()
    clock.down = False
    assert outcomes(guard) == [("write", "a", "error")]


@pytest.mark.parametrize("mode", ["warn", "observe"])
def test_what_ran_unguarded_has_no_event(mode: Any) -> None:
    """`last_event()` does not name an earlier call for it, which something would then rest on."""
    guard = guard_at(mode=mode)
    read = guard.tool(reads=lambda name: name)(lambda name: name)
    read("a")
    assert with_event(read, "") == ("", None)
    assert last_event() is None
    with guard.read("a", depends_on=7):
        with pytest.raises(ValueError, match="runs unguarded"):
            guard.read("b", depends_on=7).__enter__().event  # noqa: B018
        read("b")
    assert outcomes(guard) == [("read", "a", "ok"), ("read", "b", "ok")]


@pytest.mark.parametrize("given", [7, [None], {"id": 7}, {"name": "a"}, object()])
def test_what_is_no_dependency_is_an_error(given: Any) -> None:
    """It says what one is, and the body does not run."""
    premise = Premise("fresh")
    premise.read = given
    with pytest.raises(TypeError):
        premise.act()
    assert premise.done == []


def test_a_part_that_the_event_does_not_cover_is_an_error() -> None:
    """A narrower name that is none would rest on something else."""
    premise = Premise("fresh")
    premise.read = {"id": premise.read.id, "name": "b"}  # type: ignore[assignment]
    with pytest.raises(ValueError, match="cannot be narrowed to 'b'"):
        premise.act()
    assert premise.done == []


def test_none_is_nothing_to_rest_on() -> None:
    """`depends_on=None`, as `last_event()` gives it in a thread where no call ended, never passes for a checked call."""
    guard, done = Guard(), []
    write = guard.tracked("a", writes=True)(lambda: done.append(1))
    with pytest.raises(TypeError, match="depends_on=None is nothing to rest on"):
        write(depends_on=None)
    with pytest.raises(TypeError, match="depends_on=5 is nothing to rest on"):
        write(depends_on=5)
    write(depends_on=[])
    assert done == [1]


def test_observe_records_what_lacks_its_session() -> None:
    """A tool with rests_on= outside a session is recorded where nothing is enforced, and the lack is logged."""
    guard = Guard(mode="observe")
    write = guard.tool(writes="a", rests_on="b")(lambda: None)
    write()
    assert [each.name for each in guard.log.events()] == ["a"]


@pytest.mark.parametrize("name", ["mode", "refuse", "wait_seconds"])
def test_a_policy_is_not_changed_afterwards(name: str) -> None:
    """Tools took it as they were decorated, so a change would change nothing, and is an error."""
    guard = Guard()
    with pytest.raises(AttributeError, match=f"guard.{name} cannot become 'observe': .* Make Guard\\({name}=...\\)"):
        setattr(guard, name, "observe")
    assert guard.mode == "enforce"
