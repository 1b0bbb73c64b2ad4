"""Forks: every log is held while the process forks, so that the child's copy of it is in no one's middle."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Protocol


class Forking(Protocol):
    """A log that lives through forks."""

    _lock: Any

    def _before_fork(self) -> None:
        """A fork is about to be made: let go of what both sides cannot share."""

    def _after_fork(self) -> None:
        """This is the child: what is pending belongs to the parent."""


_live: weakref.WeakSet[Forking] = weakref.WeakSet()
_forking = threading.Lock()
_held: list[Forking] = []


def watch(log: Forking) -> None:
    """Hold ``log`` in each fork, and tell its copy in the child of it, as long as there is such a log."""
    _live.add(log)


def _before_fork() -> None:
    _forking.acquire()
    for log in list(_live):
        log._lock.acquire()
        _held.append(log)
        log._before_fork()


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop()._lock.release()
    _forking.release()


def _after_fork_in_child() -> None:
    global _forking
    _held.clear()
    _forking = threading.Lock()
    logs = list(_live)
    for log in logs:
        log._lock = threading.RLock()
    for log in logs:
        log._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
    )
