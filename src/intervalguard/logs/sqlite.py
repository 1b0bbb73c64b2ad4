"""A log in an SQLite file, for the processes of one host.

The file is the truth: every step is one transaction of it, begun ``IMMEDIATE``, so that what a step reads cannot change
before it has written. Beside the file a process keeps only what is its own: who waits in it, and which calls run in it.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from time import monotonic_ns, time_ns
from typing import Any, Literal, TypeVar

import attrs

from ..kernel.admission import ADMITTED, Decision, Settlement, Touch
from ..kernel.events import Event, Outcome, micros, moment
from ..kernel.sessions import resting, resting_by_itself, stale
from ..kernel.staleness import Grade, Probe, Raw
from ..kernel.views import GONE, Entry, Id, Key, Position
from . import forks
from .calls import Holder, Learned, Origin
from .faces import Faces
from .ids import Ids
from .options import check_max_events, check_seconds
from .settling import BUSY
from .sql.errors import LogError
from .sql.file import SYNCHRONOUS, SqliteFile, check_path
from .sql.meta import READ, WRITE, Meta
from .sql.own import SqlOwn
from .sql.retention import forget_names, prune, slack
from .sql.rows import COLUMNS, entry_of
from .sql.running import renewal, watch
from .sql.steps import Step, begin_call, catch_up, end_call, resolve, write_outside
from .sql.view import FIND, SqlView
from .waiters import Waiters

Durability = Literal["full", "normal"]

_R = TypeVar("_R")

_EVENTS = f"SELECT {COLUMNS} FROM event WHERE name <> '' ORDER BY id"
_RENEW = "UPDATE event SET due = ? WHERE id = ? AND outcome = 'pending'"
_IS_PENDING = "SELECT 1 FROM event WHERE id = ? AND outcome = 'pending'"
_NEXT_DUE = "SELECT min(due) FROM event WHERE due IS NOT NULL"
_CLEAR = [f"DELETE FROM {table}" for table in ("event", "flight", "written", "dropped", "known")]


class SQLiteLog(Faces):
    """A log in the SQLite file at ``path``, which is made if it is not there, for the processes of one host.

    With ``durability="full"`` a step that has returned survives a loss of power; with ``"normal"`` it survives the end of
    the process, and a loss of power may take the last steps, never the file. ``max_events`` bounds the events that are
    held and have ended, to an eighth more; ``None`` is no bound. A call whose process does not renew its lease of
    ``lease_seconds`` is ``unknown`` from then on; ``None`` is no lease. A file that is busy is waited for up to
    ``busy_seconds``. ``clock`` gives aware datetimes for tests; without it time is the wall clock at the start plus a
    monotonic one, and never before the latest time in the file.

    Every method is safe to call from any thread, and after a fork in the child, which has a connection of its own. Each
    raises `LogError` for a file that cannot be used, with nothing recorded.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "full",
        max_events: int | None = None,
        lease_seconds: float | None = 60,
        busy_seconds: float = 10,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self.path = check_path(path)
        if durability not in SYNCHRONOUS:
            raise ValueError(f"durability={durability!r} is not one of {', '.join(map(repr, SYNCHRONOUS))}")
        self.probing = False
        self._max_events = check_max_events(max_events)
        self._lease = None if lease_seconds is None else round(check_seconds("lease_seconds", lease_seconds) * 1_000_000)
        self._clock = clock
        self._offset = time_ns() // 1000 - monotonic_ns() // 1000
        self._lock = threading.RLock()
        self._file = SqliteFile(self.path, durability, check_seconds("busy_seconds", busy_seconds))
        weakref.finalize(self, self._file.close)
        super().__init__(Ids(1))
        self._latest = -(1 << 62)
        self._known = ("", 0)
        self._given = 0
        self._probes: dict[str | None, Callable[[str], Any]] = {}
        self._begin_anew()
        with self._lock:
            self._know(self._meta())
        forks.watch(self)

    def _begin_anew(self) -> None:
        """Nothing runs in this process, nothing waits, and nothing is put off."""
        self._running: dict[Id, Entry] = {}
        self._waiters = Waiters()
        self._deferred: deque[tuple[Entry, Outcome, int | None]] = deque()
        self._pins: dict[Id, Sequence[str]] = {}
        self._renewal = renewal(self)
        self._watch = watch(self)
        self._version_seen = -1
        self._next_due: int | None = None

    def close(self) -> None:
        """Let go of the file. What is asked of the log after that opens it again."""
        with self._lock:
            self._file.close()

    # -- time, ids

    def _now(self, latest: int) -> int:
        now = monotonic_ns() // 1000 + self._offset if self._clock is None else micros(self._clock())
        self._latest = max(now, latest, self._latest)
        return self._latest

    def now(self) -> datetime:
        """The log's time."""
        return moment(self.ticks()[1])

    def number_of(self, id: str) -> Id:
        """The inverse of `id_of`; an id that is not this log's stands for itself.

        One that the log has yet to give was guessed: it must never become the event that gets it.
        """
        number = self._ids.number_of(id)
        if number is None:
            return id
        if number >= self._given:
            with self._lock:
                self._look(lambda step: None)
        return number if number < self._given else f"{id} (not given yet)"

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

        ``touches`` are (name, kind, window). On a `Wait`, ``wake`` is called once when the blocker has settled, in this
        process or another, unless `stop_waiting` is before that; a call that has ``waited`` is not asked to wait again.
        With ``bear`` it is let through whatever the decision. A refused call is recorded as such. A call without touches
        gets its name when it settles.
        """
        if self._lock._is_owned():  # type: ignore[attr-defined]
            raise RuntimeError(BUSY)
        if origin.probe is not None:
            self._probes[origin.tool] = origin.probe
        begun: list[Entry] = []

        def decide(step: Step) -> tuple[Decision, Entry | None]:
            decision, first = begin_call(
                step, origin, touches, depends_on, parent, least, probes, waited, bear, self._lease
            )
            if first is not None:
                begun.append(first)
                if holder is not None:
                    holder.first = first
            return decision, first

        try:
            with self._lock:
                decision, first = self._step(decide, begun)
                if first is None and wake is not None:
                    self._waiters.add(decision.blocker.call, wake)  # type: ignore[union-attr]
                    self._watch.start(0)
                return decision, first
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
        """Record a call's end and outcome, once; ``None`` if it had been settled already, or its lease has run out.

        A derived read that returns is judged again: with a `Refuse` it is settled as ``refused``, and its result must be
        withheld, unless ``bear``. Raises, with nothing changed, ``ValueError`` for an instant seen that is yet to come, and
        ``TypeError`` for a version that cannot be kept.
        """
        if self._lock._is_owned():  # type: ignore[attr-defined]
            self._deferred.append((first, outcome, may_land_for))  # a finalizer calls, in the middle of a step
            return ADMITTED

        def end(step: Step) -> tuple[Settlement, Sequence[Entry]]:
            decision = end_call(step, first.id, outcome, least, bear, probes, learned, may_land_for)
            return decision, step.view.call(first.id)

        try:
            with self._lock:
                if first.outcome != "pending":
                    return None
                decision, events = self._step(end)
                _keep_up(first, events)
                return decision
        finally:
            if self._deferred:
                self._settle_deferred()

    def settle_from_anywhere(self, first: Entry, outcome: Outcome, may_land_for: int | None = None) -> None:
        """Settle a call from where any lock may be held by this very thread: from a finalizer. It waits for none.

        Where the log's own is held, it is settled as that is let go, or in the next step.
        """
        self._deferred.append((first, outcome, may_land_for))
        with suppress(Exception):  # it is put off until a step can be made
            self._settle_deferred()

    def _settle_deferred(self) -> None:
        while self._deferred and not self._lock._is_owned() and self._lock.acquire(blocking=False):  # type: ignore[attr-defined]
            try:
                self._step(lambda step: None)
            finally:
                self._lock.release()

    def resolve(self, number: Id, outcome: Outcome) -> list[Event]:
        """Settle an ``unknown`` call, by the number of one of its events. Raises ``LookupError`` or ``ValueError``."""
        with self._lock:
            events = self._step(lambda step: resolve(step, number, self.id_of(number), outcome))
        return [super(SQLiteLog, self).event(each) for each in events]

    def write_outside(self, origin: Origin, name: str, since: datetime | None) -> Entry:
        """Record a write that someone else made, which took effect at some instant from ``since`` until now."""
        with self._lock:
            return self._step(lambda step: write_outside(step, origin, name, since))

    # -- what sessions and people ask

    def position(self) -> Position:
        """Where the log stands: after everything that has happened in it."""
        return self.ticks()[0]

    def ticks(self) -> tuple[Position, int]:
        """The position and the time of this moment."""
        with self._lock:
            return self._look(lambda step: (step.meta.next - 0.5, step.now))

    def view(self) -> SqlView:
        """What rules ask of the log at this moment; it asks the file, and may be out of date after the next step."""
        with self._lock:
            return self._look(lambda step: SqlView(self._ask, step.meta, self._pins))

    def resting(self, session: str, names: Sequence[str], until: Position) -> list[Key]:
        """What a call of the session rests on that names these resources."""
        with self._lock:
            return self._look(lambda step: resting(SqlOwn(step.view.ask, session), names, until))

    def resting_by_itself(self, session: str, writes: Sequence[str], until: Position) -> list[Key]:
        """What a write of the session rests on that names nothing."""
        with self._lock:
            return self._look(lambda step: resting_by_itself(SqlOwn(step.view.ask, session), writes, until))

    def stale(self, session: str, until: Position) -> list[Raw]:
        """The findings of a call that would rest on everything that the session knows."""

        def ask(step: Step) -> list[Raw]:
            return stale(step.view, SqlOwn(step.view.ask, session), until, step.meta.next, step.now)

        with self._lock:
            return self._look(ask)

    def find(self, number: Id) -> Entry | None:
        """The event that the log knows by this number. Its probe is that of the tool of its name in this process."""
        with self._lock:
            entry = self._find(number)
        if entry is not None and entry.origin.tool in self._probes:
            entry.origin = attrs.evolve(entry.origin, probe=self._probes[entry.origin.tool])
        return entry

    def event(self, entry: Entry) -> Event:
        """The public face of an entry, as the file has it now, or, where it cannot be read, as it was."""
        if entry.outcome in ("pending", "unknown"):
            with self._lock, suppress(LogError):
                entry = self._find(entry.id) or entry
        return super().event(entry)

    def events(self) -> list[Event]:
        """The events that are held, oldest first. O(n)."""
        with self._lock:
            rows = self._look(lambda step: step.view.ask(_EVENTS, ()))
        return [super(SQLiteLog, self).event(entry_of(row)) for row in rows]

    def clear(self) -> None:
        """Forget everything; ids of before are unknown from now on. Calls that are running settle into nothing."""

        def forget(step: Step) -> None:
            meta = step.meta
            meta.first, meta.held, meta.droppable = meta.next, 0, 0
            meta.swept, meta.swept_time = meta.next - 1, step.now
            meta.dropped = meta.dropped_unnamed = 0
            for sql in _CLEAR:
                step.write(sql, [()])

        with self._lock:
            self._step(forget)
            for first in self._running.values():
                first.outcome, first.memo = "unknown", GONE
            waiting = self._waiters.all()
            self._begin_anew()
        for wake in waiting:
            wake()

    def __len__(self) -> int:
        with self._lock:
            return self._look(lambda step: step.meta.held)

    # -- transactions

    def _ask(self, sql: str, parameters: Sequence[Any]) -> list[Any]:
        with self._lock:
            return self._file.ask(sql, parameters)

    def _meta(self) -> Meta:
        try:
            return Meta.of(self._file.begin_reading(READ)[:-1])
        except sqlite3.Error as error:
            raise self._file.error(error) from error
        finally:
            self._file.roll_back()

    def _find(self, number: Id) -> Entry | None:
        """An event as it is in the file, whatever may be due."""
        if type(number) is not int:
            return None
        try:
            rows = self._ask(FIND, (number,))
        except sqlite3.Error as error:
            raise self._file.error(error) from error
        return entry_of(rows[0]) if rows else None

    def _look(self, work: Callable[[Step], _R]) -> _R:
        """What ``work`` reads, at one moment of the file. Where something is due, that is done first. The lock is held."""
        file = self._file
        try:
            *row, due = file.begin_reading(READ)
            meta = Meta.of(row)
            now = self._now(meta.latest)
            if not self._deferred and (due is None or due >= now):
                answer = work(Step(file.ask, meta, now, self._pins))
                self._know(meta)
                return answer
        except sqlite3.Error as error:
            raise file.error(error) from error
        finally:
            file.roll_back()
        self._step(lambda step: None)
        return self._look(work)

    def _step(self, work: Callable[[Step], _R], begun: Sequence[Entry] = ()) -> _R:
        """Make a step, and before it what is due, in one transaction. The lock is held.

        ``begun`` are the calls that ``work`` let begin: where it comes to nothing, they never did.
        """
        file, limit = self._file, self._max_events
        deferred = list(self._deferred)
        steps: list[Step] = []
        is_committing = False

        def make(what: Callable[[Step], Any]) -> Any:
            step = Step(file.ask, meta, now, self._pins)
            answer = what(step)
            file.execute(step.writes)
            steps.append(step)
            return answer

        try:
            file.begin()
            *row, due = file.ask(READ, ())[0]
            meta = Meta.of(row)
            was, now = meta.row(), self._now(meta.latest)
            if due is not None and due < now:
                make(catch_up)
            if deferred:
                make(lambda step: _end_deferred(step, deferred))
            answer: _R = make(work)
            if limit is not None and meta.droppable > limit + slack(limit):
                make(lambda step: prune(step, limit))
                make(lambda step: forget_names(step, limit))
            if meta.row() != was or any(step.writes for step in steps):
                meta.latest = now
                file.execute([(WRITE, [meta.row()])])
                is_committing = True
                file.commit()
            else:
                file.roll_back()
        except BaseException as error:
            is_undone = file.roll_back() or not is_committing or isinstance(error, sqlite3.Error)
            if is_undone:
                for first in begun:
                    first.outcome, first.memo = "failed", GONE
            else:  # an interrupt came when all was written: what began is not carried out
                self._have_done(steps, deferred, meta, begun)
                self._deferred += [(first, "failed", None) for first in begun]
            if isinstance(error, sqlite3.Error):
                raise file.error(error) from error
            raise
        self._have_done(steps, deferred, meta, begun)
        return answer

    def _have_done(
        self,
        steps: Sequence[Step],
        deferred: Sequence[tuple[Entry, Outcome, int | None]],
        meta: Meta,
        begun: Sequence[Entry],
    ) -> None:
        """What is this process's own follows the file: what runs here, who is woken, what is put off no more."""
        for _ in deferred:
            self._deferred.popleft()
        self._know(meta)
        for first in begun:
            if first.outcome == "pending":
                self._running[first.id] = first
                if self._lease is not None:
                    self._renewal.start(self._lease / 3_000_000)
        put_off = {first.id: first for first, _, _ in deferred}
        for step in steps:
            for events in step.ended:
                id = events[0].id
                for mine in (self._running.pop(id, None), put_off.get(id)):
                    if mine is not None:
                        _keep_up(mine, events)
                self._wake(id)

    def _know(self, meta: Meta) -> None:
        """Ids are those of the file: of this prefix, from the first number on that it knows."""
        if self._known != (meta.prefix, meta.first):
            self._known = (meta.prefix, meta.first)
            self._ids = Ids(1, meta.prefix)
            self._ids.forget(meta.first)
        self._given = meta.next

    def _wake(self, call: Id) -> None:
        for wake in self._waiters.pop(call, ()):
            wake()

    # -- beside the steps

    def _renew(self) -> float | None:
        """Renew the leases of the calls that run here; after how many seconds again, ``None`` where none does."""
        if self._lease is None or not self._running:
            return None
        lease = self._lease

        def renew(step: Step) -> set[Id]:
            pending = {id for id in self._running if step.view.ask(_IS_PENDING, (id,))}
            if pending:
                step.write(_RENEW, [(step.now + lease, id) for id in pending])
            return pending

        pending = self._step(renew)
        for id in [each for each in self._running if each not in pending]:
            del self._running[id]  # an interrupt kept it from being noticed that it had ended
        return lease / 3_000_000

    def _look_out(self, is_first: bool) -> bool | None:
        """Wake who waits for a call that has ended; whether the file had changed, ``None`` where nobody waits."""
        if not self._waiters:
            return None
        version = self._file.data_version()
        is_due = self._next_due is not None and self._now(0) > self._next_due
        if version == self._version_seen and not is_first and not is_due:
            return False
        self._version_seen = version

        def pending(step: Step) -> set[Id]:
            ((self._next_due,),) = step.view.ask(_NEXT_DUE, ())
            return {call for call in self._waiters if step.view.ask(_IS_PENDING, (call,))}

        still = self._look(pending)
        for call in [each for each in self._waiters if each not in still]:
            self._wake(call)
        return True

    def _before_fork(self) -> None:
        """No connection is carried over a fork: both sides open the file anew."""
        self._file.close()

    def _after_fork(self) -> None:
        for first in self._running.values():
            first.outcome = "unknown"  # they are the parent's, which goes on with them
        self._begin_anew()


def _end_deferred(step: Step, deferred: Sequence[tuple[Entry, Outcome, int | None]]) -> None:
    for first, outcome, may_land_for in deferred:
        if first.outcome == "pending":  # else it was undone, and its number is another's by now
            end_call(step, first.id, outcome, None, True, None, None, may_land_for)


def _keep_up(mine: Entry, events: Sequence[Entry]) -> None:
    """A call's first event as this process holds it becomes what the file says that it is."""
    if not events:
        mine.outcome, mine.memo = "unknown", GONE
        return
    first = events[0]
    mine.name, mine.window, mine.extra, mine.memo = first.name, first.window, first.extra, first.memo
    mine.end, mine.took, mine.outcome = first.end, first.took, first.outcome
