"""Findings in words: one line for a person, and for a model what changed, who changed it, when, what to do next.

A finding is data, and its words are a function of it. Names, ids, tools and agents come from outside, from models and
from what models read, so they are hostile text: they stand in quotes that nothing in them can end, on one line, without
a character that moves a cursor or hides others, and at a bounded length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Literal, TypeAlias, cast

import attrs

from .events import Event, moment
from .sessions import Unread
from .staleness import EXPIRED, IN_FLIGHT, REASONS, REMEDIES, Raw, verdict_of
from .views import Entry

Verdict: TypeAlias = Literal["unverifiable", "stale", "suspect"]
Reason: TypeAlias = Literal[
    "unknown-dependency",
    "history-dropped",
    "no-result",
    "not-settled",
    "superseded",
    "version",
    "expired",
    "in-flight",
    "unknown-outcome",
    "overlapped",
]
Moment: TypeAlias = datetime | float
"""A time as people see it: a `datetime`, or a number of seconds on a log's own axis."""

LONGEST = 120
"""How many characters of a name or an id are shown."""


@attrs.frozen
class Party:
    """An event as far as a finding tells of it: what it touched, when, and whose it was."""

    id: str
    name: str
    kind: str
    outcome: str
    start_time: Moment
    end_time: Moment | None = None
    tool: str | None = None
    agent: str | None = None
    session: str | None = None


def party_of(event: Event) -> Party:
    """An event as a party. O(1)."""
    return Party(
        event.id,
        event.name,
        event.kind,
        event.outcome,
        event.start_time,
        event.end_time,
        event.tool,
        event.agent,
        event.session,
    )


def whose(party: Party) -> str:
    """The tool, the agent and the session of a party, as far as they are known; empty where none is. O(length)."""
    known = (("tool", party.tool), ("agent", party.agent), ("session", party.session))
    return ", ".join(f"{what} {quoted(value)}" for what, value in known if value)


@attrs.frozen
class Finding:
    """One dependency of one call that is not fresh. Plain data; its words are made of it when asked for.

    ``event`` is the id of the call's first event and ``dependency`` the id that it rests on; ``read`` is that event,
    where the log holds it. ``by`` is the write that is the witness, ``via`` the source that went wrong where the
    dependency was derived from it. ``at`` is since when: the end of a witness that had ended, the start of one that had
    not, the moment when a window had run out; otherwise the time as of which the call was judged. ``unread`` says that
    ``dependency`` is no id but the name of a resource that nothing in the call's session has read.
    """

    event: str
    dependency: str
    verdict: Verdict
    reason: Reason
    at: Moment
    read: Party | None = None
    by: Party | None = None
    via: Party | None = None
    age_seconds: float | None = None
    window_seconds: float | None = None
    unread: bool = False

    @property
    def name(self) -> str | None:
        """The dependency's name; ``None`` where the log does not hold it."""
        if self.unread:
            return self.dependency
        return None if self.read is None else self.read.name

    @property
    def remedy(self) -> str:
        """What heals it, in a few words."""
        return REMEDIES[self.reason]

    @property
    def message(self) -> str:
        """`explain` of it."""
        return explain(self)


def finding(
    raw: Raw,
    event: str,
    time: int,
    describe: Callable[[Entry], Party],
    shown: Callable[[int], Moment] = moment,
) -> Finding:
    """A finding of the kernel as people see it.

    ``event`` is the id of the call's first event and ``time`` the one as of which it was judged, in microseconds;
    ``describe`` tells of an entry what its log knows, ``shown`` makes microseconds a `Moment`. O(1).
    """
    entry, by, via = raw.entry, raw.by, raw.via
    at, age, window = time, None, None
    if by is not None:
        at = _when(by, raw.grade, time)
    elif raw.grade == EXPIRED and entry is not None and entry.window is not None:
        seen = None if entry.extra is None else entry.extra.seen_time
        if seen is None:
            seen = entry.start_time + entry.took
        at, age, window = seen + entry.window, (time - seen) / 1_000_000, entry.window / 1_000_000
    read = None if entry is None else describe(entry)
    return Finding(
        event,
        str(raw.dependency) if read is None else read.id,
        cast(Verdict, verdict_of(raw.grade)),
        cast(Reason, REASONS[raw.grade]),
        shown(at),
        read,
        None if by is None else describe(by),
        None if via is None else describe(via),
        age,
        window,
        isinstance(raw.dependency, Unread),
    )


def _when(by: Entry, grade: int, time: int) -> int:
    """Since when a witness counts: its end, its start while it had none, the end of the time in which it may land."""
    start = cast(int, by.start_time)
    if grade == IN_FLIGHT:
        return start
    if by.took is not None:
        end = start + cast(int, by.took)
        return end if end <= time else start
    if by.outcome == "error" and by.extra is not None and by.extra.until_time is not None:
        return cast(int, by.extra.until_time)
    return start


# -- words


_PLAIN = re.compile(r"[A-Za-z0-9_.:/@#+=~-]+")
_UNSEEN = re.compile(r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""What `str.isprintable` lets through and no one sees: fillers, joiners, variation selectors."""


def visible(text: str) -> str:
    """``text`` without a character that ends a line, moves a cursor, turns the direction or hides: they are escaped.

    What is left can be encoded in UTF-8. O(length).
    """
    if text.isprintable() and (text.isascii() or not _UNSEEN.search(text)):
        return text
    return "".join(each if each.isprintable() and not _UNSEEN.match(each) else ascii(each)[1:-1] for each in text)


def quoted(text: str) -> str:
    """``text`` in single quotes, which nothing in it can end, `visible` and at most about `LONGEST` characters of it.

    Of a longer one the middle is left out. O(length).
    """
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}…{text[len(text) - LONGEST // 2 :]}"
    if "'" in text or "\\" in text:
        text = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{visible(text)}'"


def _id(id: str) -> str:
    return id if len(id) <= LONGEST and _PLAIN.fullmatch(id) else quoted(id)


def when(at: Moment) -> str:
    """A time in a message: in UTC, to the second it falls in, or the number as it is."""
    if isinstance(at, datetime):
        return f"{at.astimezone(UTC).replace(microsecond=0, tzinfo=None).isoformat()}Z"
    return str(at)


def seconds(number: float) -> str:
    """A length of time in a message, to the microsecond: ``31s``, ``0.25s``."""
    text = f"{number:.6f}".rstrip("0").rstrip(".") if number != int(number) else str(int(number))
    return f"{text}s"


def _named(party: Party) -> str:
    return f"{quoted(party.name)} (id={_id(party.id)})"


def _subject(finding: Finding) -> str:
    if finding.unread:
        return quoted(finding.dependency)
    return f"(id={_id(finding.dependency)})" if finding.read is None else _named(finding.read)


def explain(finding: Finding) -> str:
    """One line for a person: what is wrong with which event, since when. O(1).

    ``event 'NAME' (id=ID) is stale: superseded by 'NAME' (id=ID) at 2026-07-30T18:44:41Z``
    """
    derived = ""
    if finding.via is not None:
        derived = f" (derived from {_named(finding.via)})"
    what = "resource" if finding.unread else "event"
    return f"{what} {_subject(finding)} is {finding.verdict}: {_WHY[finding.reason](finding)}{derived}"


def _superseded(finding: Finding) -> str:
    return f"superseded by {_by(finding)} at {when(finding.at)}"


def _expired(finding: Finding) -> str:
    age, window = finding.age_seconds, finding.window_seconds
    if age is None or window is None:
        return f"its validity window had run out at {when(finding.at)}"
    return (
        f"it has aged {seconds(age)}, past its validity window of {seconds(window)}, which ended at {when(finding.at)}"
    )


def _version(finding: Finding) -> str:
    return f"its version changed without a write in the log, as seen at {when(finding.at)}"


def _in_flight(finding: Finding) -> str:
    return f"{_by(finding)} was writing it, begun at {when(finding.at)} and not ended"


def _unknown_outcome(finding: Finding) -> str:
    if finding.by is not None and finding.by.outcome == "error":
        return f"{_by(finding)} may have written it before it failed at {when(finding.at)}"
    return f"{_by(finding)} may have written it or may yet: its outcome was unknown at {when(finding.at)}"


def _overlapped(finding: Finding) -> str:
    return f"overlapped by {_by(finding)}, which ended at {when(finding.at)} and may have written after it was read"


def _not_settled(finding: Finding) -> str:
    return f"it{_source(finding)} had not ended at {when(finding.at)}"


def _no_result(finding: Finding) -> str:
    party = finding.via or finding.read
    outcome = "" if party is None else f": its outcome is {quoted(party.outcome)}"
    return f"it{_source(finding)} gave no result to rest on{outcome}"


def _history_dropped(finding: Finding) -> str:
    if finding.read is None:
        return "the log no longer holds it"
    return f"the log no longer holds what happened to it{_source(finding)} since it was read"


def _unknown_dependency(finding: Finding) -> str:
    if finding.unread:
        return "nothing in this session had read it when this call was chosen"
    return (
        "the log does not hold it"
        if finding.read is None
        else "it was derived from an event that the log does not hold"
    )


def _source(finding: Finding) -> str:
    return "" if finding.via is None else "s source"


def _by(finding: Finding) -> str:
    return "a write" if finding.by is None else _named(finding.by)


_WHY: dict[str, Callable[[Finding], str]] = {
    "superseded": _superseded,
    "expired": _expired,
    "version": _version,
    "in-flight": _in_flight,
    "unknown-outcome": _unknown_outcome,
    "overlapped": _overlapped,
    "not-settled": _not_settled,
    "no-result": _no_result,
    "history-dropped": _history_dropped,
    "unknown-dependency": _unknown_dependency,
}

SHOWN = 10
"""How many findings a model is told of."""


def for_model(findings: Iterable[Finding], opening: str = "What this call rests on can no longer be relied on.") -> str:
    """The findings for a model to act on: what changed, who changed it, when, and what to do next. O(findings).

    ``opening`` says what became of the call. Names and ids are in quotes, as data; after `SHOWN` findings the rest is
    counted.
    """
    held = list(findings)
    lines = [opening]
    for number, each in enumerate(held[:SHOWN], start=1):
        lines.append(f"{number}. {_what(each)} {_next(each)}")
    if len(held) > SHOWN:
        lines.append(f"And {len(held) - SHOWN} more of this kind: read again everything that this call rests on.")
    return "\n".join(lines)


def _what(finding: Finding) -> str:
    who = ""
    if finding.by is not None and (named := whose(finding.by)):
        who = f" The write was made by {named}."
    return f"{explain(finding)[0].upper()}{explain(finding)[1:]}.{who}"


def _next(finding: Finding) -> str:
    """What a model is to do about it, in the order in which it is to do it."""
    if finding.by is not None and finding.by.outcome == "unknown" and finding.reason == "unknown-outcome":
        return (
            f"Do not repeat the call. Ask for someone to find out whether {_by(finding)} took effect, and to settle it:"
            " until then reading again does not help."
        )
    step = f"Wait until {_by(finding)} has ended. " if finding.reason == "in-flight" else ""
    again = "first" if finding.verdict == "unverifiable" else "again"
    if finding.unread:
        read = f"Read {quoted(finding.dependency)} first, and wait for the result"
    elif finding.read is None:
        read = "Read what this call rests on first"
    elif finding.via is not None and finding.via.name != finding.read.name:
        read = f"Read {_with_tool(finding.via)} {again}, then {_with_tool(finding.read)}"
    else:
        read = f"Read {_with_tool(finding.read)} {again}"
    return f"{step}{read}, then decide again."


def _with_tool(party: Party) -> str:
    """A resource, and the tool that read it."""
    by = f" with tool {quoted(party.tool)}" if party.tool and party.kind == "read" else ""
    return f"{quoted(party.name)}{by}"
