"""How two intervals lie to each other: Allen's thirteen relations, and the five that the library speaks of.

All of the library's talk of *before*, *during* and *overlaps* is defined here, and this file only ever
compares endpoints: it adds, subtracts and hashes none, reads no clock, and knows no event, log or
framework. What it answers is therefore a function of the weak order of the endpoints alone, so one
representative of each order is a proof for every totally ordered type: the tests run them all, the proofs
run these functions on symbolic numbers.

**Proper intervals.** Where ``start < end`` in both, exactly one of thirteen relations holds (Allen 1983).
They follow from where *a* starts seen from *b*'s start, and where it ends seen from *b*'s end:

    =============  =============  ===========  =============
    a              ends earlier   ends with b  ends later
    =============  =============  ===========  =============
    starts earlier (ahead)        finished-by  contains
    starts with b  starts         equals       started-by
    starts later   during         finishes     (behind)
    =============  =============  ===========  =============

*Ahead* is three relations, told apart by where *a*'s end lies to *b*'s start: before, meets, overlaps.
*Behind* is their mirror image: overlapped-by, met-by, after.

**Instants.** Intervals here are closed, and ``start == end`` is an instant. With instants the textbook's
predicates are not exclusive: an instant at the start of *b* meets it (its end is *b*'s start) and starts it
(their starts agree); two equal instants meet, are met and are equal. So the order in which the predicates
are tested is part of the specification. Here the table above comes first and *meets* is asked only of what
is ahead, which gives Vilain's point-interval algebra (1982): an instant at an interval's start *starts* it,
at its end *finishes* it, two equal instants are *equal*; the interval is *started-by* or *finished-by* the
instant. Only proper intervals meet or overlap.

**Tables.** The converse (of *a* to *b*, seen from *b*) and the composition (*a* to *b* and *b* to *c*: what
can *a* be to *c*?) are not typed in but derived from `allen`, when first asked for. Both are exact for
every type with room for six distinct endpoints. On proper intervals the thirteen are Allen's relation
algebra. Instants make six entries of the textbook's composition table grow by one relation each, and then
it is a weak composition: each relation in an entry occurs for some *a*, *b*, *c*, not between every such
*a* and *c*, and it is no longer associative.

**The five** (`FIVE`, `relation`) are a coarser view for people and rules. They are *not* a relation
algebra: the converse of ``after`` is ``before`` or ``meets``, that of ``during`` is ``during`` or
``overlaps``, and their weak composition is not associative even on proper intervals. Reason with the
thirteen, report in the five.

Allen's *overlaps* is narrower than "have a point in common", for which the word here is `intersects`.

- J. F. Allen, "Maintaining Knowledge about Temporal Intervals", Communications of the ACM 26(11), 1983.
- M. B. Vilain, "A System for Reasoning about Time", AAAI-82, 1982.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar, get_args

import attrs

__all__ = [
    "ALLEN",
    "FIVE",
    "AllenRelation",
    "CoarseRelation",
    "Interval",
    "Ordered",
    "Timed",
    "allen",
    "compose",
    "converse",
    "intersects",
    "interval_of",
    "relation",
]

AllenRelation: TypeAlias = Literal[
    "before",
    "meets",
    "overlaps",
    "finished-by",
    "contains",
    "starts",
    "equals",
    "started-by",
    "during",
    "finishes",
    "overlapped-by",
    "met-by",
    "after",
]
CoarseRelation: TypeAlias = Literal["before", "meets", "overlaps", "during", "after"]

ALLEN: tuple[AllenRelation, ...] = get_args(AllenRelation)
"""The thirteen names, from before to after. Read backwards, they are the converses."""

FIVE: Mapping[AllenRelation, CoarseRelation] = MappingProxyType(
    {
        "before": "before",
        "meets": "meets",
        "overlaps": "overlaps",
        "finished-by": "overlaps",
        "contains": "overlaps",
        "starts": "during",
        "equals": "during",
        "started-by": "overlaps",
        "during": "during",
        "finishes": "during",
        "overlapped-by": "overlaps",
        "met-by": "after",
        "after": "after",
    }
)
"""The thirteen seen as five (law L1)."""


class Ordered(Protocol):
    """What an endpoint is asked for: a total order. Numbers, fractions, aware datetimes, tuples of these."""

    def __lt__(self, other: Any, /) -> bool: ...
    def __le__(self, other: Any, /) -> bool: ...


T = TypeVar("T", bound=Ordered)
T_co = TypeVar("T_co", bound=Ordered, covariant=True)


class Timed(Protocol[T_co]):
    """What has a time interval without being one: an event. `end_time` is None while it is open."""

    @property
    def start_time(self) -> T_co: ...
    @property
    def end_time(self) -> T_co | None: ...


@attrs.frozen
class Interval(Generic[T]):
    """The closed interval from `start` to `end`, in whatever unit they are; an instant where they are equal.

    Raises ValueError unless ``start <= end``, and so for a NaN too.
    """

    start: T
    end: T

    def __attrs_post_init__(self) -> None:
        if not self.start <= self.end:
            raise ValueError(
                f"an interval cannot end before it starts: start={self.start!r} end={self.end!r}. "
                f"Swap the two, or give end=start for an instant."
            )


def interval_of(x: Interval[T] | Timed[T]) -> Interval[T]:
    """The interval of an event, by its times; an Interval is its own. O(1).

    Raises ValueError for an event that is still open, for what it will be to others is not settled yet.
    """
    if isinstance(x, Interval):
        return x
    if x.end_time is None:
        raise ValueError(
            f"an open event has no interval yet: end_time=None in {x!r}. "
            f"Wait until it has ended, or say how far it counts: Interval(event.start_time, now)."
        )
    return Interval(x.start_time, x.end_time)


_Side: TypeAlias = Literal["<", "=", ">"]

_BY_STARTS_AND_ENDS: Mapping[tuple[_Side, _Side], AllenRelation] = {
    ("<", "="): "finished-by",
    ("<", ">"): "contains",
    ("=", "<"): "starts",
    ("=", "="): "equals",
    ("=", ">"): "started-by",
    (">", "<"): "during",
    (">", "="): "finishes",
}
_AHEAD: Mapping[_Side, AllenRelation] = {"<": "before", "=": "meets", ">": "overlaps"}
_BEHIND: Mapping[_Side, AllenRelation] = {"<": "overlapped-by", "=": "met-by", ">": "after"}


def _side(x: T, y: T) -> _Side:
    # Not by ==: in a repeated hour (PEP 495) one moment in two zones is neither <, > nor == itself.
    if x < y:
        return "<"
    return ">" if y < x else "="


def allen(a: Interval[T], b: Interval[T]) -> AllenRelation:
    """The one relation, of Allen's thirteen, of `a` to `b` (law L1). O(1): at most six comparisons.

    Total over all intervals, instants included (Vilain); on proper intervals it is the textbook's. Raises
    only what comparing endpoints raises, such as the TypeError for a naive datetime beside an aware one.
    """
    starts, ends = _side(a.start, b.start), _side(a.end, b.end)
    if starts == ends == "<":
        return _AHEAD[_side(a.end, b.start)]
    if starts == ends == ">":
        return _BEHIND[_side(a.start, b.end)]
    return _BY_STARTS_AND_ENDS[starts, ends]


def relation(a: Interval[T] | Timed[T], b: Interval[T] | Timed[T]) -> CoarseRelation:
    """The one relation, of the five, of `a` to `b`: ``FIVE[allen(a, b)]`` (law L1). O(1).

    Takes intervals and events. Of events it compares times; which of two came first in a log is for their
    positions to say. Every interval is ``during`` itself. Raises ValueError for an event that is still open.
    """
    return FIVE[allen(interval_of(a), interval_of(b))]


def intersects(a: Interval[T] | Timed[T], b: Interval[T] | Timed[T]) -> bool:
    """Whether `a` and `b` have a point in common: of the thirteen, all but before and after (law L1). O(1).

    Endpoints belong to their interval, so two that meet intersect. Raises ValueError for an open event.
    """
    return allen(interval_of(a), interval_of(b)) not in ("before", "after")


def converse(r: AllenRelation) -> AllenRelation:
    """What `b` is to `a` where `a` is `r` to `b`: ``allen(b, a) == converse(allen(a, b))`` (law L1). O(1).

    Derived from `allen` when first asked for. Raises ValueError for a name that is not one of the thirteen.
    """
    _check(r)
    return _converses()[r]


def compose(r1: AllenRelation, r2: AllenRelation, *, instants: bool = True) -> frozenset[AllenRelation]:
    """All that `a` can be to `c` where `a` is `r1` to some `b`, and that `b` is `r2` to `c` (law L1). O(1).

    Exact: each relation in it occurs, and no other. With ``instants=False`` all three are proper intervals,
    and it is Allen's table. Derived from `allen` when first asked for, in milliseconds. Raises ValueError for
    a name that is not one of the thirteen.
    """
    _check(r1)
    _check(r2)
    return _compositions(instants)[r1, r2]


def _check(r: str) -> None:
    if r not in ALLEN:
        raise ValueError(f"not one of Allen's relations: {r!r}. Use one of {', '.join(ALLEN)}.")


def _small_intervals(points: int, *, instants: bool) -> list[Interval[int]]:
    """All intervals over so many integers: as many endpoints can be placed on them in any weak order."""
    ends = itertools.combinations_with_replacement(range(points), 2)
    return [Interval(start, end) for start, end in ends if instants or start < end]


@functools.cache
def _converses() -> Mapping[AllenRelation, AllenRelation]:
    pairs = itertools.product(_small_intervals(4, instants=True), repeat=2)
    return {allen(a, b): allen(b, a) for a, b in pairs}


@functools.cache
def _compositions(instants: bool) -> Mapping[tuple[AllenRelation, AllenRelation], frozenset[AllenRelation]]:
    intervals = _small_intervals(6, instants=instants)
    # By index, not by interval: this is a table of 441 pairs that 9,261 triples look up.
    to = [[allen(a, b) for b in intervals] for a in intervals]
    table: dict[tuple[AllenRelation, AllenRelation], set[AllenRelation]] = {}
    for a, b, c in itertools.product(range(len(intervals)), repeat=3):
        table.setdefault((to[a][b], to[b][c]), set()).add(to[a][c])
    return {pair: frozenset(relations) for pair, relations in table.items()}
