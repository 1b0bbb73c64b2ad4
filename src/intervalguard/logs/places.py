"""Where a bare time stands among the numbered endpoints of a log."""

from __future__ import annotations

from ..kernel.views import Position


def past_endpoint(number: int, past: int) -> Position:
    """Where a bare time stands, ``past`` microseconds after the endpoint of this number, the last by then.

    It is behind the endpoint and before the next one, and of two such times the later one is later.
    """
    return number + 0.5 + 0.49 * past / (past + 1_000_000)
