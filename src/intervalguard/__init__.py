"""A property-tested temporal-logic kernel for the tool calls of AI agents.

Every tool call is an interval on a log, and every rule is a pure function of the log.
"""

from .kernel.events import Dependency, Event
from .kernel.explain import Finding
from .kernel.intervals import Interval, relation
from .shell.calls import Notice
from .shell.errors import ConflictError, GuardError, LeaseLostError, StaleReadError, UnknownDependencyError
from .shell.face import check_dependencies, clear_registry, is_stale, registry, resting_on, tracked, with_event
from .shell.guard import Guard
from .shell.names import segment
from .shell.running import last_event
from .shell.sessions import Session
from .shell.wrappers import Guarded

__all__ = [
    "ConflictError",
    "Dependency",
    "Event",
    "Finding",
    "Guard",
    "GuardError",
    "Guarded",
    "Interval",
    "LeaseLostError",
    "Notice",
    "Session",
    "StaleReadError",
    "UnknownDependencyError",
    "check_dependencies",
    "clear_registry",
    "is_stale",
    "last_event",
    "registry",
    "relation",
    "resting_on",
    "segment",
    "tracked",
    "with_event",
]
