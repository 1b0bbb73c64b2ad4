"""What the semantics say of staleness, as a statement about a few events: every edge and every write, each looked at anew.

It shares nothing with the kernel. It only compares positions, so it runs on symbolic ones beside the rule, and what it
says must be what the rule says on every path of the two together. Events need the fields of an entry of a log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

VERDICTS = {
    "unknown-dependency": "unverifiable",
    "no-result": "unverifiable",
    "not-settled": "unverifiable",
    "superseded": "stale",
    "expired": "stale",
    "in-flight": "suspect",
    "unknown-outcome": "suspect",
    "overlapped": "suspect",
}
"""What a log that drops nothing can say, without probes: each reason, highest first, and its verdict."""


class Against(NamedTuple):
    """One thing that speaks against a dependency."""

    reason: str
    by: Any = None
    via: str | None = None


class Edge(NamedTuple):
    """``user`` rests by ``key``, one of its ``keys``, on an event: directly the call judged, or one that it is derived from.

    A key is the event's id, or that and the only part of its name that counts.
    """

    user: str
    keys: tuple[Any, ...]
    key: Any
    direct: bool

    @property
    def id(self) -> str:
        return id_of(self.key)


def id_of(key: Any) -> str:
    return str(key if isinstance(key, str) else key[0])


def conflicting(one: str, other: str) -> bool:
    ones, others = one.split("/"), other.split("/")
    return all(a == b for a, b in zip(ones, others, strict=False))


def above(events: Sequence[Any], call: str, parent: str | None) -> list[str]:
    """A call and those that it was made in."""
    line = [call]
    todo = [parent]
    while todo:
        outer = todo.pop()
        if outer is not None and outer not in line:
            line.append(outer)
            todo += [each.parent for each in events if each.call == outer]
    return line


def spared(events: Sequence[Any], judged: Any, edge: Edge, read: Any, write: Any) -> bool:
    """Whether a write does not count on an edge to ``read``, where ``judged`` is the call judged."""
    return (
        write.call in above(events, judged.call, judged.parent)
        or judged.call in above(events, write.call, write.parent)
        or write.call in (edge.user, read.call)
        or write.id in map(id_of, edge.keys)
    )


def reason_of(write: Any, r0: Any, r1: Any, d: Any) -> str | None:
    """What one write that counts says of a read that saw the world from ``r0`` to ``r1``, as of ``d``."""
    if write.outcome in ("failed", "refused") or write.start > d:
        return None
    until = None if write.extra is None else write.extra.until
    if write.outcome == "unknown" and until is not None and until <= d:
        return None if until < r0 else "unknown-outcome"
    if write.end is not None and write.end > d:
        return "in-flight"
    if write.outcome == "unknown":
        return "unknown-outcome"
    if write.end is None:
        return "in-flight"
    if write.end < r0:
        return None
    if write.outcome == "error":
        return "unknown-outcome"
    return "superseded" if write.start > r1 else "overlapped"


def closure(events: Sequence[Any], first: Edge) -> list[Edge]:
    """All edges that a dependency leads to: on through reads, and no further at writes."""
    found: list[Edge] = []
    todo = [first]
    while todo:
        edge = todo.pop(0)
        if edge in found:
            continue
        found.append(edge)
        for read in events:
            if read.id == edge.id and read.kind == "read":
                keys = tuple(key for each in events if each.call == read.call for key in each.depends_on)
                todo += [Edge(read.call, keys, key, False) for key in keys]
    return found


def against_edge(events: Sequence[Any], judged: Any, edge: Edge, d: Any, now: Any) -> Iterator[Against]:
    """What speaks against what one edge rests on."""
    read = next((each for each in events if each.id == edge.id), None)
    if read is None:
        yield Against("unknown-dependency")
        return
    via = None if edge.direct else edge.id
    if read.outcome not in ("ok", "pending"):
        yield Against("no-result", None, via)
        return
    if read.end is None or read.end > d:
        yield Against("not-settled", None, via)
        return
    r0, r1 = read.start, read.end
    if read.extra is not None:
        r0 = r1 = read.end if read.extra.seen > read.end else read.extra.seen
    name = read.name if isinstance(edge.key, str) else edge.key[1]
    for write in events:
        if write.kind == "write" and conflicting(write.name, name):
            if spared(events, judged, edge, read, write):
                continue
            reason = reason_of(write, r0, r1, d)
            if reason is not None:
                yield Against(reason, write, via)
    if edge.direct and read.window is not None and now - read.start_time - read.took > read.window:
        yield Against("expired")


def said(events: Sequence[Any], judged: Any, key: Any, d: Any, now: Any) -> list[Against]:
    """All that is right to find of a dependency: the highest reason, and of the writes that give it one that is first."""
    first, *derived = closure(events, Edge(judged.call, judged.depends_on, key, True))
    everything = list(against_edge(events, judged, first, d, now))
    if not any(VERDICTS[each.reason] == "unverifiable" for each in everything):
        # What has no result itself was derived from nothing.
        for edge in derived:
            everything += against_edge(events, judged, edge, d, now)
    if not everything:
        return []
    top = min((each.reason for each in everything), key=list(VERDICTS).index)
    given = [each for each in everything if each.reason == top]
    return [each for each in given if not any(other.by.start < each.by.start for other in given if other.by is not None)]
