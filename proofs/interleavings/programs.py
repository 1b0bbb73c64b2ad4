"""What an agent does: calls, and the steps in which it makes them."""

from __future__ import annotations

from typing import NamedTuple

RESOURCES = ("x", "y")


class Call(NamedTuple):
    """A call of a program; ``rests_on`` and ``parent`` are places of earlier calls in it."""

    kind: str
    name: str
    rests_on: tuple[int, ...] = ()
    parent: int | None = None


class Step(NamedTuple):
    """One step of a call.

    ``begin`` asks for admission, ``see`` is the instant at which a read sees the world, ``effect`` the one at which a
    write changes it, ``end`` settles. ``look`` is a whole read in one step, ``probe`` a look at a read's version, and
    ``past`` an effect of a writer that never asks.
    """

    do: str
    call: int


class Program(NamedTuple):
    words: str
    calls: tuple[Call, ...]
    steps: tuple[Step, ...]


def other(name: str) -> str:
    return RESOURCES[1 - RESOURCES.index(name)]


def _reading(call: int, whole: bool) -> tuple[Step, ...]:
    return (Step("look", call),) if whole else (Step("begin", call), Step("see", call), Step("end", call))


def _writing(call: int, *within: Step) -> tuple[Step, ...]:
    return (Step("begin", call), *within, Step("effect", call), Step("end", call))


def plain(read: str, written: str, whole: bool = False) -> Program:
    """Read, and write what rests on it."""
    calls = (Call("read", read), Call("write", written, (0,)))
    return Program(f"read {read}, write {written}", calls, (*_reading(0, whole), *_writing(1)))


def derived(read: str, written: str, whole: bool = False) -> Program:
    """Read, read the other resource in a call that rests on that, and write what rests on the second alone."""
    calls = (Call("read", read), Call("read", other(read), (0,)), Call("write", written, (1,)))
    return Program(
        f"read {read}, derive {other(read)}, write {written}",
        calls,
        (*_reading(0, whole), *_reading(1, whole), *_writing(2)),
    )


def nested(read: str, written: str, whole: bool = False) -> Program:
    """Read, and write one resource; while that write runs, write the other one in it. Both rest on the read."""
    calls = (Call("read", read), Call("write", written, (0,)), Call("write", other(written), (0,), 1))
    return Program(
        f"read {read}, write {written} and in it {other(written)}",
        calls,
        (*_reading(0, whole), *_writing(1, *_writing(2))),
    )


def chain(first: str, then: str) -> Program:
    """Write without a premise, and write what rests on that write."""
    calls = (Call("write", first), Call("write", then, (0,)))
    return Program(f"write {first}, then {then}", calls, (*_writing(0), *_writing(1)))


def probing(read: str, written: str, whole: bool = True) -> Program:
    """Read, look at the version again, and write what rests on the read."""
    calls = (Call("read", read), Call("write", written, (0,)))
    return Program(
        f"read {read}, probe it, write {written}", calls, (*_reading(0, whole), Step("probe", 0), *_writing(1))
    )


def outsider(written: str) -> Program:
    """Write past the guard."""
    return Program(f"write {written} past the guard", (Call("write", written),), (Step("past", 0),))
