"""What others got wrong, told to a live guard: the faults of intervalguard 0.1.1, the pain in public reports, the stories.

Not told here, for other parts of the project answer for them: what needs several processes (0.1.1 does not see other
processes; two processes and one file), a lease (a frozen worker that thaws), or a memory of calls that are already done
(a tool that is run again after its time limit: here its outcome is *unknown*, and what rests under it is refused).
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import sys
import tracemalloc
import types
from collections.abc import Callable, Generator, Iterator
from datetime import timedelta
from typing import Any

import pytest
from helpers import BASE, Clock, guard_at, outcomes
from judging import judged
from shared_data import shared

from intervalguard import (
    ConflictError,
    Event,
    Guard,
    GuardError,
    Notice,
    StaleReadError,
    check_dependencies,
    last_event,
    with_event,
)
from intervalguard.kernel.audit import findings, findings_of
from intervalguard.kernel.staleness import REASONS, verdict_of
from intervalguard.kernel.views import SequenceView, by_id
from intervalguard.logs import MemoryLog


def read(guard: Guard, name: str, *rests: Any, **options: Any) -> Event:
    with guard.read(name, depends_on=rests, **options) as block:
        pass
    return block.event


def write(guard: Guard, name: str, *rests: Any, **options: Any) -> Event:
    with guard.write(name, depends_on=rests, **options) as block:
        pass
    return block.event


def refused(guard: Guard, name: str, *rests: Any) -> GuardError:
    """The error of a write that must not run."""
    with pytest.raises(GuardError) as caught, guard.write(name, depends_on=rests):
        pytest.fail("the body ran")
    return caught.value


def reason(error: GuardError) -> str:
    return error.findings[0].reason


# ------------------------------------------------------------------------------------------ faults of 0.1.1


def test_the_check_does_not_run_after_the_body() -> None:
    """The check runs after the body: the side effect is done when the error is raised; the result is lost."""
    guard, done = guard_at(), []
    seen = read(guard, "x")
    write(guard, "x")

    @guard.tracked("y", writes=True)
    def put() -> None:
        done.append("side effect")

    with pytest.raises(StaleReadError):
        put(depends_on=seen)
    assert done == []


def test_read_modify_write_does_not_name_itself() -> None:
    """Read-modify-write of one resource *always* raises, naming itself, after writing."""
    guard = guard_at()
    for _ in range(3):
        write(guard, "account/7", read(guard, "account/7"))
    assert {each[2] for each in outcomes(guard)} == {"ok"}


def test_a_call_that_raises_is_recorded() -> None:
    """A call that raises is not recorded."""
    guard = guard_at()
    seen = read(guard, "x")
    with pytest.raises(ValueError), guard.write("x"):  # noqa: PT011
        raise ValueError
    assert outcomes(guard)[-1] == ("write", "x", "error")
    assert reason(refused(guard, "y", seen)) == "unknown-outcome"


def test_a_running_write_is_visible() -> None:
    """A running write is invisible."""
    guard = guard_at()
    seen = read(guard, "x")
    block = guard.write("x")
    contextvars.Context().run(block.__enter__)
    assert ("write", "x", "pending") in outcomes(guard)
    assert reason(refused(guard, "y", seen)) == "in-flight"
    assert isinstance(refused(guard, "x"), ConflictError)
    block.__exit__(None, None, None)


def test_a_write_inside_a_slow_read_is_not_fresh() -> None:
    """A write inside a slow read is fresh."""
    guard = guard_at()
    with guard.read("x") as slow:
        guard.record_write("x")
    assert reason(refused(guard, "y", slow.event)) == "overlapped"


def test_async_tools_are_as_long_as_they_run() -> None:
    """`async def` tools are logged as microseconds long, and `last_event()` names another call."""
    clock = Clock()
    guard = guard_at(clock)

    @guard.tracked("{name}", writes=False)
    async def get(name: str, turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
            clock.seconds += 1

    async def one(name: str, turns: int) -> None:
        await get(name, turns)
        for _ in range(10):
            await asyncio.sleep(0)
        event = last_event()
        assert event is not None
        assert event.name == name
        assert event.end_time is not None
        assert event.end_time - event.start_time >= timedelta(seconds=turns)

    async def both() -> None:
        await asyncio.gather(one("slow", 5), one("quick", 2))

    asyncio.run(both())


def test_generators_are_as_long_as_they_run() -> None:
    """Generators likewise."""
    clock = Clock()
    guard = guard_at(clock)

    @guard.tracked("x", writes=False)
    def stream() -> Iterator[int]:
        for each in range(3):
            clock.seconds += 1
            yield each

    for _ in stream():
        write(guard, "elsewhere")
    event = last_event()
    assert event is not None
    assert (event.name, event.end_time) == ("x", BASE + timedelta(seconds=3))


def test_derived_facts_are_followed() -> None:
    """Derived facts are not followed."""
    guard = guard_at()
    report = read(guard, "report", read(guard, "bom"))
    guard.record_write("bom")
    error = refused(guard, "order", report)
    assert reason(error) == "superseded"
    assert "bom" in str(error)


def test_a_rejected_call_cannot_be_rested_on() -> None:
    """A rejected call can be rested on; ..."""
    guard = guard_at()
    seen = read(guard, "x")
    guard.record_write("x")
    refused(guard, "y", seen)
    assert reason(refused(guard, "z", guard.log.events()[-1])) == "no-result"


def test_what_ended_after_the_decision_began_cannot_be_rested_on() -> None:
    """... so can one that ended after the decision began."""
    guard = guard_at()
    with guard.read("x") as running:
        assert reason(refused(guard, "y", running.event)) == "not-settled"
    write(guard, "y", running.event)


def test_an_audit_does_not_blame_later_writes() -> None:
    """Audits blame writes that came after the decision."""
    guard = guard_at()
    call = write(guard, "y", read(guard, "x"))
    write(guard, "x")
    assert check_dependencies(call, guard.log.events()) == []
    assert check_dependencies(call, guard.log.events(), now=guard.log.now()) == ["x"]


def test_an_old_log_has_not_expired() -> None:
    """Without `now=` every old log has expired."""
    clock = Clock()
    guard = guard_at(clock)
    call = write(guard, "y", read(guard, "x", validity_window_seconds=30))
    clock.seconds = 1e6
    write(guard, "elsewhere")
    assert check_dependencies(call, guard.log.events()) == []
    assert check_dependencies(call, guard.log.events(), now=clock()) == ["x"]


def test_writing_row_2_leaves_row_1_alone() -> None:
    """One resource name per decorator: writing row 2 makes row 1 stale."""
    guard = guard_at()

    @guard.tracked("rows/{row}", writes=False)
    def get(row: int) -> None: ...

    @guard.tracked("rows/{row}", writes=True)
    def put(row: int) -> None: ...

    _, first = with_event(get, 1)
    _, tenth = with_event(get, 10)
    put(2)
    put(10, depends_on=tenth)
    put(1, depends_on=first)


def test_ids_do_not_collide() -> None:
    """8-hex ids: a collision in a log of 100,000 is more likely than not, and a twin hides a superseded read."""
    one, other = guard_at(), guard_at()
    for _ in range(5000):
        read(one, "x")
        read(other, "x")
    ids = {each.id for guard in (one, other) for each in guard.log.events()}
    assert len(ids) == 10_000
    prefixes = {each.rpartition("-")[0] for each in ids}
    assert len(prefixes) == 2
    assert {len(each) for each in prefixes} == {12}


def test_a_clock_that_steps_back_changes_nothing() -> None:
    """The wall clock stepping back gives misses and false alarms."""
    clock = Clock(100)
    guard = guard_at(clock)
    seen = read(guard, "x")
    clock.seconds = 40
    write(guard, "x")
    clock.seconds = 10
    assert reason(refused(guard, "y", seen)) == "superseded"
    again = read(guard, "x", validity_window_seconds=5)
    clock.seconds = 1
    write(guard, "y", again)
    times = [each.start_time for each in guard.log.events()]
    assert times == sorted(times)


def test_the_log_does_not_grow_for_ever() -> None:
    """The log grows for ever."""
    guard = Guard(MemoryLog(max_events=100))
    first = read(guard, "x")
    for each in range(1000):
        write(guard, f"y/{each % 7}")
    assert len(guard.log.events()) <= 100
    assert reason(refused(guard, "z", first)) == "history-dropped"
    assert MemoryLog()._max_events == 100_000


def steps_of(work: Callable[[], Any]) -> int:
    """How many calls of Python functions ``work`` takes: a measure of its time that no other load disturbs."""
    count = 0

    def tick(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    was = sys.getprofile()
    sys.setprofile(tick)
    try:
        work()
    finally:
        sys.setprofile(was)
    return count


def test_a_call_costs_the_same_in_a_long_log() -> None:
    """Cost per call is linear in the log: 12 us at 100 events, 904 us at 10,000, 14 ms at 100,000."""
    guard = Guard(MemoryLog(max_events=None))

    def call() -> None:
        write(guard, "hot/a", read(guard, "hot/a"))

    for each in range(100):
        write(guard, f"other/{each}")
        write(guard, "hot/a")
    short = steps_of(call)
    for each in range(4000):
        write(guard, f"other/{each}")
        write(guard, "hot/a")
    assert steps_of(call) < 1.3 * short


def test_an_audit_is_linear() -> None:
    """A whole-log audit is quadratic (5.5 s at 10,000)."""

    def audit(count: int) -> int:
        guard = Guard(MemoryLog(max_events=None), mode="observe")
        seen = read(guard, "x")
        for _ in range(count):
            write(guard, "x", seen)
        entries = by_id(SequenceView(guard.log.events()).entries)
        found: list[Any] = []
        steps = steps_of(lambda: found.extend(findings(entries)))
        assert len(found) >= count - 1
        return steps

    assert audit(800) < 3 * audit(400)


def test_an_event_takes_less_memory() -> None:
    """373 bytes an event, without ends, outcomes and order: with them at most 450 here, of which 64 are its call's own."""
    guard = Guard(MemoryLog(max_events=None))

    @guard.tracked("orders/{order_id}", writes=False)
    def get(order_id: int) -> None: ...

    get(0)
    seen = last_event()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for each in range(5000):
            get(each % 50, depends_on=seen)
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert (after - before) / 5000 <= 450


# ------------------------------------------------------------------------------------------ pain in public reports


def test_a_sub_agent_writes_back_a_whole_file_from_an_old_copy() -> None:
    """Refused before the write, naming the writer."""
    guard = guard_at()
    with guard.session("sub", agent="sub-agent"):
        read(guard, "file/plan.md")
    with guard.session("main", agent="main-agent"):
        read(guard, "file/plan.md")
        write(guard, "file/plan.md", tool="edit")
    with guard.session("sub", agent="sub-agent"):
        error = refused(guard, "file/plan.md")
        assert reason(error) == "superseded"
        assert "main-agent" in error.for_model()
        read(guard, "file/plan.md")
        write(guard, "file/plan.md")


def test_two_agents_read_and_then_both_write_in_strict_sequence() -> None:
    """The second is refused."""
    guard = guard_at()
    one, other = read(guard, "doc"), read(guard, "doc")
    write(guard, "doc", one)
    assert reason(refused(guard, "doc", other)) == "superseded"


def test_a_permission_prompt_of_minutes_between_check_and_write() -> None:
    """Judged at the write."""
    clock = Clock()
    guard = guard_at(clock)
    seen = read(guard, "file")
    assert judged(guard.log, guard.keys(seen)) == []
    clock.seconds += 300
    guard.record_write("file")
    assert reason(refused(guard, "file", seen)) == "superseded"


def test_a_formatter_changes_other_lines() -> None:
    """Where the edit's region is unchanged: allowed with a content version, refused without."""
    text = {"region": "def f(): pass", "rest": "x=1"}
    for version, allowed in ((lambda result: result, True), (None, False)):
        guard = guard_at()
        options: dict[str, Any] = {} if version is None else {"version": version, "probe": lambda name: text["region"]}

        @guard.tracked("file", writes=False, **options)
        def get() -> str:
            return text["region"]

        _, seen = with_event(get)
        text["rest"] = "x = 1"
        guard.record_write("file", tool="formatter")
        if allowed:
            write(guard, "file", seen)
        else:
            refused(guard, "file", seen)


def test_nothing_changed_but_the_modification_time() -> None:
    """Allowed: content beats clock."""
    content, touched = ["text"], [0]
    guard = guard_at()

    @guard.tracked("file", writes=False, version=lambda result: hash(result), probe=lambda name: hash(content[0]))
    def get() -> str:
        return content[0]

    _, seen = with_event(get)
    touched[0] += 1
    write(guard, "file", seen)
    _, seen = with_event(get)
    content[0] = "other text"
    assert reason(refused(guard, "file", seen)) == "version"


def test_equal_times_are_judged_by_the_order_of_the_log() -> None:
    """Allowed on ties unless the log's order says otherwise."""
    guard = guard_at(Clock())
    write(guard, "x")
    seen = read(guard, "x")
    write(guard, "y", seen)
    write(guard, "x")
    assert reason(refused(guard, "y", seen)) == "superseded"
    assert len({each.start_time for each in guard.log.events()}) == 1


def test_a_cache_answers_with_an_old_value_and_a_new_time() -> None:
    """The read keeps the source's instant."""
    clock = Clock(1)
    guard = guard_at(clock)

    @guard.tracked("file", 30, writes=False, observed_at=lambda result: result)
    def cached(at: float) -> Any:
        return BASE + timedelta(seconds=at)

    read(guard, "elsewhere")
    clock.seconds = 5
    write(guard, "file")
    clock.seconds = 10
    _, old = with_event(cached, 1)
    _, new = with_event(cached, 6)
    assert reason(refused(guard, "file/part", old)) == "superseded"
    clock.seconds = 36
    write(guard, "other", new)
    clock.seconds = 36.5
    assert reason(refused(guard, "other", new)) == "expired"


def test_a_memory_file_held_over_a_long_model_call_and_written_back() -> None:
    """Refused: writes since the read began count."""
    clock = Clock()
    guard = guard_at(clock)
    with guard.read("memory.md") as held:
        clock.seconds += 1
        guard.record_write("memory.md")
        clock.seconds += 1
    clock.seconds += 120
    assert reason(refused(guard, "memory.md", held.event)) == "overlapped"


def test_write_and_read_of_one_file_race_in_one_turn() -> None:
    """Suspect."""
    guard = guard_at()

    @guard.tracked("file", writes=False)
    async def get() -> None:
        await asyncio.sleep(0)

    @guard.tracked("file", writes=True)
    async def put() -> None:
        await asyncio.sleep(0)

    async def turn() -> Any:
        return await asyncio.gather(with_event(get), put())

    (_, seen), _ = asyncio.run(turn())
    error = refused(guard, "other", seen)
    assert (error.findings[0].verdict, reason(error)) == ("suspect", "overlapped")


def test_a_click_navigates_and_old_element_references_survive() -> None:
    """A write to the page reaches all below it."""
    guard = guard_at()
    element = read(guard, "page/3/ref/e2")
    other = read(guard, "page/31/ref/e2")
    write(guard, "page/3", tool="navigate")
    assert reason(refused(guard, "page/3/ref/e2/click", element)) == "superseded"
    write(guard, "page/31/ref/e2/click", other)


def test_a_tool_runs_past_its_time_limit() -> None:
    """Unknown outcome: neither the read before it nor one after it can be relied on, until somebody settles it."""
    guard = guard_at()
    before = read(guard, "account")

    @guard.tracked("account", writes=True)
    async def charge() -> None:
        await asyncio.Event().wait()

    async def limited() -> None:
        await asyncio.wait_for(charge(), 0.01)

    with pytest.raises(TimeoutError):
        asyncio.run(limited())
    lost = guard.log.events()[-1]
    assert lost.outcome == "unknown"
    after = read(guard, "account")
    for seen in (before, after):
        error = refused(guard, "mail", seen)
        assert reason(error) == "unknown-outcome"
        assert error.findings[0].remedy == "settle it, then read again"
    guard.settle(lost.id, "failed")
    write(guard, "mail", before)


def test_five_sub_agents_all_see_the_last_ten_dollars() -> None:
    """One goes through."""
    guard = guard_at()
    balance = [10]

    @guard.tracked("balance", writes=False)
    async def look() -> int:
        await asyncio.sleep(0)
        return balance[0]

    @guard.tracked("balance", writes=True)
    async def spend(amount: int) -> None:
        await asyncio.sleep(0)
        balance[0] -= amount

    async def agent() -> str:
        seen, event = await with_event(look)
        if seen < 10:
            return "too late"
        for _ in range(3):
            await asyncio.sleep(0)
        try:
            await spend(10, depends_on=event)
        except GuardError as error:
            return type(error).__name__
        return "spent"

    async def five() -> list[str]:
        return list(await asyncio.gather(*(agent() for _ in range(5))))

    told = asyncio.run(five())
    assert told.count("spent") == 1
    assert balance == [0]
    assert set(told) <= {"spent", "ConflictError", "StaleReadError"}


def test_a_blind_append_is_never_refused() -> None:
    """Never refuse a blind append."""
    guard = guard_at()

    @guard.tool(writes=["log"], rests_on=[])
    def append() -> None: ...

    with guard.session("s"):
        read(guard, "log")
        guard.record_write("log")
        append()
        append()
    write(guard, "log")
    assert {each[2] for each in outcomes(guard)} == {"ok"}


def test_a_premise_is_corrected_in_mid_run_and_the_sub_agent_never_reads_again() -> None:
    """Refused through the derived fact."""
    guard = guard_at()

    @guard.tracked("summary", writes=False)
    def summarise() -> str:
        return "on schedule"

    _, summary = with_event(summarise, depends_on=read(guard, "facts/deadline"))
    guard.record_write("facts/deadline", agent="corrector")
    error = refused(guard, "mail", summary)
    assert reason(error) == "superseded"
    assert error.findings[0].via is not None


# ------------------------------------------------------------------------------------------ the shared stories

NOT_LIVE: dict[str, str] = {}
"""The shared stories that no live guard can tell, each with the reason. There is none: order is that of the log, and a
clock that steps back or stands still is one that is set so."""



@types.coroutine
def pause() -> Generator[None, None, None]:
    yield


class Story:
    """Tells the events of a case to a guard, each end of each call at its own time and in its own place."""

    def __init__(self, case: dict[str, Any], mode: str) -> None:
        self.clock = Clock()
        self.notices: list[Notice] = []
        self.guard = guard_at(self.clock, mode=mode, on_decision=self.notices.append)
        self.ids: dict[str, str] = {}
        self.found: dict[str, dict[str, tuple[str, str]]] = {}
        self.refused: dict[str, GuardError] = {}
        self.running: dict[str, Any] = {}
        self.contexts: dict[str, contextvars.Context] = {}
        self.calls: dict[str, list[dict[str, Any]]] = {}
        for event in case["events"]:
            self.calls.setdefault(event.get("call", event["id"]), []).append(event)

    def tell(self) -> None:
        ends = []
        for place, (call, events) in enumerate(self.calls.items()):
            first = events[0]
            start = first["seq"] if "end_seq" in first else first["start_time"]
            ends.append((start, first.get("seq", place), 0, call))
            if first["end_time"] is not None:
                ends.append((first.get("end_seq", first["end_time"]), first.get("seq", place), 1, call))
        for _, _, is_end, call in sorted(ends):
            self.clock.seconds = self.calls[call][0]["end_time" if is_end else "start_time"]
            (self.end if is_end else self.begin)(call)
        for coroutine in self.running.values():
            coroutine.close()

    def begin(self, call: str) -> None:
        events = self.calls[call]
        first = events[0]
        outcome = first.get("outcome", "ok")
        error = {"unknown": TimeoutError(), "error": ValueError(), "failed": LookupError()}.get(outcome)
        options: dict[str, Any] = {"no_effect_on": LookupError}
        options["validity_window_seconds"] = first.get("validity_window_seconds")
        if first.get("may_land_until") is not None:
            options["may_land_for_seconds"] = first["may_land_until"] - first["end_time"]
        if first.get("observed_at") is not None:
            options["observed_at"] = lambda result: BASE + timedelta(seconds=first["observed_at"])
        reads = [each["name"] for each in events if each["kind"] == "read"]
        writes = [each["name"] for each in events if each["kind"] == "write"]

        async def body() -> None:
            await pause()
            if error is not None:
                raise error

        tool: Any = self.guard.tool(reads=reads or None, writes=writes or None, **options)(body)
        rests = [
            {**each, "id": self.ids.get(each["id"], each["id"])} if isinstance(each, dict) else self.ids.get(each, each)
            for each in first.get("depends_on", ())
        ]
        parent = first.get("parent")
        context = contextvars.Context() if parent is None else self.contexts[parent].copy()
        coroutine = tool(depends_on=rests)
        before = len(self.notices)
        try:
            context.run(coroutine.send, None)
            self.running[call], self.contexts[call] = coroutine, context
        except GuardError as refusal:
            self.refused[call] = refusal
        (notice,) = self.notices[before:]
        assert notice.event is not None
        number = int(notice.event.rpartition("-")[2])
        for place, event in enumerate(events):
            self.ids[event["id"]] = f"{notice.event.rpartition('-')[0]}-{number + place}"
        names = {live: told for told, live in self.ids.items()}
        self.found[first["id"]] = {
            names.get(each.dependency, each.dependency): (each.verdict, each.reason) for each in notice.findings
        }

    def end(self, call: str) -> None:
        coroutine = self.running.pop(call, None)
        if coroutine is None:
            return
        with pytest.raises((StopIteration, TimeoutError, ValueError, LookupError)):
            self.contexts[call].run(coroutine.send, None)


def expected(case: dict[str, Any]) -> dict[str, dict[str, tuple[str, str]]]:
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for each in case["expect"]:
        found.setdefault(each["event"], {})[each["dependency"]] = (each["verdict"], each["reason"])
    return found


def stories() -> list[dict[str, Any]]:
    told = json.loads(shared("cases/staleness.json").read_text())
    assert len(told) > 40
    return [case for case in told if case["id"] not in NOT_LIVE]


def test_the_shared_stories_come_out_the_same_under_a_guard_that_observes() -> None:
    """Each call of each story is told to a live guard in its place: the guard finds what the story expects, no more."""
    wrong = []
    for case in stories():
        story = Story(case, "observe")
        story.tell()
        found = {event: findings for event, findings in story.found.items() if findings}
        if found != expected(case):
            wrong.append((case["id"], found))
    assert wrong == []


def test_the_shared_stories_end_before_the_body_under_a_guard_that_enforces() -> None:
    """The calls that the stories find fault with are refused for these very reasons, and no others are."""
    wrong = []
    for case in stories():
        story = Story(case, "enforce")
        story.tell()
        names = {live: told for told, live in story.ids.items()}
        refusals = {
            story.calls[call][0]["id"]: {
                names.get(each.dependency, each.dependency): (each.verdict, each.reason) for each in error.findings
            }
            for call, error in story.refused.items()
        }
        if refusals != expected(case):
            wrong.append((case["id"], {call: repr(error) for call, error in story.refused.items()}))
    assert wrong == []


def test_an_audit_of_what_the_live_guard_recorded_says_the_same() -> None:
    """The log that a live guard wrote of each story, judged afterwards as a file would be, gives the story's findings."""
    for case in stories():
        story = Story(case, "observe")
        story.tell()
        events = story.guard.log.events()
        names = {live: told for told, live in story.ids.items()}
        for each in events:
            if each.id != each.call:
                continue
            raws = findings_of(each, events)
            found = {names.get(raw.dependency, raw.dependency): (verdict_of(raw.grade), REASONS[raw.grade]) for raw in raws}
            assert found == expected(case).get(names[each.id], {}), (case["id"], each.id)
