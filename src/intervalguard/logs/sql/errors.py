"""What goes wrong with a log that lives outside the process."""

from __future__ import annotations


class LogError(RuntimeError):
    """A log cannot be opened, read or written. The message says what happened, to which file, and what to do.

    The step that raised it has changed nothing.
    """
