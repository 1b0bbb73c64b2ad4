"""Logs with one fault each in what the guard is told by a step, or in what people and sessions are."""

from __future__ import annotations

from copy import copy
from datetime import timedelta
from typing import Any

import attrs
from broken_logs import Seen

from intervalguard import Event
from intervalguard.kernel.admission import Admit, Refuse, Wait
from intervalguard.kernel.sessions import Unread
from intervalguard.kernel.views import GONE, Entry
from intervalguard.logs import MemoryLog
from intervalguard.logs.faces import Faces
from intervalguard.logs.held import Held


class RecordsWaits(MemoryLog):
    """A call that is to wait is recorded, and begins anew when it has waited."""

    SAYS = r"admit\(\) decides Wait with waited=False, and the call is recorded"

    def admit(self, *args: Any) -> Any:
        decision, first = super().admit(*args)
        return decision, decision.blocker if type(decision) is Wait and first is None else first


class LeavesTheHolderOut(MemoryLog):
    """The answer alone says what was recorded."""

    SAYS = r"does not put its first event into holder.first"

    def admit(self, *args: Any) -> Any:
        return super().admit(*args[:9])


class HandsOutACopy(MemoryLog):
    """The first event is what was read when the call began."""

    SAYS = "its first event, as admit.* handed it out, says 'pending'"

    def admit(self, *args: Any) -> Any:
        decision, first = super().admit(*args)
        if first is not None and len(args) > 9:
            first = args[9].first = copy(first)
        return decision, first

    def settle(self, first: Any, *args: Any, **options: Any) -> Any:
        return super().settle(self.find(first.id) or first, *args, **options)


class SaysItWasSettled(MemoryLog):
    """Settling what is pending answers as settling what is not."""

    SAYS = r"settle\(\) says of the pending call that .* that it had been settled already"

    def settle(self, *args: Any, **options: Any) -> Any:
        super().settle(*args, **options)


class LooksAtNoProbe(MemoryLog):
    """What was looked at counts as a read begins, and no more as it returns."""

    SAYS = r"settle\(\) answers Refuse for .*, and what it read is not to be withheld"

    def settle(self, first: Any, outcome: Any, least: Any = None, bear: Any = False, probes: Any = None, *args: Any,
               **options: Any) -> Any:  # fmt: skip
        return super().settle(first, outcome, least, bear, None, *args, **options)


class LandsForEver(MemoryLog):
    """No time to land is taken for no limit."""

    SAYS = "may land until"

    def settle(self, *args: Any, may_land_for: int | None = None, **options: Any) -> Any:
        return super().settle(*args, may_land_for=may_land_for or None, **options)


class RefusesWithoutAReason(MemoryLog):
    """The decision is right, and why is not told."""

    SAYS = r"admit\(\) finds a dependency on .* fresh, and by the events it is"

    def admit(self, *args: Any) -> Any:
        decision, first = super().admit(*args)
        return decision._replace(findings=()), first


class TellsOfFindingsByNumber(MemoryLog):
    """What is not held is told of by the log's own name for it."""

    SAYS = r"findings\(\) tells of \[\], and the rule found"

    def findings(self, raws: Any, event: str, time: Any = None) -> Any:
        return super().findings([raw for raw in raws if raw.entry is not None], event, time)


class TellsOfNoWitness(MemoryLog):
    """Who changed it is left out."""

    SAYS = r"findings\(\) tells of None as the witness"

    def findings(self, raws: Any, event: str, time: Any = None) -> Any:
        return super().findings([raw._replace(by=None) for raw in raws], event, time)


class TellsOfAnotherBlocker(MemoryLog):
    """What is in the way is told of as it was when it began, by a name of the log's own."""

    SAYS = r"event\(\) tells of another event than .*, for which admit\(\) waits|find\(\) gives another event"

    def event(self, entry: Entry) -> Event:
        return attrs.evolve(super().event(entry), version="?")

    def events(self) -> list[Event]:
        return [Faces.event(self, entry) for entry in self._view.entries()]


class WakesTwice(MemoryLog):
    """A wait is over, and over again."""

    SAYS = r"settle\(\) woke 1 of the 1 calls that wait for the one that it settled, 2 times|woke . of the"

    def admit(self, *args: Any) -> Any:
        wake = args[8] if len(args) > 8 else None
        return super().admit(*args[:8], wake and (lambda: (wake(), wake())), *args[9:])


class WakesAtOnce(MemoryLog):
    """Nobody waits, whatever is in the way."""

    SAYS = r"wake\(\) is called of a wait that was given up, or before what it waits for has settled"

    def admit(self, *args: Any) -> Any:
        decision, first = super().admit(*args)
        if first is None and len(args) > 8 and args[8] is not None:
            self.stop_waiting(decision.blocker, args[8])
            args[8]()
        return decision, first


class WakesWhoHasGivenUp(MemoryLog):
    """Nobody stops waiting."""

    SAYS = r"wake\(\) is called of a wait that was given up"

    def stop_waiting(self, blocker: Any, wake: Any) -> None: ...


class DoesNotKnowTheLost(MemoryLog):
    """What is lost is not to be found."""

    SAYS = r"resolve\(\) does not know the unknown call that"

    def resolve(self, number: Any, outcome: Any) -> Any:
        entry = self.find(number)
        if entry is not None and entry.outcome == "unknown":
            raise LookupError(number)
        return super().resolve(number, outcome)


class ResolvesWhatHasLapsed(MemoryLog):
    """A lost write may be said to have landed long after it could have."""

    SAYS = r"resolve\(\) settles a call that can land no longer"

    def resolve(self, number: Any, outcome: Any) -> Any:
        try:
            return super().resolve(number, outcome)
        except ValueError:
            entry = self.find(number)
            if entry is None or entry.outcome != "unknown":
                raise
            return [self.event(entry)]


class ResolvesOneEvent(MemoryLog):
    """Of a call that touches two names it tells of one."""

    SAYS = r"resolve\(\) answers with .*, the first one first"

    def resolve(self, number: Any, outcome: Any) -> Any:
        return super().resolve(number, outcome)[-1:]


class TakesWhatOthersWroteForOld(MemoryLog):
    """A change that someone else made is taken to have been there from the beginning."""

    SAYS = "a write that took effect at some instant since .* begins at #.*, before"

    def write_outside(self, origin: Any, name: str, since: Any) -> Entry:
        entry = super().write_outside(origin, name, since)
        entry.start = 1
        return entry


class Miscounts(MemoryLog):
    """What runs is no event yet."""

    SAYS = r"len\(\) is \d+, and events\(\) holds"

    def __len__(self) -> int:
        return sum(event.end_time is not None for event in self.events())


class EndsNow(MemoryLog):
    """What has ended ends again whenever it is asked for."""

    SAYS = "is told of otherwise now: what has ended stays"

    def event(self, entry: Entry) -> Event:
        event = super().event(entry)
        return event if event.outcome != "ok" else attrs.evolve(event, end_time=max(event.end_time, self.now()))


class BringsBackWhatItDropped(MemoryLog):
    """A row that was deleted is in a cache, and is read from there."""

    SAYS = r"events\(\) holds \[.*\] again, which the log had dropped"
    asked = 0

    def events(self) -> list[Event]:
        events = super().events()
        known = self.__dict__.setdefault("known", {})
        known.update((event.id, event) for event in events)
        gone = [event for event in known.values() if event.id not in {each.id for each in events}]
        self.asked += bool(gone)
        return events if self.asked % 9 != 8 else [*gone, *events]

    def clear(self) -> None:
        super().clear()
        self.__dict__.pop("known", None)


class FindsTheNext(Seen):
    """The rule finds an event, and people find the one behind it."""

    SAYS = r"find\(\) gives another event than"

    def find(self, number: Any) -> Entry | None:
        entry = super().find(number)
        return entry and (super().find(entry.start + 1) or entry)


class FindsWhatIsGone(Seen):
    """What was dropped is found all the same, and is as good as ever."""

    SAYS = r"find\(\) gives the .*, which events\(\) does not tell of any more|the log holds it no longer"

    class View(Held):
        def find(self, id: Any) -> Entry | None:
            known = self.__dict__.setdefault("known", {})
            found = super().find(id)
            if found is not None:
                known[id] = found
            return known.get(id)


class ForgetsWhatItDropped(Seen):
    """What is not held never was."""

    SAYS = r"is unknown-dependency, and the log holds it no longer: what was dropped is history-dropped"

    class View(Held):
        def was_dropped(self, id: Any) -> bool:
            return False


class ForgetsDroppedReads(Seen):
    """What is not held is fresh."""

    SAYS = r"was_dropped\(\) is false of the ok read of|is fresh, and the log holds it no longer|unknown-dependency"

    class View(Held):
        def was_dropped(self, id: Any) -> bool:
            return id % 2 == 0 and super().was_dropped(id) if isinstance(id, int) else False


class HasDroppedWhatItHolds(Seen):
    """Whatever was held once was dropped."""

    SAYS = r"was_dropped\(\) is true of .*, which the log holds"

    class View(Held):
        def was_dropped(self, id: Any) -> bool:
            return type(id) is int and 0 < id < self.next


class HasDroppedWhatNeverWas(Seen):
    """What is not held was dropped."""

    SAYS = r"was_dropped\(\) knows id='nobody'|is history-dropped, and by the events it is unknown-dependency"

    class View(Held):
        def was_dropped(self, id: Any) -> bool:
            return self.find(id) is None


class DroppedEverythingOnce(Seen):
    """Once something was dropped nothing is verifiable."""

    SAYS = "a resource that no dropped write conflicts with stays verifiable"

    class View(Held):
        any_dropped = False

        def drop(self, event: Entry) -> None:
            self.any_dropped = True
            super().drop(event)

        def dropped_since(self, name: str, since: Any) -> bool:
            return self.any_dropped

        def undisturbed(self, name: str, since: Any, at: Any, but: Any = None) -> bool:
            return not self.dropped_since(name, since) and super().undisturbed(name, since, at, but)


class AdmitsOnceItHasDropped(Seen):
    """What is in the way counts until something was dropped."""

    SAYS = r"admit\(\) decides Admit, and the rule says Wait of the same events"

    class View(Held):
        def in_flight(self) -> bool:
            return not self.swept and super().in_flight()

    def admit(self, *args: Any) -> Any:
        return super().admit(*args)


class ClearsWhatHasEnded(MemoryLog):
    """What runs is settled as ever, though nothing is known of it."""

    SAYS = r"clear\(\) forgets the pending call that .*, and its first event is not GONE"

    def clear(self) -> None:
        running = [entry for entry in self._view.entries() if entry.outcome == "pending"]
        super().clear()
        for entry in running:
            entry.memo = None


class FindsWhatWasCleared(Seen):
    """The table is emptied, and what was read of it is not."""

    SAYS = r"clear\(\) forgets everything, and find\(\) knows"

    def number_of(self, id: str) -> Any:
        return self.__dict__.setdefault("numbers", {}).setdefault(id, super().number_of(id))

    def find(self, number: Any) -> Entry | None:
        known = self.__dict__.setdefault("known", {})
        found = super().find(number)
        if found is not None:
            known[number] = found
        return known.get(number)


class ClearsWithoutAWord(MemoryLog):
    """Who waits for what was forgotten waits on."""

    SAYS = r"clear\(\) does not wake, once, those who wait"

    def clear(self) -> None:
        self._waiters.clear()
        super().clear()


class KnowsNothing(MemoryLog):
    """No session has read anything."""

    SAYS = r"resting\('s', .* gives \['.*'\], and the session knows"

    def resting(self, session: str, names: Any, until: Any) -> Any:
        return [Unread(name) for name in names]


class SaysNothingOfWhatIsUnread(MemoryLog):
    """What nobody has read is nothing to rest on."""

    SAYS = r"gives \[\], and nothing that it knows covers that"

    def resting(self, session: str, names: Any, until: Any) -> Any:
        return [key for key in super().resting(session, names, until) if type(key) is not Unread]


class ForgetsItsOwnWrites(MemoryLog):
    """A session knows the last thing that it read, and not what it did to it since."""

    SAYS = "and what the session knows of it is"

    def resting(self, session: str, names: Any, until: Any) -> Any:
        return super().resting(session, names, until)[:1]


class KnowsTheFuture(MemoryLog):
    """A turn knows all that the session does."""

    SAYS = "and what the session knows of it is|and nothing that it knows covers that"

    def resting(self, session: str, names: Any, until: Any) -> Any:
        return super().resting(session, names, None)


class IsNeverStale(MemoryLog):
    """No session needs to read anything again."""

    SAYS = r"stale\('s'\) finds \[\], and it is"

    def stale(self, session: str, until: Any) -> Any:
        return []


class MistakesTheRace(MemoryLog):
    """Reads are not recorded before they end."""

    SAYS = "the log raises AssertionError|admit.* decides Admit with waited=.*, and the call is not recorded"

    def admit(self, *args: Any) -> Any:
        decision, first = super().admit(*args)
        return decision, None if type(decision) is Admit and first is not None and first.kind == "read" else first


class HidesTheOutcome(MemoryLog):
    """A refused call is said to run."""

    SAYS = r"admit\(\) hands out a first event of .* that says 'pending', and the call is 'refused'"

    def admit(self, *args: Any) -> Any:
        decision, first = super().admit(*args)
        if type(decision) is Refuse and first is not None and first.outcome == "refused":
            first.outcome = "pending"
        return decision, first


class LosesTheOrigin(Seen):
    """Whose a call was is read from texts, and a probe is none."""

    SAYS = r"find\(\) gives an event without the origin that admit\(\) was given"

    def find(self, number: Any) -> Entry | None:
        entry = super().find(number)
        if entry is None or entry.memo is GONE:
            return entry
        twin = copy(entry)
        twin.origin = attrs.evolve(entry.origin, probe=None)
        return twin


class TellsOfShiftedWindows(MemoryLog):
    """The clock of the log and that of what it records are apart."""

    SAYS = "times are kept to the microsecond"

    def now(self) -> Any:
        return super().now() + timedelta(hours=1)


class Shown:
    """The view that is handed out, with what a subclass says of it; admission asks another one."""

    def __init__(self, view: Any) -> None:
        self._shown = view

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shown, name)


class ShowsALateView(MemoryLog):
    """A view that is not the one by which the log decides."""

    class View(Shown): ...

    def view(self) -> Any:
        return self.View(super().view())


class ShowsCallsBackwards(ShowsALateView):
    SAYS = r"call\(\) does not give the events of the call of .*, the first one first"

    class View(Shown):
        def call(self, call: Any) -> Any:
            return list(self._shown.call(call))[::-1]


class ShowsNothingInFlight(ShowsALateView):
    SAYS = r"in_flight\(\) is False, and it is True"

    class View(Shown):
        def in_flight(self) -> bool:
            return False


class ShowsNoDisturbance(ShowsALateView):
    SAYS = r"undisturbed\('.*'\) is true, and a write that conflicts had not ended"

    class View(Shown):
        def undisturbed(self, *args: Any) -> bool:
            return True


class ShowsNothingDropped(ShowsALateView):
    """What was dropped never was, to whoever looks; found by the machine, which asks that first."""

    SAYS = r"was_dropped\(\) is false of .*, which the log held once"
    ONLY = "machine"

    class View(Shown):
        def was_dropped(self, id: Any) -> bool:
            return False


class ShowsDroppedHistoryAsFresh(ShowsALateView):
    SAYS = "where history was dropped a log says what is true, or history-dropped"

    class View(Shown):
        def dropped_since(self, name: str, since: Any) -> bool:
            return False

        def undisturbed(self, name: str, since: Any, at: Any, but: Any = None) -> bool:
            return self._shown.undisturbed(name, since, at, but) or self._shown.dropped_since(name, since)


class ShowsNothingDroppedSince(ShowsDroppedHistoryAsFresh):
    """The same, found by the machine, which asks for what was dropped before it judges."""

    SAYS = r"dropped_since\('.*'\) is false, and a write that conflicts and was dropped had not ended"
    ONLY = "machine"


class FindsNoReads(Seen):
    """People find writes alone."""

    SAYS = r"find\(\) does not know the"

    def find(self, number: Any) -> Entry | None:
        entry = super().find(number)
        return None if entry is not None and entry.kind == "read" else entry


STEPS = [each for each in list(globals().values()) if isinstance(each, type) and hasattr(each, "SAYS")]
