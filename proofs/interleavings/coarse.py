"""The states of the search in the terms of the TLA+ model.

The model keeps what the log says of a premise and not the log. What the log says is asked of the shipped rule here, so
that equal sets of states mean that the model and the code are one machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import NamedTuple

from intervalguard.kernel.staleness import SUPERSEDED, judge
from intervalguard.kernel.views import Entry

from .machine import Machine
from .programs import other
from .states import CLEARED, NOT_WAITING, WOKEN, State, call_id, call_of

READ, WRITE = range(2)
"""The places of the two calls of each program here."""

WAITS = {NOT_WAITING: 0, WOKEN: 90, CLEARED: 91}
"""How the model calls what is not waiting for an agent."""


class Coarse(NamedTuple):
    """One agent; agents have numbers from 1. See the variables of the model."""

    reads: str
    writes: str
    pc: str
    wait: int
    before: tuple[int, ...]
    mark: int
    acted: bool
    old: bool


ENDED = Coarse("none", "none", "ended", 0, (), 0, False, False)

CoarseState = tuple[tuple[Coarse, ...], tuple[int, ...]]
"""The agents, and the running writes in the order of their begins."""


def coarse(machine: Machine, state: State) -> CoarseState:
    """What the model knows of a state."""
    view = machine.view(state)
    settled = machine.rules.view([each for each in view.entries if not _is_unsettled(each)])
    agents = []
    for a, agent in enumerate(state.agents):
        read, write = agent.calls or (None, None)
        if read is None or write is None or (agent.stage > WRITE and write.outcome not in _RUNS):
            agents.append(ENDED)
            continue
        calls = machine.programs[agent.program].calls
        mark = 0
        before: tuple[int, ...] = ()
        if agent.stage == WRITE:
            found = judge(settled, machine.claim(state, a, WRITE), len(state.order), 0)
            mark = 0 if not found else 2 if found[0].grade == SUPERSEDED else 1
            since = state.order.index((call_id(a, READ), "b"))
            before = tuple(
                call_of(each.id)[0] + 1
                for each in view.entries
                if _is_unsettled(each) and each.name == calls[READ].name and each.start < since
            )
        pc = ("read", "write")[agent.stage] if agent.stage <= WRITE else _RUNS[write.outcome]
        wait = WAITS[agent.wait] if agent.wait < 0 else call_of(agent.wait)[0] + 1
        agents.append(
            Coarse(calls[READ].name, calls[WRITE].name, pc, wait, before, mark, write.acted, read.is_old)
        )
    begins = [call_of(id)[0] for id, mark in state.order if mark == "b" and call_of(id)[1] == WRITE]
    return tuple(agents), tuple(a + 1 for a in begins if agents[a].pc == "running")


_RUNS = {"pending": "running", "unknown": "lost"}


def _is_unsettled(each: Entry) -> bool:
    return each.kind == "write" and (each.outcome == "pending" or (each.outcome == "unknown" and each.extra is None))


def renamed(state: CoarseState) -> Iterator[CoarseState]:
    """The state under each renaming of the agents and of the two resources."""
    agents, queue = state
    for places in permutations(range(len(agents))):
        new = {old + 1: place + 1 for place, old in enumerate(places)}
        for names in ({}, {name: other(name) for name in ("x", "y")}):
            after = tuple(
                each._replace(
                    reads=names.get(each.reads, each.reads),
                    writes=names.get(each.writes, each.writes),
                    wait=new.get(each.wait, each.wait),
                    before=tuple(sorted(new[b] for b in each.before)),
                )
                for each in (agents[old] for old in places)
            )
            yield after, tuple(new[a] for a in queue)
