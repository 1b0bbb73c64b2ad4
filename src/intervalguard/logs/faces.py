"""The public faces of what a log holds: ids, events, dependencies, and the parties of a finding."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from ..kernel.events import Dependency, Event, micros, moment
from ..kernel.explain import Finding, Party, finding
from ..kernel.staleness import Raw
from ..kernel.views import Entry, Extra, Id, Key
from .calls import Origin
from .ids import Ids

_NO_EXTRA = Extra()


class Faces:
    """A log's entries as people see them."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids

    def now(self) -> datetime:
        """The log's time."""
        raise NotImplementedError

    def id_of(self, number: Id) -> str:
        """The public id of what the log knows by this number."""
        if type(number) is not int:
            return str(number)
        return self._ids.id_of(number)

    def party(self, entry: Entry) -> Party:
        """What a finding tells of an entry. O(1)."""
        origin: Origin = entry.origin
        return Party(
            self.id_of(entry.id),
            entry.name,
            entry.kind,
            entry.outcome,
            moment(entry.start_time),
            None if entry.end is None else moment(entry.start_time + entry.took),
            origin.tool,
            origin.agent,
            origin.session,
        )

    def findings(self, raws: Iterable[Raw], event: str, time: int | None = None) -> list[Finding]:
        """Findings of the kernel as people see them, as of ``time``, by default of now. O(findings)."""
        at = micros(self.now()) if time is None else time
        told = [
            raw if isinstance(raw.dependency, str) else raw._replace(dependency=self.id_of(raw.dependency))
            for raw in raws
        ]
        return [finding(raw, event, at, self.party) for raw in told]

    def event(self, entry: Entry) -> Event:
        """The public face of an entry. O(1)."""
        origin: Origin = entry.origin
        extra: Extra = entry.extra or _NO_EXTRA
        outcome = entry.outcome
        end = None if outcome == "pending" else entry.end
        start = moment(entry.start_time)
        window = entry.window
        return Event(
            entry.name,
            start,
            None if end is None else moment(entry.start_time + entry.took),
            None if window is None else window // 1_000_000 if window % 1_000_000 == 0 else window / 1_000_000,
            tuple(self.dependency(key) for key in entry.depends_on),
            entry.kind,  # type: ignore[arg-type]
            self.id_of(entry.id),
            entry.start,
            end_seq=end,
            outcome=outcome,  # type: ignore[arg-type]
            call=self.id_of(entry.call),
            parent=None if entry.parent is None else self.id_of(entry.parent),
            session=origin.session,
            batch=origin.batch,
            run=origin.run,
            agent=origin.agent,
            tool=origin.tool,
            observed_at=None if extra.seen_time is None else moment(extra.seen_time),
            version=extra.version,
            may_land_until=None if extra.until_time is None else moment(extra.until_time),
        )

    def dependency(self, key: Key) -> Dependency:
        """The public face of a dependency."""
        return Dependency(self.id_of(key[0]), key[1]) if type(key) is tuple else Dependency(self.id_of(key))
