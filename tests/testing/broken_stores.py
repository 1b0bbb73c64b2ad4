"""Logs with one fault each of those that a log on a database is prone to: what it keeps comes back otherwise."""

from __future__ import annotations

import json
import threading
import unicodedata
from copy import copy
from datetime import UTC, timedelta
from typing import Any

import attrs
from broken_logs import Seen

from intervalguard import Event
from intervalguard.kernel.admission import Wait
from intervalguard.kernel.events import micros
from intervalguard.kernel.nodes import Node, node_of
from intervalguard.kernel.views import Entry, Extra
from intervalguard.logs import MemoryLog
from intervalguard.logs.held import Held


class Likened(Held):
    """A view to which names conflict when `same` makes their texts the same."""

    @staticmethod
    def same(text: str) -> str:
        raise NotImplementedError

    def _conflicting(self, name: str) -> tuple[Node, ...]:
        wanted = self.same(name)
        texts = [(self.same(each), at) for each, at in self._at.items()]
        nodes = [at for each, at in texts if f"{each}/".startswith(f"{wanted}/") or f"{wanted}/".startswith(f"{each}/")]
        return tuple(each if isinstance(each, Node) else node_of(each) for each in nodes)

    def undisturbed(self, name: str, since: Any, at: Any, but: Any = None) -> bool:
        return False


ALIKE = r"and by the events it is fresh|decides Wait, and the rule says Admit|gives the .* and it is"


class IgnoresCase(Seen):
    """As a NOCASE collation does, and LIKE."""

    SAYS = ALIKE
    ONLY = "_alike"

    class View(Likened):
        same = staticmethod(str.casefold)


class IgnoresAccents(Seen):
    """As a collation of a language does."""

    SAYS = ALIKE
    ONLY = "_alike"

    class View(Likened):
        @staticmethod
        def same(text: str) -> str:
            return unicodedata.normalize("NFC", text)


class IgnoresSpacesAtTheEnd(Seen):
    """As CHAR(n) does."""

    SAYS = ALIKE
    ONLY = "_alike"

    class View(Likened):
        same = staticmethod(str.rstrip)


class CutsTexts(Seen):
    """A column has so much room, and no more."""

    SAYS = ALIKE
    ONLY = "_long"

    class View(Likened):
        @staticmethod
        def same(text: str) -> str:
            return text[:255]


class CannotKeepNul(MemoryLog):
    """A text column holds no NUL."""

    SAYS = "the log raises ValueError: a text cannot contain NUL"
    ONLY = "_alike"

    def admit(self, origin: Any, touches: Any, *args: Any) -> Any:
        if any("\x00" in name for name, _, _ in touches):
            raise ValueError("a text cannot contain NUL")
        return super().admit(origin, touches, *args)


class OverflowsInt32(MemoryLog):
    """Windows are microseconds in four bytes."""

    SAYS = "each name that it touches is one event, with its window"
    ONLY = "_windows"

    def admit(self, origin: Any, touches: Any, *args: Any) -> Any:
        cut = [(name, kind, window and window % (1 << 32)) for name, kind, window in touches]
        return super().admit(origin, cut, *args)


class TakesNoTimeForNoLimit(MemoryLog):
    """`window or None`."""

    SAYS = "each name that it touches is one event, with its window"
    ONLY = "_windows"

    def admit(self, origin: Any, touches: Any, *args: Any) -> Any:
        return super().admit(origin, [(name, kind, window or None) for name, kind, window in touches], *args)


class TakesNobodyForAnEmptyText(MemoryLog):
    """`NULL` and the empty text are one."""

    SAYS = "was made in call=None by .*, and is recorded otherwise"

    def event(self, entry: Entry) -> Event:
        event = super().event(entry)
        return attrs.evolve(event, batch=event.batch or None, run=event.run or None)


class KeepsTimesAsFloats(MemoryLog):
    """Seconds as a float have no room for all microseconds."""

    SAYS = "times are kept to the microsecond"
    ONLY = "_times"

    def event(self, entry: Entry) -> Event:
        event = super().event(entry)
        start = event.start_time
        return attrs.evolve(event, start_time=start.replace(microsecond=start.microsecond // 2 * 2))


class KeepsLocalTimes(MemoryLog):
    """The zone is lost on the way."""

    SAYS = r"is recorded at .*, and by the log's clock it was between|now\(\) goes back"

    def now(self) -> Any:
        return (self._clock() if self._clock else super().now()).replace(tzinfo=UTC)


class GoesBackInTime(MemoryLog):
    """The clock is believed."""

    SAYS = r"now\(\) goes back from|events\(\) cannot tell what the log holds"

    def _now(self) -> int:
        return micros(self._clock()) if self._clock else super()._now()


class EndsBeforeItBegan(MemoryLog):
    """The end comes from another clock than the start."""

    SAYS = r"events\(\) cannot tell what the log holds: end_time=.* is before start_time"

    def event(self, entry: Entry) -> Event:
        event = super().event(entry)
        return event if event.end_time is None else attrs.evolve(event, end_time=event.start_time - timedelta(seconds=1))


class ShowsTheClock(MemoryLog):
    """Events are right where the clock steps back, and what the time is is not."""

    SAYS = r"now\(\) goes back from|is recorded at"

    def now(self) -> Any:
        return self._clock() if self._clock else super().now()


class OverflowsTheCalendar(MemoryLog):
    """For how long a lost write may land is added to now, however long that is."""

    SAYS = "the log raises OverflowError"

    def settle(self, *args: Any, may_land_for: Any = None) -> Any:
        if may_land_for is not None:
            self.now() + timedelta(microseconds=may_land_for)
        return super().settle(*args, may_land_for=may_land_for)


class KeepsVersionsAsJson(MemoryLog):
    """A tuple comes back as a list."""

    SAYS = r"learned version=\(.*, and is recorded with \["
    ONLY = "_versions"

    def event(self, entry: Entry) -> Event:
        event = super().event(entry)
        try:
            return attrs.evolve(event, version=json.loads(json.dumps(event.version)))
        except TypeError:
            return event


class FindsVersionsAsTexts(Seen):
    """What people see is right, and what a probe is compared with is a text."""

    SAYS = r"find\(\) gives version='|find\(\) gives another event"
    ONLY = "_versions"

    def find(self, number: Any) -> Entry | None:
        entry = super().find(number)
        if entry is None or entry.extra is None or entry.extra.version is None:
            return entry
        twin = copy(entry)
        twin.extra = Extra(entry.extra.seen, entry.extra.seen_time, str(entry.extra.version))
        return twin


class KeepsTextsAlone(MemoryLog):
    """A version that is no text is refused."""

    SAYS = r"settle\(\) refuses version=0: a log keeps"
    ONLY = "_versions"

    def settle(self, first: Any, outcome: Any, *args: Any, **options: Any) -> Any:
        version = args[3].version if len(args) > 3 and args[3] else None
        if version is not None and not isinstance(version, str):
            raise TypeError(f"version={version!r} is no text")
        return super().settle(first, outcome, *args, **options)


class ForgetsWhenItWasSeen(MemoryLog):
    """There is no column for it."""

    SAYS = "saw the world at .*, and is recorded with None"

    def event(self, entry: Entry) -> Event:
        return attrs.evolve(super().event(entry), observed_at=None)


class TakesTheFuture(MemoryLog):
    """An instant that is yet to come is taken for now."""

    SAYS = "settle[(][)] takes an instant seen that is yet to come"

    def settle(self, first: Any, outcome: Any, *args: Any, **options: Any) -> Any:
        try:
            return super().settle(first, outcome, *args, **options)
        except ValueError:
            return super().settle(first, outcome)


class ComparesIdsAsNumbers(MemoryLog):
    """`CAST(id AS INTEGER)`: whatever comes behind the number does not count."""

    SAYS = r"find\(\) gives an event for id=.*, which is no id|does not stand for itself"
    ONLY = "_ids"

    def number_of(self, id: str) -> Any:
        return super().number_of(id.strip().lower())


class TrimsIds(MemoryLog):
    """What is no id is unknown, and not by what it was called."""

    SAYS = "does not stand for itself"
    ONLY = "_ids"

    def number_of(self, id: str) -> Any:
        number = super().number_of(id)
        return number.strip() if isinstance(number, str) else number


class ForgetsTheOrderInACall(MemoryLog):
    """The events of one call come by name."""

    SAYS = "not in the order of its touches|in another order than before"
    ONLY = "_calls"

    def events(self) -> list[Event]:
        return sorted(super().events(), key=lambda event: (event.seq, event.call, event.id != event.call, event.name))


class GivesTheNewestFirst(MemoryLog):
    """`ORDER BY seq DESC`."""

    SAYS = r"was recorded just now, and events\(\) does not give it last|in another order than before"

    def events(self) -> list[Event]:
        return super().events()[::-1]


class MovesWhatItUpdates(MemoryLog):
    """Without an `ORDER BY` an updated row is the last."""

    SAYS = "in another order than before"

    def events(self) -> list[Event]:
        events = super().events()
        ended = [event for event in events if event.end_seq is not None]
        return [event for event in events if event.end_seq is None] + ended if len(ended) < len(events) - 1 else events


class ReplacesByName(MemoryLog):
    """`INSERT OR REPLACE`: what someone else wrote last is all that is kept of it."""

    SAYS = r"write_outside\(\) gives the id .* a second time"
    ONLY = "_times"

    def write_outside(self, origin: Any, name: str, since: Any) -> Entry:
        known = self.__dict__.setdefault("outside", {})
        if name not in known:
            known[name] = super().write_outside(origin, name, since)
        return known[name]


class GivesAnIdTwice(MemoryLog):
    """The counter begins anew when it has been used up."""

    SAYS = r"admit\(\) gives the id .* a second time"

    def id_of(self, number: Any) -> str:
        if not isinstance(number, int):
            return str(number)
        id = f"e{number if number < 9 else 1}"
        self.__dict__.setdefault("numbers", {}).setdefault(id, number)
        return id

    def number_of(self, id: str) -> Any:
        return self.__dict__.setdefault("numbers", {}).get(id, id)


class HangsInsteadOfWaiting(MemoryLog):
    """What waits is kept in the log's own step: it asks again until it may."""

    SAYS = r"a step of the log has not returned for .* s: admit\(\) says Wait and waits for nobody"
    HANGS = True
    ONLY = "_waiting"

    def admit(self, *args: Any) -> Any:
        decision, first = super().admit(*args)
        if type(decision) is Wait and first is None:
            threading.Event().wait()
        return decision, first


class HangsWhereItLost(HangsInsteadOfWaiting):
    """The same, where two threads race."""

    SAYS = "two steps of the log hang"
    ONLY = "races"


class HidesWhatRaces(MemoryLog):
    """What runs is not told of until it has ended."""

    SAYS = "of two racing writers 0 are recorded as pending"
    ONLY = "races"

    def events(self) -> list[Event]:
        return [event for event in super().events() if event.outcome != "pending"]


class WaitsForItsOwnLock(MemoryLog):
    """A finalizer on the thread that holds the lock waits for it."""

    SAYS = "settle_from_anywhere[(][)] hangs where a finalizer calls it"
    HANGS = True
    ONLY = "races"

    def settle_from_anywhere(self, first: Any, outcome: Any, may_land_for: Any = None) -> None:
        while self._lock._is_owned():  # type: ignore[attr-defined]
            threading.Event().wait(0.1)
        super().settle_from_anywhere(first, outcome, may_land_for)


class DropsWhatAFinalizerSays(MemoryLog):
    """A settlement that comes in the middle of a step is put off for ever."""

    SAYS = r"settle_from_anywhere\(\) came from a finalizer in the middle of an admission"
    ONLY = "races"

    def settle_from_anywhere(self, first: Any, outcome: Any, may_land_for: Any = None) -> None:
        if not self._lock._is_owned():  # type: ignore[attr-defined]
            super().settle_from_anywhere(first, outcome, may_land_for)


class ReadsPinsOutside(Seen):
    """What is pinned is asked for before the step, and the rest in it."""

    SAYS = "the premise must be pinned in the step that checks it"
    ONLY = "races"

    class View(Held):
        asked = threading.local()

        def first_pinning(self, name: str, spared: Any) -> Any:
            known = getattr(self.asked, "pins", None)
            return super().first_pinning(name, spared) if known is None else known[name]

    def admit(self, origin: Any, touches: Any, depends_on: Any = (), parent: Any = None, *args: Any) -> Any:
        if parent is not None:
            return super().admit(origin, touches, depends_on, parent, *args)
        view: Any = self._view
        pins = {name: view.first_pinning(name, lambda _: False) for name, _, _ in touches}
        view.asked.pins = pins
        try:
            return super().admit(origin, touches, depends_on, parent, *args)
        finally:
            view.asked.pins = None


class LosesTheLastAtReopening(MemoryLog):
    """The last step is in a buffer as the process dies."""

    SAYS = "is lost: the log must hold it"
    lost: Any = None

    def reopen(self) -> MemoryLog:
        self.lost = MemoryLog.events(self)[-1].id
        return self

    def events(self) -> list[Event]:
        return [event for event in super().events() if event.id != self.lost]

    def __len__(self) -> int:
        return len(self.events())


class LosesTheLastEndAtReopening(MemoryLog):
    """A settlement is kept in memory alone."""

    SAYS = "is recorded as 'pending'|is told of otherwise now"
    opened = False

    def reopen(self) -> MemoryLog:
        self.opened = True
        return self

    def event(self, entry: Entry) -> Event:
        event = super().event(entry)
        return attrs.evolve(event, outcome="pending", end_time=None, end_seq=None) if self.opened else event


class CountsAnewAtReopening(MemoryLog):
    """The counter is in memory alone."""

    SAYS = r"numbers strictly increase|gives the id .* a second time|stays as it was"
    since: Any = None

    def reopen(self) -> MemoryLog:
        self.since = self._view.next if self.since is None else self.since
        return self

    def event(self, entry: Entry) -> Event:
        event = super().event(entry)
        if self.since is None or entry.start < self.since:
            return event
        end = event.end_seq
        return attrs.evolve(event, seq=event.seq - self.since + 1, end_seq=end and end - self.since + 1)


class Late:
    """One more log on the same store, which remembers what it saw there when it was asked first."""

    def __init__(self, log: MemoryLog) -> None:
        self.log = log
        self.seen: list[Event] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.log, name)

    def __len__(self) -> int:
        return len(self.log)

    def events(self) -> list[Event]:
        self.seen = self.seen or self.log.events()
        return self.seen


class SeesOthersLate(MemoryLog):
    """What another process does is seen at the next poll."""

    SAYS = r"is lost: the log must hold it|len\(\) is|is told of otherwise now"

    def another(self) -> Late:
        return Late(self)


STORES = [each for each in list(globals().values()) if isinstance(each, type) and hasattr(each, "SAYS")]
