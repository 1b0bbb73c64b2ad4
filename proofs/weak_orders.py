"""Every weak order of some endpoints, and an endpoint that can do nothing but be compared.

What only compares its endpoints depends on their weak order alone. To run it on one representative of each is then a
proof for every totally ordered type.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator


@functools.total_ordering
class Endpoint:
    """Can be compared, and shown in a message. Refuses all else."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, rank: int) -> None:
        self._rank = rank

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Endpoint)
        return self._rank == other._rank

    def __lt__(self, other: Endpoint) -> bool:
        return self._rank < other._rank

    def __bool__(self) -> bool:
        raise TypeError("an endpoint is neither true nor false")

    def __repr__(self) -> str:
        return f"Endpoint({self._rank})"


def weak_orders(n: int) -> Iterator[tuple[int, ...]]:
    for ranks in itertools.product(range(n), repeat=n):
        if set(ranks) == set(range(max(ranks) + 1)):
            yield ranks


@functools.cache
def interval_orders(intervals: int, *, instants: bool = True) -> list[tuple[int, ...]]:
    """The weak orders of the endpoints of so many intervals, as (a0, a1, b0, b1, ...)."""
    return [
        ranks
        for ranks in weak_orders(2 * intervals)
        if all(
            start < end or (instants and start == end)
            for start, end in zip(ranks[::2], ranks[1::2], strict=True)
        )
    ]
