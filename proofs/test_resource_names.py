"""Names, and what an event contradicts, by enumeration against what the semantics say of names and outcomes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from kernels import SHIPPED, Broken, Kernel
from symbolic import Refuted

TEXTS = ["".join(letters) for length in range(6) for letters in itertools.product("ab/", repeat=length)]
"""Every text of up to five characters, of two letters and the separator."""
NAMES = [text for text in TEXTS if all(text.split("/"))]
DEPTH = 128


def claim(holds: bool, law: str, *about: Any) -> None:
    if not holds:
        raise Refuted(f"{law}: {about}")


def refusal(kernel: Kernel, given: Any) -> type[Exception] | None:
    """What `check_name` raises, if anything; what it lets through it returns."""
    try:
        claim(kernel.events.check_name(given) is given, "a name is returned as it is", given)
    except (TypeError, ValueError) as raised:
        return type(raised)
    return None


def prove_names_are_segments(kernel: Kernel) -> int:
    """A text is a name where no segment is empty; covering and conflict are by segment; above are the shorter ones."""
    for text in TEXTS:
        claim((refusal(kernel, text) is None) == (text in NAMES), "no segment of a name is empty", text)
    for given, error in (
        (None, TypeError),
        (7, TypeError),
        ("a\ud800", ValueError),
        ("ö", None),
        ("/".join("a" * DEPTH), None),
        ("/".join(["long"] * DEPTH), None),
        ("a" * 3 * DEPTH, None),
        ("/".join("a" * (DEPTH + 1)), ValueError),
    ):
        claim(refusal(kernel, given) is error, "a name is a text in UTF-8 of at most 128 segments", given)
    events = kernel.events
    for one, other in itertools.product(NAMES, repeat=2):
        ones, others = one.split("/"), other.split("/")
        covers = others[: len(ones)] == ones
        claim(events.covers(one, other) is covers, "a name covers itself and what is below it", one, other)
        claim(events.conflict(one, other) is (covers or ones[: len(others)] == others), "one covers the other", one, other)
    for name in [*NAMES, "a" + 3 * "/bc"]:
        parts = name.split("/")
        above = ["/".join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]
        claim(events.prefixes(name) == above, "the names above, nearest first", name)
    return len(NAMES)


WHEN = (None, 0, 1, 2, 3)


def prove_contradictions(kernel: Kernel) -> int:
    """What is found wrong is wrong, by the field that is named, and what is wrong is found: starts at 1, all else around."""
    outcomes = ("ok", "error", "unknown", "failed", "refused", "pending", "landed")
    cases = itertools.product(outcomes, WHEN[:4], (None, 1), WHEN[:4], WHEN, WHEN[:4])
    found = 0
    for outcome, end, seq, end_seq, seen, until in cases:
        wrong = {
            "outcome": outcome == "landed" or (outcome == "pending" and end is not None),
            "end_time": outcome not in ("pending", "unknown") if end is None else end < 1,
            "end_seq": end_seq is not None and (end is None or seq is None or end_seq < seq),
            "observed_at": None not in (end, seen) and seen > end,
            "may_land_until": until is not None and until < 1,
        }
        said = kernel.events.contradiction(outcome, 1, end, seq, end_seq, seen, until)
        about = outcome, end, seq, end_seq, seen, until
        claim((said is not None) == any(wrong.values()), "what contradicts itself is refused, and nothing else", *about)
        if said is not None:
            found += 1
            claim(wrong[said[0]] and said[0] in said[1], "the field that is named is wrong, and the words name it", *about)
    return found


def test_names_are_segments() -> None:
    """Section 1: every text of up to five characters, and every two names among these."""
    assert prove_names_are_segments(SHIPPED) == 138


def test_contradictions() -> None:
    """Section 1: every outcome, with every order of the ends, the numbers and the other times of an event."""
    assert prove_contradictions(SHIPPED) > 1000


BROKEN = {
    "a name ends anywhere": (prove_names_are_segments, 'or name[-1] == "/"', ""),
    "covering is by letter": (prove_names_are_segments, 'other.startswith(name + "/")', "other.startswith(name)"),
    "above is only the next": (prove_names_are_segments, "while cut > 0:", "if cut > 0:"),
    "a call without an end may be ok": (prove_contradictions, '("pending", "unknown"):', '("pending", "unknown", "ok"):'),
    "a read sees past its end": (prove_contradictions, "observed_at > end:", "observed_at > end + 1:"),
    "numbers run backward": (prove_contradictions, "(seq is None or end_seq < seq)", "(seq is None)"),
}


@pytest.mark.parametrize(("prove", "right", "wrong"), BROKEN.values(), ids=BROKEN)
def test_a_wrong_name_or_event_is_found(prove: Callable[[Kernel], int], right: str, wrong: str) -> None:
    """Each of these faults is found."""
    with pytest.raises(Refuted):
        prove(Broken("events", right, wrong).kernel())
