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
from datetime import UTC, datetime, timedelta
from pathlib import Path

from intervalguard import Event
from intervalguard.kernel.intervals import ALLEN, FIVE, AllenRelation, Interval, allen
from intervalguard.kernel.staleness import REASONS, Claim, judge, verdict_of
from intervalguard.kernel.views import SequenceView

B = Interval(3, 7)
"""The second interval of every picture; the first moves along it."""
POINTS = range(11)
CELLS = 3
"""Columns of text between one point and the next."""
DECIDED = 12
"""The point at which a call is judged that rests on a read over `B`."""


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
    rows = [f"| {', '.join(r for r in ALLEN if FIVE[r] == coarse)} | {coarse} |" for coarse in dict.fromkeys(FIVE.values())]
    return "\n".join(["| Allen relation of a to b | five |", "| --- | --- |", *rows])


def finding(start: int, end: int | None, outcome: str) -> str:
    """The rule, asked of a read over `B` by a call at `DECIDED`, with one write in the log: verdict and reason."""

    def event(id: str, kind: str, start: int, end: int | None, outcome: str) -> Event:
        zero, second = datetime(2026, 1, 1, tzinfo=UTC), timedelta(seconds=1)
        start_time, end_time = zero + start * second, None if end is None else zero + end * second
        return Event("x", start_time, end_time, kind=kind, id=id, seq=start, end_seq=end, outcome=outcome)

    view = SequenceView([event("r", "read", B.start, B.end, "ok"), event("w", "write", start, end, outcome)])
    call = event("call", "read", DECIDED, DECIDED + 1, "ok")
    at, _ = view.order.ends(call, 2)
    found = judge(view, Claim("call", None, ["r"]), at, DECIDED * 1_000_000)
    if not found:
        return "fresh"
    (raw,) = found
    return f"{verdict_of(raw.grade)} ({REASONS[raw.grade]})"


def timeline(rows: Iterable[tuple[str, int, int | None, str]]) -> str:
    """The read, the instant at which the call is judged, and each write with what the rule says of it."""
    rows = list(rows)
    label = max(len(each[0]) for each in rows)
    last = max([DECIDED, *(end or start + 2 for _, start, end, _ in rows)]) * CELLS + 1
    judged = DECIDED * CELLS

    def line(words: str, which: str, drawn: str, said: str = "") -> str:
        crossed = f"{drawn:{last}}"
        if crossed[judged] == " ":
            crossed = f"{crossed[:judged]}┊{crossed[judged + 1 :]}"
        return f"{words:{label}}  {which}  {crossed}  {said}".rstrip()

    lines = [line("", " ", f"{'':{judged}}d"), line("", "r", bar(B))]
    for words, start, end, outcome in rows:
        drawn = f"{'':{start * CELLS}}├{'─' * CELLS * 2} ?" if end is None else bar(Interval(start, end))
        lines.append(line(words, "w", drawn, finding(start, end, outcome)))
    return "\n".join(["```text", *lines, "```"])


def verdicts() -> str:
    """What a write that returned says of a read, for each relation of the write to the read."""
    return timeline((r, a.start, a.end, "ok") for r, a in examples(range(2, len(POINTS))).items())


def endings() -> str:
    """What a write that began after the read says of it, by how it ended and when."""
    return timeline(
        [
            ("ok", 8, 10, "ok"),
            ("ok, ends after d", 8, 14, "ok"),
            ("ok, begins after d", 13, 15, "ok"),
            ("error", 8, 10, "error"),
            ("unknown", 8, 10, "unknown"),
            ("pending", 8, None, "pending"),
            ("failed", 8, 10, "failed"),
            ("refused", 8, 10, "refused"),
        ]
    )


def outcomes() -> str:
    """The verdict for each relation of a write to the read and each outcome of the write."""
    columns = ["ok", "error", "unknown", "failed", "refused"]
    rows = [
        [f"w {r} r", *(finding(a.start, a.end, outcome).partition(" ")[0] for outcome in columns)]
        for r, a in examples(range(2, len(POINTS))).items()
    ]
    table = [["the write", *columns], ["---"] * (len(columns) + 1), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in table)


PICTURES: dict[str, Callable[[], str]] = {
    "allen": thirteen,
    "instants": instants,
    "five": five,
    "verdicts": verdicts,
    "endings": endings,
    "outcomes": outcomes,
}

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
        raise ValueError("no picture in it. Put <!-- pictures:NAME --> and <!-- /pictures --> where one belongs.")
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
        print(f"{path}: pictures are out of step. Run: python docs/pictures.py --write {path}", file=sys.stderr)
        return 1
    return 0


def main(argv: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Draw the documentation's pictures from the library's tables.")
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
