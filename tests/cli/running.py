"""How the tests here run the command line: in this process, or as people do, in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from intervalguard.edges.cli import main

Line = Mapping[str, Any]


class Ran(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """What ``--format json`` printed."""
        report: dict[str, Any] = json.loads(self.out)
        return report

    @property
    def findings(self) -> set[tuple[str, str, str, str]]:
        """Event, dependency, verdict and reason of each finding."""
        each = self.report["findings"]
        found = {(one["event"], one["dependency"], one["verdict"], one["reason"]) for one in each}
        assert len(found) == len(each)
        return found


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Ran:
    capsys.readouterr()
    status = main([str(each) for each in arguments])
    return Ran(status, *capsys.readouterr())


def run_process(*arguments: str | Path, stdin: bytes = b"", **environment: str) -> Ran:
    done = subprocess.run(
        [sys.executable, "-m", "intervalguard", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        env={**os.environ, **environment},
        timeout=120,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def write_lines(path: Path, lines: Iterable[Line]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def event(id: str, name: str, start: float, end: float | None, **fields: Any) -> dict[str, Any]:
    """A line of a file with plain numbers."""
    return {"id": id, "name": name, "start_time": start, "end_time": end, **fields}


SUPERSEDED = (
    event("r", "orders/42", 0, 1, tool="get_order"),
    event("w", "orders/42", 2, 3, kind="write", tool="refund", agent="desk"),
    event("c", "mails/9", 4, 5, kind="write", depends_on=["r"]),
)
"""A log with one finding: ``c`` rests on ``r``, which ``w`` superseded at 3."""
EXPIRED = (event("r", "price", 0, 1, validity_window_seconds=30), event("c", "o", 40, 41, depends_on=["r"]))
UNKNOWN = (event("c", "o", 40, 41, depends_on=["gone"]),)
SUSPECT = (event("r", "a", 0, 5), event("w", "a", 1, 2, kind="write"), event("c", "o", 9, 9, depends_on=["r"]))
FRESH = (event("r", "a", 0, 5), event("c", "o", 9, 9, depends_on=["r"]))
