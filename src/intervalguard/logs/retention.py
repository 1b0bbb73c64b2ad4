"""Retention: which events a full log drops, and which it must keep.

Events go by the order of their ends. A lost write that may land stays, and so does what a pending call rests on: these
are passed by when their turn comes, and looked at again when they can land no longer or are out of use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..kernel.views import GONE, Entry
from .held import Held
from .sessions import Sessions

_SLOTS = 8
"""So many endpoints are kept for each event that may be held: more are those of calls that never got a name."""


class Retention:
    """Keeps at most ``limit`` settled events in a view; ``None`` is no bound. Amortized O(1) a call and event.

    ``count`` is how many events are held, ``droppable`` how many of them may go when their turn comes.
    """

    def __init__(self, view: Held, sessions: Sessions, limit: int | None) -> None:
        self.count = 0
        self.droppable = 0
        self._view = view
        self._sessions = sessions
        self._limit = limit
        self._spared: dict[int, Entry] = {}
        self._again: dict[int, None] = {}

    def ended(self, events: Sequence[Entry]) -> None:
        """These events of one call have ended for good: they count against the bound from now on."""
        self.droppable += len(events)
        if self._limit is not None and self.droppable > self._limit:
            self._drop_oldest(self._limit)

    def ended_unnamed(self) -> None:
        """A call has ended that is no event to anyone."""
        if self._limit is not None and len(self._view.slots) - self._view.swept > _SLOTS * self._limit:
            self._drop_oldest(self._limit)

    def out_of_use(self, events: Iterable[Entry]) -> None:
        """No pending call rests on these any more."""
        if self._spared:
            self._again.update((each.call, None) for each in events)

    def lapsed(self, first: Entry) -> None:
        """A lost call can land no longer."""
        if first.end < self._view.base + self._view.swept:
            self._spared[first.id] = first
            self._again[first.id] = None
        else:
            self.droppable += len(self._view.call(first.id))

    def ends_again(self, first: Entry) -> bool:
        """A call that was lost gets an end of its own, and its turn with it; whether it counts as droppable already."""
        if self._view.may_land(first):
            return False
        return self._spared.pop(first.id, None) is None

    def recount(self, ending: int | None) -> None:
        """Count anew what is held, after a step that was cut short; but for a call that is ``ending`` yet. O(n)."""
        view = self._view
        held = view.entries()
        self.count, self.droppable = len(held), 0
        for each in held:
            if each.call == ending or each.call in self._spared or each.end is None:
                continue
            if each.outcome == "unknown" and view.may_land(each):
                continue
            if each.end < view.base + view.swept:  # it was about to be dropped
                self._spared[each.call] = view.call(each.call)[0]
            else:
                self.droppable += 1
        self._again.update(dict.fromkeys(self._spared))

    def _drop_oldest(self, limit: int) -> None:
        view = self._view
        while self._again:
            id, _ = self._again.popitem()
            if id in self._spared and not view.in_use(view.call(id)):
                del self._spared[id]
                self.droppable += len(view.call(id))
                self._drop(view.call(id))
        number, stop = view.base + view.swept, view.next
        least = stop - _SLOTS * limit
        while number < stop and (self.droppable > limit or number < least):
            entry = view.sweep()
            if entry.memo is not GONE and entry.end == number:
                self._drop_or_spare(view.calls.get(entry.call) or (entry,))
            number += 1

    def _drop_or_spare(self, events: Sequence[Entry]) -> None:
        view, first = self._view, events[0]
        if first.outcome == "unknown" and view.may_land(first):
            return
        if view.in_use(events):
            self._spared[first.id] = first
            self.droppable -= len(events)
        else:
            self._drop(events)

    def _drop(self, events: Sequence[Entry]) -> None:
        view, first = self._view, events[0]
        held = [each for each in events if each.memo is not GONE]  # all, unless an interrupt cut this short before
        self.count -= len(held)
        self.droppable -= len(events)
        session = first.origin.session
        for each in held:
            each.memo = GONE
            view.older.pop(each.id, None)
            view.drop(each)
            if session is not None and each.outcome == "ok":
                self._sessions.forget(session, each)
        if view.calls:
            view.calls.pop(first.id, None)
