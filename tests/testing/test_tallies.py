"""A machine that can find no fault says so: its keys are wrong, its acts are always refused, or it compares nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import settings
from sample.stories import STORIES

from intervalguard import Guard
from intervalguard.testing import Agent, GuardMachine, act, check_guard

MANY = settings(STORIES, max_examples=60)


class Rows(GuardMachine):
    """One row, which is looked at and set; each in one act that is right."""

    key = "row"
    shows = True
    needs = "row"

    def start(self) -> Guard:
        guard = Guard()
        self.row = 0
        self.get = guard.tracked("row", writes=False)(lambda: self.row)
        self.set = guard.tool(writes="row", rests_on=self.needs)(self.put)
        return guard

    def put(self) -> None:
        self.row += 1

    def states(self) -> Mapping[str, Any]:
        return {"row": self.row} if self.shows else {}

    @act()
    def looks(self, agent: Agent) -> None:
        agent.sees("row", self.get())

    @act()
    def sets(self, agent: Agent) -> None:
        agent.knows(self.key)
        self.set()


def test_a_machine_that_checks_something_says_nothing() -> None:
    """No warning either: warnings are errors here."""
    check_guard(Rows, settings=MANY)


def test_keys_that_nobody_sees_are_an_error() -> None:
    """Where that leaves nothing to compare; the message tells how often, and why."""

    class Misspelt(Rows):
        key = "rows"

    with pytest.raises(ValueError, match=r"nothing was checked: (.|\n)*sets\(\) was begun \d+ times and never got through"):
        check_guard(Misspelt, settings=MANY)


def test_an_act_that_is_always_refused_is_told() -> None:
    """A warning where other acts checked something, and an error where none did."""

    class Refused(Rows):
        needs = "other"

    class AndOneThatActs(Refused):
        @act()
        def sets_it_unasked(self, agent: Agent) -> None:
            agent.sees("row", self.row)
            agent.knows("row")
            self.put()

    with pytest.warns(UserWarning, match=r"AndOneThatActs: sets\(\) was begun \d+ times .* \d+ times the guard refused it"):
        check_guard(AndOneThatActs, settings=MANY)
    with pytest.raises(ValueError, match="nothing was checked"):
        check_guard(Refused, settings=MANY)


def test_a_machine_that_compares_nothing_is_an_error() -> None:
    """Its acts get through, and rest on nothing that it knows of."""

    class Unseeing(Rows):
        def sets(self, agent: Agent) -> None: ...

    with pytest.raises(ValueError, match="nothing was checked"):
        check_guard(Unseeing, settings=MANY)


def test_few_stories_say_nothing() -> None:
    """An act that was begun a few times may have had bad luck."""

    class Misspelt(Rows):
        key = "rows"

    check_guard(Misspelt, settings=settings(STORIES, max_examples=2))


def test_a_key_that_states_never_had_is_named() -> None:
    """The message says which keys there are."""

    class Shown(Rows):
        @act()
        def looks(self, agent: Agent) -> None:
            agent.sees("orders/1", self.get())

    with pytest.raises(ValueError, match=re.escape("sees('orders/1', 0): states() has never had this key, but 'row'")):
        check_guard(Shown, settings=MANY)
