"""What an audit of a large file costs: time against `json.loads` over its lines, and peak memory.

    python tests/benchmarks/audit_file.py                  a usual log of 1,000,000 events, and the hostile shapes
    python tests/benchmarks/audit_file.py --events 200000 --only usual

*usual*: events with one dependency each over 1,000 resources, three reads to a write, ISO times to the microsecond;
each rests on the last event of its resource, so that every read is derived. The others are in ``tests/cli/shapes.py``.

Each row is of ``--runs`` processes: of each time the best of them, of memory the most. *json.loads* is the standard
library's, over the lines as text, the objects dropped; *read* is from the file to checked entries, *audit* from there to
the last finding; the ratio is (read + audit) / json.loads.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))

from peak import peak
from shapes import SHAPES


def usual(n: int) -> Iterator[dict[str, Any]]:
    """The usual log of the docstring above."""
    chance = random.Random(1)
    begin = datetime(2026, 7, 30, tzinfo=UTC)
    last: dict[int, str] = {}
    for each in range(n):
        which = chance.randrange(1000)
        start = begin + timedelta(seconds=2 * each, microseconds=chance.randrange(10**6))
        end = start + timedelta(seconds=1)
        on = last.get(which, f"e{each - 1}")
        yield {
            "id": f"e{each}",
            "name": f"orders/{which}",
            "kind": "write" if chance.random() < 0.25 else "read",
            "start_time": f"{start:%Y-%m-%dT%H:%M:%S.%fZ}",
            "end_time": f"{end:%Y-%m-%dT%H:%M:%S.%fZ}",
            "validity_window_seconds": 7200,
            "depends_on": [on] if each else [],
            "seq": each,
            "outcome": "ok",
            "call": f"c{each}",
            "tool": "get_order",
            "run": "r1",
            "agent": "desk",
        }
        last[which] = f"e{each}"


def measure(path: str) -> dict[str, float]:
    """Time and memory of one audit in this process."""
    from intervalguard.edges.files import load, uncollected
    from intervalguard.kernel.audit import findings

    with open(path, encoding="utf-8") as lines:
        start = time.perf_counter()
        for line in lines:
            json.loads(line)
        loads = time.perf_counter() - start
    start = time.perf_counter()
    loaded = load(path)
    read = time.perf_counter() - start
    with uncollected():
        start = time.perf_counter()
        found = sum(1 for _ in findings(loaded.entries))
        audit = time.perf_counter() - start
    return {"events": len(loaded.entries), "loads": loads, "read": read, "audit": audit, "found": found, "peak": peak()}


def row(name: str, path: Path, runs: int, quick: bool) -> str:
    command = [sys.executable, __file__, "--measure", str(path), *([] if quick else ["--stdlib"])]
    done = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(runs)]
    each = [json.loads(out) for out in done]
    it = each[0] | {time: min(one[time] for one in each) for time in ("loads", "read", "audit")}
    it["peak"] = max(one["peak"] for one in each)
    ratio = (it["read"] + it["audit"]) / it["loads"]
    return (
        f"{name:28} {'msgspec' if quick else 'stdlib':8} {it['events']:>9,} {it['loads']:>10.2f} {it['read']:>7.2f}"
        f" {it['audit']:>7.2f} {ratio:>6.2f} {it['found']:>9,} {it['peak']:>7.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="*", help="names of logs")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--stdlib", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        if arguments.stdlib:
            sys.modules["msgspec"] = None  # type: ignore[assignment]
        print(json.dumps(measure(arguments.measure)))
        return
    print(f"Python {platform.python_version()}, {platform.machine()}, {platform.system()}")
    heads = {"events": 9, "json.loads": 10, "read": 7, "audit": 7, "ratio": 6, "found": 9, "MB": 7}
    print(f"{'log':28} {'decoder':8} " + " ".join(word.rjust(width) for word, width in heads.items()))
    with tempfile.TemporaryDirectory() as folder:
        for shape in (usual, *SHAPES):
            if arguments.only and shape.__name__ not in arguments.only:
                continue
            path = Path(folder) / "log.jsonl"
            with path.open("w") as out:
                out.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in shape(arguments.events))
            for quick in (True, False):
                print(row(shape.__name__, path, arguments.runs, quick), flush=True)


if __name__ == "__main__":
    main()
