"""What is remembered of a call that others build on: what its closure said, or the roots of all that it rests on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from .views import Entry

Roots: TypeAlias = tuple[Entry, ...]
"""Of several reads and writes, for each name one that stands for all: a read that began first, or a write that ended
before the others began. What is not written since it began, but by itself, is not written since any other began."""


def with_root(roots: Roots, more: Entry) -> Roots:
    """The roots of what has these and of one more. O(roots)."""
    for place, root in enumerate(roots):
        if _is_root(root, more):
            return roots
        if _is_root(more, root):
            return (*roots[:place], more, *roots[place + 1 :])
    return (*roots, more)


def _is_root(one: Entry, other: Entry) -> bool:
    if one.name != other.name or one is other:
        return one is other
    return bool(one.start <= other.start if one.kind == "read" else one.end < other.start)


class Memo:
    """What the closure of a derived read's call said, and the calls whose closures built on it."""

    __slots__ = ("above", "said")

    def __init__(self, said: Any) -> None:
        self.said = said
        self.above: Entry | Callers | None = None

    def build(self, call: Entry) -> None:
        """What ``call`` says is built on this: it goes when this goes."""
        if self.above is None:
            self.above = call
            return
        if not isinstance(self.above, Callers):
            self.above = Callers([self.above])
        self.above.add(call)


class Callers(list[Entry]):
    """First events of calls that build on something. When it has doubled it lets go of those of which no memo is left."""

    __slots__ = ("_limit",)

    def __init__(self, calls: Iterable[Entry] = ()) -> None:
        super().__init__(calls)
        self._limit = 8

    def add(self, call: Entry) -> None:
        """O(1), amortized."""
        self.append(call)
        if len(self) > self._limit:
            self[:] = [each for each in dict.fromkeys(self) if type(each.memo) is Memo]
            self._limit = 2 * len(self) + 8
