"""What a proof needs that pip alone does not bring."""

from __future__ import annotations

import os

import pytest


def require(missing: str | None) -> None:
    """Skip the test for what is ``missing``; where continuous integration runs, fail it."""
    if missing is not None:
        if os.environ.get("CI"):
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
