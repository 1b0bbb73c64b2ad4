"""Cases of what a log is given to keep: names, ids, versions, times and windows come back as they were, and no other way."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

from ..kernel.events import DEEPEST
from ..logs.calls import Learned, Origin
from .agreement import check
from .bench import Bench, Case
from .factories import LogFactory
from .stories import moment
from .strategies import ALIKE


def _alike(factory: LogFactory) -> None:
    """Names that are alike and not the same: by case, spaces, wildcards, accents, or as the beginning of a text."""
    few = [ALIKE[place : place + 6] for place in range(0, len(ALIKE), 6)]
    for one, other in [(each[which::2], each[1 - which :: 2]) for each in few for which in (0, 1)]:
        bench = Bench(factory)
        reads = [bench.done("read", name, session="s") for name in (*one, *other)]
        open_writes = [bench.start("write", name, bench.key(read)) for name, read in zip(one, reads, strict=False)]
        bench.judged(*(bench.key(read) for read in reads))
        for name in (*other, *(f"{name}/z" for name in one)):
            bench.ask("read", name)
            bench.ask("write", name)
        for made in open_writes:
            bench.end(made, "ok")
        bench.judged(*(bench.key(read) for read in reads))
        bench.check((*one, *other), ("s", "S"))


def _long(factory: LogFactory) -> None:
    """Names as long and as deep as names may be."""
    bench = Bench(factory)
    deep = "/".join(["d"] * DEEPEST)
    long = "".join(chr(0x4E00 + place * 7 % 20_000) for place in range(3_000))
    reads = [bench.done("read", name) for name in (deep, long, long[:-1])]
    bench.done("write", long)
    bench.done("write", deep.rpartition("/")[0])
    bench.judged(*(bench.key(read) for read in reads))
    bench.all((deep, long, long[:-1]))


def _ids(factory: LogFactory) -> None:
    """Texts that are like an id and are none."""
    bench = Bench(factory)
    made = [bench.done("read", "a"), bench.done("write", "b")]
    given = {event.id for event in bench.log.events()}
    for id in given:
        for like in (id.upper(), f"{id} ", f" {id}", f"{id}\x00", f"0{id}", id[:-1], f"{id}.0", id.replace("-", "_"), "%"):
            entry = None if like in given else bench.log.find(bench.log.number_of(like))
            check(entry is None, f"find() gives an event for id={like!r}, which is no id: it is like {id!r}")
            if like not in given:
                check(bench.log.id_of(bench.log.number_of(like)) == like, f"id={like!r} does not stand for itself")
    bench.ask("write", "d", *(bench.key(each) for each in made), bench.key(made[0], "a/b"), bench.key(made[0], "a/c"))
    for key in (*given, "it's", 'a "b"', "nobody; --", "é"):
        bench.ask("write", "c", key, least=None)
        bench.ask("write", "c", key)
    bench.all(("a", "b", "c"))


_VERSIONS: tuple[Any, ...] = (
    "v", "", "1", "null", "é", unicodedata.normalize("NFD", "é"), "a\x00b", 0, 1, -1, 2**70, True, False, 1.0, 0.1 + 0.2,
    b"", b"v\x00\xff", (), (1, "1", (b"x", None)), None,
)  # fmt: skip
_OTHER_VERSIONS: tuple[Any, ...] = (
    datetime(2026, 1, 1, 0, 0, 0, 123_457, UTC), UUID(int=7), [1, "1"], {"a": (1, 2)}, {1: "a"}, frozenset({1}),
)  # fmt: skip


def _versions(factory: LogFactory) -> None:
    """Versions of each type come back as the very same; one that a log cannot keep it refuses with a TypeError."""
    bench = Bench(factory)
    for version in (*_VERSIONS, *_OTHER_VERSIONS):
        made = bench.start("read", "a")
        try:
            bench.end(made, "ok", learned=Learned(version=version))
        except TypeError:
            told = f"settle() refuses version={version!r}: a log keeps texts, numbers, bytes and tuples of these"
            check(version in _OTHER_VERSIONS, told)
            bench.end(made, "error")
            continue
        entry = bench.log.find(bench.log.number_of(made.id))
        kept = None if entry is None or entry.extra is None else entry.extra.version
        check(
            type(kept) is type(version) and repr(kept) == repr(version),
            f"find() gives version={kept!r}, and it was learned as {version!r}: a probe compares it, and would find another",
        )


def _probes(factory: LogFactory) -> None:
    """A look at the version: another one is stale, and the same moves what was seen to the look."""
    bench = Bench(factory)
    origin = Origin("tool", "s", "batch", "run", "agent", str)
    read = bench.done("read", "a", window=1_000_000, learned=Learned(version="v"), origin=origin)
    bench.done("write", "a")
    for is_another in (True, False):
        bench.ask("write", "b", bench.key(read), looked={read.id: is_another})
    bench.later(5)
    bench.ask("write", "b", bench.key(read), looked={read.id: False})
    bench.end(bench.start("read", "d", bench.key(read), least=None, looked={read.id: False}), "ok", least=0)
    found = read.log.find(read.log.number_of(read.id))
    kept = found is not None and all(
        getattr(found.origin, field) == getattr(read.origin, field)
        for field in ("tool", "session", "batch", "run", "agent", "probe")
    )
    check(kept, "find() gives an event without the origin that admit() was given, which has the probe")


def _times(factory: LogFactory) -> None:
    """Times are kept to the microsecond, whatever the clock's zone, and early and late ones, too."""
    for zone in (timezone(timedelta(hours=5, minutes=45)), timezone(-timedelta(hours=11))):
        bench = Bench(factory)
        for year, microsecond in ((1969, 999_999), (2026, 123_457), (2026, 999_999), (2038, 1), (2500, 7)):
            bench.time = datetime(year, 3, 1, 23, 59, 59, microsecond, zone)
            made = bench.start("write", "a")
            bench.later(microseconds=1)
            bench.end(made, "ok")
            seen = bench.log.now().astimezone(zone) - timedelta(microseconds=3)
            bench.done("read", "b", learned=Learned(observed_at=seen))
            bench.write_outside("b", bench.time - timedelta(microseconds=2))
        bench.all(("a", "b"))


def _windows(factory: LogFactory) -> None:
    """What was read holds for its window to the microsecond: none, no time at all, and very long ones."""
    bench = Bench(factory)
    windows = (None, 0, 1, 999_999, 2_000_000, 3_000_000_000, 10**18)
    reads = [bench.done("read", f"a/{window}", window=window) for window in windows]
    keys = [bench.key(read) for read in reads]
    for microseconds in (0, 1, 1, 999_997, 1, 1_000_000, 1, 2_998_000_000, 1):
        bench.later(microseconds=microseconds)
        bench.judged(*keys)
        if bench.heeds(bench.time):
            for key in keys:
                bench.ask("write", "b", key)
    bench.all(("a/None", "a/0"))


def _clocks(factory: LogFactory) -> None:
    """The clock steps back, between calls and in the middle of one: what comes later does so by number."""
    bench = Bench(factory)
    read = bench.done("read", "a", window=2_000_000)
    bench.all()
    bench.later(-50)
    bench.all()
    write = bench.start("write", "a")
    bench.later(-10)
    bench.end(write, "ok")
    bench.judged(bench.key(read))
    bench.write_outside("a", moment(45))
    bench.later(1)
    bench.done("read", "a", bench.key(read), least=None)
    bench.all(("a",))


def _origins(factory: LogFactory) -> None:
    """Whose a call is: nothing said is not an empty text, and an empty text is not nothing."""
    bench = Bench(factory)
    for whose in (("t",), ("t", "s", "", "", ""), ("t", "s", "b", "r", "a"), ("t'", 'a"', "%", "\x00")):
        origin = Origin(*whose)
        bench.done("read", "a", origin=origin)
        bench.done("write", "a/b", origin=origin)
    bench.all(("a", "a/b"), ("s", 'a"'))


def _calls(factory: LogFactory) -> None:
    """A call that touches many names is all of them, in that order: none is lost, and one window is not another's."""
    bench = Bench(factory)
    touches = [(f"n/{place * 7 % 12}", "write" if place % 3 else "read", place or None) for place in range(12)]
    made = bench.begun(touches, Origin("t", "s"))
    bench.end(made, "ok")
    told = [event.name for event in bench.log.events()]
    check(told == [name for name, _, _ in touches], f"the events of one call are {told}, not in the order of its touches")
    bench.judged(*(event.id for event in bench.log.events()))
    bench.all(("n", "n/1", "n/10"), ("s",))


CASES_OF_VALUES: tuple[Case, ...] = (
    _calls, _origins, _probes, _clocks, _times, _versions, _windows, _ids, _long, _alike,
)  # fmt: skip
