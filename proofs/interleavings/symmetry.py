"""What differs only in which agent is called which, and which resource, is one state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, permutations, product
from math import factorial

from .machine import Machine
from .programs import Program, other
from .states import Agent, State, call_id, call_of


class Symmetry:
    """Renamings of the agents and of the two resources. Programs must be closed under the exchange of the resources."""

    def __init__(self, machine: Machine, agents: int) -> None:
        self.machine = machine
        self._order = 2 * factorial(agents)
        programs = machine.programs
        self._swapped = [
            next(place for place, each in enumerate(programs) if _shape(each) == _shape(_exchanged(program)))
            for program in programs
        ]

    def normal(self, state: State) -> State:
        """The least of all that the renamings make of a state."""
        return min(self._candidates(state))

    def size(self, state: State) -> int:
        """How many states a normal one stands for: the order of the group by the number of renamings that leave it be."""
        return self._order // sum(each == state for each in self._candidates(state))

    def _candidates(self, state: State) -> Iterator[State]:
        """What those renamings make of a state that put its agents in the order of what they are, whoever they are."""
        exchanged = tuple(self._exchange(agent) for agent in state.agents)
        choices = [(sorted(map(_signature, agents)), agents) for agents in (state.agents, exchanged)]
        least = min(signatures for signatures, _ in choices)
        for signatures, agents in choices:
            if signatures == least:
                places = sorted(range(len(agents)), key=lambda place: _signature(agents[place]))
                tied = [list(group) for _, group in groupby(places, key=lambda place: _signature(agents[place]))]
                for chosen in product(*map(permutations, tied)):
                    yield self._renamed(state, agents, [place for group in chosen for place in group])

    def _exchange(self, agent: Agent) -> Agent:
        return agent if agent.program < 0 else agent._replace(program=self._swapped[agent.program])

    def _renamed(self, state: State, agents: Sequence[Agent], places: Sequence[int]) -> State:
        new = {old: place for place, old in enumerate(places)}

        def renamed(id: int) -> int:
            if id < 0:
                return id
            a, c = call_of(id)
            return call_id(new[a], c)

        chosen = [agents[old] for old in places]
        after = tuple(
            agent if agent.wait < 0 else Agent(agent.program, agent.stage, renamed(agent.wait), agent.calls)
            for agent in chosen
        )
        order = [(renamed(id), mark) for id, mark in state.order]
        return State(after, self.machine.in_one_order(after, order))


def _signature(agent: Agent) -> tuple[object, ...]:
    return agent.program, agent.stage, min(agent.wait, 0), agent.calls


def _exchanged(program: Program) -> Program:
    return program._replace(calls=tuple(call._replace(name=other(call.name)) for call in program.calls))


def _shape(program: Program) -> tuple[object, ...]:
    return program.calls, program.steps
