"""The pictures in the documentation, drawn from the library's own tables.

    python docs/pictures.py                 print them all
    python docs/pictures.py --write FILE    replace what stands between their markers in FILE
    python docs/pictures.py --check FILE    exit 1 where FILE is out of step

A picture stands between ``<!-- pictures:NAME -->`` and ``<!-- /pictures -->``. A new one is a function that
returns Markdown, under its name in `PICTURES`.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from intervalguard.kernel.intervals import ALLEN, FIVE, AllenRelation, Interval, allen

B = Interval(3, 7)
"""The second interval of every picture; the first moves along it."""
POINTS = range(11)
CELLS = 3
"""Columns of text between one point and the next."""


def bar(x: Interval[int]) -> str:
    start, end = x.start * CELLS, x.end * CELLS
    return " " * start + ("●" if start == end else f"├{'─' * (end - start - 1)}┤")


def examples(lengths: range) -> dict[AllenRelation, Interval[int]]:
    """For each relation to B the first shortest interval that has it, found by asking `allen`."""
    pairs = itertools.combinations_with_replacement(POINTS, 2)
    spans = [Interval(start, end) for start, end in pairs if end - start in lengths]
    found: dict[AllenRelation, Interval[int]] = {}
    for a in sorted(spans, key=lambda x: x.end - x.start):
        found.setdefault(allen(a, B), a)
    return {r: found[r] for r in ALLEN if r in found}


def bars(relations: dict[AllenRelation, Interval[int]]) -> str:
    width = max(map(len, ALLEN))
    pictures = [f"{r:{width}}  a  {bar(a)}\n{'':{width}}  b  {bar(B)}" for r, a in relations.items()]
    return "\n".join(["```text", "\n\n".join(pictures), "```"])


def thirteen() -> str:
    """Allen's relations of a to b, both proper."""
    return bars(examples(range(2, len(POINTS))))


def instants() -> str:
    """Vilain's relations of an instant a to a proper b."""
    return bars(examples(range(1)))


def five() -> str:
    """Which of the five each of the thirteen counts as."""
    rows = [
        f"| {', '.join(r for r in ALLEN if FIVE[r] == coarse)} | {coarse} |"
        for coarse in dict.fromkeys(FIVE.values())
    ]
    return "\n".join(["| Allen relation of a to b | five |", "| --- | --- |", *rows])


PICTURES: dict[str, Callable[[], str]] = {"allen": thirteen, "instants": instants, "five": five}

OPENING = re.compile(r"<!-- pictures:(\S+) -->")
BLOCK = re.compile(r"<!-- pictures:(\S+) -->\n((?:(?!<!-- pictures:).)*?)<!-- /pictures -->", re.DOTALL)


def block(name: str) -> str:
    return f"<!-- pictures:{name} -->\n{PICTURES[name]()}\n<!-- /pictures -->"


def redrawn(text: str) -> str:
    """`text` with every picture as it is drawn today.

    Raises ValueError where it has no marker, an unknown name, or a block that is not closed.
    """
    names = OPENING.findall(text)
    if not names:
        raise ValueError(
            "no picture in it. Put <!-- pictures:NAME --> and <!-- /pictures --> where one belongs."
        )
    if unknown := sorted(set(names) - PICTURES.keys()):
        raise ValueError(f"unknown pictures={unknown}. There are {', '.join(PICTURES)}.")
    if [match[1] for match in BLOCK.finditer(text)] != names:
        raise ValueError("a picture is not closed. End each with <!-- /pictures --> on a line of its own.")
    return BLOCK.sub(lambda match: block(match[1]), text)


def update(path: Path, *, write: bool) -> int:
    try:
        old = path.read_text(encoding="utf-8")
        new = redrawn(old)
    except (OSError, ValueError) as problem:
        print(f"{path}: {problem}", file=sys.stderr)
        return 2
    if write:
        path.write_text(new, encoding="utf-8")
    elif new != old:
        print(
            f"{path}: pictures are out of step. Run: python docs/pictures.py --write {path}", file=sys.stderr
        )
        return 1
    return 0


def main(argv: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Draw the documentation's pictures from the library's tables."
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--write", type=Path, metavar="FILE", help="replace what stands between the markers")
    what.add_argument("--check", type=Path, metavar="FILE", help="exit 1 where FILE is out of step")
    args = parser.parse_args(None if argv is None else list(argv))
    if path := args.write or args.check:
        return update(path, write=args.write is not None)
    print("\n\n".join(map(block, PICTURES)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
