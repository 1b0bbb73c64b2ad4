"""Stories for tests: how many are looked at, how one is found, and how one is played."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import settings
from sample import tools
from sample.machine import ShopMachine
from sample.shop import Shop

from intervalguard.testing import GuardFault, GuardMachine, check_guard
from intervalguard.testing.scripts import Move

STORIES = settings(derandomize=True, max_examples=25, stateful_step_count=5, deadline=None, database=None)

FEW = settings(STORIES, max_examples=10)


def machine_of(make_tools: Callable[[Shop], tools.Tools]) -> type[ShopMachine]:
    return type("Machine", (ShopMachine,), {"make_tools": staticmethod(make_tools)})


def story_of(machine: type[GuardMachine]) -> str:
    with pytest.raises(GuardFault) as caught:
        check_guard(machine, settings=STORIES)
    return str(caught.value)


def steps(story: str) -> list[str]:
    return re.findall(r"^\d+[a-z]*\. .*", story, re.MULTILINE)


def played(machine: GuardMachine, *moves: Move) -> str:
    """The story of these moves; empty if nothing goes wrong."""
    machine._play(moves)
    return machine._story() if machine._wrong else ""
