"""What the guard raises. They share a base, and each can tell a model what happened and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from ..kernel.events import Event
from ..kernel.explain import Finding, explain, for_model, quoted, visible

Phase = Literal["admission", "return"]

LONGEST_TEXT = 600
"""How many characters of the message of a fault a model is shown."""


class GuardError(Exception):
    """The guard did not let a call through, or could not do its part; ``findings`` say why where the rule has spoken.

    ``retryable``: whether the same call may go through later as it is, without reading anything again.
    """

    retryable: bool = False

    def __init__(self, message: str, findings: Iterable[Finding] = (), phase: Phase = "admission") -> None:
        super().__init__(message)
        self.findings: Sequence[Finding] = tuple(findings)
        self.phase: Phase = phase

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.args, self.__dict__)

    def for_model(self) -> str:
        """What changed, who changed it, when, and what to do next, in words that a model can act on."""
        if self.findings:
            return for_model(self.findings)
        said = visible(str(self))
        if len(said) > LONGEST_TEXT:
            said = f"{said[: LONGEST_TEXT // 2]}…{said[-LONGEST_TEXT // 2 :]}"
        if self.phase == "return":
            return f"This call ran, and what it did is done: do not repeat it blindly. {said}"
        return f"This call was not carried out. {said}"


def _rebuilt(kind: type[GuardError], args: tuple[Any, ...], state: dict[str, Any]) -> GuardError:
    """An error that crossed to another process."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class _Refused(GuardError):
    def __init__(self, findings: Sequence[Finding] | str, phase: Phase = "admission") -> None:
        if isinstance(findings, str):
            super().__init__(findings, (), phase)
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
        )
        self.event = event
        self.result = result

    def for_model(self) -> str:
        return (
            f"The call on {quoted(self.event.name)} ran, but it ended too late for its outcome to count."
            " It may have taken effect. Read the resource again before you do anything else; do not repeat the call blindly."
        )
