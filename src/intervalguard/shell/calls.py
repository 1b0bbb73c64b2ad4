"""A guarded call: ask the log, run the body, settle. The only place that raises, waits and calls tools.

The log's decision is a value. `Tool.enter` and `Tool.enter_async` are the same short loop over it, one waiting on a
thread's event and one on a loop's future; `Tool.leave`, `Tool.fail` and `Tool.close` settle what they let through.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from ..kernel.admission import ADMITTED, Admit, Decision, Refuse, Touch, Wait, those_refused
from ..kernel.events import Outcome
from ..kernel.explain import Finding
from ..kernel.staleness import Grade, Raw
from ..kernel.views import GONE, Entry, Key
from ..logs.calls import Learned, Origin
from . import waits
from .errors import ConflictError, GuardError, LeaseLostError, Phase, StaleReadError, UnknownDependencyError, said
from .names import Names
from .outcomes import outcome_of
from .probes import probe_all, probe_all_async
from .running import Call, Running, current, last, settle_when_it_can
from .sessions import Seat, seat
from .waits import on_a_loop

if TYPE_CHECKING:
    from .guard import Guard

Mode = Literal["enforce", "warn", "observe"]

_Args = tuple[Any, ...]
_Kwargs = Mapping[str, Any]


@attrs.frozen
class Notice:
    """A decision of the guard, as ``on_decision=`` sees it.

    ``action``: ``"admit"``, ``"refuse"`` (the body did not run), ``"conflict"`` (it lost the race for a resource),
    ``"withhold"`` (a read ran, its result was withheld). ``findings`` may be there with ``"admit"`` too: the policy or
    the mode bore with them. ``event`` is the id of the call's first event, ``None`` where none was recorded.
    """

    action: Literal["admit", "refuse", "conflict", "withhold"]
    tool: str
    event: str | None
    findings: Sequence[Finding]


NOTHING: Any = object()
"""``depends_on`` where a call does not give it. ``None`` is no dependency: it is what `last_event` says of nothing."""

Asked: TypeAlias = tuple[Origin, Sequence[Touch], tuple[Key, ...], Running]
"""What is asked of the log for one call, resolved once, before any wait: whose it is, what it touches, what it rests on,
and what it will be once it is let through."""


@attrs.define(eq=False, slots=True)
class Tool:
    """What the guard knows of one tool, or of one block: what it touches, and how it is to be treated."""

    guard: Guard
    name: str
    reads: Names | None
    writes: Names | None
    rests_on: Names | None
    window: int | None
    least: Grade
    mode: Mode
    wait_seconds: float
    version: Callable[[Any], Any] | None
    probe: Callable[[str], Any] | None
    observed_at: Callable[[Any], datetime] | None
    no_effect_on: tuple[type[BaseException], ...]
    unknown_on: tuple[type[BaseException], ...]
    may_land_for: int | None
    unstated: bool = False
    asked: Grade | None = attrs.field(init=False)
    bears: bool = attrs.field(init=False)
    touches: Callable[[_Args, _Kwargs], Sequence[Touch]] = attrs.field(init=False)
    origin: Origin = attrs.field(init=False)
    learns: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.origin = Origin(self.name, probe=self.probe)
        self.asked = None if self.mode == "observe" else self.least
        self.bears = self.mode == "warn"
        self.touches = self._touches()
        self.learns = (
            self.version is not None
            or self.observed_at is not None
            or (self.reads is not None and self.reads.needs_result)
        )

    # -- before the body

    def enter(self, args: _Args, kwargs: _Kwargs, depends_on: Any = NOTHING) -> Running:
        """Let the call through, or raise; unguarded where the guard has a fault and the mode does not enforce."""
        if self.unstated:
            self._warn_unstated()
        asked = None
        try:
            asked = self._asked(args, kwargs, depends_on)
            running = asked[3]
            if running.log.probing:
                running.probes = probe_all(self, asked[2])
            decision, first = self._ask(asked)
            if first is None:
                decision, first = self._wait(asked, decision)
        except Exception as error:
            return self._undecided(error, asked)
        if decision is not ADMITTED or self.guard.on_decision or self.guard.logger.isEnabledFor(10):
            self._tell(decision, first)
        return running

    async def enter_async(self, args: _Args, kwargs: _Kwargs, depends_on: Any = NOTHING) -> Running:
        """The same for a call on an event loop."""
        if self.unstated:
            self._warn_unstated()
        asked = None
        try:
            asked = self._asked(args, kwargs, depends_on)
            running = asked[3]
            if running.log.probing:
                running.probes = await probe_all_async(self, asked[2])
            decision, first = self._ask(asked)
            if first is None:
                decision, first = await self._wait_async(asked, decision)
        except Exception as error:
            return self._undecided(error, asked)
        if decision is not ADMITTED or self.guard.on_decision or self.guard.logger.isEnabledFor(10):
            self._tell(decision, first)
        return running

    def _wait(self, asked: Asked, decision: Decision) -> tuple[Decision, Entry]:
        """Wait for what is in the way as long as it may be waited for, and ask anew, the last time for good."""
        running = asked[3]
        log, deadline = running.log, waits.now() + (0 if on_a_loop() else self.wait_seconds)
        while isinstance(decision, Wait) and decision.patient and waits.now() < deadline:
            wake, woken = waits.thread_event()
            decision, first = self._ask(asked, False, wake)
            if first is not None:
                return decision, first
            assert isinstance(decision, Wait)
            try:
                if not decision.patient:
                    break
                woken(max(0, deadline - waits.now()))
            finally:
                log.stop_waiting(decision.blocker, wake)
            if log.probing:
                running.probes = probe_all(self, asked[2])
        decision, first = self._ask(asked, True)
        assert first is not None
        return decision, first

    async def _wait_async(self, asked: Asked, decision: Decision) -> tuple[Decision, Entry]:
        """The same on an event loop."""
        running = asked[3]
        log, deadline = running.log, waits.now() + (self.wait_seconds if on_a_loop() else 0)
        while isinstance(decision, Wait) and decision.patient and waits.now() < deadline:
            wake, woken = waits.loop_event()
            decision, first = self._ask(asked, False, wake)
            if first is not None:
                return decision, first
            assert isinstance(decision, Wait)
            try:
                if not decision.patient:
                    break
                await woken(max(0, deadline - waits.now()))
            finally:
                log.stop_waiting(decision.blocker, wake)
            if log.probing:
                running.probes = await probe_all_async(self, asked[2])
        decision, first = self._ask(asked, True)
        assert first is not None
        return decision, first

    def _undecided(self, error: Exception, asked: Asked | None) -> Running:
        """The guard cannot tell whether a call may begin: an error where that is enforced, else it runs unguarded.

        Before it is known what is asked, the error is the caller's; after that it is a fault.
        """
        if self.mode == "enforce":
            if asked is None or isinstance(error, GuardError):
                raise error
            told = (
                f"This call was not carried out: the guard could not decide on it ({said(error)}). Nothing was changed. Try"
                " the same call again in a moment; if it fails again, ask someone for help."
            )
            raise GuardError(f"no decision could be made on {self.name!r}: {said(error)}", told=told) from error
        self.guard.logger.warning("%r runs unguarded and unrecorded: no decision could be made", self.name, exc_info=error)
        return Running.unguarded()

    def _warn_unstated(self) -> None:
        warnings.warn(
            f"the tracked call {self.name!r} did not specify writes=, and is treated as a read: pass writes=True if it"
            " changes the resource, writes=False if it does not",
            stacklevel=4,
        )

    def _asked(self, args: _Args, kwargs: _Kwargs, depends_on: Any) -> Asked:
        guard = self.guard
        touches = self.touches(args, kwargs)
        outer = current.get()
        while outer is not None and outer.done:
            outer = outer.outer
        sitting = seat.get()
        while sitting is not None and sitting.guard is not guard:
            sitting = sitting.outer
        if sitting is None:
            if guard.require_session or self.rests_on is not None:
                self._check_no_session(args, kwargs)
            keys = () if depends_on is NOTHING else guard.keys(depends_on)
            return self.origin, touches, keys, Running(guard.log, outer)
        resting = [*self._resting(sitting, args, kwargs, touches)]
        if depends_on is not NOTHING:
            resting += guard.keys(depends_on)
        return sitting.origin(self), touches, tuple(dict.fromkeys(resting)), Running(guard.log, outer)

    def _check_no_session(self, args: _Args, kwargs: _Kwargs) -> None:
        if self.guard.require_session:
            why = "with require_session=True"
        elif self.rests_on is not None and self.rests_on.of_call(args, kwargs):
            why = "rests_on= resolves to nothing there:"
        else:
            return
        error = GuardError(
            f"{self.name!r} was called outside a session: {why} write 'with guard.session(key):' around the calls of a"
            " conversation",
            told="This call was not carried out. It was made outside the session of its conversation, so nobody can tell"
            " what it rests on. Nothing was changed. Calling again does not help: ask someone for help.",
        )
        if self.mode == "enforce":
            raise error
        self.guard.logger.warning("%s", error)

    def _touches(self) -> Callable[[_Args, _Kwargs], Sequence[Touch]]:
        """What a call touches, as one function of its arguments."""
        window = self.window
        of_reads = None if self.reads is None else self.reads.of_call
        of_writes = None if self.writes is None else self.writes.of_call
        of_only, kind = (of_reads, "read") if of_writes is None else (of_writes, "write")

        def touches_one_kind(args: _Args, kwargs: _Kwargs) -> Sequence[Touch]:
            names = of_only(args, kwargs)  # type: ignore[misc]
            return ((names[0], kind, window),) if len(names) == 1 else [(name, kind, window) for name in names]

        def touches_both(args: _Args, kwargs: _Kwargs) -> Sequence[Touch]:
            read, written = of_reads(args, kwargs), of_writes(args, kwargs)  # type: ignore[misc]
            return [(name, "read", window) for name in read] + [(name, "write", window) for name in written]

        return touches_both if of_reads and of_writes else touches_one_kind

    def _resting(
        self, sitting: Seat, args: _Args, kwargs: _Kwargs, touches: Sequence[Touch]
    ) -> list[Key]:
        log, session, until = self.guard.log, sitting.key, sitting.until
        if self.rests_on is not None:
            names = self.rests_on.of_call(args, kwargs)
            return log.resting(session, names, until) if names else []
        if self.writes is not None:
            return log.resting_by_itself(session, [name for name, kind, _ in touches if kind == "write"], until)
        return []

    def _ask(
        self,
        asked: Asked,
        waited: bool = False,
        wake: Callable[[], None] | None = None,
    ) -> tuple[Decision, Entry | None]:
        origin, touches, keys, running = asked
        log, outer = running.log, running.outer
        while outer is not None and (outer.done or outer.log is not log):
            outer = outer.outer
        parent = None if outer is None else outer.first.id
        return log.admit(origin, touches, keys, parent, self.asked, running.probes, waited, self.bears, wake, running)

    def _tell(self, decision: Any, first: Entry) -> None:
        """Raise what refuses the call, or tell those who want to know that it was let through."""
        if first.outcome == "refused":
            raise self._refusal(decision, first)
        try:
            self._notice("admit", first, decision.findings)
            if type(decision) is Wait and not those_refused(decision.findings, self.least):
                log = self.guard.log
                lost = ConflictError(decision.name, log.event(decision.blocker))
                self.guard.logger.warning("admit %r (id=%s): %s", self.name, log.id_of(first.id), lost)
        except BaseException:
            self.guard.log.settle(first, "failed")
            raise

    def _refusal(self, decision: Wait | Refuse, first: Entry) -> GuardError:
        log = self.guard.log
        findings = log.findings(those_refused(decision.findings, self.least), log.id_of(first.id), first.start_time)
        if type(decision) is Wait and (not decision.patient or not findings):
            self._notice("conflict", first, decision.findings)
            return ConflictError(decision.name, log.event(decision.blocker), findings)
        self._notice("refuse", first, decision.findings)
        return _error(findings)

    # -- after the body

    def leave(self, running: Running, args: _Args, kwargs: _Kwargs, result: Any) -> Any:
        """Settle a call whose body returned; raise where its result must be withheld."""
        if running.done:  # it ran unguarded: no event stands for this result
            last.set(None)
            return result
        fault: Exception | None = None
        outcome: Outcome = "ok"
        learned: Learned | None = None
        if self.learns:
            try:
                fault, learned = self._learned(args, kwargs, result)
            except BaseException:
                self._leave_unread(running)
                raise
            if fault is not None and self.writes is None:
                outcome = "error"
        running.done = True
        decision: Admit | Refuse | None = ADMITTED
        try:
            decision = running.log.settle(running.first, outcome, self.asked, self.bears, running.probes, learned)
        except Exception as error:
            fault = error
            self._leave_unread(running)
        else:
            running.__class__ = Call  # type: ignore[assignment]
        last.set(running)
        if fault is not None or decision is None or decision.findings:
            self._tell_end(running, decision, fault, result)
        return result

    def _leave_unread(self, running: Running) -> None:
        """Settle a call that returned, but of what it read nobody can tell what it was."""
        running.done = True
        if self.writes is not None:
            with suppress(Exception):
                running.log.settle(running.first, "ok", learned=Learned(unread=True))
        settle_when_it_can(running, "error" if self.writes is None else "ok")

    def _tell_end(
        self, running: Running, decision: Admit | Refuse | None, fault: Exception | None, result: Any
    ) -> None:
        """Raise what withholds a result, and whatever else went wrong at the end of a call."""
        first, log = running.first, running.log
        if decision is None:
            if first.memo is not GONE:
                raise LeaseLostError(log.event(first), result)
            return
        if first.outcome == "refused":
            self._notice("withhold", first, decision.findings)
            findings = log.findings(those_refused(decision.findings, self.least), log.id_of(first.id))
            raise _error(findings, "return")
        if decision.findings:
            self._notice("admit", first, decision.findings)
        if fault is not None:
            told = (
                "This call ran, and what it did is done: do not repeat it blindly. The guard could not read its result or"
                f" record it: {said(fault)}"
            )
            if self.writes is None:
                told = (
                    f"This call ran, but the guard could not read its result or record it: {said(fault)}. It only reads:"
                    " call it again, and if that fails too, ask someone for help."
                )
            what = "the call ran, but the guard could not read its result or record it"
            self.fault(what, fault, told, "return", result)

    def _learned(self, args: _Args, kwargs: _Kwargs, result: Any) -> tuple[Exception | None, Learned | None]:
        """What the result tells, or the fault of the function that should have told it."""
        try:
            names: Sequence[tuple[str, int | None]] = ()
            if self.reads is not None and self.reads.needs_result:
                names = [(name, self.window) for name in self.reads.of_result(args, kwargs, result)]
            version = None if self.version is None else self.version(result)
            observed_at = None if self.observed_at is None else _aware(self.observed_at(result))
            return None, Learned(names, version, observed_at)
        except Exception as error:
            return error, Learned(unread=True)

    def fail(self, running: Running, error: BaseException, closing: bool = False) -> None:
        """Settle a call whose body raised, perhaps while its stream was ``closing``."""
        if running.done:
            return
        running.done = True
        outcome = outcome_of(error, running.handled, self.no_effect_on, self.unknown_on, closing)
        if closing or isinstance(error, GeneratorExit):
            settle_when_it_can(running, outcome, self.may_land_for)
            return
        try:
            running.log.settle(running.first, outcome, may_land_for=self.may_land_for)
        except Exception as fault:  # what the body raised is what comes out
            self.guard.logger.warning("%r ended as %r, which the log cannot record yet", self.name, outcome, exc_info=fault)
            settle_when_it_can(running, outcome, self.may_land_for)
        last.set(running)

    def close(self, running: Running, lost: bool = False, forgotten: bool = False) -> None:
        """Settle a stream that was closed or abandoned before its end. It may be a finalizer that calls.

        A stream that is ``forgotten``, of which nothing runs any more, is not what ended last here.
        """
        if not running.done:
            running.done = True
            outcome: Outcome = "unknown" if lost else "ok" if self.writes is None else "error"
            settle_when_it_can(running, outcome, self.may_land_for)
            if not forgotten:
                last.set(running)

    # -- faults, notices

    def fault(
        self, what: str, error: Exception, told: str, phase: Phase = "admission", result: Any = None
    ) -> None:
        """A fault inside the guard, or of a function that it was given: never in silence, and where enforced, an error."""
        if self.mode == "enforce":
            cause = error.__cause__ or error if isinstance(error, GuardError) else error
            raise GuardError(f"{what}: {said(error)}", phase=phase, result=result, told=told) from cause
        self.guard.logger.warning("%r: %s", self.name, what, exc_info=error)

    def _notice(self, action: Any, first: Entry, raws: Sequence[Raw]) -> None:
        guard, log = self.guard, self.guard.log
        id = log.id_of(first.id)
        notice = Notice(action, self.name, id, log.findings(raws, id, first.start_time) if raws else ())
        level = 10
        if raws:
            level = 30 if self.mode == "warn" and those_refused(raws, self.least) else 20
        elif action != "admit":
            level = 20
        if guard.logger.isEnabledFor(level):
            said = "; ".join(each.message for each in notice.findings)
            guard.logger.log(level, "%s %r (id=%s)%s", action, self.name, id, f": {said}" if said else "")
        if guard.on_decision is not None:
            try:
                guard.on_decision(notice)
            except Exception:
                guard.logger.exception("on_decision= raised; the decision stands")


def _error(findings: list[Finding], phase: Any = "admission") -> GuardError:
    worst = sorted(findings, key=lambda each: ("unverifiable", "stale", "suspect").index(each.verdict))
    if worst[0].verdict == "unverifiable":
        return UnknownDependencyError(worst, phase)
    return StaleReadError(worst, phase)


def _aware(moment: Any) -> datetime | None:
    if moment is None:
        return None
    if not isinstance(moment, datetime) or moment.utcoffset() is None:
        raise ValueError(f"observed_at={moment!r} is no datetime with a time zone")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"observed_at={moment!r} is outside the years 1 to 9999 in UTC") from None
