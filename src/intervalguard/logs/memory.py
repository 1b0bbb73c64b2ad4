"""The log of one process, in its memory.

Both ends of every event take their number from one counter, under one lock. An event is known by its number, and its id
is made from that. What is in flight, pinned or in use is a function of the events: what is kept beside them only says
where to look.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from heapq import heapify, heappop, heappush
from time import monotonic_ns, time_ns

from ..kernel.admission import ADMITTED, Admit, Decision, LogView, Refuse, Settlement, Touch, admit
from ..kernel.admission import settle as may_settle
from ..kernel.events import Event, Outcome, micros, moment
from ..kernel.sessions import Own, resting, resting_by_itself, stale
from ..kernel.staleness import Claim, Grade, Probe, Raw
from ..kernel.views import GONE, Entry, Extra, Id, Key, Position
from . import forks
from .calls import UNNAMED, Holder, Learned, Origin, events_of
from .faces import Faces
from .held import Held, was_end
from .ids import Ids
from .options import check_max_events
from .retention import Retention
from .sessions import Sessions
from .settling import BUSY, check_seen, landing_until, lost_events
from .waiters import Waiters

DEFAULT_MAX_EVENTS = 100_000

_NO_NUMBER = 0


class MemoryLog(Faces):
    """A log in memory, for the threads and tasks of one process.

    It holds at most ``max_events`` settled events; older ones are dropped by the order of their ends, but never open
    ones, lost writes, or what a pending call rests on. ``None`` is no bound. ``clock`` gives aware datetimes for tests
    and simulations; without it time is the wall clock at the start plus a monotonic one. Memory is O(events held), and
    what is kept of dropped events to tell that they were there is bounded by ``max_events`` names. So is what is kept
    of sessions: the names that they touched and of which nothing is held, the last ``max_events`` of them all.

    Every method is safe to call from any thread. After a fork the child has a copy of its own, with new ids; the calls
    that were pending in the parent are lost to it, and count as ``unknown``.
    """

    def __init__(
        self, *, max_events: int | None = DEFAULT_MAX_EVENTS, clock: Callable[[], datetime] | None = None
    ) -> None:
        self.probing = False
        self._max_events = check_max_events(max_events)
        self._clock = clock
        super().__init__(Ids(1))
        self._clear(1)
        self._lock = threading.RLock()
        forks.watch(self)

    def _clear(self, first: int) -> None:
        self._view = Held(self._max_events, first)
        self._offset = time_ns() // 1000 - monotonic_ns() // 1000
        self._latest = -(1 << 62)
        self._sessions = Sessions(self._max_events)
        self._retention = Retention(self._view, self._sessions, self._max_events)
        self._lapsing: list[tuple[int, int]] = []
        self._waiters = Waiters()
        self._deferred: deque[tuple[Entry, Outcome, int | None]] = deque()

    # -- time, ids

    def _now(self) -> int:
        if self._clock is None:
            return monotonic_ns() // 1000 + self._offset
        now = max(self._latest, micros(self._clock()))
        self._latest = now
        return now

    def now(self) -> datetime:
        """The log's time."""
        with self._lock:
            return moment(self._now())

    def number_of(self, id: str) -> Id:
        """The inverse of `id_of`; an id that is not this log's stands for itself.

        One that the log has yet to give was guessed: it must never become the event that gets it.
        """
        number = self._ids.known.get(id)
        if number is None:
            with self._lock:
                number = self._ids.number_of(id)
                if number is None:
                    return id
                if number >= self._view.next:
                    return f"{id} (not given yet)"
                held = self._view.find(number)
                if held is not None:
                    number = held.id  # the very int of the event, so that millions share it
                self._ids.keep(id, number)
        return number

    # -- admission and settlement

    def admit(
        self,
        origin: Origin,
        touches: Sequence[Touch],
        depends_on: tuple[Key, ...] = (),
        parent: int | None = None,
        least: Grade | None = 0,
        probes: Mapping[Id, Probe] | None = None,
        waited: bool = False,
        bear: bool = False,
        wake: Callable[[], None] | None = None,
        holder: Holder | None = None,
    ) -> tuple[Decision, Entry | None]:
        """Decide on a call and record it in one step; its first event is the answer's second, and the ``holder``'s.

        ``touches`` are (name, kind, window). On a `Wait`, ``wake`` is called once when the blocker has settled, unless
        `stop_waiting` is before that; a call that has ``waited`` is not asked to wait again. With ``bear`` it is let
        through whatever the decision. A refused call is recorded as such. A call without touches gets its name when it
        settles.
        """
        if self._lock._is_owned():  # type: ignore[attr-defined]
            raise RuntimeError(BUSY)
        try:
            with self._lock:
                view = self._view
                now = monotonic_ns() // 1000 + self._offset if self._clock is None else self._now()
                if self._deferred or self._lapsing:
                    self._catch_up(now)
                slots = view.slots
                number = view.base + len(slots)
                name, kind, window = touches[0] if touches else UNNAMED
                first = Entry(
                    number, name, kind, "pending", number, None, now, None, depends_on, window, number, parent, origin
                )
                events: Sequence[Entry] = (first,) if len(touches) < 2 else events_of(first, touches)
                claim = first if probes is None else Claim(number, parent, depends_on, probes)
                try:
                    decision = admit(view, claim, touches, least, number, now, waited)
                    is_last = waited or type(decision) is Refuse
                    is_through = type(decision) is Admit or (bear and is_last)
                    if is_through or is_last:
                        count = len(events)
                        if count > 1:
                            view.calls[number] = list(events)
                        if holder is not None:
                            holder.first = first
                        slots += events
                        if first.name:
                            self._retention.count += count
                        if not is_through:
                            self._settle(first, "refused", now)
                            return decision, first
                        for each in events:
                            if each.kind == "write":
                                view.begin(each)
                        if depends_on:
                            view.resting[number] = first
                        if parent is not None:
                            view.nest(first)
                        return decision, first
                except BaseException:
                    self._mend(first, "failed", now)
                    raise
                if wake is not None:
                    self._waiters.add(decision.blocker.call, wake)  # type: ignore[union-attr]
                return decision, None
        finally:
            if self._deferred:
                self._settle_deferred()

    def stop_waiting(self, blocker: Entry, wake: Callable[[], None]) -> None:
        """A call that was told to wait does so no longer: ``wake`` is not called, if it has not been. O(1)."""
        with self._lock:
            self._waiters.remove(blocker.call, wake)

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
        """Record a call's end and outcome, once; ``None`` if it had been settled already.

        A derived read that returns is judged again: with a `Refuse` it is settled as ``refused``, and its result must be
        withheld, unless ``bear``. Raises ``ValueError``, with nothing changed, for an instant seen that is yet to come.
        """
        if self._lock._is_owned():  # type: ignore[attr-defined]
            self._deferred.append((first, outcome, may_land_for))  # a finalizer calls, in the middle of a step
            return ADMITTED
        with self._lock:
            view = self._view
            now = monotonic_ns() // 1000 + self._offset if self._clock is None else self._now()
            if self._deferred or self._lapsing:
                self._catch_up(now)
            claim = first if probes is None else Claim(first.id, first.parent, first.depends_on, probes)
            decision = may_settle(view, first, claim, outcome, least, view.base + len(view.slots), now)
            if decision is None:
                return None
            if learned is not None:
                check_seen(learned, now)
            if type(decision) is Refuse and not bear:
                outcome = "refused"
            unread = False
            if learned is not None:
                unread = learned.unread
                self._learn(first, learned, now)
            try:
                wakers = self._settle(first, outcome, now, may_land_for, unread)
            except BaseException:
                self._mend(first, outcome, now, may_land_for, unread)
                raise
        for wake in wakers:
            wake()
        if self._deferred:
            self._settle_deferred()
        return decision

    def settle_from_anywhere(self, first: Entry, outcome: Outcome, may_land_for: int | None = None) -> None:
        """Settle a call from where any lock may be held by this very thread: from a finalizer. It waits for none.

        Where the log's own is held, it is settled as that is let go, or in the next step.
        """
        self._deferred.append((first, outcome, may_land_for))
        self._settle_deferred()

    def _settle_deferred(self) -> None:
        while self._deferred and not self._lock._is_owned() and self._lock.acquire(blocking=False):  # type: ignore[attr-defined]
            try:
                self._catch_up(self._now())
            finally:
                self._lock.release()

    def resolve(self, number: Id, outcome: Outcome) -> list[Event]:
        """Settle an ``unknown`` call, by the number of one of its events. Raises ``LookupError`` or ``ValueError``."""
        with self._lock:
            view = self._view
            now = self._now()
            self._catch_up(now)
            events = lost_events(view, view.find(number), self.id_of(number))
            end = view.next
            first = view.call(events[0].call)[0]
            is_counted = self._retention.ends_again(first)
            if events[0].end is not None and events[0].end >= view.base + view.swept:
                view.slots[events[0].end - view.base] = was_end(events[0])
            for each in events:
                each.outcome = outcome
                each.extra = None
                each.end, each.took = end, now - each.start_time
                if each.kind == "write":
                    view.finish(each)
            view.slots.append(events[0])
            view.forget_closures()
            session = first.origin.session
            if outcome == "ok" and session is not None:
                self._sessions.remember(session, events)
            if len(self._lapsing) > 2 * len(view._unsettled) + 8:
                self._lapsing = [each for each in self._lapsing if each[1] in view._unsettled]
                heapify(self._lapsing)
            settled = [self.event(each) for each in events]
            if not is_counted:
                self._retention.ended(view.call(first.call))
            return settled

    def write_outside(self, origin: Origin, name: str, since: datetime | None) -> Entry:
        """Record a write that someone else made, which took effect at some instant from ``since`` until now."""
        with self._lock:
            view = self._view
            now = self._now()
            self._catch_up(now)
            number = start = view.next
            start_time = now
            if since is not None and micros(since) < now:
                start = min(number, int(view.earliest(micros(since)) + 0.5))
                held = start >= view.base + view.swept
                start_time = micros(since) if not held else now if start == number else view.time_of(start)
            entry = Entry(
                number, name, "write", "ok", start, number, start_time, now - start_time, (), None, number, None, origin
            )
            view.slots.append(entry)
            self._retention.count += 1
            view.finish(entry)
            self._retention.ended((entry,))
            return entry

    def _settle(
        self, first: Entry, outcome: Outcome, now: int, may_land_for: int | None = None, unread: bool = False
    ) -> Iterable[Callable[[], None]]:
        """Record the end of a call. What it read is ``unread`` where it is not known what that was: an error of these."""
        view = self._view
        slots = view.slots
        number = view.base + len(slots)
        slots.append(first)
        took = now - first.start_time
        until = None if may_land_for is None or outcome != "unknown" else landing_until(now, may_land_for)
        events: Sequence[Entry] = (first,)
        if view.calls:
            events = view.calls.get(first.id, events)
        wakers: Iterable[Callable[[], None]] = ()
        for each in events:
            if each.id == _NO_NUMBER:  # named by the result: its number stands behind the end, as the slots stand by time
                each.id = view.next
                slots.append(each)
            each.took = took
            each.end = number
            # last: `event` reads it first, and holds no lock
            each.outcome = "error" if unread and each.kind == "read" else outcome
            if each.kind == "write":
                if until is not None:
                    each.extra = Extra(until_time=until)
                    heappush(self._lapsing, (until, each.id))
                if outcome != "refused":
                    view.finish(each)
        if first.depends_on and view.resting.pop(first.id, None) is None:
            self._retention.out_of_use(view.rests_no_more(first))
        if self._waiters:
            wakers = self._waiters.pop(first.id, ())
        if outcome == "ok" and first.origin.session is not None:
            self._sessions.remember(first.origin.session, [each for each in events if each.outcome == "ok"])
        if first.name == "":
            first.memo = GONE
            view.older.pop(first.id, None)
            view.pass_on(first)
            self._retention.ended_unnamed()
        elif self._max_events is not None and (outcome != "unknown" or not view.may_land(first)):
            self._retention.ended(events)
        return wakers

    def _mend(
        self, first: Entry, outcome: Outcome, now: int, may_land_for: int | None = None, unread: bool = False
    ) -> None:
        """A step was cut short, as by an interrupt: end the call, whatever the step left, and make the rest anew. O(n)."""
        view = self._view
        view.mend()
        is_held = view.find(first.id) is first
        self._retention.recount(first.id if is_held else None)
        if is_held:
            for each in view.call(first.id):
                if each.kind == "write":
                    view.expunge(each)
            for wake in self._settle(first, outcome, now, may_land_for, unread):
                wake()

    def _learn(self, first: Entry, learned: Learned, now: int) -> None:
        """Note what the result told of a call that is about to end."""
        view = self._view
        if learned.names:
            self._name(first, learned.names)
        if learned.version is not None or learned.observed_at is not None:
            seen_time = None if learned.observed_at is None else micros(learned.observed_at)
            seen: Position = None
            if seen_time is not None:
                seen = view.earliest(seen_time) if seen_time < now else view.next
            for each in view.call(first.id):
                if each.kind == "read":
                    each.extra = Extra(seen, seen_time, learned.version)
                elif learned.version is not None:
                    each.extra = Extra(version=learned.version)

    def _name(self, first: Entry, names: Sequence[tuple[str, int | None]]) -> None:
        """Give a call the names that its result told: the unnamed first event takes one, the others are new events."""
        view = self._view
        rest = list(names)
        if first.name == "":
            first.name, first.window = rest.pop(0)
            view.named(first)
            self._retention.count += 1
        events = view.calls.get(first.id) or [first]
        for name, window in rest:
            each = Entry(
                _NO_NUMBER, name, "read", "pending", first.start, None, first.start_time, None,
                first.depends_on, window, first.id, first.parent, first.origin,
            )  # fmt: skip
            events.append(each)
            self._retention.count += 1
        view.calls[first.id] = events

    def _catch_up(self, now: int) -> None:
        """Settle what a finalizer could not, and let lost writes lapse that can land no longer."""
        while self._deferred:
            first, outcome, may_land_for = self._deferred.popleft()
            if first.outcome == "pending":
                try:
                    wakers = self._settle(first, outcome, now, may_land_for)
                except BaseException:
                    self._mend(first, outcome, now, may_land_for)
                    raise
                for wake in wakers:
                    wake()
        while self._lapsing and self._lapsing[0][0] < now:
            until, id = heappop(self._lapsing)
            view = self._view
            write = view.find(id)
            if write is not None and write.outcome == "unknown" and write.extra is not None:
                write.extra.until = view.place(until)
                view.lapse(write)
                first = view.call(write.call)[0]
                if not view.may_land(first):
                    self._retention.lapsed(first)

    # -- what sessions and people ask

    def view(self) -> LogView:
        """What rules ask of the log: the live view, which is never out of date."""
        return self._view

    def position(self) -> Position:
        """Where the log stands: after everything that has happened in it."""
        with self._lock:
            return self._view.next - 0.5

    def resting(self, session: str, names: Sequence[str], until: Position) -> list[Key]:
        """What a call of the session rests on that names these resources."""
        with self._lock:
            if self._deferred:
                self._catch_up(self._now())
            return resting(self._sessions.get(session) or Own(), names, until)

    def resting_by_itself(self, session: str, writes: Sequence[str], until: Position) -> list[Key]:
        """What a write of the session rests on that names nothing."""
        with self._lock:
            if self._deferred:
                self._catch_up(self._now())
            own = self._sessions.get(session)
            return [] if own is None else resting_by_itself(own, writes, until)

    def stale(self, session: str, until: Position) -> list[Raw]:
        """The findings of a call that would rest on everything that the session knows."""
        with self._lock:
            own = self._sessions.get(session)
            if own is None:
                return []
            now = self._now()
            self._catch_up(now)
            return stale(self._view, own, until, self._view.next, now)

    def find(self, number: Id) -> Entry | None:
        """The event that the log knows by this number."""
        with self._lock:
            return self._view.find(number)

    def ticks(self) -> tuple[Position, int]:
        """The position and the time of this moment."""
        with self._lock:
            return self._view.next - 0.5, self._now()

    def events(self) -> list[Event]:
        """The events that are held, oldest first. O(n)."""
        with self._lock:
            self._catch_up(self._now())
            entries = self._view.entries()
        return [self.event(each) for each in entries]

    def clear(self) -> None:
        """Forget everything; ids of before are unknown from now on. Calls that are running settle into nothing."""
        with self._lock:
            waiting = self._waiters.all()
            for first in (*self._view.older.values(), *self._view.slots):
                if first.outcome == "pending":
                    first.outcome, first.memo = "unknown", GONE
            self._clear(self._view.next)
            self._ids.forget(self._view.next)
        for wake in waiting:
            wake()

    def __len__(self) -> int:
        return self._retention.count

    def _before_fork(self) -> None:
        """The child has a copy of everything."""

    def _after_fork(self) -> None:
        self._deferred.clear()
        self._waiters.clear()
        view = self._view
        now = self._now()
        for entry in [*view.older.values(), *view.slots]:
            if entry.outcome == "pending" and entry.call == entry.id:
                self._settle(entry, "unknown", now)
        self._ids.renew(view.next)
