"""Cases that chance seldom meets, and that a log on a database gets wrong: each is a short story, told to a fresh log.

All that the machine checks is checked in them, too. They run first, for they are quick and say what they are about.
"""

from __future__ import annotations

from datetime import timedelta

from ..kernel.staleness import Claim
from ..logs.calls import Learned, Origin
from .agreement import check
from .bench import Bench, Case, within
from .cases_of_values import CASES_OF_VALUES
from .factories import LogFactory
from .stories import moment

__all__ = ["CASES", "check_cases"]


def check_cases(factory: LogFactory) -> None:
    """Run each case on logs of this factory."""
    for case in CASES:
        within(case, factory)


def _waiting(factory: LogFactory) -> None:
    """Calls wait for a write that runs, one gives up, one waits for what a pending call rests on; each is woken once."""
    bench = Bench(factory)
    read = bench.done("read", "a")
    write = bench.start("write", "b", bench.key(read))
    for kind, name, gives_up in (("write", "b/c", False), ("read", "b", True), ("write", "a", False), ("read", "b", False)):
        bench.ask(kind, name, gives_up=gives_up)
    bench.all(("a", "b", "b/c"))
    bench.end(write, "ok")
    bench.all(("a", "b", "b/c"))
    other = bench.start("write", "b")
    bench.ask("write", "b")
    bench.end_from_anywhere(other, "failed")
    bench.all(("a", "b", "b/c"))


def _nesting(factory: LogFactory) -> None:
    """A call made in a call waits for those of younger families alone, and is not kept off by what it is made in."""
    bench = Bench(factory)
    elder = bench.start("write", "a")
    younger = bench.start("write", "b")
    inner = bench.start("write", "a/c", parent=elder)
    bench.ask("write", "b", parent=elder)
    bench.ask("write", "a", parent=younger)
    bench.ask("write", "a/c/d", parent=inner)
    bench.all(("a", "b", "a/c"))
    for made in (inner, elder, younger):
        bench.end(made, "ok")
    bench.all(("a", "b", "a/c"))


def _losing(factory: LogFactory) -> None:
    """Writes are lost, and are resolved in time, or too late, may land for longer than there is time, or for none."""
    bench = Bench(factory)
    lost = [bench.start("write", name) for name in ("a", "b", "c", "d", "e")]
    for made, late in zip(lost, (None, 3_000_000, 3_000_000, 10**30, 0), strict=True):
        bench.end(made, "unknown", late=late)
    bench.all(("a", "b", "c", "d", "e"))
    bench.later(3)
    bench.resolve(lost[1], "ok")  # at the boundary it may still land
    bench.resolve(lost[1], "failed")
    bench.later(1)
    for made in (lost[2], lost[0], lost[3], lost[4]):
        bench.resolve(made, "failed")
    bench.all(("a", "b", "c", "d", "e"))
    read = bench.begun([("a", "read", None), ("b", "read", None)], Origin("tool"))
    bench.end(read, "unknown", late=1)
    bench.resolve(read, "ok")
    bench.all(("a", "b", "c", "d", "e"))


def _dropping(factory: LogFactory) -> None:
    """Old events go: what rests on them is unverifiable, what is open, lost, in use or quiet stays as it was."""
    bench = Bench(factory, max_events=8)
    old = bench.done("read", "a", session="s")
    written = bench.done("write", "a", session="s")
    lost = bench.start("write", "lost")
    bench.end(lost, "unknown")
    used = bench.done("read", "used")
    user = bench.start("write", "user", bench.key(used))
    bench.write_outside("used", None)
    first = bench.done("read", "b")
    for _ in range(12):
        bench.done("write", "b")
    quiet = bench.done("read", "quiet")
    bench.done("write", "b")
    for made in (old, written, first, quiet, used):
        bench.judged(bench.key(made))
        bench.ask("write", "e", bench.key(made))
    bench.ask("write", "used")
    bench.ask("write", "e", bench.key(quiet), bench.key(old))
    bench.all(("a", "b", "quiet", "used", "lost"))
    agreement = bench.beside()
    check(
        not agreement.findings_of(agreement.view, Claim(None, None, [agreement.key(bench.key(quiet))])),
        "a resource that no dropped write conflicts with stays verifiable: what little tells them apart is kept by name",
    )
    bench.resolve(lost, "ok")
    bench.end(user, "ok")
    bench.all(("a", "b", "quiet", "used", "lost"))


def _knowing(factory: LogFactory) -> None:
    """What a session knows goes by its own ok events alone, by name, and by what had ended when its turn began."""
    bench = Bench(factory)
    names = ("a", "a/b", "a/b/c", "a_b", "ab")
    bench.done("read", "a", session="s")
    bench.done("read", "a", session="S")
    bench.turn()
    bench.done("read", "a/b", session="t")
    bench.done("write", "a/b/c", session="s")
    bench.end(bench.start("write", "a", session="s"), "failed")
    bench.end(bench.start("write", "a/b", session="s"), "error")
    running = bench.start("write", "ab", session="s")
    for _ in range(6):
        bench.all(names, ("s", "S", "t", "s ", "nobody's"))
    bench.turn()
    bench.end(running, "ok")
    lost = bench.start("write", "a_b", session="s")
    bench.end(lost, "unknown")
    bench.resolve(lost, "ok")
    for _ in range(6):
        bench.all(names, ("s", "S", "t", "s ", "nobody's"))


def _learning(factory: LogFactory) -> None:
    """Results tell what was read: names, a version, an instant; or nothing, and then a call was never an event."""
    bench = Bench(factory)
    origin = Origin("tool", "s")
    bench.done("read", "a")

    named = bench.begun([], origin)
    never = bench.begun([], origin)
    both = bench.begun([("b", "write", None)], origin)
    inner = bench.start("read", "a")
    bench.all()
    bench.end(named, "ok", learned=Learned([("a/x", 2_000_000), ("a/y", None)], "v", moment(99)))
    bench.end(never, "ok")
    bench.end(both, "ok", learned=Learned([("c", None)]))
    bench.all(("a", "b", "c", "a/x"))
    try:
        bench.log.settle(inner.first, "ok", 0, False, None, Learned(observed_at=bench.log.now() + timedelta(days=1)))
    except ValueError:
        bench.check_account()
    else:
        check(False, "settle() takes an instant seen that is yet to come: it raises ValueError, and changes nothing")
    bench.end(inner, "ok", learned=Learned(observed_at=moment(50)))
    bench.done("write", "a")
    bench.all(("a", "b", "c", "a/x"))


def _bearing(factory: LogFactory) -> None:
    """What would be refused is borne with, where the guard only warns; and a mere observer never waits."""
    bench = Bench(factory)
    read, other = bench.done("read", "a"), bench.start("write", "a")
    bench.done("write", "b", bench.key(read), least=None)
    for least in (0, None):
        made = bench.start("read", "c", bench.key(read), least=least, bear=True)
        bench.end(made, "ok", least=least, bear=True)
    bench.ask("write", "a", bear=True)
    bench.end(bench.start("write", "a/b", bear=True), "ok")
    bench.end(other, "ok")
    bench.all(("a", "b", "c"))


def _clearing(factory: LogFactory) -> None:
    """Everything is forgotten, and a new story begins: no id is given a second time."""
    bench = Bench(factory)
    bench.done("read", "a", session="s")
    bench.start("write", "b")
    bench.ask("write", "b")
    bench.all(("a", "b"))
    bench.clear()
    bench.all(("a", "b"))
    for name in ("a", "b", "a"):
        bench.done("write", name, session="s")
    bench.all(("a", "b"))


def _reopening(factory: LogFactory) -> None:
    """The process dies after each step, and another one opens the log: everything that was recorded is there."""
    bench = Bench(factory)
    names = ("a", "b", "c")
    read = bench.done("read", "a", session="s", window=2_000_000, learned=Learned(version="v", observed_at=moment(99)))
    bench.reopen()
    write = bench.start("write", "b", bench.key(read), session="s")
    bench.reopen()
    bench.all(names)
    bench.ask("write", "a")
    if write.outcome == "pending":
        bench.end(write, "unknown", late=3_000_000)
    bench.reopen()
    bench.all(names)
    bench.write_outside("c", None)
    bench.reopen()
    bench.ask("write", "c", "nobody")
    bench.reopen()
    bench.resolve(write, "ok")
    bench.reopen()
    bench.end_again(write, "failed")
    bench.done("write", "a", session="s")
    bench.reopen()
    bench.all(names)


CASES: tuple[Case, ...] = (
    _waiting,
    _nesting,
    _losing,
    _learning,
    _bearing,
    _reopening,
    _clearing,
    _dropping,
    _knowing,
    *CASES_OF_VALUES,
)
