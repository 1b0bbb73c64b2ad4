"""What all tests share: how long Hypothesis looks for a counterexample.

``default`` is for every change, ``CI=1`` the same without chance, and ``HYPOTHESIS_PROFILE=thorough`` (or
``--hypothesis-profile=thorough``) for a night.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}

settings.register_profile("default", **COMMON, max_examples=150)
settings.register_profile("ci", **COMMON, max_examples=150, derandomize=True, print_blob=True)
settings.register_profile("thorough", **COMMON, max_examples=5_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default"))


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """A shell ignores interrupts for what it starts in the background, and who ran before may have left them to another."""
    was = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, was)
