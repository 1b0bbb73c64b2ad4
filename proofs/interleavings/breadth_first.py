"""Explicit-state search, breadth first, so that the first story that breaks an invariant is a shortest one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

State = TypeVar("State", bound=Hashable)


class Move(NamedTuple, Generic[State]):
    """A step of the machine: its words, where it leads, and what it breaks, if anything.

    ``gives_up`` marks the end of a bounded wait, or of a lease, which is renewed: these are no way out of a deadlock.
    """

    words: str
    state: State
    broken: str | None = None
    gives_up: bool = False


class Explored(NamedTuple, Generic[State]):
    """What a search found: every state, the indices of each one's successors, and a shortest story if one was broken."""

    states: Sequence[State]
    successors: Sequence[Sequence[int]]
    story: tuple[str, ...] | None


def explore(
    starts: Iterable[State],
    moves: Callable[[State], Iterable[Move[State]]],
    is_over: Callable[[State], bool],
    normal: Callable[[State], State] = lambda state: state,
) -> Explored[State]:
    """Visit every state that can be reached; stop at the first move that breaks something, or at a deadlock.

    A deadlock is a state that is not over, and in which nobody can move but by giving up.
    ``normal`` gives one state for all that only differ in the names of things.
    """
    states = list(dict.fromkeys(normal(each) for each in starts))
    index = {state: place for place, state in enumerate(states)}
    came: list[tuple[int, str] | None] = [None] * len(states)
    successors: list[list[int]] = []
    for place, state in enumerate(states):  # grows as it is walked
        following = []
        is_stuck = not is_over(state)
        for words, reached, breaks, gives_up in moves(state):
            is_stuck = is_stuck and gives_up
            if breaks:
                return Explored(states, successors, (*_told(came, place), words, breaks))
            reached = normal(reached)
            number = index.get(reached)
            if number is None:
                number = index[reached] = len(states)
                states.append(reached)
                came.append((place, words))
            following.append(number)
        if is_stuck:
            return Explored(states, successors, (*_told(came, place), "nobody can move"))
        successors.append(following)
    return Explored(states, successors, None)


def _told(came: Sequence[tuple[int, str] | None], place: int) -> list[str]:
    told = []
    while (step := came[place]) is not None:
        place, words = step
        told.append(words)
    return told[::-1]


def is_acyclic(successors: Sequence[Sequence[int]]) -> bool:
    """Whether no state is reached from itself: then every run ends. O(moves)."""
    entering = [0] * len(successors)
    for following in successors:
        for each in following:
            entering[each] += 1
    ready = [place for place, count in enumerate(entering) if count == 0]
    taken = 0
    while ready:
        taken += 1
        for each in successors[ready.pop()]:
            entering[each] -= 1
            if entering[each] == 0:
                ready.append(each)
    return taken == len(successors)
