"""Law L7 in a TLA+ model: TLC finds the states that the search over the shipped code finds, neither more nor fewer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from . import tlc
from .coarse import Coarse, CoarseState, coarse, renamed
from .programs import plain
from .test_interleavings import every, searched
from .tools import require


@pytest.fixture(autouse=True)
def installed() -> None:
    """There is Java, and TLC."""
    require(tlc.missing())


def read(state: Mapping[str, Any]) -> CoarseState:
    """A state of TLC's."""
    fields = [state[name] for name in Coarse._fields]
    agents = [Coarse(*of_one)._replace(before=tuple(sorted(of_one[4]))) for of_one in zip(*fields, strict=True)]
    return tuple(agents), tuple(state["queue"])


STATES = {2: 929, 3: 40417}
"""How many states the model has."""

CHECKS = {
    2: ("INVARIANT NoSupersededEffect", "INVARIANT NoDeadlock", "PROPERTY EveryRunEnds"),
    3: ("INVARIANT NoSupersededEffect",),
}


@pytest.mark.parametrize("agents", STATES)
def test_the_model_and_the_code_are_one_machine(agents: int, tmp_path: Path) -> None:
    """TLC finds no error, and as many states as the search, in the model's terms; of two agents the very same."""
    run = tlc.run(agents, "shipped", tmp_path, *CHECKS[agents], is_dumped=agents == 2)
    assert run.is_without_error(), run.said
    assert STATES[agents] == run.distinct()
    symmetry, explored = searched(every(plain, True), agents)
    once = {coarse(symmetry.machine, state) for state in explored.states}
    searched_states = {each for state in once for each in renamed(state)}
    assert STATES[agents] == len(searched_states)
    if agents == 2:
        assert searched_states == set(map(read, run.states))


@pytest.mark.parametrize("policy", ["unpinned", "split"])
def test_the_model_refutes_what_is_wrong(policy: str, tmp_path: Path) -> None:
    """TLC finds the write on a superseded premise where nothing is pinned, and where check and record are two steps."""
    run = tlc.run(2, policy, tmp_path, "INVARIANT NoSupersededEffect")
    assert "Invariant NoSupersededEffect is violated." in run.said, run.said
