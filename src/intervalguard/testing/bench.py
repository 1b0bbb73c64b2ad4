"""A log on a bench: a driver with a clock of its own and short words for the steps of a case."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from ..kernel.admission import Decision, Touch
from ..kernel.staleness import Claim
from ..kernel.views import Key
from ..logs.calls import Learned, Origin
from .account import Made
from .agreement import Nonconforming, check
from .driver import Driver
from .factories import LogFactory
from .reference import key_of
from .stories import moment

HUNG_SECONDS = 30.0
"""A case that takes longer hangs."""


class Bench(Driver):
    """A log, and the time that it is told."""

    def __init__(self, factory: LogFactory, max_events: int | None = None) -> None:
        self.time = moment(100)
        super().__init__(factory, lambda: self.time, max_events)

    def later(self, seconds: float = 0, microseconds: int = 0) -> None:
        """Time passes."""
        self.time += timedelta(seconds=seconds, microseconds=microseconds)

    def heeds(self, time: datetime) -> bool:
        """Whether the log tells the time that it is given: one that takes its server's cannot be made to wait."""
        return self.log.now() == time

    def ask(self, kind: str, name: str, *keys: Key, waited: bool = False, **how: Any) -> tuple[Decision, Made | None]:
        """A call that reads or writes one name begins, if it may."""
        window, session = how.pop("window", None), how.pop("session", None)
        origin = how.pop("origin", None) or Origin("tool", session)
        return self.begin([(name, kind, window)], keys, origin=origin, waited=waited, **how)

    def start(self, kind: str, name: str, *keys: Key, **how: Any) -> Made:
        """The same for one that has waited, and so is recorded whatever the decision."""
        _, made = self.ask(kind, name, *keys, waited=True, **how)
        assert made is not None
        return made

    def begun(self, touches: Sequence[Touch], origin: Origin) -> Made:
        """A call that touches any number of names, also none, and has waited."""
        _, made = self.begin(touches, origin=origin)
        assert made is not None
        return made

    def done(self, kind: str, name: str, *keys: Key, learned: Learned | None = None, **how: Any) -> Made:
        """A call that has ended well."""
        made = self.start(kind, name, *keys, **how)
        self.end(made, "ok", learned=learned)
        return made

    def key(self, made: Made, part: str | None = None) -> Key:
        """A dependency on the first event of a call, or on a part of it."""
        return made.id if part is None else key_of(self.account.truth[made.id], part)

    def judged(self, *keys: Key) -> None:
        """What the log's view says of these is what the reference says."""
        self.beside().check_findings(Claim(None, None, keys))

    def all(self, names: Sequence[str] = ("a",), sessions: Sequence[str] = ("s",)) -> None:
        """Everything that is asked after each step of the machine."""
        self.check(names, sessions)


Case = Callable[[LogFactory], None]


def within(case: Case, factory: LogFactory) -> None:
    """Run a case in a thread of its own, so that one that hangs is told of. What it raises says of which case it is."""
    faults: list[BaseException] = []

    def run() -> None:
        try:
            case(factory)
        except BaseException as fault:
            faults.append(fault)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(HUNG_SECONDS)
    story = " ".join((case.__doc__ or case.__name__).split())
    check(
        not thread.is_alive(),
        f"a step of the log has not returned for {HUNG_SECONDS:g} s: admit() says Wait and waits for nobody, and no lock is"
        f" held from step to step (case: {story})",
    )
    for fault in faults:
        if isinstance(fault, Nonconforming):
            raise Nonconforming(f"{fault} (case: {story})") from fault
        raise Nonconforming(f"the log raises {type(fault).__name__}: {fault} (case: {story})") from fault
