"""The events of a log as a sequence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, overload

from ..kernel.events import Event


class _Log(Protocol):
    def __len__(self) -> int: ...

    def events(self) -> list[Event]: ...


class Registry(Sequence[Event]):
    """The events of a log as a sequence, oldest first, as of each moment at which it is asked."""

    def __init__(self, log: _Log) -> None:
        self._log = log

    def __len__(self) -> int:
        return len(self._log)

    @overload
    def __getitem__(self, index: int) -> Event: ...

    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...

    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        return self._log.events()[index]

    def __iter__(self) -> Iterator[Event]:
        return iter(self._log.events())

    def __repr__(self) -> str:
        return f"<registry of {len(self)} events>"
