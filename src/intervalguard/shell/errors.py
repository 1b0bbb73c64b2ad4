"""What the guard raises. They share a base, and each can tell a model what happened and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from ..kernel.events import Event
from ..kernel.explain import Finding, explain, for_model, quoted, visible

Phase = Literal["admission", "return"]

LONGEST_TEXT = 600
"""How many characters a model is shown where a fault speaks."""


class GuardError(Exception):
    """The guard did not let a call through, or could not do its part; ``findings`` say why where the rule has spoken.

    ``retryable``: whether the same call may go through later as it is, without reading anything again. ``result``: what
    the body gave, where it ran and a fault came after it; else ``None``, as where a read's result is withheld.
    """

    retryable: bool = False

    def __init__(
        self,
        message: str,
        findings: Iterable[Finding] = (),
        phase: Phase = "admission",
        *,
        result: Any = None,
        told: str | None = None,
    ) -> None:
        super().__init__(message)
        self.findings: Sequence[Finding] = tuple(findings)
        self.phase: Phase = phase
        self.result = result
        self._told = told

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.args, self.__dict__)

    def for_model(self) -> str:
        """What changed, who changed it, when, and what to do next, in words that a model can act on."""
        if self.findings:
            return for_model(self.findings)
        became = "was not carried out" if self.phase == "admission" else "ran, but its result or its record is in doubt"
        told = visible(self._told or f"This call {became}. {self}")
        return told if len(told) <= LONGEST_TEXT else f"{told[: LONGEST_TEXT // 2]}…{told[-LONGEST_TEXT // 2 :]}"


def said(error: Exception) -> str:
    """What an exception says of itself, after its kind where that is another's."""
    text = str(error)
    if type(error) is GuardError:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _rebuilt(kind: type[GuardError], args: tuple[Any, ...], state: dict[str, Any]) -> GuardError:
    """An error that crossed to another process."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class _Refused(GuardError):
    def __init__(
        self, findings: Sequence[Finding] | str, phase: Phase = "admission", *, told: str | None = None
    ) -> None:
        if isinstance(findings, str):
            super().__init__(findings, (), phase, told=told)
        else:
            more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
            super().__init__(f"{explain(findings[0])}{more}", findings, phase)

    def for_model(self) -> str:
        if not self.findings:
            return super().for_model()
        if self.phase == "return":
            return for_model(
                self.findings, "This call ran, but what it rests on changed meanwhile; its result is withheld."
            )
        unverified = all(each.verdict == "unverifiable" for each in self.findings)
        why = "cannot be verified" if unverified else "can no longer be relied on"
        return for_model(self.findings, f"This call was not carried out: what it rests on {why}.")


class StaleReadError(_Refused, RuntimeError):
    """What the call rests on is stale, or suspect of it.

    ``phase`` is ``"admission"`` when the body did not run, ``"return"`` when a read's result was withheld.
    ``retryable`` when all that stands against it is a write in flight, which will end.
    """

    def __init__(self, findings: Sequence[Finding] | str, phase: Phase = "admission") -> None:
        super().__init__(findings, phase)
        self.retryable = phase == "admission" and all(each.reason == "in-flight" for each in self.findings)


class UnknownDependencyError(_Refused, LookupError):
    """The log cannot answer for something that the call rests on: it is unverifiable, which is not verified."""

    def __str__(self) -> str:
        return str(self.args[0])


class ConflictError(GuardError, RuntimeError):
    """Another call that is running holds the resource, and did not end in time; trying again later may go through."""

    retryable = True

    def __init__(self, name: str, blocker: Event, findings: Iterable[Finding] = ()) -> None:
        doing = "is writing it" if blocker.kind == "write" and blocker.name == name else "rests on it or writes near it"
        whose = "".join(f", {what} {quoted(who)}" for what, who in (("tool", blocker.tool), ("agent", blocker.agent)) if who)
        super().__init__(
            f"name={quoted(name)} is held by {quoted(blocker.name)} (id={blocker.id}{whose}), a call in flight that"
            f" {doing}: try again when it has ended",
            findings,
        )
        self.name = name
        self.blocker = blocker

    def for_model(self) -> str:
        return (
            f"This call was not carried out: {quoted(self.name)} is in use by another call"
            f" on {quoted(self.blocker.name)} that has not ended. Nothing was changed. Wait a moment, then try the same"
            " call again."
        )


class LeaseLostError(GuardError, RuntimeError):
    """The call was settled by someone else before it ended: its own outcome came too late. ``result`` is what it gave."""

    def __init__(self, event: Event, result: Any) -> None:
        super().__init__(
            f"event {quoted(event.name)} (id={event.id}) was settled as outcome={event.outcome!r} before the call ended:"
            " check what took effect, then settle it",
            phase="return",
            result=result,
        )
        self.event = event

    def for_model(self) -> str:
        return (
            f"The call on {quoted(self.event.name)} ran, but it ended too late for its outcome to count."
            " It may have taken effect. Read the resource again before you do anything else; do not repeat the call blindly."
        )
