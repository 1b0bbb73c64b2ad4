"""What a log says of dependencies, asked without a call."""

from __future__ import annotations

from collections.abc import Sequence

from intervalguard.kernel.staleness import Claim, Raw, judge
from intervalguard.kernel.views import Key
from intervalguard.logs import MemoryLog


def judged(log: MemoryLog, depends_on: Sequence[Key]) -> list[Raw]:
    """What the log says now of these dependencies."""
    _, time = log.ticks()
    return judge(log._view, Claim(None, None, depends_on), log._view.next, time)
