"""Logs of a few events of which little is fixed: positions are any numbers, whatever else is open is chosen.

What is judged is the shipped `judge` over the shipped `SequenceView`, which puts its questions to shipped entries. Only
how a view makes these from events is left out, for that needs clock times: it is proved apart (`test_positions.py`).
A field is chosen when it is first asked for, so where the rule never looks at one, one path stands for all its values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from kernels import Kernel
from symbolic import Executor, Number, Refuted

T = TypeVar("T")

FORMS: dict[str, tuple[str, bool, bool]] = {
    "ok": ("ok", True, False),
    "error": ("error", True, False),
    "failed": ("failed", True, False),
    "refused": ("refused", True, False),
    "pending": ("pending", False, False),
    "lost": ("unknown", False, False),
    "lost but ended": ("unknown", True, False),
    "lost until": ("unknown", False, True),
    "lost but ended until": ("unknown", True, True),
}
"""The ways in which an event may stand: its outcome, whether it has an end, and whether it is known until when it lands."""


Place = tuple[str, str | None]
"""A call, and the call that it was made in."""


class Finding(NamedTuple):
    """What the rule said of a dependency, by ids."""

    verdict: str
    reason: str
    by: str | None
    via: str | None


class SmallLogs:
    """All the logs that the given events can be, for one kernel and one executor."""

    def __init__(self, kernel: Kernel, ids: str) -> None:
        self.kernel = kernel
        self.run = Executor()
        for id in ids.split():
            for later in ("end", "until", "seen"):
                self.run.assume(self.run.number(f"{id}.start").term <= self.run.number(f"{id}.{later}").term)

    def number(self, name: str) -> Number:
        return self.run.number(name)

    def event(
        self,
        id: str,
        *,
        kind: str | Sequence[str] = "write",
        name: str | Sequence[str] = "a",
        form: str | Sequence[str] = "ok",
        place: Sequence[Place] = (),
        depends_on: Sequence[Any] = (),
        seen: bool | Sequence[bool] = False,
        window: Any = None,
    ) -> Any:
        """One event; what is given as several is chosen among these.

        ``place`` are its calls, by default its own, made in none; ``seen`` is whether it gives the instant seen.
        """
        run, views = self.run, self.kernel.views

        def pick(field: str, given: Any) -> Callable[[], Any]:
            return lambda: given if isinstance(given, str | bool) else run.choose(f"{field} of {id}", given)

        form_of, seen_of, place_of = pick("form", form), pick("seen", seen), pick("call", place or [(id, None)])

        def extra() -> Any:
            until = self.number(f"{id}.until") if FORMS[form_of()][2] else None
            instant = self.number(f"{id}.seen") if seen_of() else None
            return None if until is instant is None else views.Extra(seen=instant, seen_time=instant, until=until)

        class Lazy(views.Entry):  # type: ignore[misc, name-defined]
            """An entry that chooses a field when it is first asked for: a slot that is empty comes here."""

            __slots__ = ()

            def __getattr__(self, field: str) -> Any:
                setattr(self, field, open_fields[field]())
                return getattr(self, field)

        open_fields: dict[str, Callable[[], Any]] = {
            "kind": pick("kind", kind),
            "name": pick("name", name),
            "outcome": lambda: FORMS[form_of()][0],
            "end": lambda: self.number(f"{id}.end") if FORMS[form_of()][1] else None,
            "extra": extra,
            "call": lambda: place_of()[0],
            "parent": lambda: place_of()[1],
        }
        entry = object.__new__(Lazy)
        entry.id = id
        entry.start = self.number(f"{id}.start")
        entry.start_time, entry.took = entry.start, self.number(f"{id}.end") - entry.start
        entry.depends_on, entry.window, entry.memo = tuple(depends_on), window, None
        return entry

    def view(self, entries: Sequence[Any], kind: Any = None) -> Any:
        """A view over these entries: the shipped plain one, or of a class derived from it."""
        view = object.__new__(kind or self.kernel.views.SequenceView)
        view.entries = list(entries)
        view._by_id = self.kernel.views.by_id(entries)
        return view

    def judge(
        self,
        entries: Sequence[Any],
        by: Any,
        at: Number | None = None,
        *,
        now: Number | None = None,
        probes: Any = None,
        kind: Any = None,
    ) -> dict[str, Finding]:
        """What the shipped rule says to the call of the entry ``by``, by dependency, by default as of its start.

        ``kind`` is the class of the view, by default the shipped plain one.
        """
        staleness, view = self.kernel.staleness, self.view(entries, kind)
        at = by.start if at is None else at
        keys = view.rests_on(by.call) if any(each is by for each in entries) else by.depends_on
        claim = staleness.Claim(by.call, by.parent, keys, probes)
        return {
            raw.dependency: Finding(
                staleness.verdict_of(raw.grade), staleness.REASONS[raw.grade], raw.by and raw.by.id, raw.via and raw.via.id
            )
            for raw in staleness.judge(view, claim, at, at if now is None else now)
        }

    def prove(self, body: Callable[[], T]) -> list[T]:
        """What ``body`` returns on each of its paths; none of them may raise."""
        values = []
        for leaf in self.run.explore(body):
            if leaf.error is not None:
                raise Refuted(f"the rule raises {leaf.error!r} where {leaf.answers}")
            values.append(cast(T, leaf.value))
        return values
