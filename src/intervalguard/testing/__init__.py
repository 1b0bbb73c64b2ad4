"""The test kit: a clock, an assertion on a log, and a machine that drives guarded tools from several agents.

`GuardMachine` and what belongs to it need the extra ``testing`` (Hypothesis). Each name is imported when it is first
asked for, so that nothing is loaded by what does not use it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agents import Agent, act
    from .clock import ManualClock
    from .fresh import assert_fresh
    from .guards import GuardFault, GuardMachine, check_guard

_MODULES = {
    "agents": ("Agent", "act"),
    "clock": ("ManualClock",),
    "fresh": ("assert_fresh",),
    "guards": ("GuardFault", "GuardMachine", "check_guard"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = ["Agent", "GuardFault", "GuardMachine", "ManualClock", "act", "assert_fresh", "check_guard"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f".{_HOME[name]}", __name__), name)
    return found
