"""Law L7 does not hold of policies that look right: the search that finds nothing wrong with the shipped one finds it.

Each story is a shortest one.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from .breadth_first import explore
from .machine import SETTLED_LATE, SUPERSEDED_EFFECT, SUPERSEDED_RESULT, Machine
from .policies import (
    ACTS_AFTER_ITS_LEASE,
    ALWAYS_PATIENT,
    CHECK_AFTER_THE_EFFECT,
    CHECK_THEN_ACT,
    EQUAL_PROBE_SKIPS_THE_RULE,
    LANDS_AFTER_ITS_TIME,
    PIN_DIRECTLY,
    REGISTER_WITHOUT_PINS,
    RETURNED_UNASKED,
    SETTLED_WITHOUT_A_LEASE,
    SUSPECTS_LET_THROUGH,
)
from .programs import Program, derived, nested, outsider, plain, probing
from .states import SHIPPED, Rules
from .test_interleavings import every

PLAIN = every(plain, True)


def told(rules: Rules, programs: Sequence[Program]) -> list[str] | None:
    """A shortest story of two agents in which something breaks."""
    machine = Machine(programs, rules)
    story = explore(machine.starts(2), machine.moves, machine.is_over).story
    return None if story is None else list(story)


STORIES = {
    "check after the effect": (CHECK_AFTER_THE_EFFECT, PLAIN, """
        a asks to read x: admitted
        a asks to write x: admitted
        b asks to read x: admitted
        a changes x
        b asks to write x: admitted
        b changes x
        and its premise is superseded
        """),
    "check, then act": (CHECK_THEN_ACT, PLAIN, """
        a asks to read x: admitted
        a asks to write x: cleared
        b asks to read x: admitted
        b asks to write x: cleared
        a records that it begins to write x
        a changes x
        b records that it begins to write x
        b changes x
        and its premise is superseded
        """),
    "register without pins": (REGISTER_WITHOUT_PINS, PLAIN, """
        a asks to read x: admitted
        b asks to read x: admitted
        b asks to write y: admitted
        a asks to write x: admitted
        a changes x
        b changes y
        and its premise is superseded
        """),
    "pin the direct dependency only": (PIN_DIRECTLY, PLAIN + every(derived, True), """
        a asks to read x: admitted
        b asks to read x: admitted
        b asks to read y: admitted
        b asks to write y: admitted
        a asks to write x: admitted
        a changes x
        b changes y
        and its premise is superseded
        """),
    "an equal probe skips the rule": (EQUAL_PROBE_SKIPS_THE_RULE, PLAIN + every(probing), """
        a asks to read x: admitted
        b asks to read x: admitted
        a asks to write x: admitted
        b finds an equal version of x
        a changes x
        b asks to write y: admitted
        b changes y
        and its premise is superseded
        """),
    "a writer past the guard": (SHIPPED, (*PLAIN, outsider("x"), outsider("y")), """
        a asks to read x: admitted
        a asks to write x: admitted
        b writes past the guard: x
        a changes x
        and its premise is superseded
        """),
    "an effect after the time to land": (LANDS_AFTER_ITS_TIME, PLAIN, """
        a asks to read x: admitted
        a asks to write x: admitted
        a loses the lease of x
        a can no longer change x
        b asks to read x: admitted
        a late, changes x
        b asks to write x: admitted
        b changes x
        and its premise is superseded
        """),
    "an effect after the lease": (ACTS_AFTER_ITS_LEASE, PLAIN, """
        a asks to read x: admitted
        b asks to read x: admitted
        b asks to write y: admitted
        b loses the lease of y
        a asks to write x: admitted
        a changes x
        b late, changes y
        and its premise is superseded
        """),
    "a derived read that is not judged again": (RETURNED_UNASKED, every(plain) + every(derived), """
        a asks to read x: admitted
        a sees x
        a has read x
        b asks to read x: admitted
        b sees x
        b has read x
        b asks to read y: admitted
        a asks to write x: admitted
        a changes x
        b sees y
        b has read y
        and what it was derived from is superseded
        """),
    "settled without a lease": (SETTLED_WITHOUT_A_LEASE, PLAIN, """
        a asks to read x: admitted
        a asks to write x: admitted
        a loses the lease of x
        and can settle without it
        """),
    "suspects let through": (SUSPECTS_LET_THROUGH, every(plain), """
        a asks to read x: admitted
        a sees x
        a has read x
        b asks to read x: admitted
        a asks to write x: admitted
        b sees x
        a changes x
        b has read x
        b asks to write y: admitted
        b changes y
        and its premise is superseded
        """),
    "nested calls that wait for older ones": (ALWAYS_PATIENT, every(nested, True), """
        a asks to read x: admitted
        a asks to write x: admitted
        b asks to read y: admitted
        b asks to write y: admitted
        a asks to write y: waits for b
        b asks to write x: waits for a
        nobody can move
        """),
}
"""A policy or world that breaks a condition of the law, what the agents do, and how it goes wrong."""


@pytest.mark.parametrize("name", STORIES)
def test_a_wrong_policy_is_found_out(name: str) -> None:
    """The search finds the counterexample, and this is the shortest."""
    rules, programs, story = STORIES[name]
    expected = [line.strip() for line in story.strip().splitlines()]
    assert expected == told(rules, programs)
    assert expected[-1] in (SUPERSEDED_EFFECT, SUPERSEDED_RESULT, SETTLED_LATE, "nobody can move")


def test_direct_pins_look_right_where_nothing_is_derived() -> None:
    """Only derived reads tell pinning the closure from pinning what is named."""
    assert told(PIN_DIRECTLY, PLAIN) is None


def test_the_shipped_rule_has_no_such_story() -> None:
    """The programs of most of these stories are safe under the shipped rule: it is the policy that breaks."""
    assert told(SHIPPED, PLAIN) is None
