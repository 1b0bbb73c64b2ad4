"""What a guarded call costs on a log in a file, against bare commits of the same durability in the same run.

``python tests/benchmarks/sqlite_log.py [--events N ...] [--folder FOLDER] [--calls N] [--seconds S]``. For each size:

* a read, and a write that rests on it, each admitted and settled, against two transactions of one inserted row each:
  medians, the sides interleaved;
* how long opening the log takes;
* the commits a second of 8 processes that make such calls on one log, against those of one bare writer.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from intervalguard.kernel.views import Entry
from intervalguard.logs import SQLiteLog
from intervalguard.logs.calls import Origin

TOOL = Origin("refund", "session-0123456789", None, None, "desk")
PROCESSES = 8

_NUMBERS = "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < ?)"
_FILL = (
    f"""{_NUMBERS} INSERT INTO event
    (id, call, name, kind, outcome, start, "end", start_time, end_time, tool, session, agent)
    SELECT 2 * k, 2 * k, 'orders/' || k, 'write', 'ok', 2 * k, 2 * k + 1, 2 * k, 2 * k + 1,
    'refund', 's' || (k % 1000), 'desk' FROM n""",
    f"{_NUMBERS} INSERT INTO written SELECT 'orders/' || k, 0, 2 * k, 2 * k, 2 * k, 'ok', 2 * k + 1 FROM n",
    f"{_NUMBERS} INSERT INTO written SELECT 'orders', 1, 2 * k, 2 * k, 2 * k, 'ok', 2 * k + 1 FROM n",
    "UPDATE meta SET next = 2 * ?1 + 2, latest = 2 * ?1 + 1, held = ?1, droppable = ?1",
)


def filled(path: Path, events: int) -> SQLiteLog:
    """A log that holds so many writes, each of a row of its own."""
    SQLiteLog(path).close()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN")
    for sql in _FILL:
        connection.execute(sql, (events,))
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return SQLiteLog(path)


def bare(path: Path) -> Callable[[], None]:
    """A transaction of one inserted row, as durable as those of the log."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS row (id INTEGER PRIMARY KEY, text TEXT)")

    def commit() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO row (text) VALUES (?)", ("x" * 100,))
        connection.execute("COMMIT")

    return commit


def call(log: SQLiteLog, name: str, kind: str, depends_on: tuple[int, ...] = ()) -> Entry:
    """Admit a call and settle it."""
    _, first = log.admit(TOOL, ((name, kind, None),), depends_on)
    assert first is not None
    assert log.settle(first, "ok", 0) is not None
    return first


def timed(step: Callable[[], object]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def one_call(log: SQLiteLog, commit: Callable[[], None], events: int, calls: int) -> Sequence[float]:
    """The medians, in microseconds, of two bare commits, of a read, and of a write that rests on it."""
    bares, reads, writes = [], [], []
    for _ in range(calls):
        name = f"orders/{random.randrange(events) + 1}"
        bares.append(timed(lambda: (commit(), commit())))
        start = time.perf_counter()
        read = call(log, name, "read")
        middle = time.perf_counter()
        call(log, name, "write", (read.id,))
        writes.append(time.perf_counter() - middle)
        reads.append(middle - start)
    return [1e6 * statistics.median(times) for times in (bares, reads, writes)]


def work(path: Path, seconds: float, events: int) -> int:
    """Make calls for so long; how many commits they were."""
    log = SQLiteLog(path)
    commits, stop = 0, time.monotonic() + seconds
    while time.monotonic() < stop:
        call(log, f"orders/{random.randrange(events) + 1}", "read")
        commits += 2
    return commits


def many(path: Path, seconds: float, events: int) -> float:
    """The commits a second of several processes on one log."""
    command = [sys.executable, __file__, "--work", str(path), "--seconds", str(seconds), "--events", str(events)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)]
    return sum(int(process.communicate()[0]) for process in processes) / seconds


def alone(commit: Callable[[], None], seconds: float) -> float:
    """The commits a second of one bare writer."""
    commits, stop = 0, time.monotonic() + seconds
    while time.monotonic() < stop:
        commit()
        commits += 1
    return commits / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, nargs="+", default=[1_000, 1_000_000])
    parser.add_argument("--folder", default=None, help="where the files are made; the disk that is to be measured")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        print(work(Path(options.work), options.seconds, options.events[0]))
        return
    print(f"Python {sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}")
    for events in options.events:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            path = Path(folder) / "guard.db"
            log, commit = filled(path, events), bare(Path(folder) / "bare.db")
            two, read, write = one_call(log, commit, events, options.calls)
            log.close()
            opening = statistics.median(timed(lambda path=path: SQLiteLog(path).close()) for _ in range(20)) * 1e3
            one, eight = alone(commit, options.seconds), many(path, options.seconds, events)
            print(f"{events:>9,} events: opened in {opening:.1f} ms; two bare commits {two:.0f} us")
            print(f"{'':9} a read {read:.0f} us = {read / two:.2f}x")
            print(f"{'':9} a write that rests on it {write:.0f} us = {write / two:.2f}x")
            print(f"{'':9} {PROCESSES} processes {eight:.0f} commits/s = {eight / one:.0%} of one bare writer's {one:.0f}")


if __name__ == "__main__":
    main()
