"""What the sessions of a log know."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from ..kernel.sessions import Own
from ..kernel.views import Entry


class Sessions(dict[str, Own]):
    """The sessions by their keys, each with its own ``ok`` events.

    Of the names of which the log holds nothing any more the last ``limit`` are remembered, of all sessions together.
    """

    def __init__(self, limit: int | None) -> None:
        super().__init__()
        self._limit = limit
        self._gone: OrderedDict[tuple[str, str], None] = OrderedDict()

    def remember(self, session: str, events: Sequence[Entry]) -> None:
        """These events of one call, which ended well, are what its session knows from now on."""
        own = self.get(session)
        if own is None:
            own = self[session] = Own()
        for each in events:
            if each.name:
                own.add(each)
                if self._gone:
                    self._gone.pop((session, each.name), None)

    def forget(self, session: str, event: Entry) -> None:
        """The log has dropped an event that a session knew. Amortized O(depth)."""
        own = self[session]
        own.forget()
        if not own.is_gone(event.name):
            return
        self._gone[session, event.name] = None
        if self._limit is not None and len(self._gone) > self._limit:
            session, name = self._gone.popitem(last=False)[0]
            own = self[session]
            own.let_go(name)
            if not own.names():
                del self[session]
