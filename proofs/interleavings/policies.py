"""Policies that look right and are not. Each is the shipped rule with one thing changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from intervalguard.kernel.admission import ADMITTED, Decision, Settlement, Touch, Wait, admit
from intervalguard.kernel.staleness import EXPIRED, Claim, Grade
from intervalguard.kernel.views import Entry, Key, Position

from .states import LogOf, Rules


class Unpinned(LogOf):
    """A log that records a write and does not pin what the write rests on."""

    def pins(self, keys: Sequence[Key]) -> Sequence[str]:
        return ()


class PinnedDirectly(LogOf):
    """A log that pins what a write names and not what that was derived from."""

    def pins(self, keys: Sequence[Key]) -> Sequence[str]:
        return [source.name for source in map(self.find, keys) if source is not None]


def unasked(*question: Any) -> Decision:
    """Everything goes ahead; whatever looks at it afterwards comes too late."""
    return ADMITTED


def equal_probe_is_enough(
    view: LogOf, claim: Claim, touches: Sequence[Touch], least: Grade, at: Position, time: int, waited: bool
) -> Decision:
    """Where a look at the version found it equal, the log is not asked about the premise any more."""
    if claim.probes and not any(probe.is_another for probe in claim.probes.values()):
        claim = claim._replace(depends_on=())
    return admit(view, claim, touches, least, at, time, waited)


def always_patient(*question: Any) -> Decision:
    """A nested call waits for older ones, too."""
    decision = admit(*question)
    return decision._replace(patient=True) if isinstance(decision, Wait) else decision


def settles_late(*question: Any) -> Settlement:
    """Whoever says that it has ended is believed, whether it still holds the call or not."""
    return ADMITTED


def settles_unasked(view: LogOf, first: Entry, *question: Any) -> Settlement:
    """What a derived read returns is handed over as it is."""
    return ADMITTED if first.outcome == "pending" else None


CHECK_AFTER_THE_EFFECT = Rules(admit=unasked)
CHECK_THEN_ACT = Rules(is_atomic=False)
REGISTER_WITHOUT_PINS = Rules(view=Unpinned)
PIN_DIRECTLY = Rules(view=PinnedDirectly)
EQUAL_PROBE_SKIPS_THE_RULE = Rules(admit=equal_probe_is_enough)
SUSPECTS_LET_THROUGH = Rules(least=EXPIRED)
LANDS_AFTER_ITS_TIME = Rules(lands_after_lapse=True)
RETURNED_UNASKED = Rules(settle=settles_unasked)
SETTLED_WITHOUT_A_LEASE = Rules(settle=settles_late)
ACTS_AFTER_ITS_LEASE = Rules(late_effects_count=True)
ALWAYS_PATIENT = Rules(admit=always_patient)
