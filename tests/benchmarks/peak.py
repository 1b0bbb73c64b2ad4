"""The most memory that this process had."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def peak() -> float:
    """In megabytes. `resource` counts what the process was forked from, too."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
