"""Several processes on one log: nothing is lost between them, whatever becomes of one of them."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import settings
from test_sqlite_files import TOOL, sound, write

from intervalguard import ConflictError, Guard, StaleReadError
from intervalguard.logs import SQLiteLog

WORKER = Path(__file__).with_name("sqlite_worker.py")
PATIENCE = 60.0
THOROUGH = settings.get_current_profile_name() == "thorough"

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="signals and forks are those of POSIX")


Start: TypeAlias = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a worker, which does not outlive the test."""
    with ExitStack() as stack:

        def begin(what: str, *args: object) -> subprocess.Popen[str]:
            command = [sys.executable, str(WORKER), what, *map(str, args)]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield begin


def said(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate(timeout=PATIENCE)
    return out.strip()


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "it never was so"
        time.sleep(0.01)


def test_a_counter_is_right_to_the_unit(tmp_path: Path, start: Start) -> None:
    """Eight processes that read, add one and write back: each refusal is tried again, and no increment is lost."""
    counter, log = tmp_path / "counter", tmp_path / "guard.db"
    counter.write_text("0")
    each = 300 if THOROUGH else 6
    refused = [int(said(process)) for process in [start("count", log, counter, each) for _ in range(8)]]
    assert counter.read_text() == str(8 * each)
    assert sum(refused) > 0
    written = [event for event in SQLiteLog(log).events() if event.kind == "write" and event.outcome == "ok"]
    assert len(written) == 8 * each
    assert sound(log)


def test_no_admitted_write_is_forgotten_by_a_kill(tmp_path: Path, start: Start) -> None:
    """A writer is killed at any moment, again and again: what it was let through to do is in the log, and the file sound."""
    log, done = tmp_path / "guard.db", tmp_path / "done"
    done.touch()
    rounds = 30 if THOROUGH else 3
    for kill in range(rounds):
        before = done.stat().st_size
        process = start("write_on", log, done)
        until(lambda before=before: done.stat().st_size > before)  # type: ignore[misc]
        time.sleep(random.Random(kill).random() / 20)
        process.kill()
        process.communicate()
        assert sound(log)
    time.sleep(0.4)  # the leases run out
    events = {event.id: event for event in SQLiteLog(log, durability="normal").events()}
    assert {event.outcome for event in events.values()} <= {"ok", "unknown"}
    noted = done.read_text().split()
    assert noted
    assert set(noted) <= events.keys()
    for event in events.values():
        assert event.kind == "read" or event.outcome == "unknown" or event.id in noted
    guard = Guard(SQLiteLog(log, durability="normal"), wait_seconds=0)
    with guard.write("premise"):  # nothing pins it past the lease
        pass
    lost = [event for event in events.values() if event.outcome == "unknown" and event.kind == "write"]
    for event in lost:
        with guard.session(), guard.read(event.name) as block:
            pass
        with pytest.raises(StaleReadError, match="unknown"):
            guard.write("report", depends_on=block.event).__enter__()
        guard.settle(event.id, "failed")
    assert sound(log)


def test_who_was_stopped_past_the_lease_settles_nothing(tmp_path: Path, start: Start) -> None:
    """A frozen process, a successor that writes, and the thaw: its settlement is refused, and it is told."""
    log = tmp_path / "guard.db"
    guard = Guard(SQLiteLog(log, durability="normal", lease_seconds=60), wait_seconds=10)
    process = start("freeze", log, 0.3)
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    with pytest.raises(ConflictError):
        Guard(guard.log, wait_seconds=0).write("row").__enter__()
    process.send_signal(signal.SIGSTOP)
    with guard.write("row") as successor:  # it waits for the lease, and no longer
        pass
    process.send_signal(signal.SIGCONT)
    process.communicate("\n", timeout=PATIENCE)
    frozen, *others = guard.log.events()
    assert frozen.outcome == "unknown"
    assert successor.event.seq > frozen.seq  # the fencing token
    assert others[-1].outcome == "ok"
    assert sound(log)


def test_it_is_told_that_it_settled_nothing(tmp_path: Path, start: Start) -> None:
    """The thawed call raises `LeaseLostError`."""
    log = tmp_path / "guard.db"
    process = start("freeze", log, 0.2)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.4)
    process.send_signal(signal.SIGCONT)
    out, _ = process.communicate("\n", timeout=PATIENCE)
    assert out == "LeaseLostError unknown\n"


def test_a_lease_is_renewed_while_the_body_runs(tmp_path: Path, start: Start) -> None:
    """A call that takes several times its lease is no less of a call."""
    log = tmp_path / "guard.db"
    process = start("outlast", log, 0.3)
    assert process.stdout is not None
    process.stdout.readline()
    guard = Guard(SQLiteLog(log, durability="normal"), wait_seconds=PATIENCE)
    with guard.write("row"):
        pass
    assert said(process) == "settled"
    assert [event.outcome for event in guard.log.events()] == ["ok", "ok"]


def test_who_waits_is_woken_by_another_process(tmp_path: Path) -> None:
    """As soon as the call in its way has ended, and not at the end of its patience."""
    one, other = (SQLiteLog(tmp_path / "guard.db", durability="normal") for _ in range(2))
    first = write(one, "row")
    woken = threading.Event()
    decision, nothing = other.admit(TOOL, [("row", "write", None)], wake=woken.set)
    assert nothing is None
    time.sleep(0.05)
    assert not woken.is_set()
    one.settle(first, "ok")
    assert woken.wait(PATIENCE)
    until(lambda: not other._waiters)
    until(lambda: other._watch._thread is None)  # nobody waits, so nobody looks
    assert decision.blocker.call == first.id  # type: ignore[union-attr]


_FORK = """
import os, sys
from intervalguard import Guard, LeaseLostError
from intervalguard.logs import SQLiteLog

guard = Guard(SQLiteLog(sys.argv[1], durability="normal"), wait_seconds=0)
there, begun = os.pipe()
go, closed = os.pipe()
child = 1
try:
    with guard.write("row") as block:
        child = os.fork()
        if child == 0:
            with guard.write("of the child"):
                os.write(begun, b".")
                os.read(go, 1)
        else:
            os.read(there, 1)
            guard.log.close()  # the last one out puts the file in order; the child is not out
            os.write(closed, b".")
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            assert block.event.outcome == "pending"
except LeaseLostError:
    os._exit(7)
if child == 0:
    os._exit(1)
with guard.write("of the parent"):
    pass
print(*(f"{event.name}: {event.outcome}" for event in guard.log.events()), sep=", ")
"""


def test_a_fork_shares_nothing_but_the_file(tmp_path: Path) -> None:
    """The child has a connection of its own, and the call that ran is the parent's alone."""
    log = tmp_path / "guard.db"
    script = subprocess.run(
        [sys.executable, "-c", _FORK, str(log)], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert script.returncode == 0, script.stderr
    assert script.stdout.strip() == "row: ok, of the child: ok, of the parent: ok", script.stderr
    assert sound(log)


def test_a_clock_that_is_set_changes_no_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the hours are by which processes differ: a later event is later, and no supersession is missed."""
    from intervalguard.logs import sqlite

    real = time.time_ns
    hour = 3_600_000_000_000
    guards = []
    for ahead in (0, 3, -5):
        monkeypatch.setattr(sqlite, "time_ns", lambda ahead=ahead: real() + ahead * hour)
        guards.append(Guard(SQLiteLog(tmp_path / "guard.db", durability="normal"), wait_seconds=0))
    reads: list[Any] = []
    for guard in (*guards, *reversed(guards)):
        with guard.read("row") as read:
            pass
        with guard.write("row", depends_on=read.event):
            pass
        reads.append(read.event)
    for read in reads:
        for guard in guards:
            with pytest.raises(StaleReadError):
                guard.write("row", depends_on=read).__enter__()
    events = guards[0].log.events()
    ends = sorted((number, time) for e in events for number, time in ((e.seq, e.start_time), (e.end_seq, e.end_time)))
    assert [time for _, time in ends] == sorted(time for _, time in ends)
