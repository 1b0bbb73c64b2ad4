"""Code that can stop anywhere, be left standing while other code runs, and go on: each on a thread, one at a time."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

_JOIN_SECONDS = 5.0


class Closed(BaseException):
    """Raised where a fiber stands that is not to go on any more."""


class Time:
    """The time of a story, in seconds from its beginning. It goes on only where somebody's time to wait is up."""

    def __init__(self) -> None:
        self.now = 0.0


def always() -> bool:
    """What a fiber stops for that only lets others go first."""
    return True


class Fiber:
    """Code on a thread of its own, which runs only while somebody is inside `go_on`, up to where it stands or ends.

    It stands at a `wait`, until it is ``ready`` or its time is up, in seconds of its `Time`, and at a `pause` where
    ``countdown``, which each of the two takes one from, has come to 0. ``error`` is what it raised.
    """

    def __init__(self, time: Time, code: Callable[[], object]) -> None:
        self.time = time
        self.ready: Callable[[], bool] = always
        self.until = math.inf
        self.countdown = 0
        self.done = False
        self.error: BaseException | None = None
        self._code = code
        self._go, self._stopped = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._stopped.acquire()
        self._closing = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def can_go_on(self) -> bool:
        """Whether it is ready, or its time to wait can be up."""
        return not self.done and (self.ready() or self.until < math.inf)

    def go_on(self) -> None:
        """Let it run to where it stands next or ends. Where it is not ready, the time that it may wait is up."""
        if not self.ready():
            self.time.now = max(self.time.now, self.until)
        if self._thread.ident is None:
            self._thread.start()
        else:
            self._go.release()
        self._stopped.acquire()

    def pause(self) -> None:
        """Called by its code: others may run, if the countdown says so. Raises `Closed` where it is not to go on."""
        self.countdown -= 1
        if self.countdown == 0 or self._closing:
            self._stand(always, math.inf)

    def wait(self, ready: Callable[[], bool], until: float) -> None:
        """Called by its code: others may run, who make it ready. Raises `Closed` where it is not to go on."""
        self.countdown -= 1
        self._stand(ready, until)

    def _stand(self, ready: Callable[[], bool], until: float) -> None:
        self.ready, self.until = ready, until
        if not self._closing:
            self._stopped.release()
            self._go.acquire()
        if self._closing:
            raise Closed

    def close(self) -> None:
        """End it where it stands; where an interrupt left it running, at its next pause or wait.

        What still runs after five seconds is left to itself: it waits for something that no story gives.
        """
        self._closing = True
        if self._thread.ident is not None and self._thread.is_alive():
            self._go.release()
            self._thread.join(_JOIN_SECONDS)
        self.done = True

    def _run(self) -> None:
        take_place_of(self)
        try:
            self._code()
        except BaseException as error:
            self.error = error
        self.done = True
        if not self._closing:
            self._stopped.release()


_here = threading.local()


def this_fiber() -> Fiber | None:
    """The fiber that this thread is, or stands in for."""
    return getattr(_here, "fiber", None)


def take_place_of(fiber: Fiber | None) -> None:
    """Let this thread stand in for ``fiber``, whose own waits meanwhile."""
    _here.fiber = fiber
