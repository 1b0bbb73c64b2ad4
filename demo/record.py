"""Records `refund-desk.jsonl`, the log that ships with the project: an afternoon at a shop's refund desk.

    python demo/record.py                 write demo/refund-desk.jsonl anew
    python demo/record.py FILE            write it somewhere else

Three agents work through one queue. Their tools go through a guard that only observes: it refuses nothing and waits for
nothing, it keeps the log. The clock is set by hand and the ids are named after the desk, so that every recording gives
the same bytes. `intervalguard audit` then says which calls acted on something that was no longer true.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import attrs

from intervalguard import Dependency, Event, Guard
from intervalguard.files import write_events
from intervalguard.logs import MemoryLog

FILE = Path(__file__).parent / "refund-desk.jsonl"


class Clock:
    """The time at the desk: it stands still until someone lets it pass."""

    def __init__(self, start: datetime) -> None:
        self.time = start

    def __call__(self) -> datetime:
        return self.time

    def passes(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


def afternoon() -> list[Event]:
    """What happened, as the guard recorded it."""
    clock = Clock(datetime(2026, 7, 30, 14, 0, tzinfo=UTC))
    guard = Guard(MemoryLog(clock=clock), mode="observe")
    ada = guard.session("ada", agent="ada", run="2026-07-30")
    bo = guard.session("bo", agent="bo", run="2026-07-30")
    cleo = guard.session("cleo", agent="cleo", run="2026-07-30")

    @guard.tracked("orders/{order_id}", writes=False)
    def get_order(order_id: str, meanwhile: Callable[[], object] | None = None) -> None:
        clock.passes(0.4)
        if meanwhile is not None:
            elsewhere(meanwhile)
            clock.passes(2)

    @guard.tracked("rates/{pair}", validity_window_seconds=60, writes=False)
    def get_rate(pair: str) -> None:
        clock.passes(0.2)

    @guard.tracked("orders/{order_id}/address", writes=True)
    def change_address(order_id: str) -> None:
        clock.passes(0.5)

    # A write rests, by itself, on what its conversation knows of the resource: here, on what get_order told of it.
    @guard.tracked("orders/{order_id}/refunded", writes=True)
    def refund(order_id: str) -> None:
        clock.passes(1.5)

    @guard.tool(writes="orders/{order_id}/refunded", rests_on=["orders/{order_id}/refunded", "rates/{pair}"])
    def refund_abroad(order_id: str, pair: str) -> None:
        clock.passes(1.5)

    @guard.tool(writes="parcels/{order_id}", rests_on="orders/{order_id}/address")
    def send_replacement(order_id: str) -> None:
        clock.passes(1)

    @guard.tool(writes="notes", rests_on=[])
    def add_note(text: str) -> None:
        clock.passes(0.1)

    # Order 41: read, refunded, nobody else near it.
    with ada:
        get_order("41")
        clock.passes(12)
        refund("41")
        add_note("41 refunded")

    # Order 42: Ada and Bo both take it up. Bo is faster; Ada's refund waits for a supervisor's nod.
    clock.passes(40)
    with ada:
        get_order("42")
    clock.passes(3)
    with bo:
        get_order("42")
        clock.passes(15)
        refund("42")
    clock.passes(95)
    with ada:
        refund("42")
        add_note("42 refunded")

    # Order 43: the customer moves house while Cleo's slow look-up runs.
    clock.passes(20)
    with cleo:
        get_order("43", meanwhile=lambda: change_address("43"))
        clock.passes(6)
        send_replacement("43")

    # Order 44: the rate was good for a minute, the refund came after three.
    clock.passes(30)
    with bo:
        get_order("44")
        get_rate("USD-EUR")
        clock.passes(180)
        refund_abroad("44", "USD-EUR")

    # Order 45: the address changes, the money does not: Cleo's refund rests on the money alone.
    clock.passes(10)
    with cleo:
        get_order("45")
    clock.passes(4)
    elsewhere(lambda: change_address("45"))
    clock.passes(4)
    with cleo:
        refund("45")

    return list(named_after("desk", guard.log.events()))


def elsewhere(call: Callable[[], object]) -> None:
    """A call that someone outside the three conversations makes, in a thread of its own."""
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


def named_after(place: str, events: Iterable[Event]) -> Iterable[Event]:
    """The events with ids that tell nothing of the log's random prefix: ``desk-1``, ``desk-2``, ..."""
    ids: dict[str, str] = {}

    def named(id: str) -> str:
        return ids.setdefault(id, f"{place}-{len(ids) + 1}")

    for event in events:
        yield attrs.evolve(
            event,
            id=named(event.id),
            call=named(event.call),
            parent=None if event.parent is None else named(event.parent),
            depends_on=[Dependency(named(each.id), each.name) for each in event.depends_on],
        )


def main(argv: list[str]) -> int:
    if len(argv) > 1 or any(each.startswith("-") for each in argv):
        print(__doc__)
        return 2
    file = Path(argv[0]) if argv else FILE
    events = afternoon()
    write_events(file, events)
    print(f"{len(events)} events written to {file.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
