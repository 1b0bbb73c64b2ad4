"""The shortest script that still goes wrong."""

from __future__ import annotations

from itertools import pairwise

from intervalguard.testing.scripts import Move, Script, shortest


def test_nothing_can_be_left_out_of_the_shortest_script() -> None:
    """What is left goes wrong, stands one after the other if it can, with short arguments and agents in order."""

    def goes_wrong(moves: Script) -> bool:
        acts = [(move.agent, move.act) for move in moves if move.act in ("x", "y")]
        return any(one[1] == "x" and other[1] == "y" and one[0] != other[0] for one, other in pairwise(acts))

    idle = [Move("bob", "z", {"n": number}) for number in range(20)]
    both = [Move("bob", "x", {"n": 1000}, 3), Move("ann", "y", {"n": 12}), Move("ann", "z", {"n": 3}), Move("bob")]
    short = shortest([*idle, *both, *idle], goes_wrong)
    assert [(each.agent, each.act, each.arguments, each.stops_at) for each in short] == [
        ("ann", "x", {"n": 0}, 0),
        ("bob", "y", {"n": 0}, 0),
    ]


def test_what_must_come_in_between_stays_there() -> None:
    """An act is made before or after another only where that goes wrong too, and it does not stop more than it must."""

    def goes_wrong(moves: Script) -> bool:
        acts = [each.act for each in moves]
        return acts.count("y") >= 1 and moves[acts.index("x")].stops_at > 0 if "x" in acts else False

    moves = [Move("ann", "x", {}, 3), Move("bob", "y", {}, 2), Move("ann", "", {}, 1), Move("bob"), Move("ann")]
    short = shortest(moves, goes_wrong)
    assert [(each.act, each.stops_at) for each in short] == [("x", 1), ("y", 0)]


def test_two_parts_of_an_act_become_one_where_the_later_was() -> None:
    """What must have begun before an act ends may have ended before it begins."""

    def goes_wrong(moves: Script) -> bool:
        acts = [each.act for each in moves]
        if not {"x", "y", "z"} <= set(acts):
            return False
        x = acts.index("x")
        end = x if moves[x].stops_at == 0 else next((at for at, each in enumerate(moves) if not each.act), len(moves))
        return acts.index("y") < end < acts.index("z")

    moves = [Move("ann", "x", {}, 1), Move("bob", "y"), Move("ann"), Move("bob", "z")]
    assert goes_wrong(moves)
    assert [(each.act, each.stops_at) for each in shortest(moves, goes_wrong)] == [("y", 0), ("x", 0), ("z", 0)]


def test_the_search_for_the_shortest_ends() -> None:
    """It tries 2000 times at most, and what it has by then goes wrong."""
    tried: list[int] = []

    def goes_wrong(moves: Script) -> bool:
        tried.append(len(moves))
        return len({move.arguments["n"] for move in moves if move.arguments}) == 90

    short = shortest([Move("ann", "x", {"n": number}) for number in (*range(90), *range(90))], goes_wrong)
    assert len(tried) <= 2001
    assert goes_wrong(short)
    assert len(short) < 180
