"""Events: one touch of one resource by one call, and the names of resources.

A name is segments separated by ``/``. A name *covers* itself and every name below it, by segment:
``orders/42`` covers ``orders/42/items`` and not ``orders/421``. Two names *conflict* when one covers
the other, for a write to either may change what a read of the other sees.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias, get_args

import attrs

Kind: TypeAlias = Literal["read", "write"]
Outcome: TypeAlias = Literal["ok", "error", "unknown", "failed", "refused", "pending"]

KINDS: frozenset[str] = frozenset(get_args(Kind))
OUTCOMES: frozenset[str] = frozenset(get_args(Outcome))
INEFFECTIVE: frozenset[str] = frozenset({"failed", "refused"})
"""Outcomes of a call that is known to have changed nothing: as a write it never took effect."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(moment: datetime) -> int:
    """Microseconds since 1970-01-01T00:00Z of an aware ``moment``, exactly. O(1)."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(microseconds: int) -> datetime:
    """The inverse of `micros`, in UTC. O(1)."""
    return _EPOCH + timedelta(microseconds=microseconds)


def window_micros(seconds: float | None) -> int | None:
    """A validity window in whole microseconds, rounded as `datetime.timedelta` rounds; ``None`` is no limit."""
    return None if seconds is None else round(seconds * 1_000_000)


DEEPEST = 128
"""So many segments a name may have: what is kept of each name above it grows with the square of the depth."""


def check_name(name: str) -> str:
    """``name``, if it is the name of a resource: a text of at most `DEEPEST` segments, none of them empty.

    Raises ``TypeError`` for what is no text, ``ValueError`` for a text that is no name. O(length).
    """
    if not isinstance(name, str):
        raise TypeError(f"a resource's name is a str, got name={name!r}")
    if not name or name[0] == "/" or name[-1] == "/" or "//" in name:
        raise ValueError(f"empty segment in name={name!r}: write segments separated by one '/', as in 'orders/42'")
    if len(name) >= 2 * DEEPEST and name.count("/") >= DEEPEST:
        raise ValueError(
            f"{name.count('/') + 1} segments in name={name[:40] + '...'!r}, more than {DEEPEST}: name a resource further up"
        )
    if not name.isascii():
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ValueError(f"name={name!r} is no valid Unicode: it must have an encoding in UTF-8") from None
    return name


def covers(name: str, other: str) -> bool:
    """Whether ``name`` is ``other`` or above it. Reflexive, transitive, antisymmetric. O(length)."""
    return other == name or other.startswith(name + "/")


def conflict(name: str, other: str) -> bool:
    """Whether a write to one may change the other: one `covers` the other. Reflexive, symmetric. O(length)."""
    return covers(name, other) or covers(other, name)


def prefixes(name: str) -> list[str]:
    """The names strictly above ``name``, nearest first. O(length x depth)."""
    above = []
    cut = name.rfind("/")
    while cut > 0:
        above.append(name[:cut])
        cut = name.rfind("/", 0, cut)
    return above


@attrs.frozen
class Dependency:
    """What a call rests on: an event's id, or only the part ``name`` of it, which the event's name covers."""

    id: str = attrs.field(validator=attrs.validators.instance_of(str))
    name: str | None = attrs.field(default=None)

    def __attrs_post_init__(self) -> None:
        if self.name is not None:
            check_name(self.name)


DependencyLike: TypeAlias = "str | Dependency | Event | Mapping[str, Any]"


def dependency(given: DependencyLike) -> Dependency:
    """A `Dependency` of an id, an event, a mapping with ``id`` and perhaps ``name``, or one already made.

    Raises ``TypeError`` for anything else. O(1).
    """
    if isinstance(given, Dependency):
        return given
    if isinstance(given, str):
        return Dependency(given)
    if isinstance(given, Event):
        return Dependency(given.id)
    if isinstance(given, Mapping) and "id" in given and set(given) <= {"id", "name"}:
        return Dependency(**given)
    raise TypeError(
        f"a dependency is an event's id, an Event or Dependency(id, name), got {given!r}:"
        " pass last_event(), last_event().id or a list of these"
    )


def dependencies(given: Iterable[DependencyLike] | DependencyLike | None) -> tuple[Dependency, ...]:
    """The dependencies in ``given``: none, one, or a collection of what `dependency` takes. O(n)."""
    if given is None:
        return ()
    if isinstance(given, str | Dependency | Event | Mapping):
        return (dependency(given),)
    return tuple(dependency(each) for each in given)


def _fresh_id() -> str:
    return uuid.uuid4().hex


def _aware(_: object, attribute: attrs.Attribute[Any], value: datetime | None) -> None:
    if value is None and attribute.name != "start_time":
        return
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise ValueError(
            f"{attribute.name}={value!r} is no datetime with a time zone:"
            " write datetime(..., tzinfo=UTC) or datetime.now(UTC)"
        )


def _whole(_: object, attribute: attrs.Attribute[Any], value: int | None) -> None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise ValueError(f"{attribute.name}={value!r} is no whole number")


def check_window(seconds: float | None) -> float | None:
    """``seconds``, if it can be a validity window: ``None``, or a finite number of seconds from 0 up."""
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(f"validity_window_seconds={seconds!r} is no number of seconds; None is no limit")
    if not 0 <= seconds < math.inf:
        raise ValueError(f"validity_window_seconds={seconds!r} is not finite and >= 0: use None for no limit")
    return seconds


@attrs.frozen
class Event:
    """One touch of one resource by one call, over the closed interval ``[start_time, end_time]``.

    ``end_time=None`` is a call that is still open. Times are timezone-aware. ``seq`` and ``end_seq`` number both
    ends where a log wrote the event; order is theirs then, and never the clock's. Raises ``ValueError`` or
    ``TypeError``, with the field and its value, for what cannot be: a start after the end, a naive time, a
    negative window, an outcome that its end contradicts.
    """

    name: str = attrs.field()
    start_time: datetime = attrs.field(validator=_aware)
    end_time: datetime | None = attrs.field(default=None, validator=_aware)
    validity_window_seconds: float | None = attrs.field(default=None)
    depends_on: tuple[Dependency, ...] = attrs.field(default=(), converter=dependencies)
    kind: Kind = attrs.field(default="read")
    id: str = attrs.field(factory=_fresh_id)
    seq: int | None = attrs.field(default=None, validator=_whole)
    end_seq: int | None = attrs.field(default=None, validator=_whole, kw_only=True)
    outcome: Outcome = attrs.field(kw_only=True)
    call: str = attrs.field(kw_only=True)
    parent: str | None = attrs.field(default=None, kw_only=True)
    session: str | None = attrs.field(default=None, kw_only=True)
    batch: str | None = attrs.field(default=None, kw_only=True)
    run: str | None = attrs.field(default=None, kw_only=True)
    agent: str | None = attrs.field(default=None, kw_only=True)
    tool: str | None = attrs.field(default=None, kw_only=True)
    observed_at: datetime | None = attrs.field(default=None, validator=_aware, kw_only=True)
    version: Any = attrs.field(default=None, kw_only=True)
    may_land_until: datetime | None = attrs.field(default=None, validator=_aware, kw_only=True)

    @outcome.default
    def _outcome(self) -> Outcome:
        return "pending" if self.end_time is None else "ok"

    @call.default
    def _call(self) -> str:
        return self.id

    def __attrs_post_init__(self) -> None:
        check_name(self.name)
        check_window(self.validity_window_seconds)
        for field in ("id", "call"):
            if not isinstance(getattr(self, field), str) or not getattr(self, field):
                raise ValueError(f"{field}={getattr(self, field)!r} is no id: it must be a text that is not empty")
        if self.kind not in KINDS:
            raise ValueError(f"kind={self.kind!r} is not one of 'read', 'write'")
        problem = contradiction(
            self.outcome, self.start_time, self.end_time, self.seq, self.end_seq, self.observed_at, self.may_land_until
        )
        if problem:
            raise ValueError(problem[1])


def contradiction(
    outcome: str, start: Any, end: Any, seq: Any, end_seq: Any, observed_at: Any, may_land_until: Any
) -> tuple[str, str] | None:
    """The field and the words of what an event with these values contradicts, or ``None``. Compares only. O(1)."""
    if outcome not in OUTCOMES:
        return "outcome", f"outcome={outcome!r} is not one of {', '.join(sorted(map(repr, OUTCOMES)))}"
    if end is None:
        if outcome not in ("pending", "unknown"):
            return "end_time", f"outcome={outcome!r} needs an end_time: only a pending or unknown call has none"
        if end_seq is not None:
            return "end_seq", f"end_seq={end_seq!r} without an end_time: give both or neither"
    else:
        if end < start:
            return "end_time", f"end_time={end!r} is before start_time={start!r}"
        if outcome == "pending":
            return "outcome", f"outcome='pending' contradicts end_time={end!r}: a pending call has none"
        if observed_at is not None and observed_at > end:
            return "observed_at", f"observed_at={observed_at!r} is after end_time={end!r}: a read cannot see past it"
    if end_seq is not None and (seq is None or end_seq < seq):
        return "end_seq", f"end_seq={end_seq!r} is before seq={seq!r}"
    if may_land_until is not None and may_land_until < start:
        return "may_land_until", f"may_land_until={may_land_until!r} is before start_time={start!r}"
    return None


