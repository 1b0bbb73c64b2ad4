"""Small machines whose tools pause: one counter, and one row that is read and written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from intervalguard import Guard
from intervalguard.logs import MemoryLog
from intervalguard.testing import Agent, GuardMachine, act


class Counting(GuardMachine):
    """One counter, which a guarded tool reads and writes in two steps."""

    twice = False
    slow = True
    guarded = False

    def start(self) -> Guard | None:
        guard = Guard()
        self.applied: list[str] = []
        self.tool = guard.tool(writes="counter")(self.add) if self.guarded else self.add
        return guard if self.guarded else None

    def add(self, reference: str) -> None:
        held = [*self.applied, reference]
        if self.slow:
            self.pause()
        self.applied = [*held, reference] if self.twice else held

    def states(self) -> Mapping[str, Any]:
        return {"counter": len(self.applied)}

    def effects(self) -> list[str]:
        return self.applied

    @act()
    def adds(self, agent: Agent) -> None:
        self.tool(agent.effect())


class Rows(GuardMachine):
    """Tools without sessions that say by hand what they rest on; one of them is async, and its slow part pauses."""

    says_it = True

    def start(self) -> Guard:
        guard = Guard(MemoryLog())
        self.rows = {"a": 0}

        @guard.tracked("rows/{name}", writes=False)
        async def read(name: str) -> int:
            value = self.rows[name]
            self.pause()
            return value

        @guard.tool(writes="rows/{name}", rests_on=[])
        async def write(name: str, value: int) -> None:
            self.pause()
            self.rows[name] = value

        self.read, self.write = read, write
        return guard

    def states(self) -> Mapping[str, int]:
        return self.rows

    @act()
    async def reads(self, agent: Agent) -> None:
        agent.sees("a", await self.read("a"))

    @act(more=st.integers(1, 3))
    async def adds(self, agent: Agent, more: int) -> None:
        value = agent.knows("a")
        await self.write("a", value + more, **{"depends_on": agent.depends_on} if self.says_it else {})
