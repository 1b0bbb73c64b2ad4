"""The fixed names of section 4: what people of 0.1.1 know, and what they can ask of an event, a result or a log."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from helpers import BASE, Thread, guard_at

from intervalguard import (
    Dependency,
    Event,
    StaleReadError,
    UnknownDependencyError,
    check_dependencies,
    clear_registry,
    is_stale,
    last_event,
    registry,
    relation,
    resting_on,
    tracked,
    with_event,
)
from intervalguard.shell.running import last


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    clear_registry()
    last.set(None)
    yield
    clear_registry()


def at(seconds: float) -> datetime:
    return BASE + timedelta(seconds=seconds)


def event(name: str, start: float, end: float | None, **fields: Any) -> Event:
    return Event(name, at(start), None if end is None else at(end), **fields)


@tracked(name="orders/{order_id}", validity_window_seconds=30, writes=False)
def get_order(order_id: str) -> str:
    return f"order {order_id}"


done: list[int] = []


@tracked(name="orders/{order_id}", validity_window_seconds=30, writes=True)
def refund(order_id: str, amount: int) -> int:
    done.append(amount)
    return amount


class Shop:
    @tracked("orders/{order_id}", writes=False)
    def order(self, order_id: str) -> tuple[Any, str]:
        return self, order_id

    @tracked("orders/{order_id}", writes=True)
    async def cancel(self, order_id: str) -> str:
        await asyncio.sleep(0)
        return order_id


# ------------------------------------------------------------------------------------------------ the first example


def test_the_example_of_the_design() -> None:
    """A refund that rests on an order that moved is refused before its body runs."""
    assert get_order("42") == "order 42"
    read = last_event()
    assert read is not None
    assert (read.name, read.kind, read.validity_window_seconds) == ("orders/42", "read", 30)
    assert refund("42", 10, depends_on=[read.id]) == 10
    done.clear()
    with pytest.raises(StaleReadError, match=rf"^event 'orders/42' \(id={read.id}\) is stale: superseded by 'orders/42'"):
        refund("42", 10, depends_on=[read.id])
    assert done == []


def test_read_modify_write_of_one_resource_never_blames_itself() -> None:
    """A fault of 0.1.1: the call's own write superseded its own read."""
    for _ in range(3):
        get_order("42")
        refund("42", 10, depends_on=last_event())


# ----------------------------------------------------------------------------------------------------------- Event


def test_the_order_of_an_events_fields() -> None:
    """By position as 0.1.1 had them, the rest by keyword alone."""
    given = Event("a", at(0), at(1), 30, ("e1",), "write", "e2", 7)
    assert (given.name, given.start_time, given.end_time, given.validity_window_seconds) == ("a", at(0), at(1), 30)
    assert (given.depends_on, given.kind, given.id, given.seq) == ((Dependency("e1"),), "write", "e2", 7)
    parameters = inspect.signature(Event).parameters.values()
    kinds = [each.name for each in parameters if each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    assert kinds == ["name", "start_time", "end_time", "validity_window_seconds", "depends_on", "kind", "id", "seq"]
    assert [each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY] == [
        "end_seq", "outcome", "call", "parent", "session", "batch", "run", "agent", "tool", "observed_at", "version",
        "may_land_until",
    ]  # fmt: skip


def test_what_an_event_is_when_nothing_is_said() -> None:
    """A read, done where it has an end, its own call, with an id that no other has."""
    one, two = event("a", 0, 1), event("a", 0, None)
    assert (one.kind, one.outcome, two.outcome, one.call, one.depends_on) == ("read", "ok", "pending", one.id, ())
    assert one.id != two.id
    assert len(one.id) == 32
    with pytest.raises(AttributeError):
        one.name = "b"  # type: ignore[misc]
    assert hash(one) == hash(event("a", 0, 1, id=one.id))


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [((0, 1), (2, 3), "before"), ((0, 2), (2, 3), "meets"), ((0, 3), (2, 4), "overlaps"), ((1, 2), (0, 3), "during"),
     ((2, 3), (0, 1), "after"), ((2, 3), (0, 2), "after"), ((0, 0), (0, 0), "during")],
)  # fmt: skip
def test_relation_of_events(a: tuple[int, int], b: tuple[int, int], said: str) -> None:
    """The five words, of events as of intervals."""
    assert relation(event("a", *a), event("b", *b)) == said


# ------------------------------------------------------------------------------------- is_stale, check_dependencies


@pytest.mark.parametrize(
    ("fields", "now", "stale"),
    [({}, 40, False), ({}, 40.000001, True), ({"validity_window_seconds": None}, 10_000, False),
     ({"end_time": None}, 10_000, False), ({"observed_at": at(5)}, 35, False), ({"observed_at": at(5)}, 35.1, True),
     ({"validity_window_seconds": 0}, 10, False), ({"validity_window_seconds": 0}, 10.000001, True)],
)  # fmt: skip
def test_is_stale_is_age_alone(fields: dict[str, Any], now: float, stale: bool) -> None:
    """From the end, or from the instant seen; at the boundary it is fresh."""
    given = {"end_time": at(10), "validity_window_seconds": 30, **fields}
    assert is_stale(Event("a", at(0), **given), at(now)) is stale


def test_times_have_zones() -> None:
    """A naive time is an error that names the fix, and zones do not matter."""
    read = event("a", 0, 10, validity_window_seconds=30)
    for call in (is_stale, lambda read, now: check_dependencies(read, [], now)):
        with pytest.raises(ValueError, match=r"now=.* pass datetime\.now\(UTC\)"):
            call(read, datetime(2026, 7, 30, 12))
    assert not is_stale(read, at(40).astimezone())


def test_check_dependencies_names_what_is_not_fresh() -> None:
    """In the order given, as of the event's start, by superseding, age or in-flight writes."""
    events = [
        event("a", 0, 1, id="a"),
        event("b", 0, 1, id="b"),
        event("c", 0, 1, id="c", validity_window_seconds=3),
        event("d", 0, 1, id="d"),
        event("a", 2, 3, kind="write"),
        event("d", 2, None, kind="write"),
        event("b", 6, 7, kind="write"),
    ]
    act = event("x", 5, 6, kind="write", depends_on=["d", "c", "b", "a"])
    assert check_dependencies(act, events) == ["d", "c", "a"]
    assert check_dependencies(act, [*events, act]) == ["d", "c", "a"]
    assert check_dependencies(act, iter(events), at(8)) == ["d", "c", "b", "a"]
    assert check_dependencies(act, reversed(events)) == ["d", "c", "a"]
    assert check_dependencies(event("x", 5, 6), events) == []


def test_check_dependencies_of_what_is_not_there_raises() -> None:
    """It cannot be verified, which is not the same as fresh; it can be caught as a `LookupError`."""
    act = event("x", 5, 6, depends_on=["a", "nobody"])
    with pytest.raises(LookupError, match="rests on id='nobody', which is not among the events given") as caught:
        check_dependencies(act, [event("a", 0, 1, id="a")])
    assert isinstance(caught.value, UnknownDependencyError)
    assert caught.value.for_model() == (
        f"Event 'x' (id={act.id}) rests on id='nobody', which is not among the events given: it cannot be verified, so the"
        " call must not be treated as checked. Read what it rests on first, then decide again."
    )


def test_check_dependencies_of_the_registry() -> None:
    """The guard's own log can be held against the rule after the fact: nothing that it let through was stale."""
    get_order("42")
    refund("42", 10, depends_on=last_event())
    refund("42", 10, depends_on=last_event())
    assert [check_dependencies(each, registry) for each in registry] == [[], [], []]
    assert check_dependencies(registry[1], registry, datetime.now(UTC) + timedelta(seconds=1)) == ["orders/42"]


# ------------------------------------------------------------------------------------- last_event, registry, clear


def test_last_event_is_this_threads_and_this_tasks() -> None:
    """What others do meanwhile does not change it; before any call it is `None`."""
    assert last_event() is None
    get_order("1")
    Thread(get_order, "2").get()
    assert Thread(last_event).get() is None

    async def call(order_id: str) -> str:
        await Shop().cancel(order_id)
        await asyncio.sleep(0)
        event = last_event()
        assert event is not None
        return event.name

    async def main() -> list[str]:
        return await asyncio.gather(*(asyncio.create_task(call(str(number))) for number in range(3, 6)))

    assert asyncio.run(main()) == ["orders/3", "orders/4", "orders/5"]
    event = last_event()
    assert event is not None
    assert event.name == "orders/1"


def test_last_event_is_the_outer_call_when_that_ends() -> None:
    """The call that ended last, not the one that began last; a refused one never began."""

    @tracked("outer", writes=False)
    def outer() -> str:
        get_order("1")
        event = last_event()
        assert event is not None
        return event.name

    assert outer() == "orders/1"
    event = last_event()
    assert event is not None
    assert event.name == "outer"
    with pytest.raises(UnknownDependencyError):
        refund("1", 10, depends_on="nobody")
    assert last_event() == event


def test_last_event_of_a_call_that_raised() -> None:
    """It was recorded, with what became of it."""

    @tracked("a", writes=True)
    def fail() -> None:
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        fail()
    event = last_event()
    assert event is not None
    assert (event.name, event.outcome) == ("a", "error")


def test_a_read_that_found_nothing_has_no_event() -> None:
    """Names that only the result tells: where it tells none, nothing was touched."""
    guard = guard_at()

    @guard.tool(reads=lambda result: result)
    def search(found: list[str]) -> list[str]:
        return found

    search([])
    assert last_event() is None
    assert guard.log.events() == []
    search(["a", "b"])
    event = last_event()
    assert event is not None
    assert [each.call for each in guard.log.events()] == [event.id] * 2


def test_the_registry_is_a_sequence_of_events() -> None:
    """Oldest first, as of now; what is running is in it."""
    assert (len(registry), list(registry), bool(registry)) == (0, [], False)
    for number in range(3):
        get_order(str(number))
    assert isinstance(registry, Sequence)
    assert [each.name for each in registry] == ["orders/0", "orders/1", "orders/2"]
    assert (len(registry), registry[0].name, registry[-1].name) == (3, "orders/0", "orders/2")
    assert [each.name for each in registry[1:]] == ["orders/1", "orders/2"]
    assert registry[1] in registry
    assert [each.name for each in reversed(registry)] == ["orders/2", "orders/1", "orders/0"]
    assert registry.index(registry[2]) == 2
    assert repr(registry) == "<registry of 3 events>"
    with pytest.raises(IndexError):
        registry[3]


def test_what_was_cleared_is_unknown() -> None:
    """Also after as many new calls as there were: an id never comes to mean another event."""
    ids = []
    for number in range(5):
        get_order(str(number))
        event = last_event()
        assert event is not None
        ids.append(event.id)
    clear_registry()
    before = last_event()
    assert before is not None
    assert before.id == ids[-1]
    assert len(registry) == 0
    for number in range(20):
        get_order(str(number))
    assert not {each.id for each in registry} & set(ids)
    for id in ids:
        with pytest.raises(UnknownDependencyError, match="the log does not hold it"):
            refund("1", 10, depends_on=id)


def test_a_call_that_runs_while_the_registry_is_cleared_settles_into_nothing() -> None:
    """It returns what it returns, and what it writes is not on the new log."""

    @tracked("a", writes=True)
    def clear() -> int:
        clear_registry()
        return 7

    assert clear() == 7
    assert len(registry) == 0
    get_order("1")
    assert [each.name for each in registry] == ["orders/1"]


# ------------------------------------------------------------------------------------------- with_event, resting_on


def test_with_event_gives_result_and_event() -> None:
    """Of functions and methods; arguments go through as they are."""
    shop = Shop()
    result, read = with_event(get_order, order_id="42")
    assert (result, read.name, read) == ("order 42", "orders/42", last_event())
    (me, order_id), read = with_event(shop.order, "7")
    assert (me, order_id, read.name) == (shop, "7", "orders/7")
    assert with_event(Shop.order, shop, "7")[0] == (shop, "7")


def test_with_event_of_an_async_tool_is_awaitable() -> None:
    """The event is that of this very call, however many others end at once."""

    async def main() -> list[tuple[str, Event]]:
        shop = Shop()
        return await asyncio.gather(*(with_event(shop.cancel, str(number)) for number in range(5)))

    found = asyncio.run(main())
    assert [(result, event.name) for result, event in found] == [(str(n), f"orders/{n}") for n in range(5)]


def test_with_event_gives_the_first_event_of_a_call() -> None:
    """It speaks for the call: what rests on it rests on what it touched first."""
    guard = guard_at()

    @guard.tool(reads=["a", "b"], writes="c")
    def many() -> None: ...

    _, event = with_event(many)
    assert (event.name, event.call) == ("a", event.id)


@pytest.mark.parametrize("use", [with_event, resting_on])
def test_what_is_not_guarded_has_no_event(use: Any) -> None:
    """It says how to guard it."""
    for each in (len, lambda: None, "get_order", None):
        with pytest.raises(TypeError, match=r"is not guarded: decorate it with @tracked\(\.\.\.\) or @guard\.tool"):
            use(each)


def test_a_stream_has_no_event_until_it_ended() -> None:
    """It says how to get it."""
    guard = guard_at()

    @guard.tool(reads="a")
    def stream() -> Iterator[int]:
        yield 1

    with pytest.raises(TypeError, match=r"run it to its end, then ask last_event\(\)"):
        with_event(stream)
    assert list(stream()) == [1]
    assert last_event() is not None


def test_resting_on_is_depends_on() -> None:
    """Of events, ids, parts, several and lists of them; of functions and methods."""
    _, one = with_event(get_order, "1")
    _, two = with_event(get_order, "2")
    shop = Shop()
    for given, ids in (
        ([one], [one.id]),
        ([one, two.id], [one.id, two.id]),
        ([[one, two]], [one.id, two.id]),
        ([Dependency(one.id, "orders/1/x"), {"id": two.id}], [one.id, two.id]),
        ([], []),
    ):
        resting_on(shop.order, *given)("9")
        event = last_event()
        assert event is not None
        assert [each.id for each in event.depends_on] == ids
    assert resting_on(refund, one)("1", amount=10) == 10
    with pytest.raises(StaleReadError):
        resting_on(refund, one, two)("1", amount=10)


def test_resting_on_an_async_tool_is_awaited() -> None:
    """The call is made, and judged, when it is awaited; the same premise serves many calls."""
    _, read = with_event(get_order, "1")
    cancel = resting_on(Shop().cancel, read)
    assert asyncio.run(cancel("3")) == "3"
    assert asyncio.run(cancel("4")) == "4"
    refund("1", 1)
    with pytest.raises(StaleReadError):
        asyncio.run(cancel("5"))


@pytest.mark.parametrize("given", [7, None, object(), {"name": "a"}])
def test_what_is_no_dependency_is_an_error_at_once(given: Any) -> None:
    """Not at the call."""
    with pytest.raises(TypeError):
        resting_on(refund, given)
