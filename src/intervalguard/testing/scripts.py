"""What the agents of a story do, as data that can be played again, and the shortest of it that still goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs


@attrs.frozen(eq=False)
class Move:
    """An agent does something; ``inside`` are the moves of others that come in at its pauses, by the pause's number."""

    agent: str
    act: str
    arguments: Mapping[str, Any]
    inside: dict[int, list[Move]] = attrs.field(factory=dict)


def shortest(moves: Sequence[Move], goes_wrong: Callable[[Sequence[Move]], bool]) -> Sequence[Move]:
    """Moves that still go wrong, of which none can be left out, nor be made before or after another instead of inside.

    Nor can one be given another's argument that is shown shorter. Asks O(n^2) times for n moves, mostly about few of
    them: long runs of moves are left out first.
    """
    many = len(moves) // 2
    while many > 1:
        for start in range(0, len(moves), many):
            fewer = [*moves[:start], *moves[start + many :]]
            if goes_wrong(fewer):
                moves = fewer
                break
        else:
            many //= 2
        many = min(many, len(moves) // 2)
    given = {(name, repr(value)): value for move in _all(moves) for name, value in move.arguments.items()}
    while True:
        simpler = next((each for each in (*_simpler(moves), *_alike(moves, given)) if goes_wrong(each)), None)
        if simpler is None:
            named = _in_order(moves)
            return named if goes_wrong(named) else moves
        moves = simpler


def _simpler(moves: Sequence[Move]) -> Iterator[list[Move]]:
    """All that is simpler by one step: without one move, or with what came in at its pauses before or after it."""
    for place, move in enumerate(moves):
        before, after = list(moves[:place]), list(moves[place + 1 :])
        yield before + after
        if not move.inside:
            continue
        others = [each for pause in sorted(move.inside) for each in move.inside[pause]]
        alone = Move(move.agent, move.act, move.arguments)
        yield [*before, *others, alone, *after]
        yield [*before, alone, *others, *after]
        for pause, within in move.inside.items():
            for fewer in _simpler(within):
                yield [*before, Move(move.agent, move.act, move.arguments, {**move.inside, pause: fewer}), *after]


def _alike(moves: Sequence[Move], given: Mapping[tuple[str, str], Any]) -> Iterator[list[Move]]:
    """All in which one move has one of these arguments, of the same name, that is shown shorter than its own."""
    for place, move in enumerate(moves):
        before, after = moves[:place], moves[place + 1 :]
        for (name, shown), value in given.items():
            own = repr(move.arguments[name]) if name in move.arguments else ""
            if (len(shown), shown) < (len(own), own):
                yield [*before, attrs.evolve(move, arguments={**move.arguments, name: value}), *after]
        for pause, within in move.inside.items():
            for other in _alike(within, given):
                yield [*before, attrs.evolve(move, inside={**move.inside, pause: other}), *after]


def _all(moves: Sequence[Move]) -> Iterator[Move]:
    for move in moves:
        yield move
        for within in move.inside.values():
            yield from _all(within)


def _in_order(moves: Sequence[Move]) -> list[Move]:
    """The same with the agents' names in the order in which they first do something."""
    names = list(dict.fromkeys(move.agent for move in _all(moves)))
    return _renamed(moves, dict(zip(names, sorted(names), strict=True)))


def _renamed(moves: Sequence[Move], names: Mapping[str, str]) -> list[Move]:
    return [
        Move(
            names[move.agent],
            move.act,
            move.arguments,
            {pause: _renamed(within, names) for pause, within in move.inside.items()},
        )
        for move in moves
    ]
