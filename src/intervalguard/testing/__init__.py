"""The test kit: strategies for events and logs, and the conformance check of a log of one's own.

It needs the extra ``testing`` (Hypothesis). Each name is imported when it is first asked for, so that nothing is
loaded by what does not use it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .stories import BASE, Log, moment
    from .strategies import NAMES, events, instants, intervals, logs, names

_MODULES = {
    "stories": ("BASE", "Log", "moment"),
    "strategies": ("NAMES", "events", "instants", "intervals", "logs", "names"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "BASE",
    "NAMES",
    "Log",
    "events",
    "instants",
    "intervals",
    "logs",
    "moment",
    "names",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f".{_HOME[name]}", __name__), name)
    return found
