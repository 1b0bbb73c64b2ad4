"""Where the folder `shared` is, which lies beside the checkout: cases and recorded data, no part of the package."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_CHECKOUT = Path(__file__).resolve().parents[1]


def shared(path: str) -> Path:
    """``path`` in the folder `shared`: ``INTERVALGUARD_SHARED``, or the one beside the checkout. Skips without it."""
    folder = Path(os.environ.get("INTERVALGUARD_SHARED") or _CHECKOUT.parent / "shared")
    if not (folder / path).exists():
        pytest.skip(f"no {folder / path}: set INTERVALGUARD_SHARED to the folder that holds {path}")
    return folder / path
