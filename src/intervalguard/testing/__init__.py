"""The test kit: strategies for events and logs, and the conformance check of a log of one's own.

It needs the extra ``testing`` (Hypothesis). Each name is imported when it is first asked for, so that nothing is
loaded by what does not use it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agreement import Nonconforming
    from .conformance import EventLogMachine, check_event_log
    from .eventlogs import EventLog, SequenceLogView
    from .stories import Log, moment
    from .strategies import events, instants, intervals, logs, names

_MODULES = {
    "agreement": ("Nonconforming",),
    "conformance": ("EventLogMachine", "check_event_log"),
    "eventlogs": ("EventLog", "SequenceLogView"),
    "stories": ("Log", "moment"),
    "strategies": ("events", "instants", "intervals", "logs", "names"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "EventLog",
    "EventLogMachine",
    "Log",
    "Nonconforming",
    "SequenceLogView",
    "check_event_log",
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
