"""What a state of the machine is, the log of one as a view, and the policy that agents run under."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from intervalguard.kernel.admission import Decision, Settlement, admit, pinned, settle
from intervalguard.kernel.events import conflict
from intervalguard.kernel.staleness import Grade
from intervalguard.kernel.views import Entry, Key, SequenceView, Spared

NOT_WAITING, WOKEN, IMPATIENT, CLEARED = -1, -2, -3, -4
"""What an agent that waits for no call may be: not asking yet, told that its blocker has settled, told not to wait, or
let through and not recorded yet, where that is not one step."""

_CALLS = 8
"""An agent makes fewer calls than this, so that ``agent * _CALLS + call`` names a call."""


def call_id(agent: int, call: int) -> int:
    return agent * _CALLS + call


def call_of(id: int) -> tuple[int, int]:
    """The agent and the place of the call in its program."""
    return divmod(id, _CALLS)


class Done(NamedTuple):
    """What became of a call. ``acted``: a read has seen the world, a write has changed it. ``is_old``: what was seen has
    been changed by another agent since. ``probe`` is what a look at the version said."""

    outcome: str
    acted: bool = False
    is_old: bool = False
    probe: str = ""


class Agent(NamedTuple):
    """``stage`` is the place of its next step; ``wait`` the call that it waits for, or one of the constants above."""

    program: int
    stage: int
    wait: int
    calls: tuple[Done, ...]


class State(NamedTuple):
    """``order`` are the endpoints in the log: the call, and ``b`` for its begin, ``e`` for its end, ``p`` for a probe of
    it, ``u`` for the time from which it can land no longer."""

    agents: tuple[Agent, ...]
    order: tuple[tuple[int, str], ...]


LAPSED = "lapsed"
"""The outcome of a lost call from the time on until which it may land."""

NOTHING = Done("")
"""A call that has not begun, or of which nothing more is asked."""

FINISHED = Agent(-1, 0, NOT_WAITING, ())


class LogOf(SequenceView):
    """The shipped executable view over entries, with the two questions that admission adds, by looking at each event."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries
        self._by_id = {each.id: each for each in entries}

    def in_flight(self) -> bool:
        return any(
            each.kind == "write" and (each.outcome == "pending" or (each.outcome == "unknown" and each.extra is None))
            for each in self.entries
        )

    def pins(self, keys: Sequence[Key]) -> Sequence[str]:
        return pinned(self, keys)

    def first_pinning(self, name: str, spared: Spared) -> tuple[Entry, str] | None:
        for each in sorted(self.entries, key=lambda each: each.start):
            if each.kind == "write" and each.outcome == "pending" and each.depends_on and not spared(each):
                for pin in self.pins(each.depends_on):
                    if conflict(pin, name):
                        return each, pin
        return None


class Rules(NamedTuple):
    """The policy that the agents run under. The defaults are what is shipped; the rest is what the refutations change."""

    admit: Callable[..., Decision] = admit
    settle: Callable[..., Settlement] = settle
    view: type[LogOf] = LogOf
    least: Grade | None = 0
    is_atomic: bool = True
    lands_after_lapse: bool = False
    late_effects_count: bool = False


SHIPPED = Rules()
