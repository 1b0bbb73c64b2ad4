"""The command line: ``intervalguard audit FILE...`` holds recorded logs against the rule.

What comes from a log is text of strangers: in the text format nothing of it but visible characters gets out, and in the
JSON format everything is escaped as JSON does.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from typing import IO, Any, NoReturn, Protocol

from intervalguard.kernel.audit import Replay
from intervalguard.kernel.explain import Finding, Moment, finding, quoted, visible
from intervalguard.kernel.views import Entry

from .files import EventFileError, Loaded, load, uncollected

NOTHING, FOUND, WRONG, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141
"""Exit statuses: the last two are those of a process that the signal ended."""

_MAIN = """\
Tells of recorded tool calls whether what they rested on was still true.

    intervalguard audit FILE...     judge each call of a log; 'intervalguard audit --help' says how
"""

_AUDIT = """\
Judge each call of an event file as of its start: was what it rested on (depends_on) still true?

Of everything that a call rested on and that was not fresh there is one finding:

  stale         A conflicting write took effect after the call's source was read and before the call
                started (superseded), or the source was older than its validity window (expired).
  suspect       Such a write may have: it was running when the call started (in-flight), may have
                changed something though it failed or was lost (unknown-outcome), or ran at the same
                time as the read (overlapped).
  unverifiable  The log cannot tell: it does not hold the source (unknown-dependency), or the source
                gave no result (no-result) or had not ended when the call started (not-settled).

Only writes supersede, a write to 'orders/42' those that rest on 'orders', 'orders/42' or
'orders/42/items'. What was derived from a superseded read is superseded too; then the finding says
from what. Calls that rest on nothing, and calls that were refused, are not judged.
"""

_EXAMPLES = """\
an event file is JSON Lines, one event a line; id, name and start_time are required:
  {"id":"r1","name":"orders/42","kind":"read","start_time":"2026-07-30T12:00:00Z","end_time":"2026-07-30T12:00:01Z"}
  {"id":"w1","name":"orders/42","kind":"write","start_time":"2026-07-30T12:00:02Z","end_time":"2026-07-30T12:00:03Z"}
  {"id":"r2","name":"mails/9","kind":"write","start_time":"2026-07-30T12:00:04Z","end_time":"2026-07-30T12:00:05Z",
   "depends_on":["r1"]}      (on one line: it rests on r1, which w1 superseded)

examples:
  intervalguard audit run.jsonl                         findings for a person, one a line
  intervalguard audit runs/*.jsonl.gz                   several logs, each judged by itself
  zstdcat run.zst | intervalguard audit -               standard input
  intervalguard audit --format json run.jsonl | jq '.findings[] | select(.verdict == "stale")'
  intervalguard audit --fail-on stale run.jsonl         for a build that lets suspects pass

exit status:
  0  no finding at or above --fail-on
  1  some (unverifiable counts as suspect)
  2  a file or the command line is wrong; what to do about it is on standard error
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status. Raises nothing."""
    try:
        if sys.stdout is None:
            raise OSError("standard output is closed")
        try:
            status = _audit(_parser().parse_args(argv))
        except SystemExit:  # --help or --version was answered
            status = NOTHING
        sys.stdout.flush()
    except _UsageError as error:
        return _wrong(str(error))
    except EventFileError as error:
        try:
            sys.stdout.flush()
        except OSError:
            _silence(sys.stdout)
        return _wrong(f"intervalguard: {error}")
    except BrokenPipeError:
        _silence(sys.stdout)
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        _silence(sys.stdout)
        return _wrong(f"intervalguard: cannot write: {visible(str(error))}")
    return status


def _wrong(words: str) -> int:
    """Say what is wrong on standard error, where that can be written; the exit status for it."""
    _note(words)
    return WRONG


def _note(words: str) -> None:
    try:
        if sys.stderr is not None:
            print(words, file=sys.stderr, flush=True)
    except OSError:
        _silence(sys.stderr)


def _silence(stream: IO[str] | None) -> None:
    """Drop what a stream that cannot be written holds: Python would complain when it flushes at its end."""
    if stream is not None:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _UsageError(Exception):
    """What is wrong with the command line, in words."""


class _Parser(argparse.ArgumentParser):
    """`argparse` shows arguments as they are, and takes no notice of what cannot be written."""

    def error(self, message: str) -> NoReturn:
        raise _UsageError(f"{self.format_usage()}{self.prog}: error: {visible(message)}")

    def print_help(self, file: Any = None) -> None:
        sys.stdout.write(self.format_help())


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = _Parser("intervalguard", description=_MAIN, formatter_class=raw)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    audit = commands.add_parser(
        "audit", help="judge each call of a log", description=_AUDIT, epilog=_EXAMPLES, formatter_class=raw
    )
    audit.add_argument("files", metavar="FILE", nargs="+", help="an event file; .gz is unpacked, - is standard input")
    audit.add_argument(
        "--format",
        choices=("text", "json"),
        default="text",
        help="text: for a person, a table on a terminal. json: one object, {events, findings: [{file, event,"
        " dependency, verdict, reason, by, via, at, message}]} (default: text)",
    )
    audit.add_argument(
        "--fail-on",
        choices=("stale", "suspect", "never"),
        default="suspect",
        help="the least verdict that makes the exit status 1 (default: suspect)",
    )
    return parser


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        from importlib.metadata import version

        print(f"intervalguard {version('intervalguard')}")
        parser.exit()


def _audit(arguments: argparse.Namespace) -> int:
    files: list[str] = arguments.files
    if files.count("-") > 1:
        raise EventFileError("is given twice, but can be read once", "-")
    progress = _progress()
    counts: Counter[str] = Counter()
    with ExitStack() as stack, uncollected():
        report = _report(arguments.format, len(files), stack, progress)
        for file in files:
            loaded = load(file, progress.reading(file))
            for words in _doubts(loaded):
                progress.clear()
                _note(f"intervalguard: {visible(file)}: {words}")
            report.file(loaded)
            for call, found in _found(loaded, progress, counts):
                counts[found.verdict] += 1
                report.finding(call, found)
            counts["events"] += len(loaded.entries)
        progress.clear()
        report.close(counts)
    failing = {"never": 0, "stale": counts["stale"]}
    some = failing.get(arguments.fail_on, counts["stale"] + counts["suspect"] + counts["unverifiable"])
    return FOUND if some else NOTHING


_SOME = 5
"""So many fields that are no event's are told."""


def _doubts(loaded: Loaded) -> Iterator[str]:
    """What a file may have meant to say otherwise."""
    for field, meant in loaded.misspelt.items():
        yield f"the field {quoted(field)} is kept and not judged: {meant} is what it is called"
    if loaded.others and not loaded.misspelt and not any(entry.depends_on for entry in loaded.entries.values()):
        others = ", ".join(map(quoted, sorted(loaded.others)[:_SOME]))
        yield f"no event says in depends_on what it rests on, so no call is judged; fields that are no event's: {others}"


def _found(loaded: Loaded, progress: _Progress, counts: Counter[str]) -> Iterator[tuple[Entry, Finding]]:
    """The findings of one file, with the first events of the calls that they are of."""
    replay = Replay(loaded.entries)
    judged = replay.judged()
    counts["calls"] += len(judged)
    for done, first in enumerate(judged):
        if not done % 4096:
            progress.judging(loaded.file, done, len(judged))
        for raw in replay.findings(first):
            yield first, finding(raw, first.id, first.start_time, loaded.describe, loaded.shown)


# -- reports


class _Report(Protocol):
    """Is told of each file, then of its findings, then of the counts: of events, calls, and findings by verdict."""

    def file(self, loaded: Loaded) -> None: ...

    def finding(self, call: Entry, found: Finding) -> None: ...

    def close(self, counts: Counter[str]) -> None: ...


def _report(format: str, files: int, stack: ExitStack, progress: _Progress) -> _Report:
    if format == "json":
        return _Json(None if files == 1 else stack.enter_context(_spool()))
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    if sys.stdout.isatty():
        try:
            return _Tables(files, progress)
        except ImportError:
            pass
    return _Lines(files, progress)


def _spool() -> IO[str]:
    return tempfile.SpooledTemporaryFile(max_size=1 << 24, mode="w+", encoding="ascii")


class _Json:
    """One object, written while it is found out.

    Of several files the findings wait until the last was read, so that nothing is printed where one is malformed.
    """

    def __init__(self, spool: IO[str] | None) -> None:
        self._out = sys.stdout if spool is None else spool
        self._file: Loaded | None = None
        self._some = False

    def file(self, loaded: Loaded) -> None:
        self._file = loaded
        if self._out is sys.stdout:
            self._begin(len(loaded.entries))

    def _begin(self, events: int) -> None:
        sys.stdout.write(f'{{"events": {events}, "findings": [')

    def finding(self, call: Entry, found: Finding) -> None:
        assert self._file is not None
        record = {
            "file": self._file.file,
            "event": found.event,
            "dependency": found.dependency,
            "verdict": found.verdict,
            "reason": found.reason,
            "by": None if found.by is None else found.by.id,
            "via": None if found.via is None else found.via.id,
            "at": _plain(found.at),
            "message": found.message,
        }
        self._out.write(f"{',' if self._some else ''}\n{json.dumps(record)}")
        self._some = True

    def close(self, counts: Counter[str]) -> None:
        if self._out is not sys.stdout:
            self._begin(counts["events"])
            self._out.seek(0)
            while piece := self._out.read(1 << 20):
                sys.stdout.write(piece)
        sys.stdout.write("\n]}\n" if self._some else "]}\n")


def _plain(at: Moment) -> str | float:
    return f"{at.replace(tzinfo=None).isoformat()}Z" if isinstance(at, datetime) else at


class _Lines:
    """A line for each finding, under a heading where there are several files, and a summary."""

    def __init__(self, files: int, progress: _Progress) -> None:
        self._files = files
        self._progress = progress
        self._heading = ""

    def file(self, loaded: Loaded) -> None:
        self._heading = f"{visible(loaded.file)}:" if self._files > 1 else ""

    def finding(self, call: Entry, found: Finding) -> None:
        if self._heading:
            self._show(self._heading)
            self._heading = ""
        self._progress.clear()
        self._line(call, found)

    def _line(self, call: Entry, found: Finding) -> None:
        self._show(line(call, found))

    def close(self, counts: Counter[str]) -> None:
        self._show(summary(counts, self._files))

    def _show(self, line: str) -> None:
        sys.stdout.write(f"{line}\n")


def told(call: Entry) -> str:
    """The call of a finding, by its first event."""
    return f"{quoted(call.name)} (id={quoted(call.id)[1:-1]})"


def line(call: Entry, found: Finding) -> str:
    """A finding with its call, as it stands in a pipe."""
    return f"{found.verdict:<12} {found.reason:<18} {told(call)}: {found.message}; {found.remedy}"


def summary(counts: Counter[str], files: int) -> str:
    """The counts in one line that can be quoted."""
    where = f" in {files} files" if files > 1 else ""
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("stale", "suspect", "unverifiable"))
    return f"{_count(counts['events'], 'event')}{where}, {_count(counts['calls'], 'call')} judged: {verdicts}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


_COLOURS = {"stale": "bold red", "suspect": "yellow", "unverifiable": "magenta"}
_ROWS = 200


class _Tables(_Lines):
    """On a terminal, with rich: a table a file, and coloured lines where a table would be too long to read."""

    def __init__(self, files: int, progress: _Progress) -> None:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        super().__init__(files, progress)
        self._console = Console(highlight=False, markup=False, emoji=False)
        self._table, self._text = Table, Text
        self._rows: list[tuple[Entry, Finding]] | None = []
        self._title = ""

    def file(self, loaded: Loaded) -> None:
        self._end()
        self._rows = []
        super().file(loaded)
        self._title, self._heading = self._heading, ""

    def finding(self, call: Entry, found: Finding) -> None:
        if self._rows is not None and len(self._rows) < _ROWS:
            self._rows.append((call, found))
            return
        if self._rows is not None:
            rows, self._rows = self._rows, None
            self._heading = self._title
            for row in rows:
                super().finding(*row)
        super().finding(call, found)

    def _line(self, call: Entry, found: Finding) -> None:
        shown = line(call, found)
        self._console.print(self._text(shown[:12], style=_COLOURS[found.verdict], end=""), end="", soft_wrap=True)
        self._show(shown[12:])

    def _end(self) -> None:
        """Show what was found in a file as a table."""
        self._progress.clear()
        if not self._rows:
            return
        title = self._text(self._title) if self._title else None
        table = self._table(title=title, title_justify="left", show_lines=True, expand=True)
        for column, ratio in (("verdict", None), ("call", 2), ("finding", 5), ("remedy", None)):
            table.add_column(column, ratio=ratio, overflow="fold")
        for call, found in self._rows:
            verdict = self._text(found.verdict, style=_COLOURS[found.verdict])
            verdict.append(f"\n{found.reason}", style="dim")
            table.add_row(verdict, *map(self._text, (told(call), found.message, found.remedy)))
        self._console.print(table)

    def close(self, counts: Counter[str]) -> None:
        self._end()
        super().close(counts)


# -- progress


class _Progress:
    """How far it is, on standard error where that is a terminal and it takes more than a moment."""

    def __init__(self, shown: bool) -> None:
        self._shown = shown
        self._next = time.monotonic() + 0.5
        self._drawn = False

    def reading(self, file: str) -> Any:
        def progress(done: int, size: int | None) -> None:
            part = f"{done * 100 // size}%" if size else f"{done // 1_000_000} MB"
            self._draw(f"reading {visible(file)} {part}")

        return progress if self._shown else None

    def judging(self, file: str, done: int, calls: int) -> None:
        if self._shown:
            self._draw(f"judging {visible(file)} {done * 100 // calls}%")

    def _draw(self, words: str) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + 0.2
            sys.stderr.write(f"\r{words[:70]}\x1b[K")
            sys.stderr.flush()
            self._drawn = True

    def clear(self) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False


def _progress() -> _Progress:
    return _Progress(sys.stderr is not None and sys.stderr.isatty())


if __name__ == "__main__":
    sys.exit(main())
