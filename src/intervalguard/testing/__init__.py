"""Tests for guarded tools: a clock that a test moves, and an assertion on a log."""

from .clock import ManualClock
from .fresh import assert_fresh

__all__ = ["ManualClock", "assert_fresh"]
