"""Law L7 for any number of agents: a proof that Coq checks, and what ties its one condition to the shipped rule."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from intervalguard.kernel.admission import Admit

from .machine import Machine
from .programs import Program, chain, derived, nested, plain
from .states import LAPSED, NOTHING, State, call_id
from .test_interleavings import every, searched
from .tools import require

PROOF = Path(__file__).with_name("Guard.v")


def test_the_proof_is_checked_and_assumes_nothing(tmp_path: Path) -> None:
    """Coq accepts the theorem, its counterexample without pins and its witness, each without an axiom."""
    require(None if shutil.which("coqc") else "no coqc: apt-get install coq")
    shutil.copy(PROOF, tmp_path)
    done = subprocess.run(["coqc", "-q", "Guard.v"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["Closed under the global context"] * 3
    stated = [line for line in PROOF.read_text().splitlines() if line.startswith("Print Assumptions")]
    assert stated == [
        "Print Assumptions no_effect_on_a_superseded_premise.",
        "Print Assumptions something_is_admitted.",
        "Print Assumptions without_pins_it_breaks.",
    ]


def objections(machine: Machine, state: State, a: int, c: int) -> Iterator[str]:
    """Why the proof would not let a write begin, in the words of its ``fresh`` and ``unblocked``."""
    place = {endpoint: number for number, endpoint in enumerate(state.order)}
    agent = state.agents[a]
    program = machine.programs[agent.program]
    rests = machine.closures[agent.program][c]
    for o, each in enumerate(state.agents):
        for k, done in enumerate(each.calls):
            if o == a or done is NOTHING:
                continue
            call = machine.programs[each.program].calls[k]
            for p in rests:
                if call.kind == "write" and call.name == program.calls[p].name:
                    if done.outcome in ("pending", "unknown"):
                        yield "a conflicting write runs or may land"
                    elif place[call_id(o, k), "u" if done.outcome == LAPSED else "e"] > place[call_id(a, p), "b"]:
                        yield "a conflicting write ended after the premise began"
            pins = {machine.programs[each.program].calls[p].name for p in machine.closures[each.program][k]}
            if call.kind == "write" and done.outcome == "pending" and program.calls[c].name in pins:
                yield "a running call pins the name"
    yield from ("a premise is not settled" for p in rests if agent.calls[p].outcome != "ok")


@pytest.mark.parametrize(
    "programs",
    [
        every(plain) + every(derived),
        every(plain, True) + every(nested, True),
        every(chain),
    ],
)
def test_the_shipped_rule_admits_no_more_than_the_proof_allows(programs: tuple[Program, ...]) -> None:
    """In every state of two agents a write that `admit` lets through meets the conditions that the proof states."""
    symmetry, explored = searched(programs, 2)
    machine = symmetry.machine
    admitted = refused = 0
    for state in explored.states:
        for a, c in machine.asking(state):
            objection = next(objections(machine, state, a, c), None)
            if isinstance(machine.decide(machine.view(state), state, a, c), Admit):
                admitted += 1
                assert objection is None
            else:
                refused += objection is not None
    assert admitted > 100
    assert refused > 100
