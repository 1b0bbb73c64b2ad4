"""What a log must be able to do: everything that a guard asks of one, stated once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from ..kernel.admission import Decision, LogView, Settlement, Touch
from ..kernel.events import Event, Outcome
from ..kernel.explain import Finding
from ..kernel.staleness import Grade, Probe, Raw
from ..kernel.views import Entry, Id, Key, Position
from .calls import Holder, Learned, Origin


class EventLog(Protocol):
    """A log: it decides on calls and records them, each step as one, and says what it holds.

    Every method is safe to call from any thread, and none of them waits for a call to settle. ``Id`` is whatever the log
    calls an event: the public id itself, or a number that it makes the id from. Both ends of all events are numbered from
    one counter. A call's id is that of its first event.

    A call's first event is handed out as a live `Entry`: its ``outcome`` is ``pending`` until the call has settled and is
    what was recorded from then on, its ``name`` is empty until the call has one, its ``origin`` is what `admit` was given,
    and its ``memo`` is `intervalguard.kernel.views.GONE` once the log has forgotten it.
    """

    probing: bool
    """Whether any tool has a probe: a guard sets it, and asks `find` of what a call rests on only then. At first false."""

    # -- calls

    def admit(
        self,
        origin: Origin,
        touches: Sequence[Touch],
        depends_on: tuple[Key, ...] = (),
        parent: Any = None,
        least: Grade | None = 0,
        probes: Mapping[Id, Probe] | None = None,
        waited: bool = False,
        bear: bool = False,
        wake: Callable[[], None] | None = None,
        holder: Holder | None = None,
    ) -> tuple[Decision, Entry | None]:
        """Decide on a call by `intervalguard.kernel.admission.admit`, and record what it touches, in one step.

        An `Admit` is recorded as ``pending``; a `Refuse`, and a `Wait` that has ``waited``, as ``refused``, or as
        ``pending`` where these are to be borne (``bear``). The answer's second is the call's first event, which is put
        into ``holder.first`` in the same step; ``None`` for a `Wait` that is to be waited for: then ``wake`` is called
        once, when the blocker has settled, from whatever thread. A call without touches is a read whose names its result
        tells, and no event before that.
        """

    def stop_waiting(self, blocker: Entry, wake: Callable[[], None]) -> None:
        """A call that was told to wait does so no longer: ``wake`` is not called, if it has not been."""

    def settle(
        self,
        first: Entry,
        outcome: Outcome,
        least: Grade | None = None,
        bear: bool = False,
        probes: Mapping[Id, Probe] | None = None,
        learned: Learned | None = None,
        may_land_for: int | None = None,
    ) -> Settlement:
        """Record a call's end and outcome, once; ``None``, with nothing changed, if it had been settled already.

        What is recorded is what `intervalguard.kernel.admission.settle` says: on a `Refuse` a derived read is recorded as
        ``refused``, unless ``bear``. ``learned`` is what the result told: the names read, each an event; the
        version, of all of the call's events; the instant seen, of its reads; and where ``unread`` is set these are
        errors. Raises ``ValueError``, with nothing changed, for an instant seen that is yet to come. ``may_land_for`` is
        how many microseconds from now the writes of an ``unknown`` call may still land, however many these are.
        """

    def settle_from_anywhere(self, first: Entry, outcome: Outcome, may_land_for: int | None = None) -> None:
        """Settle a call from a finalizer, which may run in the middle of any step on the same thread.

        It neither waits nor raises; the call is settled at the end of that step, or in the next one.
        """

    def resolve(self, number: Id, outcome: Outcome) -> list[Event]:
        """Settle an ``unknown`` call, by one of its events: it ends now. The events that it settled, the first one first.

        Raises ``LookupError`` for what the log does not hold, ``ValueError`` for a call that is not ``unknown``, or that
        can land no longer.
        """

    def write_outside(self, origin: Origin, name: str, since: datetime | None) -> Entry:
        """Record an ``ok`` write that someone else made, at some instant from ``since`` (or now) until now."""

    def clear(self) -> None:
        """Forget everything, wake all who wait. What is running settles into nothing; no id is ever given again."""

    # -- what rules ask

    def view(self) -> LogView:
        """What rules ask of the log as it is at this moment. It may be out of date after the next step."""

    def ticks(self) -> tuple[Position, int]:
        """The position and the time, in microseconds, of this moment; the position is after all that has happened."""

    def position(self) -> Position:
        """The first of `ticks`: a turn keeps it, and what the session knew then is asked for by it."""

    def now(self) -> datetime:
        """The second of `ticks`, as a time. It never goes back, whatever the clock does: an age only grows (law L4)."""

    # -- what sessions know

    def resting(self, session: str, names: Sequence[str], until: Position) -> list[Key]:
        """What `intervalguard.kernel.sessions.resting` says of the session's own events, by ``until`` (``None``: by now)."""

    def resting_by_itself(self, session: str, writes: Sequence[str], until: Position) -> list[Key]:
        """What `intervalguard.kernel.sessions.resting_by_itself` says of them."""

    def stale(self, session: str, until: Position) -> list[Raw]:
        """The findings of a call that would rest on everything that the session knows, the worst of each dependency."""

    # -- what people see

    def events(self) -> list[Event]:
        """The events that are held, in the order in which they were recorded."""

    def event(self, entry: Entry) -> Event:
        """The public face of an event, as it is now."""

    def find(self, number: Id) -> Entry | None:
        """The event that the log knows by this, if it holds it; a read's version is the very value that was learned."""

    def findings(self, raws: Iterable[Raw], event: str, time: int | None = None) -> list[Finding]:
        """Findings of the kernel as people see them, with public ids, as of ``time``, by default of now."""

    def id_of(self, number: Id) -> str:
        """The public id. It names one event for good."""

    def number_of(self, id: str) -> Id:
        """The inverse of `id_of`; what is no id of the log's stands for itself, and so does all that is merely like one."""

    def __len__(self) -> int:
        """How many events are held."""
