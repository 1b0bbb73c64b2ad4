"""What the tests run in processes of their own: ``python sqlite_worker.py WHAT LOG ...``."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from intervalguard import ConflictError, Guard, LeaseLostError, StaleReadError
from intervalguard.logs import SQLiteLog


def count(log: str, counter: str, times: str) -> None:
    """Add one to the counter in a file so often, by a guarded read and a guarded write; print how often it was refused."""
    guard = Guard(SQLiteLog(log, durability="normal", busy_seconds=60), wait_seconds=30)
    file = Path(counter)

    @guard.tracked("counter", writes=False)
    def read() -> int:
        return int(file.read_text())

    @guard.tracked("counter", writes=True)
    def write(value: int) -> None:
        new = file.with_suffix(f".{os.getpid()}")
        new.write_text(str(value))
        new.replace(file)

    refused = 0
    for _ in range(int(times)):
        done = False
        while not done:
            with guard.session():
                try:
                    write(read() + 1)
                    done = True
                except (ConflictError, StaleReadError):
                    refused += 1
    print(refused)


def write_on(log: str, done: str) -> None:
    """Write one resource after the other, each of which rests on a read, and note each before and after; until killed."""
    guard = Guard(SQLiteLog(log, durability="normal", lease_seconds=0.3), wait_seconds=10)
    with open(done, "a", buffering=1) as notes, guard.session():
        number = 0
        while True:
            number += 1
            with guard.read("premise"):
                pass
            with guard.write(f"rows/{os.getpid()}-{number}", rests_on=["premise"]) as block:
                notes.write(f"{block.event.id}\n")


def freeze(log: str, lease: str) -> None:
    """Write a row in a call during which the test stops this process past its lease; print what comes of it."""
    guard = Guard(SQLiteLog(log, durability="normal", lease_seconds=float(lease)), wait_seconds=10)
    try:
        with guard.write("row"):
            print("running", flush=True)
            sys.stdin.readline()
    except LeaseLostError as error:
        print(f"LeaseLostError {error.event.outcome}")
    else:
        print("settled")


def outlast(log: str, lease: str) -> None:
    """Run a call for several times its lease, which is renewed."""
    guard = Guard(SQLiteLog(log, durability="normal", lease_seconds=float(lease)), wait_seconds=10)
    with guard.write("row"):
        print("running", flush=True)
        time.sleep(4 * float(lease))
    print("settled")


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
