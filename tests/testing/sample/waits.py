"""A machine whose tools wait for an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from typing import Any

from hypothesis import strategies as st

from intervalguard import Guard
from intervalguard.testing import Agent, GuardMachine, act


class Waits(GuardMachine):
    """Tools that wait for a loop: for a while, for each other, in parallel, on other threads, as streams."""

    def start(self) -> Guard:
        guard = Guard()
        self.rows = {"a": 0, "b": 0}
        self.lock = asyncio.Lock()
        self.arrived = asyncio.Event()
        self.said: list[str] = []
        self.notes: list[str] = []

        @guard.tracked("rows/{name}", writes=False)
        async def read(name: str) -> int:
            await asyncio.sleep(3600)
            return self.rows[name]

        @guard.tracked("rows/{name}", writes=True)
        async def add(name: str, reference: str) -> None:
            value = self.rows[name]
            await asyncio.sleep(0)
            self.rows[name] = value + 1
            self.notes = [*self.notes, reference]

        @guard.tool(writes="notes/{text}", rests_on=[])
        async def note(text: str) -> None:
            await asyncio.sleep(1)
            self.notes = [*self.notes, text]

        @guard.tracked("rows/{name}", writes=True)
        def add_at_once(name: str) -> None:
            value = self.rows[name]
            self.pause()
            self.rows[name] = value + 1

        @guard.tracked("rows/{name}", writes=False)
        async def follow(name: str) -> AsyncIterator[int]:
            for _ in range(3):
                await asyncio.sleep(1)
                yield self.rows[name]

        @guard.tracked("rows/{name}", writes=False)
        def listing(name: str) -> Iterator[int]:
            for _ in range(3):
                self.pause()
                yield self.rows[name]

        self.read, self.add, self.add_at_once, self.note = read, add, add_at_once, note
        self.follow, self.listing = follow, listing
        return guard

    def effects(self) -> list[str]:
        return self.notes

    def states(self) -> Mapping[str, int]:
        return self.rows

    @act()
    async def reads_both(self, agent: Agent) -> None:
        async with guarded_turn(self):
            a, b = await asyncio.gather(self.read("a"), self.read("b"))
        agent.sees("a", a)
        agent.sees("b", b)

    @act(name=st.sampled_from("ab"))
    async def adds(self, agent: Agent, name: str) -> None:
        agent.knows(name)
        await self.add(name, agent.effect())

    @act()
    async def notes_two(self, agent: Agent) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(self.note(agent.effect()))

    @act()
    async def adds_on_a_thread(self, agent: Agent) -> None:
        agent.knows("a")
        await asyncio.to_thread(self.add_at_once, "a")

    @act()
    async def follows(self, agent: Agent) -> None:
        async for value in self.follow("a"):
            agent.sees("a", value)
            break

    @act()
    def lists(self, agent: Agent) -> None:
        for value in self.listing("a"):
            agent.sees("a", value)

    @act()
    async def takes_the_lock(self, agent: Agent) -> None:
        async with self.lock:
            self.said.append(f"{agent.name} in")
            await asyncio.sleep(1)
            self.said.append(f"{agent.name} out")

    @act()
    async def gives_up(self, agent: Agent) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(5):
                await asyncio.Event().wait()
        asyncio.get_running_loop().create_task(asyncio.sleep(9))


def guarded_turn(machine: GuardMachine) -> Any:
    from intervalguard.shell.sessions import seat

    assert seat.get() is not None
    return seat.get().session.turn()  # type: ignore[union-attr]
