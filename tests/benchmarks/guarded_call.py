"""What a guarded call costs: against a bare wrapper, over the length of the log, on a hot resource, and in memory.

Run: ``python tests/benchmarks/guarded_call.py [--old PYTHON]``, PYTHON being an interpreter with intervalguard 0.1.1.
Every ratio is of medians taken in turn within one run; the machine's own speed cancels out of it.
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
import platform
import statistics
import subprocess
import sys
import time
import tracemalloc
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from peak import peak

from intervalguard import Guard
from intervalguard.logs import MemoryLog

CALLS = 2_000
ROUNDS = 9


def floor() -> Callable[[], object]:
    """A bare wrapper that takes two times and an id."""

    def body(order_id: str) -> str:
        return order_id

    @functools.wraps(body)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        start = datetime.now(UTC)
        id = uuid.uuid4()
        result = body(*args, **kwargs)
        return result, start, datetime.now(UTC), id

    return lambda: wrapper("42")


def guarded(events: int, writes: bool, hot: bool = False, session: bool = False) -> Callable[[], object]:
    """A guarded call with one dependency, on a log that holds so many events."""
    guard = Guard(MemoryLog(max_events=None))
    read = guard.tracked("orders/{order_id}", 30_000, writes=False)(lambda order_id: order_id)
    other = guard.tracked("others/{order_id}", 30_000, writes=True)(lambda order_id: order_id)
    call = guard.tracked("results/{order_id}", 30_000, writes=writes)(lambda order_id: order_id)
    write = guard.tracked("orders/{order_id}", 30_000, writes=True)(lambda order_id: order_id)
    from intervalguard import last_event

    for number in range(events - 1):
        (write if hot else other)("42" if hot else str(number % 1000))
    read("42")
    event = last_event()
    assert event is not None
    depends_on = [event.id]
    gc.collect()
    gc.freeze()
    return lambda: call("42", depends_on=depends_on)


def per_call(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The median time of one call of each, in seconds, taken in turn."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            times[name].append((time.perf_counter() - start) / CALLS)
    return {name: statistics.median(each) for name, each in times.items()}


def memory(count: int, distinct: int, chain: bool) -> tuple[float, float]:
    """Bytes an event over ``count`` events with a dependency each: traced, and resident."""
    from intervalguard import last_event

    guard = Guard(MemoryLog(max_events=None))
    read = guard.tracked("orders/{order_id}", 30_000, writes=False)(lambda order_id: order_id)
    write = guard.tracked("orders/{order_id}", 30_000, writes=True)(lambda order_id: order_id)
    before = peak()
    tracing = tracemalloc.is_tracing()
    traced = tracemalloc.get_traced_memory()[0] if tracing else 0
    read("0")
    for number in range(count):
        event = last_event()
        assert event is not None
        (read if chain or number % 2 else write)(str(number % distinct), depends_on=[event.id])
    used = tracemalloc.get_traced_memory()[0] - traced if tracing else 0
    return used / count, (peak() - before) * 2**20 / count


OLD = """
import json, statistics, sys, time
from intervalguard import tracked, last_event, registry, Event
from datetime import datetime, timezone
read = tracked("orders", 30000, writes=False)(lambda order_id: order_id)
call = tracked("results", 30000, writes=False)(lambda order_id: order_id)
other = tracked("others", 30000, writes=True)(lambda order_id: order_id)
for number in range(9_999):
    other(number)
read("42")
depends_on = [last_event().id]
times = []
for _ in range(15):
    start = time.perf_counter()
    for _ in range(20):
        call("42", depends_on=depends_on)
    times.append((time.perf_counter() - start) / 20)
print(json.dumps(statistics.median(times)))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old", help="a Python with intervalguard 0.1.1")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--memory", choices=["reads-and-writes", "chain", "distinct"], help="measure memory alone")
    parser.add_argument("--trace", action="store_true")
    options = parser.parse_args()
    if options.memory:
        if options.trace:
            tracemalloc.start()
        distinct = options.events if options.memory == "distinct" else 1_000
        traced, resident = memory(options.events, distinct, options.memory == "chain")
        print(f"{options.memory}: {traced:.0f} bytes traced, {resident:.0f} resident an event, {options.events} events")
        return
    print(f"Python {platform.python_version()}, {platform.machine()}, {platform.system()}")
    sizes = [100, 10_000, 100_000, options.events]
    for kind, writes in (("write", True), ("read", False)):
        calls = {"floor": floor()}
        calls |= {f"{size:>9,} events": guarded(size, writes) for size in sizes}
        calls[" hot resource"] = guarded(100_000, writes, hot=True)
        took = per_call(calls)
        for name, each in took.items():
            print(f"{kind:5} {name}: {each * 1e6:6.2f} us, {each / took['floor']:.2f} x floor")
        if options.old and not writes:
            old = json.loads(subprocess.run([options.old, "-c", OLD], check=True, capture_output=True).stdout)
            new = took["   10,000 events"]
            print(f"0.1.1 at 10,000 events: {old * 1e6:.0f} us, {old / new:.0f} x this one")
    for shape in ("reads-and-writes", "chain", "distinct"):
        for trace in ([], ["--trace"]):
            measured = ["--memory", shape, "--events", str(options.events), *trace]
            subprocess.run([sys.executable, __file__, *measured], check=True)


if __name__ == "__main__":
    main()
