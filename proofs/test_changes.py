"""Laws L3 and L4 as what they say of two logs: the shipped rule is run on a small log, and on the log with one change.

These say nothing of what is right to find, only of what a change does to it, so they hold or fail whatever
`statement.py` says. All positions are any numbers. Each returns the pairs of what was found before and after.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kernels import SHIPPED, Broken, Kernel
from small_logs import FORMS, Finding, SmallLogs
from statement import reason_of
from symbolic import Refuted

ALL = tuple(FORMS)
KINDS = ("read", "write")
Found = dict[str, Finding]
Pairs = list[tuple[Found, Found]]


def read_and_call(logs: SmallLogs) -> tuple[list[Any], Any]:
    """A read ``r`` of `a`, perhaps derived from one, ``s``, of `b`; and the call, which rests on ``r``."""
    sources = logs.run.choose("r rests on", ((), ("s",)))
    reads = [logs.event(id, kind="read", name="b") for id in sources]
    return [*reads, logs.event("r", kind="read", depends_on=sources)], logs.event("c", name="out", depends_on=["r"])


def prove_only_writes_supersede(kernel: Kernel) -> Pairs:
    """A read, or a write that failed or was refused, can be dropped: what is found stays."""
    logs = SmallLogs(kernel, "s r x y c")

    def body() -> tuple[Found, Found]:
        reads, call = read_and_call(logs)
        write = logs.event("x", name=("a", "b"), form=("ok", "pending"))
        name, place = ("a", "b"), [("y", None), ("y", "c"), ("r", None)]
        harmless = logs.run.choose("y is", ("read", "write"))
        more = logs.event("y", kind=harmless, name=name, form=ALL if harmless == "read" else ALL[2:4], place=place)
        with_it, without = logs.judge([*reads, write, more, call], call), logs.judge([*reads, write, call], call)
        logs.run.claim(with_it == without, f"{with_it} is {without}")
        return with_it, without

    return logs.prove(body)


def prove_no_clairvoyance(kernel: Kernel) -> Pairs:
    """What starts after the call did can be dropped: what is found stays."""
    logs = SmallLogs(kernel, "s r x y c")

    def body() -> tuple[Found, Found]:
        reads, call = read_and_call(logs)
        write = logs.event("x", name=("a", "b"), form=("ok", "pending"))
        more = logs.event("y", kind=KINDS, name=("a", "b"), form=ALL, place=[("y", None), ("y", "c"), ("r", None)])
        without = logs.judge([*reads, write, call], call)
        if not more.start > call.start:
            return without, without
        with_it = logs.judge([*reads, write, more, call], call)
        logs.run.claim(with_it == without, f"{with_it} is {without}")
        return with_it, without

    return logs.prove(body)


def prove_more_events_never_heal(kernel: Kernel) -> Pairs:
    """What is superseded stays so, whatever other event the log holds beside, before or after the rest of it."""
    logs = SmallLogs(kernel, "s r x y c")

    def body() -> tuple[Found, Found]:
        reads, call = read_and_call(logs)
        write = logs.event("x", name=("a", "b"))
        fewer = logs.judge([*reads, write, call], call)
        if not fewer or fewer["r"].reason != "superseded":
            return fewer, fewer
        more = logs.event("y", kind=KINDS, name=("a", "b"), form=ALL)
        found = logs.judge([more, *reads, write, call], call)
        logs.run.claim("r" in found and found["r"].reason == "superseded", f"superseded is {found}")
        return fewer, found

    return logs.prove(body)


def prove_what_is_stale_stays_stale(kernel: Kernel) -> Pairs:
    """A call that is made later, on the same log, finds what was stale stale: age only grows, and no write is undone."""
    logs = SmallLogs(kernel, "r x")
    at, later, now, then, window = (logs.number(name) for name in ("at", "later", "now", "then", "window"))
    for sooner, late in ((at, later), (now, then)):
        logs.run.assume(sooner.term <= late.term)

    def body() -> tuple[Found, Found]:
        read = logs.event("r", kind="read", form=ALL, window=logs.run.choose("window of r", (None, window)))
        log, call = [read, logs.event("x", form=ALL)], logs.event("c", depends_on=["r"])
        before = logs.judge(log, call, at, now=now)
        if not before or before["r"].verdict != "stale":
            return before, before
        after = logs.judge(log, call, later, now=then)
        logs.run.claim("r" in after and after["r"].verdict == "stale", f"stale is {after}")
        return before, after

    return logs.prove(body)


def prove_acknowledgement_is_not_inherited(kernel: Kernel) -> Pairs:
    """A write that a call names speaks no more against what it rests on directly; of what is derived all stays."""
    logs = SmallLogs(kernel, "s r x y c")

    def body() -> tuple[Found, Found]:
        source = logs.event("s", kind="read", name="b")
        read = logs.event("r", kind="read", depends_on=["s"])
        writes = [logs.event("x", name=("a", "b"), form=("ok", "pending")), logs.event("y")]
        before, after = (
            logs.judge([source, read, *writes, call], call)
            for call in (logs.event("c", name="out", depends_on=keys) for keys in (["r"], ["r", "x"]))
        )
        if "r" in before and before["r"].via == "s":
            logs.run.claim(after.get("r") == before["r"], f"{before['r']} is {after.get('r')}")
        left = after.get("r")
        logs.run.claim(left is None or left.by != "x" or left.via == "s", f"{left} is acknowledged")
        return before, after

    return logs.prove(body)


def prove_an_equal_probe_is_a_read(kernel: Kernel) -> Pairs:
    """A look that finds the version that was read moves the read to where the look was, and the rule runs on that."""
    logs = SmallLogs(kernel, "r x probe c")
    start, end, window = logs.number("probe.start"), logs.number("probe.end"), logs.number("window")
    for ended in ("r.end", "probe.end"):
        logs.run.assume(logs.number(ended).term <= logs.number("c.start").term)
    looked = {"r": kernel.staleness.Probe(False, start, end, end)}

    def body() -> tuple[Found, Found]:
        limit = logs.run.choose("window of r", (None, window))
        read, anew = (logs.event(id, kind="read", place=[("r", None)], window=limit) for id in ("r", "probe"))
        anew.id = "r"
        write, call = logs.event("x", form=ALL), logs.event("c", name="out", depends_on=["r"])
        found, moved = logs.judge([read, write, call], call, probes=looked), logs.judge([anew, write, call], call)
        logs.run.claim(found == moved, f"{found} is {moved}")
        return found, moved

    return logs.prove(body)


def tells_of(read: Any, write: Any, at: Any) -> bool:
    """Whether a write may have changed what the read saw since, and is not of its own call."""
    return write.kind == "write" and write.call != "r" and reason_of(write, read.start, read.end, at) is not None


def prove_another_version_is_stale(kernel: Kernel) -> Pairs:
    """A look that finds another version makes stale what is not worse already, whether or not a write was logged.

    Only where nothing else speaks against the read, and the log holds a write that tells of another version and does
    not count, for it is the call's own, is another version no news.
    """
    logs = SmallLogs(kernel, "r x c")
    end, look = logs.number("r.end"), logs.number("look")

    class Wary(kernel.views.SequenceView):  # type: ignore[misc, name-defined]
        """It says of nothing that it is undisturbed, as a view may."""

        def undisturbed(self, *_: Any) -> bool:
            return False

    def body() -> tuple[Found, Found]:
        limit, inside = logs.run.choose("window of r", (None, logs.number("window"))), [("r", "c")]
        read = logs.event("r", kind="read", form=ALL, window=limit, place=inside)
        write = logs.event("x", kind=KINDS, form=ALL, place=[("x", None), ("c", None), ("r", None)])
        call = logs.event("c", name="out", depends_on=["r"])
        looked = {"r": kernel.staleness.Probe(True, end, end, look)}
        kind = logs.run.choose("view", (None, Wary))
        plain, found = (logs.judge([read, write, call], call, probes=each, kind=kind) for each in (None, looked))
        if "r" in plain and (plain["r"].verdict == "unverifiable" or plain["r"].reason == "superseded"):
            logs.run.claim(found == plain, f"{found} is {plain}")
        elif not plain and tells_of(read, write, call.start):
            logs.run.claim(not found, f"what the call did itself is {found}")
        else:
            logs.run.claim(found == {"r": Finding("stale", "version", None, None)}, f"another version is {found}")
        return plain, found

    return logs.prove(body)


def prove_dropped_history_is_unverifiable(kernel: Kernel) -> Pairs:
    """A view that has dropped a write makes unverifiable whatever began to see the world by the write's end, and no more."""
    logs = SmallLogs(kernel, "r x c")
    ended = logs.number("ended")

    class Forgetful(kernel.views.SequenceView):  # type: ignore[misc, name-defined]
        """It has dropped a write to `a/b`, which ended at ``ended``, and the event `gone`."""

        def was_dropped(self, id: str) -> bool:
            return id == "gone"

        def dropped_since(self, name: str, since: Any) -> bool:
            return name in ("a", "a/b") and bool(ended >= since)

        def undisturbed(self, name: str, since: Any, at: Any, but: Any = None) -> bool:
            return not self.dropped_since(name, since) and super().undisturbed(name, since, at, but)

    def body() -> tuple[Found, Found]:
        read = logs.event("r", kind="read", name=("a", "a/b", "d"), form=("ok", "pending", "error"), seen=(False, True))
        write = logs.event("x", name="a", form=("ok", "pending"))
        call = logs.event("c", name="out", depends_on=["r", "gone"])
        whole, found = logs.judge([read, write, call], call), logs.judge([read, write, call], call, kind=Forgetful)
        first = read.start if read.extra is None else read.extra.seen
        if read.extra is not None and read.end is not None and first > read.end:
            first = read.end
        unverifiable = Finding("unverifiable", "history-dropped", None, None)
        right = {**whole, "gone": unverifiable}
        if read.name != "d" and ended >= first:
            right["r"] = unverifiable
        logs.run.claim(found == right, f"{found} is {right}")
        return whole, found

    return logs.prove(body)


def found_after(pairs: Pairs) -> set[str]:
    """What is found in the changed logs: a law of logs in which nothing is would say nothing."""
    return {finding.reason for _, after in pairs for finding in after.values()}


WITHOUT_AGE = {"superseded", "overlapped", "in-flight", "not-settled"}


def test_only_writes_supersede() -> None:
    """L3: without a read, or a failed or refused write, a log gives the same findings."""
    pairs = prove_only_writes_supersede(SHIPPED)
    assert found_after(pairs) == WITHOUT_AGE
    assert ({}, {}) in pairs


def test_no_clairvoyance() -> None:
    """L4: without what starts later a log gives the same findings."""
    pairs = prove_no_clairvoyance(SHIPPED)
    assert found_after(pairs) == WITHOUT_AGE
    assert ({}, {}) in pairs


def test_more_events_never_heal() -> None:
    """L4: what is superseded in a log is superseded in the log with one more event."""
    pairs = prove_more_events_never_heal(SHIPPED)
    assert found_after(pairs) == WITHOUT_AGE
    assert any(before != after for before, after in pairs)


def test_what_is_stale_stays_stale() -> None:
    """L4: later, on the same log, what was stale is stale; age only grows."""
    pairs = prove_what_is_stale_stays_stale(SHIPPED)
    assert found_after(pairs) == WITHOUT_AGE | {"expired", "unknown-outcome", "no-result"}
    assert {("expired", "superseded")} <= {(b["r"].reason, a["r"].reason) for b, a in pairs if b and a}


def test_acknowledgement_is_not_inherited() -> None:
    """L3: to name a write spares it on that edge alone."""
    pairs = prove_acknowledgement_is_not_inherited(SHIPPED)
    assert found_after(pairs) == WITHOUT_AGE
    assert any("r" in before and before["r"].by == "x" and "r" not in after for before, after in pairs)


def test_an_equal_probe_is_a_read() -> None:
    """Section 2: an equal version moves the read to the look, and the rule runs on that."""
    pairs = prove_an_equal_probe_is_a_read(SHIPPED)
    assert found_after(pairs) == {"superseded", "expired", "overlapped", "in-flight", "unknown-outcome"}
    assert ({}, {}) in pairs


def test_another_version_is_stale() -> None:
    """Section 2: another version is stale though no write was logged, unless it is worse, or the call's own doing."""
    pairs = prove_another_version_is_stale(SHIPPED)
    assert found_after(pairs) == {"superseded", "version", "no-result", "not-settled"}
    assert any(not before and after for before, after in pairs)
    assert ({}, {}) in pairs


def test_dropped_history_is_unverifiable() -> None:
    """Section 3: what a dropped write may have superseded is unverifiable, and all else is what it was."""
    pairs = prove_dropped_history_is_unverifiable(SHIPPED)
    assert found_after(pairs) == WITHOUT_AGE | {"history-dropped", "no-result"}
    assert any("r" not in before and "r" not in after for before, after in pairs)


IS_WRITE = 'each.kind == "write" and conflict'
ANY_WRITE = 'for write, how, _ in writes if how == "ok" and write.start > after'
WRITE_AT = 'for write, how, end in writes if how == "ok" and end >= at and write.start > after'
EDGE = "_edge(view, claim, call, named, source"
INHERITED = EDGE.replace("named", "(*named, *claim.depends_on)")
AGE = "seen = probe.end_time"
PROBED = "since, until = probe.start, probe.end"
AT_END = "since, until = probe.end, probe.end"
TOLD = "_told_of(view, read, at) else"
ANOTHER = "probe.is_another and (worst"
drops = prove_dropped_history_is_unverifiable
BROKEN = {
    "reads supersede": (prove_only_writes_supersede, "views", IS_WRITE, "conflict"),
    "failed writes count": (prove_only_writes_supersede, "events", '{"failed", "refused"}', '{"refused"}'),
    "two events are looked at": (prove_only_writes_supersede, "views", "in self.entries:", "in self.entries[-2:]:"),
    "what starts later counts": (prove_no_clairvoyance, "views", " or write.start > at:", ":"),
    "the first write hides the others": (prove_more_events_never_heal, "views", "sorted(found,", "sorted(found[:1],"),
    "what is young has expired": (prove_what_is_stale_stays_stale, "staleness", "time - seen > read", "seen - time > read"),
    "what is long ago is forgiven": (prove_what_is_stale_stays_stale, "views", ANY_WRITE, WRITE_AT),
    "acknowledgement is inherited": (prove_acknowledgement_is_not_inherited, "staleness", EDGE, INHERITED),
    "acknowledgement is nothing": (prove_acknowledgement_is_not_inherited, "staleness", "or write.id in acknowledged", ""),
    "an equal probe skips the rule": (prove_an_equal_probe_is_a_read, "staleness", PROBED, "return None"),
    "an equal probe is nothing": (prove_an_equal_probe_is_a_read, "staleness", PROBED, "pass"),
    "a probe sees the world at its end": (prove_an_equal_probe_is_a_read, "staleness", PROBED, AT_END),
    "a probe is as old as the read": (prove_an_equal_probe_is_a_read, "staleness", AGE, "seen = read.end"),
    "another version is no news": (prove_another_version_is_stale, "staleness", ANOTHER, "False and (worst"),
    "it is news where the call did it": (prove_another_version_is_stale, "staleness", TOLD, "False else"),
    "it is news where nothing else is": (prove_another_version_is_stale, "staleness", " or worst.grade < VERSION)", ")"),
    "what is dropped is fresh": (drops, "staleness", "view.dropped_since(name, since)", "False"),
    "what is dropped was never there": (drops, "staleness", "if view.was_dropped(id)", "if False"),
    "what ended before it is lost, too": (drops, "staleness", "since(name, since)", "since(name, until)"),
    "it is worse than anything": (prove_another_version_is_stale, "staleness", "worst.grade < VERSION)", "True)"),
}


@pytest.mark.parametrize(("prove", "module", "right", "wrong"), BROKEN.values(), ids=BROKEN)
def test_a_rule_that_breaks_a_law_is_refuted(prove: Callable[[Kernel], Pairs], module: str, right: str, wrong: str) -> None:
    """Each of these faults breaks a law, and the proof of the law finds a log and a change that show it."""
    with pytest.raises(Refuted):
        prove(Broken(module, right, wrong).kernel())
