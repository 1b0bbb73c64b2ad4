"""Logs with one fault each, and the sentence by which the conformance check must tell of it."""

from __future__ import annotations

from typing import Any

import attrs

from intervalguard import Event
from intervalguard.kernel.admission import ADMITTED, Admit, Refuse, Wait, admit
from intervalguard.kernel.nodes import Node, node_of
from intervalguard.kernel.staleness import Claim
from intervalguard.kernel.views import Entry
from intervalguard.logs import MemoryLog
from intervalguard.logs.held import Held


class Seen(MemoryLog):
    """A log whose view is of another class."""

    View: type[Held] = Held

    def _clear(self, first: int) -> None:
        super()._clear(first)
        self._view.__class__ = self.View


class LosesAnEvent(MemoryLog):
    """A call that failed is in no one's account."""

    SAYS = r"the failed call that .* is lost: the log must hold it"
    ONLY = "machine"

    def events(self) -> list[Event]:
        return [event for event in super().events() if event.outcome != "failed"]


class LosesOneOfSeveral(MemoryLog):
    """Of a call that touches several names the last is left out."""

    SAYS = "each name that it touches is one event"

    def admit(self, origin: Any, touches: Any, *args: Any, **options: Any) -> Any:
        return super().admit(origin, touches[:2], *args, **options)


class RecordsAtTheEnd(MemoryLog):
    """A call is an event once it has ended."""

    SAYS = r"the pending call that .* is lost"

    def events(self) -> list[Event]:
        return [event for event in super().events() if event.outcome != "pending"]


class RepeatsANumber(MemoryLog):
    """The end has the number of the start."""

    SAYS = r"a call ends at #\d+ where #\d+ was given: numbers strictly increase"

    def event(self, entry: Entry) -> Event:
        event = super().event(entry)
        return event if event.end_seq is None else attrs.evolve(event, end_seq=event.seq)


class SettlesTwice(MemoryLog):
    """The last word counts."""

    SAYS = "settle[(][)] settles a call twice: .* settlement is once"

    def settle(self, first: Entry, outcome: Any, *args: Any, **options: Any) -> Any:
        if first.outcome == "pending":
            return super().settle(first, outcome, *args, **options)
        first.outcome = outcome
        return ADMITTED


class SettlesWhatIsSettled(MemoryLog):
    """`resolve` asks of no call whether it is lost."""

    SAYS = "resolve[(][)] settles a call that is .*: only an unknown one can be, and once"
    ONLY = "machine"

    def resolve(self, number: Any, outcome: Any) -> list[Event]:
        try:
            return super().resolve(number, outcome)
        except ValueError:
            return []


class ChecksThenRecords(MemoryLog):
    """Admission is two steps: the rule, and then the record."""

    ONLY = "races"
    SAYS = "admission is not atomic: of two threads that race to write 'a', 2 were let through at once"

    def admit(
        self, origin: Any, touches: Any, depends_on: Any = (), parent: Any = None, least: Any = 0, *args: Any, **options: Any
    ) -> Any:
        position, time = self.ticks()
        claim = Claim(None, parent, depends_on)
        decision = admit(self._view, claim, touches, least, position, time, options.get("waited", False))
        if type(decision) is not Admit:
            return super().admit(origin, touches, depends_on, parent, least, *args, **options)
        _, first = super().admit(origin, touches, depends_on, parent, None, *args, **options)
        return decision, first


class SettlesUnderNoLock(MemoryLog):
    """Settlement looks whether the call is pending before it takes the lock, and not after."""

    ONLY = "races"
    SAYS = "settlement is not once: of two threads that settle one call"

    def settle(self, first: Entry, outcome: Any, *args: Any, **options: Any) -> Any:
        if first.outcome != "pending":
            return None
        return super().settle(first, outcome, *args, **options) or ADMITTED


class ForgetsOpenWrites(Seen):
    """A write counts once it has ended."""

    SAYS = r"admit\(\) decides Admit, and the rule says Wait|first_open|undisturbed|in_flight"
    ONLY = "machine"

    class View(Held):
        def begin(self, write: Entry) -> None: ...


class TakesPrefixesForText(Seen):
    """`orders/4` covers `orders/42`."""

    SAYS = r"to a name that conflicts, by segment|the rule says Admit|is superseded, and by the events it is fresh"
    ONLY = "machine"

    class View(Held):
        def _conflicting(self, name: str) -> tuple[Node, ...]:
            nodes = [at for each, at in self._at.items() if each.startswith(name) or name.startswith(each)]
            return tuple(each if isinstance(each, Node) else node_of(each) for each in nodes)

        def undisturbed(self, name: str, since: Any, at: Any, but: Any = None) -> bool:
            return False


class SaysThatDroppedHistoryIsFresh(Seen):
    """What is not held did not happen."""

    SAYS = "where history was dropped a log says what is true, or history-dropped"

    class View(Held):
        def dropped_since(self, name: str, since: Any) -> bool:
            return False


class DropsWhatIsInUse(Seen):
    """A pending call may rest on what is not held any more."""

    SAYS = r"is lost: the log must hold it"

    class View(Held):
        def in_use(self, events: Any) -> bool:
            return False


class LetsFailedWritesSupersede(Seen):
    """A write that is known to have changed nothing counts like any other."""

    SAYS = r"the rule says Admit|gives the failed write|is superseded, and by the events it is fresh|is to be withheld"

    class View(Held):
        def finish(self, write: Entry) -> None:
            outcome = write.outcome
            write.outcome = "ok" if outcome == "failed" else outcome
            super().finish(write)
            write.outcome = outcome


class ForgetsLostWrites(Seen):
    """A write of which nobody knows whether it took effect did not."""

    SAYS = r"the first lost write that may still land|undisturbed|in_flight|the rule says Refuse"

    class View(Held):
        def finish(self, write: Entry) -> None:
            outcome = write.outcome
            write.outcome = "failed" if outcome == "unknown" else outcome
            super().finish(write)
            write.outcome = outcome


class ForgetsPins(Seen):
    """What a pending writer rests on may be written."""

    SAYS = r"what a pending writer rests on is pinned until it settles|decides Admit, and the rule says Wait"
    ONLY = "machine"

    class View(Held):
        def first_pinning(self, name: str, spared: Any) -> None:
            return None


class RecordsARefusedCallAsOk(MemoryLog):
    """A body that never ran is told of as one that did."""

    SAYS = "admit[(][)] hands out a first event of .* that says 'ok', and the call is 'refused'"

    def admit(self, *args: Any, **options: Any) -> Any:
        decision, first = super().admit(*args, **options)
        if first is not None and first.outcome == "refused":
            first.outcome = "ok"
        return decision, first


class HandsOverWhatIsStale(MemoryLog):
    """A derived read is not judged again as it returns."""

    SAYS = "a derived read is judged again as it returns"

    def settle(self, first: Entry, outcome: Any, least: Any = None, *args: Any, **options: Any) -> Any:
        return super().settle(first, outcome, None, *args, **options)


class NeverWakes(MemoryLog):
    """Who waits is not told that the wait is over."""

    SAYS = "settle[(][)] woke 0 of the [0-9]+ calls that wait"

    def admit(self, *args: Any) -> Any:
        return super().admit(*args[:8], None, *args[9:])


class ForgetsTheParent(MemoryLog):
    """A nested call is told of as one of its own."""

    SAYS = "was made in call='.*' by .*, and is recorded otherwise"
    ONLY = "machine"

    def event(self, entry: Entry) -> Event:
        return attrs.evolve(super().event(entry), parent=None)


class WidensWhatIsRestedOn(MemoryLog):
    """A part is taken for the whole."""

    SAYS = "and is recorded as resting on"

    def admit(self, origin: Any, touches: Any, depends_on: Any = (), *args: Any, **options: Any) -> Any:
        keys = tuple(dict.fromkeys(key[0] if type(key) is tuple else key for key in depends_on))
        return super().admit(origin, touches, keys, *args, **options)


class LetsThroughWhatIsSuspect(MemoryLog):
    """The least grade that is refused is not the one that was asked for."""

    SAYS = "decides Admit, and the rule says (Refuse|Wait) of the same events"

    def admit(
        self, origin: Any, touches: Any, depends_on: Any = (), parent: Any = None, least: Any = 0, *args: Any, **options: Any
    ) -> Any:
        return super().admit(origin, touches, depends_on, parent, None if least is None else 3, *args, **options)


class LetsLostWritesLandForEver(MemoryLog):
    """Until when a lost write may land is not kept."""

    SAYS = "may land until .*, not None"

    def settle(self, *args: Any, may_land_for: Any = None, **options: Any) -> Any:
        return super().settle(*args, **options)


class ForgetsWindows(MemoryLog):
    """What was read may be relied on for ever."""

    SAYS = "each name that it touches is one event, with its window"

    def admit(self, origin: Any, touches: Any, *args: Any, **options: Any) -> Any:
        return super().admit(origin, [(name, kind, None) for name, kind, _ in touches], *args, **options)


class TakesWhatOthersWroteForNew(MemoryLog):
    """A change that is told of late is taken to be made as it is told."""

    SAYS = "a write that took effect at some instant since .* begins at #"

    def write_outside(self, origin: Any, name: str, since: Any) -> Entry:
        return super().write_outside(origin, name, None)


class RewritesHistory(MemoryLog):
    """A call that was lost and is settled began when it was settled."""

    SAYS = "what happened stays as it was"
    ONLY = "machine"

    def resolve(self, number: Any, outcome: Any) -> list[Event]:
        entry = self.find(number)
        settled = super().resolve(number, outcome)
        if entry is not None:
            entry.start = entry.end
        return settled


class TellsTwice(MemoryLog):
    """The last event is told of once more."""

    SAYS = "events[(][)] holds two events with one id"

    def events(self) -> list[Event]:
        events = super().events()
        return events + events[-1:]


class MakesEventsUp(MemoryLog):
    """With each call comes another."""

    SAYS = "of a call that nobody made"

    def events(self) -> list[Event]:
        events = super().events()
        return [*events, attrs.evolve(events[-1], id="e0", call="e0")] if events else events


class StartsAllAtOne(MemoryLog):
    """Starts are numbered by nothing."""

    SAYS = r"a call begins at #1 where #\d+ was given: numbers strictly increase"

    def event(self, entry: Entry) -> Event:
        return attrs.evolve(super().event(entry), seq=1)


class RefusesToResolve(MemoryLog):
    """What is lost stays so."""

    SAYS = "resolve[(][)] refuses to settle an unknown call that may still land"

    def resolve(self, number: Any, outcome: Any) -> list[Event]:
        raise ValueError("no")


class HidesWhatItRefused(MemoryLog):
    """A refused call is recorded, and nobody is told which it is."""

    SAYS = "admit[(][)] decides Refuse with waited=.*, and the call is not recorded"

    def admit(self, *args: Any, **options: Any) -> Any:
        decision, first = super().admit(*args, **options)
        return decision, None if type(decision) is Refuse else first


class IsNeverPatient(MemoryLog):
    """No wait is worth it."""

    SAYS = "admit[(][)] waits for .*, and by the rule for"

    def admit(self, *args: Any, **options: Any) -> Any:
        decision, first = super().admit(*args, **options)
        return decision._replace(patient=False) if type(decision) is Wait else decision, first


class FindsNothing(Seen):
    SAYS = r"find\(\) does not know the|is unknown-dependency|decides Refuse, and the rule says Admit"

    class View(Held):
        def find(self, id: Any) -> Entry | None:
            return None


class SeesOneEventACall(Seen):
    SAYS = r"call\(\) does not give the events of the call of|its read is 'ok'"

    class View(Held):
        def call(self, call: Any) -> Any:
            return super().call(call)[:1]


class RestsOnNothing(Seen):
    SAYS = r"rests_on\(\) does not give what the call of|is_derived"
    ONLY = "machine"

    class View(Held):
        def rests_on(self, call: Any) -> Any:
            return ()


class DerivesNothing(Seen):
    SAYS = r"is_derived\(\) is wrong about"

    class View(Held):
        def is_derived(self, read: Entry) -> bool:
            return False


class IsNeverDisturbed(Seen):
    SAYS = r"undisturbed\('.*'\) is true, and a write that conflicts had not ended|and by the events it is|the rule says"

    class View(Held):
        def undisturbed(self, name: str, since: Any, at: Any, but: Any = None) -> bool:
            return True


class HasAlwaysDroppedSomething(Seen):
    SAYS = r"dropped_since\('.*'\) is true, and the log has dropped nothing|is history-dropped, and by the events"

    class View(Held):
        def dropped_since(self, name: str, since: Any) -> bool:
            return True


class HasNothingInFlight(Seen):
    SAYS = r"in_flight\(\) is False, and it is True|decides Admit, and the rule says Wait"

    class View(Held):
        def in_flight(self) -> bool:
            return False


BROKEN = [each for each in list(globals().values()) if isinstance(each, type) and hasattr(each, "SAYS")]
