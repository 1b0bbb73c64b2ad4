"""The test kit: strategies for events and logs, a conformance check of a log of one's own, and of guarded tools a machine
that drives them from several agents; a clock that a test moves, and an assertion on a log.

What draws at random needs the extra ``testing`` (Hypothesis). Each name is imported when it is first asked for, so that
nothing is loaded by what does not use it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agents import Agent, act
    from .agreement import Nonconforming
    from .clock import ManualClock
    from .conformance import EventLogMachine, check_agreement, check_event_log
    from .factories import DurableFactory, LogFactory, SharedFactory
    from .fresh import assert_fresh
    from .guards import GuardFault, GuardMachine, check_guard
    from .reference import SequenceLogView
    from .stories import Log, moment
    from .strategies import events, instants, intervals, logs, names

_MODULES = {
    "agents": ("Agent", "act"),
    "agreement": ("Nonconforming",),
    "clock": ("ManualClock",),
    "conformance": ("EventLogMachine", "check_agreement", "check_event_log"),
    "factories": ("DurableFactory", "LogFactory", "SharedFactory"),
    "fresh": ("assert_fresh",),
    "guards": ("GuardFault", "GuardMachine", "check_guard"),
    "reference": ("SequenceLogView",),
    "stories": ("Log", "moment"),
    "strategies": ("events", "instants", "intervals", "logs", "names"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Agent",
    "DurableFactory",
    "EventLogMachine",
    "GuardFault",
    "GuardMachine",
    "Log",
    "LogFactory",
    "ManualClock",
    "Nonconforming",
    "SequenceLogView",
    "SharedFactory",
    "act",
    "assert_fresh",
    "check_agreement",
    "check_event_log",
    "check_guard",
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
