"""A counter whose tool checks before the guard lets it in: whoever draws the later ticket may write over an earlier one.

What it read is older than its ticket where the earlier one writes in between. That shows only where two calls overlap,
each beginning before the other has ended: in neither order, and in no call that runs whole inside the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from intervalguard import Guard
from intervalguard.testing import Agent, GuardMachine, act


class OutdatedError(Exception):
    """A later ticket has written already."""


class TicketMachine(GuardMachine):
    """Agents add to one list, in two steps."""

    may_raise = (OutdatedError,)
    checks_inside: ClassVar[bool] = False

    def start(self) -> Guard:
        guard = Guard()
        self.applied: list[str] = []
        self.tickets = self.newest = 0

        def add(reference: str) -> None:
            self.tickets += 1
            ticket, held = self.tickets, [*self.applied, reference]
            self.pause()
            write(ticket, held)

        def write(ticket: int, held: list[str]) -> None:
            if ticket < self.newest:
                raise OutdatedError(ticket)
            self.newest, self.applied = ticket, held

        if self.checks_inside:
            self.add = guard.tool(writes="list", no_effect_on=OutdatedError)(add)
        else:
            self.add = add
            write = guard.tool(writes="list", rests_on=[], no_effect_on=OutdatedError)(write)
        return guard

    def states(self) -> Mapping[str, int]:
        return {"list": len(self.applied)}

    def effects(self) -> list[str]:
        return self.applied

    @act()
    def adds(self, agent: Agent) -> None:
        self.add(agent.effect())
