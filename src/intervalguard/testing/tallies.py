"""What became of the acts of all stories of a run. One in which no act acts, or that compares nothing, can find nothing."""

from __future__ import annotations

import warnings
from collections import Counter

_OFTEN = 50
"""So often an act is begun before it is strange that it never came to anything."""


class Tally:
    """Counts what became of each act: ``ok``, ``skipped`` for an agent that knew nothing, ``refused`` or ``raised``.

    ``checks`` are how often something was compared: what an act rested on with what was, or an effect with what there is.
    """

    def __init__(self) -> None:
        self.checks = 0
        self._became: dict[str, Counter[str]] = {}

    def count(self, act: str, became: str) -> None:
        self._became.setdefault(act, Counter())[became] += 1

    def complain(self, machine: str) -> None:
        """Say of a run that found no fault what it cannot have found.

        Raises ``ValueError`` where no story checked anything; warns of each act that was begun often and never got through.
        """
        often = {act: became for act, became in self._became.items() if became.total() >= _OFTEN}
        idle = [_said(act, became) for act, became in often.items() if not became["ok"]]
        if often and not self.checks:
            raise ValueError(
                f"{machine} found no fault, for nothing was checked: no act that rests on something (agent.knows) had an"
                " effect that states() shows, and no effects() were counted." + "".join(f"\n{each}" for each in idle)
            )
        for each in idle:
            warnings.warn(f"{machine}: {each}", stacklevel=3)


def _said(act: str, became: Counter[str]) -> str:
    whys = []
    if became["skipped"]:
        whys.append(f"{became['skipped']} times its agent had seen nothing under the keys that it gives to knows()")
    if became["refused"]:
        whys.append(f"{became['refused']} times the guard refused it")
    if became["raised"]:
        whys.append(f"{became['raised']} times it raised what may_raise allows")
    return f"{act}() was begun {became.total()} times and never got through: {', '.join(whys)}."
