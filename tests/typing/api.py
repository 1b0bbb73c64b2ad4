"""The public face as a type checker sees it. Checked by ``mypy --strict``, never run.

A line that must not type-check carries its ``type: ignore`` with the code: were it accepted, the ignore would be unused,
and that is an error too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, assert_type

from intervalguard import (
    ConflictError,
    Dependency,
    Event,
    Finding,
    Guard,
    Guarded,
    GuardError,
    Interval,
    LeaseLostError,
    Notice,
    Session,
    StaleReadError,
    UnknownDependencyError,
    check_dependencies,
    clear_registry,
    is_stale,
    last_event,
    registry,
    relation,
    resting_on,
    segment,
    tracked,
    with_event,
)
from intervalguard.files import EventFile, EventFileError, read_events, write_events
from intervalguard.logs import MemoryLog


def told(notice: Notice) -> None:
    assert_type(notice.tool, str)
    assert_type(notice.event, str | None)
    assert_type(notice.findings, Sequence[Finding])


guard = Guard(
    MemoryLog(max_events=1_000, clock=lambda: datetime.now(UTC)),
    refuse="stale",
    mode="warn",
    wait_seconds=0.5,
    require_session=True,
    on_decision=told,
)
Guard()
Guard(MemoryLog(max_events=None))
Guard(refuse="none")  # type: ignore[arg-type]
Guard(mode="strict")  # type: ignore[arg-type]
Guard("guard.db")  # type: ignore[arg-type]
MemoryLog(1_000)  # type: ignore[call-arg]


# -- a decorated function keeps its exact signature


@tracked(name="orders/{order_id}", validity_window_seconds=30, writes=False)
def get_order(order_id: str) -> dict[str, int]:
    return {order_id: 1}


@guard.tracked(["orders/{order_id}", lambda order_id: f"log/{segment(order_id)}"], writes=True, no_effect_on=KeyError)
def refund(order_id: str, amount: int, *, note: str = "") -> int:
    return amount


tracked("a", writes=True, wait_second=0)  # type: ignore[call-arg]
tracked("a", writes=True, refuse="none")  # type: ignore[arg-type]
guard.tracked("a", writes=False, versions=len)  # type: ignore[call-arg]
guard.tracked("a", writes=False, reads="b")  # type: ignore[call-arg]
guard.tracked("a", writes=False, version=1)  # type: ignore[arg-type]
guard.tool("a")  # type: ignore[arg-type]
guard.tool(reads="a", version=len, depends_on="e1")  # type: ignore[call-arg]


@guard.tool(
    reads=["carts/{cart_id}"],
    writes="payments/{payment_id}",
    rests_on=[],
    validity_window_seconds=2.5,
    version=lambda result: result,
    probe=lambda name: name,
    observed_at=lambda result: datetime.now(UTC),
    no_effect_on=(ValueError, KeyError),
    unknown_on=[OSError],
    may_land_for_seconds=60,
    refuse="suspect",
    mode="observe",
    wait_seconds=0,
)
async def pay(payment_id: str, cart_id: int) -> bytes:
    return b""


@guard.tool(reads="pages/{page}")
def lines(page: str) -> Iterator[str]:
    yield page


@guard.tool(reads="pages/{page}")
async def later_lines(page: str) -> AsyncIterator[str]:
    yield page


assert_type(get_order("42"), dict[str, int])
assert_type(get_order(order_id="42"), dict[str, int])
assert_type(refund("42", 10, note="x"), int)
assert_type(lines("p"), Iterator[str])
assert_type(later_lines("p"), AsyncIterator[str])
get_order(42)  # type: ignore[call-overload]
get_order()  # type: ignore[call-overload]
refund("42", "10")  # type: ignore[call-overload]
refund("42", 10, nope="x")  # type: ignore[call-overload]

takes: Callable[[str], dict[str, int]] = get_order
takes_wrong: Callable[[int], dict[str, int]] = get_order  # type: ignore[assignment]


async def awaited() -> None:
    assert_type(await pay("p", 1), bytes)
    assert_type(await pay("p", cart_id=1), bytes)
    assert_type(await pay("p", 1, depends_on="e1"), bytes)
    await pay(1, 1)  # type: ignore[call-overload]
    async for item in later_lines("p"):
        assert_type(item, str)


# -- depends_on= is accepted with loose arguments

read: Event | None = last_event()
assert read is not None
for each in (read, read.id, Dependency(read.id, "orders/42/total"), {"id": read.id}):
    assert_type(refund("42", 10, depends_on=each), int)
assert_type(refund("42", 10, depends_on=[read, read.id, Dependency(read.id)]), int)
assert_type(refund("42", 10, depends_on=(read,)), int)
refund("42", 10, depends_on=7)  # type: ignore[call-overload]


# -- methods bind self


class Shop:
    @guard.tracked("orders/{order_id}", writes=False)
    def order(self, order_id: str) -> int:
        return 1

    @guard.tool(writes="orders/{order_id}")
    async def cancel(self, order_id: str) -> bool:
        return True

    @classmethod
    @guard.tracked("orders/{order_id}", writes=False)
    def above(cls, order_id: str) -> int:
        return 1

    @guard.tracked("orders/{order_id}", writes=False)
    @classmethod
    def below(cls, order_id: str) -> int:
        return 1

    @staticmethod
    @guard.tracked("orders/{order_id}", writes=False)
    def apart(order_id: str) -> int:
        return 1

    @guard.tracked("orders/{order_id}", writes=False)
    @staticmethod
    def below_apart(order_id: str) -> int:
        return 1

    @classmethod
    @guard.tool(reads="shops")
    async def none(cls) -> int:
        return 1


class Stall(Shop):
    pass


shop = Shop()
assert_type(shop.order("42"), int)
assert_type(shop.order("42", depends_on=read), int)
assert_type(Shop.order(shop, "42"), int)
shop.order(42)  # type: ignore[call-overload]
shop.order()  # type: ignore[call-overload]
Shop.order("42")  # type: ignore[call-overload]
for one in (Shop, Stall):
    assert_type(one.above("42"), int)
    assert_type(one.below("42", depends_on=read), int)
    assert_type(one.apart("42"), int)
    assert_type(one.below_apart("42"), int)
    assert_type(one().above("42"), int)
    assert_type(one().below("42", depends_on=read), int)
    assert_type(one().apart("42"), int)
    assert_type(one().below_apart("42"), int)
    assert_type(one().order("42"), int)
    one.above(42)  # type: ignore[call-overload]
    one.apart(42)  # type: ignore[call-overload]
    one().apart()  # type: ignore[call-overload]
assert_type(with_event(Shop.above, "42"), tuple[int, Event])
assert_type(resting_on(shop.below, read)("42"), int)
assert_type(with_event(Stall.none), Awaitable[tuple[int, Event]])


# -- tables of tools: a guarded function has the attributes of one

table = {each.__name__: each for each in (get_order, pay, shop.order)}
assert_type(next(iter(table)), str)
tools: dict[str, Guarded[..., Any]] = {get_order.__qualname__: get_order, refund.__name__: refund, "order": shop.order}
assert_type(tools["get_order"]("42", depends_on=read), Any)
assert_type(get_order.__doc__, str | None)
assert_type(get_order.__wrapped__("42"), dict[str, int])
get_order.__wrapped__(42)  # type: ignore[arg-type]
exact: Guarded[[str], dict[str, int]] = get_order
inexact: Guarded[[int], dict[str, int]] = get_order  # type: ignore[assignment]


# -- resting_on has the tool's exact type

assert_type(resting_on(refund, read)("42", 10, note="x"), int)
assert_type(resting_on(shop.order, read, [read.id], Dependency(read.id))("42"), int)
resting_on(refund, read)("42", "10")  # type: ignore[arg-type]
resting_on(refund, read)("42")  # type: ignore[call-arg]
resting_on(shop.order, read)(shop, "42")  # type: ignore[call-arg, arg-type]
resting_on(refund, 7)  # type: ignore[arg-type]


# -- with_event: the result and its event; awaitable of an async tool

assert_type(with_event(get_order, "42"), tuple[dict[str, int], Event])
assert_type(with_event(refund, "42", amount=10), tuple[int, Event])
assert_type(with_event(shop.order, "42"), tuple[int, Event])
assert_type(with_event(pay, "p", 1), Awaitable[tuple[bytes, Event]])
assert_type(with_event(shop.cancel, "42"), Awaitable[tuple[bool, Event]])
with_event(get_order, 42)  # type: ignore[call-overload]
with_event(get_order)  # type: ignore[call-overload]


async def both() -> None:
    result, event = await with_event(pay, "p", 1)
    assert_type(result, bytes)
    assert_type(event, Event)
    assert_type(await resting_on(pay, event)("p", 1), bytes)


# -- sessions, blocks, outside writers

session = guard.session("desk", agent="ann", run="r1")
with session as entered:
    assert_type(entered, Session)
    with session.turn() as batch:
        assert_type(batch, str)
    assert_type(session.stale(), list[Finding])
    assert_type(session.bind(refund)("42", 10), int)


async def inside() -> None:
    async with guard.session() as entered:
        assert_type(entered, Session)
        async with entered.turn() as batch:
            assert_type(batch, str)
    async with guard.write("a", depends_on=[]) as block:
        assert_type(block.event, Event)


with guard.read("a", validity_window_seconds=3) as block:
    assert_type(block.event, Event)
guard.write("a", rests_on="b", tool="editor", no_effect_on=KeyError, may_land_for_seconds=5, mode="warn", wait_seconds=0)
guard.read("a", depend_on=read)  # type: ignore[call-arg]
guard.write("a", depends_on=7)  # type: ignore[arg-type]
assert_type(guard.record_write("a", since=datetime.now(UTC), tool="webhook", agent="shop"), Event)
assert_type(guard.settle("e1", "failed"), Event)
guard.settle("e1", "unknown")  # type: ignore[arg-type]
assert_type(guard.log.events(), list[Event])


# -- the errors

try:
    refund("42", 10)
except StaleReadError as error:
    assert_type(error.findings, Sequence[Finding])
    assert_type(error.for_model(), str)
    assert_type(error.retryable, bool)
    runtime: RuntimeError = error
except UnknownDependencyError as error:
    lookup: LookupError = error
except ConflictError as error:
    assert_type(error.name, str)
    assert_type(error.blocker, Event)
except LeaseLostError as error:
    assert_type(error.event, Event)
    assert_type(error.result, Any)
except GuardError as error:
    assert_type(error.findings, Sequence[Finding])


# -- the fixed names

event = Event("orders/42", datetime.now(UTC), None, 30, ("e1", Dependency("e2")), "read", "e3", 7, outcome="pending")
Event("a", datetime.now(UTC), kind="look")  # type: ignore[arg-type]
word: str = relation(event, event)
word = relation(Interval(1, 2), Interval(2, 3))
assert_type(is_stale(event, datetime.now(UTC)), bool)
assert_type(check_dependencies(event, registry), list[str])
assert_type(check_dependencies(event, [event], datetime.now(UTC)), list[str])
assert_type(registry[0], Event)
assert_type(registry[1:], list[Event])
assert_type(len(registry), int)
clear_registry()
assert_type(segment("a/b"), str)
segment(1.5)  # type: ignore[arg-type]


# -- event files

try:
    file = read_events("log.jsonl")
except EventFileError as error:
    assert_type(error.line, int | None)
assert_type(file, EventFile)
assert_type(file.events, tuple[Event, ...])
write_events("log.jsonl", guard.log.events(), axis="number")
write_events("log.jsonl", [read], axis="days")  # type: ignore[arg-type]
