"""Times in event files, as whole microseconds.

A file gives them in ISO 8601 with a zone or as plain numbers of seconds on an axis of its own. What is finer than a
microsecond is rounded outward, so that an interval never loses an instant that was in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import ceil, floor, isfinite
from typing import Any, Literal, TypeAlias

from intervalguard.kernel.events import micros, moment
from intervalguard.kernel.explain import Moment

Axis: TypeAlias = Literal["iso", "number"]

LARGEST = 10**300
"""Plain numbers stay below this: then all that is made of them has a decimal form."""

_ISO = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]+))?)?"
    r"(?:([Zz])|([+-])([0-9]{2})(?::?([0-9]{2}))?)?"
)
_FIRST = micros(datetime.min.replace(tzinfo=UTC))
_LAST = micros(datetime.max.replace(tzinfo=UTC))
_EXACT = 2**53
_AXES: dict[type, Axis] = {str: "iso", int: "number", float: "number"}
_EPOCH = moment(0)
_MICROSECOND = timedelta(microseconds=1)
_AS_ZERO = str.maketrans("123456789", "000000000")
_USUAL = {
    f"0000-00-00T00:00:00{fraction}{zone}"
    for fraction in ("", *(f".{'0' * digits}" for digits in range(1, 7)))
    for zone in ("Z", "+00:00")
}
"""How most times look, with each digit a 0."""


class TimeError(ValueError):
    """What is wrong with a value that should be a time, and what to write instead."""


def iso_micros(text: str, up: bool) -> int:
    """A time in ISO 8601 with a zone. Raises `TimeError`. O(length)."""
    parts = _ISO.fullmatch(text)
    if parts is None:
        raise TimeError("is no ISO 8601 time: write it as in '2026-07-30T12:00:00Z'")
    year, month, day, hour, minute, second, fraction, zulu, sign, offset_hour, offset_minute = parts.groups()
    if zulu is None and sign is None:
        raise TimeError("has no time zone: write it as in '2026-07-30T12:00:00Z' or with an offset, '+02:00'")
    try:
        whole = micros(datetime(int(year), int(month), int(day), int(hour), int(minute), int(second or 0), tzinfo=UTC))
    except ValueError as error:
        raise TimeError(f"is no time: {error}") from None
    if sign is not None:
        offset = int(offset_hour) * 60 + int(offset_minute or 0)
        if int(offset_hour) > 23 or int(offset_minute or 0) > 59:
            raise TimeError("has an offset that is no time zone: write it as in '+02:00'")
        whole -= (offset if sign == "+" else -offset) * 60_000_000
    if fraction is not None:
        whole += int(fraction[:6].ljust(6, "0"))
        if up and fraction[6:].strip("0"):
            whole += 1
    if not _FIRST <= whole <= _LAST:
        raise TimeError("is outside the years 1 to 9999 in UTC")
    return whole


def number_micros(number: float, up: bool) -> int:
    """A plain number of seconds, exactly as its shortest decimal form says: 1.1 is 1,100,000. Raises `TimeError`."""
    if type(number) is int:
        if not -LARGEST < number < LARGEST:
            raise TimeError("is too large for a time: write seconds, below 1e300")
        return number * 1_000_000
    if not isfinite(number) or not -LARGEST < number < LARGEST:
        raise TimeError("is not finite, or too large for a time: write seconds, below 1e300")
    near = number * 1e6
    if -_EXACT < near < _EXACT:
        whole = round(near)
        if whole / 1e6 == number:
            return whole
    exact = Fraction(repr(number)) * 1_000_000
    return ceil(exact) if up else floor(exact)


def usual_micros(times: Sequence[Any]) -> list[int] | None:
    """Micros of each time, where all are as most are: datetimes, or texts in UTC, no finer than a microsecond.

    Else ``None``. O(length).
    """
    moments: Iterable[datetime] = times
    try:
        if type(times[0]) is str:
            joined = "\n".join(times)
            shapes = joined.translate(_AS_ZERO)
            first, end, _ = shapes.partition("\n")
            alike = {first} if shapes + end == (first + end) * len(times) else {*shapes.split("\n")}
            if not alike <= _USUAL or "T24" in joined or joined.count("+") != joined.count("+00:00"):
                return None
            moments = map(datetime.fromisoformat, times)
        found = [(time - _EPOCH) // _MICROSECOND for time in moments]
    except (TypeError, ValueError):
        return None
    return found if min(found) >= _FIRST and max(found) <= _LAST else None


def usual_numbers(numbers: Sequence[float]) -> list[int] | None:
    """`number_micros` of each number, where all are as most are: no finer than a microsecond; else ``None``. O(n)."""
    if not {int, float}.issuperset(map(type, numbers)):
        return None
    try:
        near = [*map(round, [number * 1e6 for number in numbers])]
    except (OverflowError, ValueError):
        return None
    exact = min(near) > -_EXACT and max(near) < _EXACT and [whole / 1e6 for whole in near] == [*numbers]
    return near if exact else None


class Times:
    """The times of one file, which are all on one axis: that of the first."""

    def __init__(self) -> None:
        self.axis: Axis | None = None

    def usual(self, values: Sequence[Any]) -> list[int] | None:
        """The times in microseconds where all are as most are, which is quicker; else ``None``. O(length)."""
        axis = "iso" if type(values[0]) is datetime else _AXES.get(type(values[0]))
        if axis is None or (self.axis is not None and self.axis != axis):
            return None
        found = usual_micros(values) if axis == "iso" else usual_numbers(values)
        if found is not None:
            self.axis = axis
        return found

    def read(self, value: Any, up: bool) -> int:
        """A time in microseconds, rounded up or down. Raises `TimeError`, also for a second axis."""
        axis = _AXES.get(type(value))
        if axis is None:
            raise TimeError("is no time: write ISO 8601 with a zone, or a plain number of seconds")
        at = iso_micros(value, up) if axis == "iso" else number_micros(value, up)
        if self.axis is None:
            self.axis = axis
        elif self.axis != axis:
            first = "ISO 8601 text" if self.axis == "iso" else "a plain number"
            raise TimeError(f"is on another axis than the times before it, which are {first}: one file has one axis")
        return at


def shown(axis: Axis | None, at: int) -> Moment:
    """Microseconds as a time of the axis: a `datetime`, or a number that reads as it was written. O(1)."""
    if axis != "number":
        return moment(at)
    whole, part = divmod(at, 1_000_000)
    return at / 1e6 if part else whole


def written(axis: Axis | None, at: int) -> str | float:
    """Microseconds as an event file gives them. O(1)."""
    time = shown(axis, at)
    if isinstance(time, datetime):
        return f"{time.replace(tzinfo=None).isoformat()}Z"
    return time
