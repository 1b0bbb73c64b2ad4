"""An interrupt, or a time-out that a signal raises, comes wherever Python looks for one: no call stays pending."""

from __future__ import annotations

import contextvars
import dis
import gc
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import intervalguard
from intervalguard import Guard, GuardError, with_event
from intervalguard.logs import MemoryLog
from intervalguard.shell import blocks

LIBRARY = str(Path(intervalguard.__file__).parent)


class Interrupt(KeyboardInterrupt):
    pass


def interrupted_at(count: int, call: Callable[[], object]) -> bool:
    """Run ``call`` with an interrupt at the ``count``-th place where Python looks for one in the library; whether one came.

    These are where a function begins, and after each call. Python swallows what comes while something is finalized.
    """
    left = count
    called: dict[Any, bool] = {}

    def trace(frame: Any, event: str, arg: object) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(LIBRARY):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "call" or (event == "opcode" and called.get(frame)):
            left -= 1
            if left == 0:
                sys.settrace(None)
                frame.f_trace = None
                raise Interrupt
        if event == "opcode":
            called[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("CALL")
        return trace

    sys.settrace(trace)
    try:
        contextvars.Context().run(call)
    except Interrupt:
        pass
    finally:
        sys.settrace(None)
        called.clear()
    return left <= 0


def tool(guard: Guard, read: Any) -> Callable[[], object]:
    write = guard.tracked("orders/{order}", writes=True)(lambda order: order)
    return lambda: write("42", depends_on=read)


def block(guard: Guard, read: Any) -> Callable[[], object]:
    def enter() -> None:
        with guard.write("orders/42", depends_on=read):
            pass

    return enter


def several(guard: Guard, read: Any) -> Callable[[], object]:
    write = guard.tool(reads="stock", writes=["orders/42", "orders/43"])(lambda: 1)
    return lambda: write(depends_on=read)


def in_a_session(guard: Guard, read: Any) -> Callable[[], object]:
    write = guard.tracked("orders/{order}", writes=True)(lambda order: order)

    def call() -> None:
        with guard.session("desk"):
            write("42", depends_on=read)

    return call


def written(guard: Guard, name: str) -> None:
    with guard.write(name):
        pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("make", [tool, block, several, in_a_session])
def test_an_interrupt_leaves_nothing_in_flight(make: Callable[[Guard, Any], Callable[[], object]]) -> None:
    """Wherever it comes, the call is not pending after it, blocks nobody once it is settled, and pins nothing."""
    count, came = 0, True
    while came:
        count += 1
        guard = Guard(wait_seconds=0)
        _, read = with_event(guard.tracked("prices/{item}", writes=False)(lambda item: item), "a")
        came = interrupted_at(count, make(guard, read))
        gc.collect(0)
        events = guard.log.events()
        assert [each for each in events if each.outcome == "pending"] == []
        assert len(guard.log) == len(events)
        for each in events:
            if each.outcome == "unknown" and each.id == each.call:
                guard.settle(each.id, "failed")
        with guard.write("elsewhere"):
            for name in ("orders/42", "orders/43", "orders", "prices/a", "stock"):
                contextvars.Context().run(written, guard, name)
        with guard.read("orders"), pytest.raises(GuardError), guard.write("mails/1", depends_on=read):
            pass
    assert count > 50


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_leaves_a_log_at_its_bound_with_what_it_counts() -> None:
    """Wherever it comes while old events are dropped, as many are held as the log says, and no more than the bound later."""
    count, came = 0, True
    while came:
        count += 1
        guard = Guard(MemoryLog(max_events=2), wait_seconds=0)
        _, read = with_event(guard.tracked("prices/{item}", writes=False)(lambda item: item), "a")
        written(guard, "orders/1")
        came = interrupted_at(count, several(guard, read))
        assert len(guard.log) == len(guard.log.events())
        for each in guard.log.events():
            if each.outcome == "unknown" and each.id == each.call:
                guard.settle(each.id, "failed")
        for number in range(4):
            written(guard, f"orders/{number}")
            assert len(guard.log) == len(guard.log.events())
        assert [each.name for each in guard.log.events()] == ["orders/2", "orders/3"]
        assert len(guard.log) == 2
    assert count > 50


PROGRAM = """
import contextvars, gc, random, signal, sys, time
from intervalguard import Guard

class Stop(KeyboardInterrupt): pass

def stop(*_):
    global armed
    if armed:
        armed = False
        raise Stop

def swallowed(_):
    global armed
    armed = True

def calls(guard):
    write = guard.tracked("orders", writes=True)(lambda: 1)
    signal.setitimer(signal.ITIMER_REAL, random.uniform(20e-6, 300e-6), 0.01)
    while True:
        write()
        with guard.write("orders"): pass

random.seed(1)
armed = False
sys.unraisablehook = swallowed
signal.signal(signal.SIGALRM, stop)
end = time.monotonic() + 3
while time.monotonic() < end:
    guard = Guard(wait_seconds=0)
    try:
        try:
            armed = True
            calls(guard)
        finally:
            armed = False
    except Stop:
        pass
    signal.setitimer(signal.ITIMER_REAL, 0)
    gc.collect(0)
    assert not [each for each in guard.log.events() if each.outcome == "pending"]
    for each in guard.log.events():
        if each.outcome == "unknown": guard.settle(each.id, "failed")
    with guard.write("orders"): pass
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers that send signals: run it on a POSIX system")
def test_real_signals_leave_nothing_in_flight() -> None:
    """The same with the time-outs of a timer, at whatever instant they come."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_block_that_was_left_does_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be let go at the very end of a program, when there is nothing to do it with any more."""
    with Guard().write("orders/42") as block:
        pass
    monkeypatch.setattr(blocks, "current", None)
    block.__del__()
