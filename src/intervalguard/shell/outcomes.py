"""What an exception says of the call that it ended: did the call fail, and is it known what it changed?"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from ..kernel.events import Outcome

_LOST: tuple[type[BaseException], ...] = (TimeoutError, ConnectionError)


def outcome_of(
    error: BaseException,
    handled: BaseException | None,
    no_effect_on: tuple[type[BaseException], ...],
    unknown_on: tuple[type[BaseException], ...],
    closing: bool = False,
) -> Outcome:
    """``failed`` where the exception is known to have changed nothing, ``unknown`` where the call was lost, else ``error``.

    A call is lost to a time-out, a lost connection, a cancellation or another exception that is no `Exception`, to
    ``unknown_on``, or to any of these in the chain of causes. ``handled`` is the exception that was being handled when
    the call began: the chain stops there, for it is not the call's. ``closing`` says that it was a stream which was
    being closed: that alone is no cause.
    """
    if isinstance(error, no_effect_on):
        return "failed"
    for cause in _causes(error, handled):
        if closing and cause is not error and isinstance(cause, GeneratorExit):
            continue
        if not isinstance(cause, Exception | BaseExceptionGroup) or isinstance(cause, (*_LOST, *unknown_on)):
            return "unknown"
        expired = sys.modules.get("subprocess")
        if expired is not None and isinstance(cause, expired.TimeoutExpired):
            return "unknown"
    return "error"


def _causes(error: BaseException, handled: BaseException | None) -> Iterator[BaseException]:
    """The exception, what it was raised from or while handling, and what a group holds; each once."""
    seen: set[int] = set() if handled is None else {id(handled)}
    stack = [error]
    while stack:
        cause = stack.pop()
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            stack += cause.exceptions
        if cause.__cause__ is not None:
            stack.append(cause.__cause__)
        if cause.__context__ is not None and not cause.__suppress_context__:
            stack.append(cause.__context__)
