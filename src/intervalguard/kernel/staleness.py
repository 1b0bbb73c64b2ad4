"""Staleness: is what a call rests on still true?

A read saw the world at some instant of its observation interval; a write takes effect at some instant of its own, or,
where its outcome says so, never. Nobody knows which instants these are. So for a call that starts at ``d`` and rests on
a dependency, over everything that the intervals allow, the dependency is

* *stale* when in every case a conflicting write took effect after the dependency saw the world and by ``d``,
* *fresh* when in none,
* *suspect* when in some and not in all.

The worst over single writes is exact for several: each write may escape on its own, all of them at the last instant at
which the dependency can have seen the world (law L2). Age is apart, and a lower bound. A dependency that the log cannot
answer for is *unverifiable*, which is worse than stale: what is not verified is not fresh.

`judge` is the rule. It knows no log: it asks a view, and its users differ in the view that they hand it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple, Protocol, TypeAlias, cast

from .views import MISSING, Entry, Id, Key, Memory, Position, Spared, View, narrowed

Grade: TypeAlias = int
"""A reason, as its rank: the higher one counts."""

REASONS: tuple[str, ...] = (
    "overlapped",
    "unknown-outcome",
    "in-flight",
    "expired",
    "version",
    "superseded",
    "not-settled",
    "no-result",
    "history-dropped",
    "unknown-dependency",
)
"""The reasons, lowest first; a `Grade` is an index into it."""

(
    OVERLAPPED,
    UNKNOWN_OUTCOME,
    IN_FLIGHT,
    EXPIRED,
    VERSION,
    SUPERSEDED,
    NOT_SETTLED,
    NO_RESULT,
    HISTORY_DROPPED,
    UNKNOWN_DEPENDENCY,
) = range(10)

REMEDIES: Mapping[str, str] = {
    "overlapped": "read again",
    "unknown-outcome": "settle it, then read again",
    "in-flight": "wait, then read again",
    "expired": "read again",
    "version": "read again",
    "superseded": "read again",
    "not-settled": "read it first",
    "no-result": "read it first",
    "history-dropped": "read it first",
    "unknown-dependency": "read it first",
}


def verdict_of(grade: Grade) -> str:
    """``"suspect"``, ``"stale"`` or ``"unverifiable"``. O(1)."""
    return "suspect" if grade < EXPIRED else "stale" if grade < NOT_SETTLED else "unverifiable"


class Said(NamedTuple):
    """What is wrong with a dependency: the grade, the witness, and the source that it went wrong for, if derived."""

    grade: Grade
    by: Entry | None
    via: Entry | None


class Raw(NamedTuple):
    """A finding inside the kernel: `Said` of one dependency of a call."""

    dependency: Id
    entry: Entry | None
    grade: Grade
    by: Entry | None
    via: Entry | None


class Probe(NamedTuple):
    """A look at the current version of a dependency: whether it is another than was read, and the interval of the look."""

    is_another: bool
    start: Position
    end: Position
    end_time: Any


class Claims(Protocol):
    """A call as the rule sees it: who it is, the call that it was made in, what it rests on, and what it looked at."""

    @property
    def call(self) -> Id: ...

    @property
    def parent(self) -> Id: ...

    @property
    def depends_on(self) -> Sequence[Key]: ...

    @property
    def probes(self) -> Mapping[Id, Probe] | None: ...


class Claim(NamedTuple):
    """A call that is no event."""

    call: Id
    parent: Id
    depends_on: Sequence[Key]
    probes: Mapping[Id, Probe] | None = None


NOBODY = Claim(None, None, ())


def judge(view: View, claim: Claims, at: Position, time: Any) -> list[Raw]:
    """What the log says as of ``at`` of everything that the call rests on: one finding for each dependency not fresh.

    ``time`` is the time of ``at`` in microseconds; it serves ages alone. Laws L2, L3 and L4. Costs the number of
    dependencies times the view's look-up, and for derived reads what the view's memory does not hold of their closure.
    Raises ``ValueError`` for a narrower name that is not covered.
    """
    found: dict[Id, Raw] = {}
    keys = claim.depends_on
    named: Iterable[Key] = keys if len(keys) <= _FEW else _named(keys)
    for key in keys:
        id, name = key if type(key) is tuple else (key, None)
        said = _dependency(view, claim, named, id, name, at, time)
        if said is not None and (id not in found or _worse(said, found[id])):
            found[id] = Raw(id, view.find(id), *said)
    return list(found.values()) if found else []


_FEW = 8


def _named(keys: Sequence[Key]) -> frozenset[Id]:
    """The ids of many dependencies, each of which is going to look for others among them."""
    return frozenset(key[0] if type(key) is tuple else key for key in keys)


def _dependency(
    view: View, claim: Claims, named: Iterable[Key], id: Id, name: str | None, at: Position, time: Any
) -> Said | None:
    """The worst of one dependency of the call itself: as it stands, by its age, and by what it was derived from."""
    read = view.find(id)
    if read is None:
        return _unheld(view, id)
    probe = claim.probes.get(id) if claim.probes else None
    name = read.name if name is None else narrowed(read, name)
    worst = _edge(view, claim, claim.call, named, read, name, at, probe)
    if worst is not None and worst.grade >= NOT_SETTLED:
        return worst
    if read.window is not None and (worst is None or worst.grade < EXPIRED) and _expired(read, probe, time):
        worst = Said(EXPIRED, None, None)
    if probe is not None and probe.is_another and (worst is None or worst.grade < VERSION):
        worst = None if worst is None and _told_of(view, read, at) else Said(VERSION, None, None)
    if read.kind == "read" and view.is_derived(read):
        worst = _worst(worst, _derived(view, claim, read, at))
    return worst


def _told_of(view: View, read: Entry, at: Position) -> bool:
    """Whether the log holds a write that may have changed the version of ``read`` since, other than its own call's.

    Where none of these counts against the dependency, for they are the call's own, acknowledged, or to another part of
    the resource, another version is no news.
    """
    since, _ = observation(read)
    if view.undisturbed(read.name, since, at, read.call):
        return False

    def own(write: Entry) -> bool:
        return bool(write.call == read.call)

    return (
        view.first_ended(read.name, "ok", since, at, own) is not None
        or view.first_ended(read.name, "error", since, at, own) is not None
        or view.first_open(read.name, at, own) is not None
        or view.first_lost(read.name, at, own) is not None
    )


def _expired(read: Entry, probe: Probe | None, time: Any) -> bool:
    """Whether the read outlived its window. At the boundary it has not."""
    if probe is not None and not probe.is_another:
        seen = probe.end_time
    elif read.extra is not None and read.extra.seen_time is not None:
        seen = read.extra.seen_time
    else:
        seen = read.start_time + read.took
    return bool(time - seen > read.window)


def _edge(
    view: View,
    claim: Claims,
    user: Id,
    keys: Iterable[Key],
    read: Entry,
    name: str,
    at: Position,
    probe: Probe | None = None,
) -> Said | None:
    """What the log says of ``read``, known by ``name``, for the call ``user`` that rests directly on it by ``keys``."""
    since, until = read.start, read.end
    if read.extra is not None:
        since, until = observation(read)
    if probe is not None and not probe.is_another:
        since, until = probe.start, probe.end
    settled = read.outcome == "ok" and read.end <= at
    if settled and view.undisturbed(name, since, at, read.call):
        return None
    if view.dropped_since(name, since):
        return Said(HISTORY_DROPPED, None, None)
    if not settled:
        return Said(NOT_SETTLED if read.outcome in ("ok", "pending") else NO_RESULT, None, None)
    spared = _spares(view, claim, user, keys, read)
    by = view.first_after(name, until, at, spared)
    if by is not None:
        return Said(SUPERSEDED, by, None)
    by = view.first_open(name, at, spared)
    if by is not None:
        return Said(IN_FLIGHT, by, None)
    lost = view.first_lost(name, at, spared)
    by = view.first_ended(name, "error", since, at, spared)
    if lost is not None and (by is None or lost.start < by.start):
        by = lost
    if by is not None:
        return Said(UNKNOWN_OUTCOME, by, None)
    by = view.first_ended(name, "ok", since, at, spared)
    return None if by is None else Said(OVERLAPPED, by, None)


def observation(read: Entry) -> tuple[Position, Position]:
    """When a dependency saw the world: its interval, or the one instant that it gives, which is never past its end."""
    extra = read.extra
    if extra is None or extra.seen is None:
        return read.start, read.end
    seen = extra.seen
    if read.end is not None and seen > read.end:
        seen = read.end
    return seen, seen


def _spares(view: View, claim: Claims, user: Id, keys: Iterable[Key], read: Entry) -> Spared:
    """The writes that do not supersede ``read`` where ``user`` rests directly on it (law L3).

    Those of the call judged, of its ancestors and of the calls nested in it, of the two calls of this edge, and those
    that ``user`` itself names, which is not inherited.
    """
    acknowledged = keys if type(keys) is frozenset else {key[0] if type(key) is tuple else key for key in keys}
    own = {claim.call, user, read.call, *ancestors(view, claim.parent)}

    def spared(write: Entry) -> bool:
        return (
            write.call in own
            or write.id in acknowledged
            or (write.parent is not None and claim.call is not None and claim.call in ancestors(view, write.parent))
        )

    return spared


def ancestors(view: View, call: Id) -> Mapping[Id, None]:
    """``call`` and the calls that it is nested in, innermost first, as far as the log knows. O(depth)."""
    line: dict[Id, None] = {}
    while call is not None and call not in line:
        line[call] = None
        events = view.call(call)
        call = events[0].parent if events else None
    return line


def _derived(view: View, claim: Claims, read: Entry, at: Position) -> Said | None:
    """What the closure of a derived read says to the call: what it says to anyone, unless the witness is spared to it."""
    memory = view.memory()
    if memory is not None:
        said = _remembered(view, read.call, at, memory)
        if said is None:
            return None
        if said is not MISSING and (said.by is None or not _spares(view, claim, claim.call, (), read)(said.by)):
            return cast(Said, said)
    return _swept(view, claim, read.call, at)


def _swept(view: View, claim: Claims, call: Id, at: Position) -> Said | None:
    """The worst over the closure of ``call``: over everything that it was derived from, through reads, up to writes."""
    worst: Said | None = None
    seen = {call}
    stack = [call]
    while stack:
        said, derived = _sources(view, claim, stack.pop(), at)
        worst = _worst(worst, said)
        stack += [each for each in derived if each not in seen]
        seen.update(derived)
    return worst


def _remembered(view: View, call: Id, at: Position, memory: Memory) -> Any:
    """What `_swept` says of ``call`` to nobody in particular, bottom up, from what the memory holds of its sources.

    `MISSING` where the closure has a cycle, which has no bottom.
    """
    opened: dict[Id, tuple[Said | None, list[Id]]] = {}
    stack = [call]
    while stack:
        call = stack[-1]
        if memory.recall(call, at) is not MISSING:
            stack.pop()
            continue
        again = call in opened
        if not again:
            opened[call] = _sources(view, NOBODY, call, at)
        said, derived = opened[call]
        known = [memory.recall(each, at) for each in derived]
        if MISSING not in known:
            memory.keep(call, reduce(_worst, known, said))
            stack.pop()
        elif again:
            return MISSING
        else:
            stack += [each for each, its in zip(derived, known, strict=True) if its is MISSING]
    return memory.recall(call, at)


def _sources(view: View, claim: Claims, call: Id, at: Position) -> tuple[Said | None, list[Id]]:
    """The worst of what ``call`` rests on directly, and the calls of the derived reads among it."""
    worst: Said | None = None
    derived: dict[Id, None] = {}
    keys = view.rests_on(call)
    named: Iterable[Key] = keys if len(keys) <= _FEW else _named(keys)
    for key in keys:
        id, name = key if type(key) is tuple else (key, None)
        source = view.find(id)
        if source is None:
            worst = _worst(worst, _unheld(view, id))
            continue
        said = _edge(view, claim, call, named, source, narrowed(source, name), at)
        if said is not None:
            worst = _worst(worst, said._replace(via=source))
        if source.kind == "read" and source.call != call and view.is_derived(source):
            derived[source.call] = None
    return worst, list(derived)


def _unheld(view: View, id: Id) -> Said:
    return Said(HISTORY_DROPPED if view.was_dropped(id) else UNKNOWN_DEPENDENCY, None, None)


def _worst(one: Said | None, other: Said | None) -> Said | None:
    return other if one is None or (other is not None and _worse(other, one)) else one


def _worse(said: Said | Raw, other: Said | Raw) -> bool:
    """Whether ``said`` counts before ``other``: the higher grade, then the earlier witness, then the earlier source.

    What is said of the dependency itself comes before what is said of a source.
    """
    if said.grade != other.grade:
        return said.grade > other.grade
    if said.by is not other.by and said.by is not None and other.by is not None:
        return bool(said.by.start < other.by.start)
    if said.via is None or other.via is None:
        return said.via is None and other.via is not None
    return bool(said.via.start < other.via.start)
