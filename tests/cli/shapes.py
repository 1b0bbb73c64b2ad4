"""Logs that are hard on an audit: hot resources, acknowledged writes, long chains. Each is linear in ``n``."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from running import Line, event

Shape = Callable[[int], Iterator[Line]]


def many_writes(n: int) -> Iterator[Line]:
    """One read, superseded by n writes in turn; a call rests on the read after each."""
    yield event("r", "hot", 0, 1)
    for each in range(n // 2):
        start = 10 * each + 10
        yield event(f"w{each}", "hot", start, start + 1, kind="write")
        yield event(f"c{each}", f"other/{each}", start + 2, start + 3, depends_on=["r"])


def read_modify_writes(n: int) -> Iterator[Line]:
    """n reads of one resource, each followed by the write that rests on it."""
    for each in range(n // 2):
        start = 10 * each
        yield event(f"r{each}", "hot", start, start + 1)
        yield event(f"w{each}", "hot", start + 2, start + 3, kind="write", depends_on=[f"r{each}"])


def old_read_modify_writes(n: int) -> Iterator[Line]:
    """The same, but each write rests on the very first read: all but the first are superseded."""
    yield event("r", "hot", 0, 1)
    for each in range(n):
        yield event(f"w{each}", "hot", 10 * each + 10, 10 * each + 11, kind="write", depends_on=["r"])


def acknowledged_writes(n: int) -> Iterator[Line]:
    """n writes of one resource, each of which rests on its own read, taken before the last write, and names that write."""
    yield event("r0", "hot", 0, 1)
    yield event("w0", "hot", 2, 3, kind="write", depends_on=["r0"])
    for each in range(1, n // 2):
        start = 10 * each
        yield event(f"r{each}", "hot", start - 9, start - 8)
        yield event(f"w{each}", "hot", start, start + 1, kind="write", depends_on=[f"r{each}", f"w{each - 1}"])


def nested_writes(n: int) -> Iterator[Line]:
    """n / 2 writes that all overlap, each inside the one before, then reads and calls that rest on them."""
    half = n // 3
    for each in range(half):
        yield event(f"w{each}", "hot", each, 2 * half - each, kind="write")
    for each in range(half):
        yield event(f"r{each}", "hot", half + each + 0.25, half + each + 0.5)
        yield event(f"c{each}", "other", half + each + 0.75, half + each + 0.8, depends_on=[f"r{each}"])


def _chain(n: int, written: float, between: bool) -> Iterator[Line]:
    at = int(n * written)
    for each in range(n):
        if each == at:
            yield event("w", "root", 10 * each + 3, 10 * each + 4, kind="write")
        fields = {"depends_on": [f"d{each - 1}"]} if each else {}
        name = f"derived/{each % 1000}" if each else "root"
        yield event(f"d{each}", name, 10 * each + 5, 10 * each + 6, **fields)
        if between:
            yield event(f"u{each}", f"unrelated/{each % 1000}", 10 * each + 7, 10 * each + 8, kind="write")


def chain(n: int) -> Iterator[Line]:
    """A chain of n derived reads, none superseded."""
    return _chain(n, 2, False)


def chain_written_early(n: int) -> Iterator[Line]:
    """A chain of n derived reads whose root is written after the first link."""
    return _chain(n, 1 / n, False)


def chain_written_midway(n: int) -> Iterator[Line]:
    """A chain of n derived reads whose root is written half-way."""
    return _chain(n, 0.5, False)


def chain_written_late(n: int) -> Iterator[Line]:
    """A chain of n derived reads whose root is written before the last link."""
    return _chain(n, (n - 1) / n, False)


def chain_and_unrelated_writes(n: int) -> Iterator[Line]:
    """A chain of n / 2 derived reads, its root written half-way, with a write of something else after each."""
    return _chain(n // 2, 0.5, True)


def forward_chain(n: int) -> Iterator[Line]:
    """A chain of n derived reads in a file that lists them backwards."""
    return reversed(list(chain(n)))


def chain_beside_a_lost_write(n: int) -> Iterator[Line]:
    """A chain of derived reads whose root is written again and again, and a lost write of something else."""
    yield event("lost", "other", 0, None, kind="write", outcome="unknown")
    yield event("r0", "hot", 1, 1)
    for each in range(1, n // 2):
        yield event(f"w{each}", "hot", 2 * each, 2 * each, kind="write")
        yield event(f"r{each}", f"reports/{each % 50}", 2 * each + 1, 2 * each + 1, depends_on=[f"r{each - 1}"])


def one_call_on_everything(n: int) -> Iterator[Line]:
    """n reads of n names, and a call that rests on all of them."""
    for each in range(n - 1):
        yield event(f"r{each}", f"pages/{each}", each, each)
    yield event("c", "report", n, n, depends_on=[f"r{each}" for each in range(n - 1)])


SHAPES: tuple[Shape, ...] = (
    chain_beside_a_lost_write,
    one_call_on_everything,
    many_writes,
    read_modify_writes,
    old_read_modify_writes,
    acknowledged_writes,
    nested_writes,
    chain,
    chain_written_early,
    chain_written_midway,
    chain_written_late,
    chain_and_unrelated_writes,
    forward_chain,
)
