"""What Hypothesis calls as it is imported, by its entry point: from then on ``st.from_type(Event)`` works.

It imports no Hypothesis but the registry, which is there already, and draws in the strategies at their first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..kernel.events import Event

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def register() -> None:
    """Register the strategy for `Event`. O(1); it may be called again."""
    from hypothesis.strategies import register_type_strategy

    register_type_strategy(Event, _events)


def _events(_: type[Any]) -> SearchStrategy[Event]:
    from .strategies import events

    return events()
