"""What ``import intervalguard`` adds to ``import attrs``, in milliseconds: the median of new processes, in turn."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

RUNS = 21


def took(statement: str) -> float:
    code = f"import time; start = time.perf_counter(); {statement}; print((time.perf_counter() - start) * 1e3)"
    bytecode = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=bytecode).stdout)


def main() -> None:
    attrs, both = [], []
    for _ in range(RUNS):
        attrs.append(took("import attrs"))
        both.append(took("import attrs, intervalguard"))
    added = statistics.median(both) - statistics.median(attrs)
    print(f"import attrs: {statistics.median(attrs):.1f} ms; intervalguard adds {added:.1f} ms (medians of {RUNS})")


if __name__ == "__main__":
    main()
