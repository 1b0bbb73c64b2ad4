"""Law L7 on every interleaving of the shipped `admit` and `settle`, for two and three agents and two resources."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import pytest

from .breadth_first import Explored, Move, explore, is_acyclic
from .machine import Machine
from .programs import RESOURCES, Program, chain, derived, nested, plain, probing
from .states import State
from .symmetry import Symmetry


def every(program: Callable[..., Program], *whole: bool) -> tuple[Program, ...]:
    """The program for each choice of what it reads and writes."""
    return tuple(program(one, two, *whole) for one in RESOURCES for two in RESOURCES)


@cache
def searched(
    programs: tuple[Program, ...], agents: int, one_more: tuple[Program, ...] = ()
) -> tuple[Symmetry, Explored[State]]:
    """What a search up to renaming finds, where each agent runs one of the programs, and at most one one of ``one_more``."""
    machine = Machine(programs + one_more)
    symmetry = Symmetry(machine, agents)
    starts = (
        state
        for state in machine.starts(agents)
        if sum(agent.program >= len(programs) for agent in state.agents) <= 1
    )
    return symmetry, explore(starts, machine.moves, machine.is_over, symmetry.normal)


FAMILIES = {
    "reads that take time, derived reads": (every(plain) + every(derived), 2, 4742, 18869),
    "nested writes": (every(plain, True) + every(nested, True), 2, 7464, 29785),
    "writes of one's own as premises, probes": (every(plain, True) + every(chain) + every(probing), 2, 6419, 25581),
    "three agents": (every(plain, True), 3, 8233, 96085),
    "three agents, and one of them writes within a write": (
        (plain("x", "y", True), plain("y", "x", True)),
        3,
        16276,
        190281,
        (nested("x", "x", True), nested("y", "y", True)),
    ),
}
"""What the agents do, how many they are, how many states that makes, up to renaming and in all, and what one may do too."""


@pytest.mark.parametrize("family", FAMILIES)
def test_no_admitted_write_takes_effect_on_a_superseded_premise(family: str) -> None:
    """Nor is a read handed over that was derived from one.

    No run deadlocks, and each ends, so that each wait does: with no agent that gives up where it could wait.
    """
    programs, agents, up_to_renaming, in_all, *one_more = FAMILIES[family]
    symmetry, explored = searched(programs, agents, *one_more)
    assert explored.story is None, "\n".join(explored.story)
    assert is_acyclic(explored.successors)
    assert up_to_renaming == len(explored.states)
    assert in_all == sum(map(symmetry.size, explored.states))


def explored_whole(programs: Sequence[Program]) -> tuple[Explored[State], set[str]]:
    """Two agents without regard to symmetry, and the words of every move."""
    words: set[str] = set()
    machine = Machine(programs)

    def moves(state: State) -> Iterator[Move[Any]]:
        for move in machine.moves(state):
            words.add(move.words)
            yield move

    explored = explore(machine.starts(2), moves, machine.is_over)
    assert explored.story is None
    return explored, words


def test_a_run_without_end_is_noticed() -> None:
    """A state that is reached from itself, at once or by way of others, is a run that never ends."""
    assert is_acyclic([[1, 2], [2], []])
    assert not is_acyclic([[0]])
    assert not is_acyclic([[1], [2], [1]])


def test_renaming_and_counting_agree() -> None:
    """The states up to renaming stand for exactly the states that a search without renaming finds."""
    symmetry, explored = searched(every(plain), 2)
    whole, _ = explored_whole(every(plain))
    assert {symmetry.normal(state) for state in whole.states} == set(explored.states)
    assert sum(map(symmetry.size, explored.states)) == len(whole.states)


def test_what_is_forgotten_changes_nothing() -> None:
    """A search that forgets nothing finds the same states, once what the other forgets is taken out of them."""
    programs = nested("x", "x", True), plain("y", "x", True)
    machine = Machine(programs)
    reduced, everything = (
        explore(each.starts(2)[1:2], each.moves, each.is_over) for each in (machine, Machine(programs, is_reduced=False))
    )
    assert everything.story is None
    assert {machine.normal(state) for state in everything.states} == set(reduced.states)
    assert len(everything.states) > 100 * len(reduced.states)


def test_everything_that_can_be_said_is_said() -> None:
    """The agents are let through, made to wait, told not to, and refused for every reason that a log can give them."""
    _, plainly = explored_whole(every(plain)[:2])
    _, within = explored_whole([nested("x", "x", True), nested("y", "y", True)])
    _, probed = explored_whole([probing("x", "y"), plain("x", "x", True)])
    words = plainly | within | probed
    assert {"b asks to read x: admitted", "b late, changes x", "b can no longer change x"} <= words
    assert "b loses the lease of x" in words
    assert {"b is woken, asks to write y: admitted", "b gives up waiting, asks to read x: admitted"} <= words
    assert {f"a asks to write y: {said}" for said in ("admitted", "waits for b", "may not wait")} <= words
    refused = {each.partition(": refused, ")[2] for each in words} - {""}
    assert refused == {"conflict", "in-flight", "overlapped", "superseded", "unknown-outcome", "version"}
