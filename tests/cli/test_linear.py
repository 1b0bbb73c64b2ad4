"""Hostile shapes of logs stay linear: a longer log takes longer in proportion, within a generous ratio."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from running import write_lines
from shapes import SHAPES, Shape, acknowledged_writes, chain_written_midway, many_writes, read_modify_writes

from intervalguard.edges.files import load, uncollected
from intervalguard.edges.lines import decoder
from intervalguard.kernel.audit import findings

SMALL = 4_000


def seconds(path: Path, runs: int = 3) -> float:
    """The time of an audit of a file, in this process's own time, the best of some."""
    best = float("inf")
    for _ in range(runs):
        with uncollected():
            start = time.process_time()
            for _ in findings(load(path).entries):
                pass
            best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("shape", SHAPES, ids=[shape.__name__ for shape in SHAPES])
def test_the_time_grows_with_the_log(shape: Shape, tmp_path: Path) -> None:
    """Eight times the events take at most 8 x 1.75 times as long (a quadratic audit takes 64 times)."""
    small = write_lines(tmp_path / "small.jsonl", shape(SMALL))
    large = write_lines(tmp_path / "large.jsonl", shape(8 * SMALL))
    for _ in range(3):  # Somebody else may be using the machine.
        ratio = seconds(large, 1) / seconds(small)
        if ratio < 8 * 1.75:
            return
    pytest.fail(f"{shape.__name__}: {ratio:.1f} times as long for 8 times the events")


def test_a_blank_line_costs_next_to_nothing() -> None:
    """A packed file of a few bytes may hold millions of them: none goes through a decoder that has to fail first."""
    steps = 0

    def tick(*_: object) -> None:
        nonlocal steps
        steps += 1

    decode = decoder()
    sys.setprofile(tick)
    try:
        decoded, _ = decode(b"\n \n" * 1000)
    finally:
        sys.setprofile(None)
    assert decoded == [None] * 2001
    assert steps < 6 * 2001


@pytest.mark.parametrize(
    ("shape", "found"),
    [
        (many_writes, {"c": "superseded"}),
        (read_modify_writes, {}),
        (acknowledged_writes, {}),
        (chain_written_midway, {"d": "superseded"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_shapes_are_what_they_say(shape: Shape, found: dict[str, str], tmp_path: Path) -> None:
    """The findings of the shapes are those that make them hard."""
    entries = load(write_lines(tmp_path / "log.jsonl", shape(100))).entries
    assert {first.id[0] for first, _ in findings(entries)} == set(found)
