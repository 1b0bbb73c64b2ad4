"""What the agents of a story do, as data that can be played again, and the shortest of it that still goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs

_MOST_TRIES = 2_000


@attrs.frozen(eq=False)
class Move:
    """An agent goes on with the act that it is in, or, if it is in none, begins one.

    It gets to its end, or as far as it may without waiting, or to the pause of that number from here: ``stops_at``, 0
    for none. All go on to their ends after the last move.
    """

    agent: str
    act: str = ""
    arguments: Mapping[str, Any] = attrs.field(factory=dict)
    stops_at: int = 0


Script = Sequence[Move]


def shortest(moves: Script, goes_wrong: Callable[[Script], bool]) -> Script:
    """Moves that still go wrong, of which none can be left out, and no two of an agent be made one after the other.

    Nor can one go on past where it stops, or be given another's argument that is shown shorter. Asks O(n^2) times for n
    moves, mostly about few of them, for long runs are left out first; 2000 times at most, after which it is the shortest
    so far.
    """
    left = _MOST_TRIES
    given = {(name, repr(value)): value for move in moves for name, value in move.arguments.items()}

    def still(fewer: Script) -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and goes_wrong(fewer)

    many = len(moves) // 2
    while many > 1:
        for start in range(0, len(moves), many):
            fewer = [*moves[:start], *moves[start + many :]]
            if still(fewer):
                moves = fewer
                break
        else:
            many //= 2
        many = min(many, len(moves) // 2)
    while True:
        simpler = next((each for each in (*_simpler(moves), *_alike(moves, given)) if still(each)), None)
        if simpler is None:
            named = _in_order(moves)
            return named if goes_wrong(named) else moves
        moves = simpler


def _simpler(moves: Script) -> Iterator[Script]:
    """All that is simpler by one step: a move fewer, two of an agent made at once, or one pause less."""
    for place in range(len(moves)):
        yield [*moves[:place], *moves[place + 1 :]]
    for place, move in enumerate(moves):
        before, after = moves[:place], moves[place + 1 :]
        again = next((at for at, each in enumerate(after) if each.agent == move.agent), len(after))
        if again < len(after) and not after[again].act:
            stops_at = after[again].stops_at and move.stops_at + after[again].stops_at
            both = attrs.evolve(move, stops_at=stops_at)
            yield [*before, both, *after[:again], *after[again + 1 :]]
            yield [*before, *after[:again], both, *after[again + 1 :]]
        elif move.stops_at:
            yield [*before, *after[:again], attrs.evolve(move, stops_at=0), *after[again:]]
    for place, move in enumerate(moves):
        for stops_at in range(min(move.stops_at, 2)):
            yield [*moves[:place], attrs.evolve(move, stops_at=stops_at), *moves[place + 1 :]]


def _alike(moves: Script, given: Mapping[tuple[str, str], Any]) -> Iterator[Script]:
    """All in which one move has one of these arguments, of the same name, that is shown shorter than its own."""
    for place, move in enumerate(moves):
        for (name, shown), value in given.items():
            own = repr(move.arguments[name]) if name in move.arguments else ""
            if (len(shown), shown) < (len(own), own):
                other = attrs.evolve(move, arguments={**move.arguments, name: value})
                yield [*moves[:place], other, *moves[place + 1 :]]


def _in_order(moves: Script) -> Script:
    """The same with the agents' names in the order in which they first do something."""
    names = list(dict.fromkeys(move.agent for move in moves))
    new = dict(zip(names, sorted(names), strict=True))
    return [attrs.evolve(move, agent=new[move.agent]) for move in moves]
