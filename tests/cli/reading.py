"""Lines of event files, and what reading them says: with msgspec and without the same."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from intervalguard.edges.files import EventFileError, load

RIGHT: dict[str, Any] = {"id": "r", "name": "a/b", "start_time": 0, "end_time": 1}


def line(**fields: Any) -> bytes:
    return json.dumps({**RIGHT, **fields}).encode()


def lines(*each: bytes) -> bytes:
    return b"\n".join(each)


@contextmanager
def without_msgspec() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "msgspec", None)
        yield


def outcome(path: Path) -> tuple[Any, ...]:
    """What reading says: the entries as plain data, or the error."""
    try:
        loaded = load(path)
    except EventFileError as error:
        return str(error), error.line, error.field, repr(error.value)
    return loaded.axis, [
        [getattr(entry, slot) for slot in entry.__slots__ if slot not in ("extra", "memo")]
        + ([getattr(entry.extra, slot) for slot in entry.extra.__slots__] if entry.extra else [])
        for entry in loaded.entries.values()
    ]


def both(path: Path) -> tuple[Any, ...]:
    """`outcome`, the same with msgspec as without."""
    slow: Any
    with without_msgspec():
        slow = outcome(path)
    quick = outcome(path)
    assert repr(slow) == repr(quick)
    return quick
