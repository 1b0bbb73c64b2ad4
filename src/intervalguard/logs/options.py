"""What logs are told when they are made, checked."""

from __future__ import annotations

import math


def check_max_events(max_events: int | None) -> int | None:
    """``max_events``, if it bounds a log. Raises ``TypeError`` or ``ValueError``."""
    if max_events is not None and (isinstance(max_events, bool) or not isinstance(max_events, int)):
        raise TypeError(f"max_events={max_events!r} is no whole number; None is no bound")
    if max_events is not None and max_events < 1:
        raise ValueError(f"max_events={max_events!r} is less than 1: use None for no bound")
    return max_events


def check_seconds(what: str, seconds: float) -> float:
    """``seconds``, if it is a length of time to wait. Raises ``TypeError`` or ``ValueError``."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(f"{what}={seconds!r} is no number of seconds")
    if not 0 < seconds < math.inf:
        raise ValueError(f"{what}={seconds!r} is not finite and > 0")
    return seconds
