"""What Hypothesis calls as it is imported, by its entry point: from then on ``st.from_type(Event)`` works.

It imports no Hypothesis but the registry, which is there already, and draws in the strategies at their first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..kernel.events import Dependency, Event
from ..kernel.intervals import Interval

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def register() -> None:
    """Register the strategies for `Event`, `Dependency` and `Interval`. O(1); it may be called again."""
    from hypothesis.strategies import register_type_strategy

    register_type_strategy(Event, _events)
    register_type_strategy(Dependency, _dependencies)
    register_type_strategy(Interval, _intervals)


def _events(_: type[Any]) -> SearchStrategy[Event]:
    from .strategies import events

    return events()


def _dependencies(_: type[Any]) -> SearchStrategy[Dependency]:
    from .strategies import dependencies

    return dependencies()


def _intervals(_: type[Any]) -> SearchStrategy[Interval[Any]]:
    from .strategies import intervals

    return intervals()
