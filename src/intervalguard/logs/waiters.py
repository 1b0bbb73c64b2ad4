"""Who waits for which pending call."""

from __future__ import annotations

from collections.abc import Callable

from ..kernel.views import Id


class Waiters(dict[Id, dict[Callable[[], None], None]]):
    """The ways to wake who waits, by the call that each waits for. A log keeps them under its lock. O(1) each."""

    def add(self, call: Id, wake: Callable[[], None]) -> None:
        """``wake`` is to be called once, when ``call`` has settled."""
        self.setdefault(call, {})[wake] = None

    def remove(self, call: Id, wake: Callable[[], None]) -> None:
        """``wake`` is not to be called any more, if it has not been."""
        wakers = self.get(call)
        if wakers is not None:
            wakers.pop(wake, None)
            if not wakers:
                del self[call]

    def all(self) -> list[Callable[[], None]]:
        """The ways to wake everyone. O(waiters)."""
        return [wake for wakers in self.values() for wake in wakers]
