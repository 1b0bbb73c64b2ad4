"""Stories with the right findings, asked both ways and of the oracle: the shared ones, and `cases.json` beside this.

The latter are whole kinds that the shared ones leave out. They also name the witness (``by``) and the source (``via``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import oracle
import pytest
from both_ways import WAYS, cases
from shared_data import shared

OWN = cases(Path(__file__).with_name("cases.json"))


def expected(case: dict[str, Any]) -> list[tuple[str, ...]]:
    return sorted((each["event"], each["dependency"], each["verdict"], each["reason"]) for each in case["expect"])


def test_the_shared_stories_come_out_right() -> None:
    """Every shared story gives the findings that it names and no others, both ways and by the oracle."""
    told = cases(shared("cases/staleness.json"))
    assert len({case["id"] for case in told}) == len(told) > 40
    wrong = []
    for case in told:
        ways = {**WAYS, "oracle": oracle.findings}
        for way, ask in ways.items():
            found = sorted((*key, said.verdict, said.reason) for key, said in ask(case["events"]).items())
            if found != expected(case):
                wrong.append((case["id"], way, found))
    assert wrong == []


@pytest.mark.parametrize("case", OWN, ids=[case["id"] for case in OWN])
def test_our_own_stories_come_out_right(case: dict[str, Any]) -> None:
    """Each own story gives the findings that it names and no others, with witness and source, both ways."""
    right = {
        (each["event"], each["dependency"]): (each["verdict"], each["reason"], each["by"], each["via"])
        for each in case["expect"]
    }
    for ask in WAYS.values():
        assert right == ask(case["events"])


@pytest.mark.parametrize("case", OWN, ids=[case["id"] for case in OWN])
def test_the_oracle_tells_our_own_stories(case: dict[str, Any]) -> None:
    """The oracle gives each own story's findings, and admits its witness and source."""
    found = oracle.findings(case["events"])
    assert expected(case) == sorted((*key, said.verdict, said.reason) for key, said in found.items())
    for each in case["expect"]:
        assert (each["by"], each["via"]) in found[each["event"], each["dependency"]].witnesses


def test_our_own_stories_give_every_reason() -> None:
    """The own stories are different, and between them give every reason that a log that drops nothing can give."""
    assert len({case["id"] for case in OWN}) == len(OWN) >= 25
    reasons = {each["reason"] for case in OWN for each in case["expect"]}
    assert set(oracle.REASONS) - {"history-dropped", "version"} == reasons
