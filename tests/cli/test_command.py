"""The command line: formats, exit statuses, what may reach a terminal, and how it ends when it is cut off."""

from __future__ import annotations

import gzip
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from running import EXPIRED, FRESH, SUPERSEDED, SUSPECT, UNKNOWN, Line, event, run, run_process, write_lines

from intervalguard.edges.cli import main
from intervalguard.edges.files import FIELDS

HOSTILE = "a\x1b[31mb\x07\x9b2J\x7f\r\n\u202ec\u200bd\u2028[bold]e[/bold]\u2066\ufe0f\U000e0041'\\"
"""A name and an id that try what can be tried."""
UNSEEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe0f\ufeff\U000e0000-\U000e007f]"
)


def test_text_says_what_is_wrong_and_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a pipe a finding is one plain line, with verdict, reason, call, message and remedy; the last line counts."""
    ran = run(capsys, "audit", write_lines(tmp_path / "log.jsonl", SUPERSEDED))
    assert (ran.status, ran.err) == (1, "")
    assert ran.out.splitlines() == [
        "stale        superseded         'mails/9' (id=c): event 'orders/42' (id=r) is stale:"
        " superseded by 'orders/42' (id=w) at 3; read again",
        "3 events, 1 call judged: 1 stale, 0 suspect, 0 unverifiable",
    ]


def test_json_is_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON format has the shape that is promised, with a plain number for a time on an axis of numbers."""
    log = write_lines(tmp_path / "log.jsonl", SUPERSEDED)
    found = {
        "file": str(log),
        "event": "c",
        "dependency": "r",
        "verdict": "stale",
        "reason": "superseded",
        "by": "w",
        "via": None,
        "at": 3,
        "message": "event 'orders/42' (id=r) is stale: superseded by 'orders/42' (id=w) at 3",
    }
    assert {"events": 3, "findings": [found]} == run(capsys, "audit", log, "--format", "json").report


def test_times_are_shown_as_the_file_gives_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ISO times come back as ISO times: whole in ``at``, to the second in the message."""
    lines: list[Line] = [
        {
            **line,
            "start_time": f"2026-07-30T12:00:0{line['start_time']}Z",
            "end_time": f"2026-07-30T12:00:0{line['end_time']}.25Z",
        }
        for line in SUPERSEDED
    ]
    (found,) = run(capsys, "audit", write_lines(tmp_path / "log.jsonl", lines), "--format", "json").report["findings"]
    assert found["at"] == "2026-07-30T12:00:03.250000Z"
    assert found["message"].endswith("superseded by 'orders/42' (id=w) at 2026-07-30T12:00:03Z")


def test_the_source_of_a_derived_read_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``via`` is the superseded source, and the message names it."""
    r, w, c = SUPERSEDED
    derived = event("d", "sum", 1, 1.5, depends_on=["r"])
    log = write_lines(tmp_path / "log.jsonl", [r, derived, w, {**c, "depends_on": ["d"]}])
    (found,) = run(capsys, "audit", log, "--format", "json").report["findings"]
    assert tuple(found[key] for key in ("event", "dependency", "by", "via")) == ("c", "d", "w", "r")
    assert found["message"].endswith("(derived from 'orders/42' (id=r))")


@pytest.mark.parametrize(
    ("lines", "statuses"),
    [
        (SUPERSEDED, {"stale": 1, "suspect": 1, "never": 0}),
        (EXPIRED, {"stale": 1, "suspect": 1, "never": 0}),
        (SUSPECT, {"stale": 0, "suspect": 1, "never": 0}),
        (UNKNOWN, {"stale": 0, "suspect": 1, "never": 0}),
        (FRESH, {"stale": 0, "suspect": 0, "never": 0}),
        ((), {"stale": 0, "suspect": 0, "never": 0}),
    ],
)
@pytest.mark.parametrize("format", ["text", "json"])
def test_exit_status_follows_fail_on(
    lines: tuple[Line, ...], statuses: dict[str, int], format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """0 without a finding at or above ``--fail-on``, else 1; unverifiable counts as suspect; the default is suspect."""
    log = write_lines(tmp_path / "log.jsonl", lines)
    for level, status in statuses.items():
        assert status == run(capsys, "audit", log, "--format", format, "--fail-on", level).status
    assert statuses["suspect"] == run(capsys, "audit", log, "--format", format).status


def test_an_empty_file_is_an_empty_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No events, no findings, status 0."""
    log = write_lines(tmp_path / "log.jsonl", ())
    assert run(capsys, "audit", log, "--format", "json").report == {"events": 0, "findings": []}
    assert run(capsys, "audit", log).out == "0 events, 0 calls judged: 0 stale, 0 suspect, 0 unverifiable\n"


def test_each_file_is_its_own_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ids of one file say nothing in another; events are counted over all, and a finding names its file."""
    paths = [write_lines(tmp_path / f"{place}.jsonl", lines) for place, lines in enumerate([SUPERSEDED, FRESH, SUSPECT])]
    report = run(capsys, "audit", *paths, "--format", "json").report
    assert report["events"] == 8
    assert [str(paths[0]), str(paths[2])] == [each["file"] for each in report["findings"]]
    out = run(capsys, "audit", *paths).out.splitlines()
    assert [f"{paths[0]}:", f"{paths[2]}:"] == [out[0], out[2]]
    assert out[-1] == "8 events in 3 files, 3 calls judged: 1 stale, 1 suspect, 0 unverifiable"


def test_one_wrong_file_of_several_leaves_no_half_an_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A malformed file after a good one: status 2, the error on standard error, and nothing printed as JSON."""
    good = write_lines(tmp_path / "good.jsonl", SUPERSEDED)
    (wrong := tmp_path / "wrong.jsonl").write_text("{}\n")
    ran = run(capsys, "audit", good, wrong, "--format", "json")
    assert (2, "", f"intervalguard: {wrong}:1: id is missing: every event of a file has one\n") == ran


def test_gz_and_standard_input(tmp_path: Path) -> None:
    """A file that ends in .gz is unpacked, and ``-`` is standard input."""
    text = "".join(json.dumps(line) + "\n" for line in SUPERSEDED).encode()
    (packed := tmp_path / "log.jsonl.gz").write_bytes(gzip.compress(text))
    from_pipe = run_process("audit", "-", "--format", "json", stdin=text)
    assert {("c", "r", "stale", "superseded")} == from_pipe.findings
    assert [each["file"] for each in from_pipe.report["findings"]] == ["-"]
    assert from_pipe.findings == run_process("audit", packed, "--format", "json").findings


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["audit"],
        ["audit", "--format", "xml", "a"],
        ["audit", "--fail-on", "fresh", "a"],
        ["odit", "a"],
        ["audit", "-", "-"],
    ],
)
def test_a_wrong_command_line_is_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """`main` returns 2 and says why on standard error; it never raises."""
    ran = run(capsys, *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    """``--help`` explains the verdicts and reasons, gives examples, and tells the exit statuses."""
    ran = run(capsys, "audit", "--help")
    assert ran.status == 0
    for word in (
        "stale",
        "suspect",
        "unverifiable",
        "superseded",
        "expired",
        "in-flight",
        "unknown-outcome",
        "overlapped",
    ):
        assert word in ran.out
    for word in (
        "unknown-dependency",
        "no-result",
        "not-settled",
        "examples:",
        "exit status:",
        "--fail-on",
        "depends_on",
    ):
        assert word in ran.out
    assert "audit" in run(capsys, "--help").out


def test_help_shows_events_that_are_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The example in the help is an event file, with the finding that it speaks of."""
    text = run(capsys, "audit", "--help").out
    lines = re.sub(r"\s+\(on one line.*", "", text[text.index('  {"id"') : text.index("examples:")].replace(",\n   ", ","))
    (log := tmp_path / "log.jsonl").write_text("\n".join(line.strip() for line in lines.splitlines() if line.strip()))
    assert {("r2", "r1", "stale", "superseded")} == run(capsys, "audit", log, "--format", "json").findings


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """``--version`` is the version of the project."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert (0, f"intervalguard {project['project']['version']}\n", "") == run(capsys, "--version")


# -- what reaches a terminal


def hostile(tmp_path: Path) -> Path:
    """A log whose every text is `HOSTILE`, in a file that is named so too, with one finding of each kind of message."""
    text = {"tool": HOSTILE, "agent": HOSTILE, "session": HOSTILE, "call": HOSTILE, "run": HOSTILE}
    ids = [f"{HOSTILE}{number}" for number in range(4)]
    lines = [
        event(ids[0], HOSTILE, 0, 1, **{**text, "call": HOSTILE + "0"}),
        event(ids[1], HOSTILE, 2, 3, kind="write", **{**text, "call": HOSTILE + "1"}),
        event(ids[2], HOSTILE, 4, 5, depends_on=[ids[0]], **text),
        event(ids[3], HOSTILE, 6, 7, depends_on=[ids[2], HOSTILE], **{**text, "call": HOSTILE + "3"}),
    ]
    return write_lines(tmp_path / f"{HOSTILE.replace('/', '')}.jsonl", lines)


def test_no_control_character_reaches_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names, ids, tools and file names are escaped in text, and so they are in errors."""
    log = hostile(tmp_path)
    ran = run(capsys, "audit", log, log)
    assert ran.status == 1
    assert ran.out.count("\n") == 9
    assert not UNSEEN.search(ran.out)
    ran = run(capsys, "audit", write_lines(tmp_path / "d.jsonl", [event(HOSTILE, HOSTILE, 1, 2)] * 2), "--format", "json")
    assert (ran.status, ran.out) == (2, "")
    assert not UNSEEN.search(ran.err)
    for wrong in (str(tmp_path / f"{HOSTILE}.none"), write_lines(tmp_path / HOSTILE.replace("/", ""), [{HOSTILE: 1}])):
        assert not UNSEEN.search(run(capsys, "audit", wrong).err)


@pytest.mark.parametrize("place", [0, 1, 2, 3])
@pytest.mark.parametrize("start", ["", "--", "-", "--format=", "--f=", "--fail-on"])
def test_no_control_character_of_an_argument_reaches_a_terminal(
    place: int, start: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is wrong with an argument is said with the argument escaped, on one line."""
    arguments = ["audit", str(tmp_path / "none"), "b"]
    arguments.insert(place, f"{start}{HOSTILE}")
    ran = run(capsys, *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert not UNSEEN.search(ran.err)


def on_terminal(*arguments: str | Path, without_rich: bool = False) -> str:
    """What the command writes to a terminal, standard error included."""
    block = "import sys; sys.modules['rich'] = sys.modules['rich.console'] = None;" if without_rich else ""
    program = f"{block}from intervalguard.edges.cli import main; raise SystemExit(main())"
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LC_ALL": "C.UTF-8"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=theirs,
        stderr=theirs,
        stdin=theirs,
        env=environment,
    ):
        os.close(theirs)
        pieces = []
        while True:
            try:
                pieces.append(os.read(ours, 1 << 16))
            except OSError:
                break
    os.close(ours)
    return b"".join(pieces).decode()


SGR = re.compile(r"\x1b\[[0-9;]*m")


def test_a_terminal_gets_a_table_in_colour(tmp_path: Path) -> None:
    """With rich installed a terminal gets a table and colour, and nothing of a log but visible characters."""
    out = on_terminal("audit", write_lines(tmp_path / "log.jsonl", SUPERSEDED))
    assert "\x1b[1;31mstale" in out
    assert "│" in out
    shown = on_terminal("audit", hostile(tmp_path))
    assert not UNSEEN.search(SGR.sub("", shown).replace("\r\n", "\n"))
    assert "[bold]" in "".join(re.findall(r"[\[\]a-z/]", shown))


def test_a_long_table_becomes_lines(tmp_path: Path) -> None:
    """More findings than anyone reads in a table are coloured lines, none lost."""
    lines = [SUPERSEDED[0], SUPERSEDED[1], *({**SUPERSEDED[2], "id": f"c{number}"} for number in range(300))]
    out = SGR.sub("", on_terminal("audit", write_lines(tmp_path / "log.jsonl", lines)))
    assert [f"(id=c{number})" for number in range(300)] == re.findall(r"\(id=c\d+\)", out)
    assert "302 events, 300 calls judged: 300 stale, 0 suspect, 0 unverifiable" in out
    assert "│" not in out


def test_a_terminal_without_rich_gets_plain_text(tmp_path: Path) -> None:
    """Without rich a terminal gets what a pipe gets."""
    log = hostile(tmp_path)
    assert run_process("audit", log).out == on_terminal("audit", log, without_rich=True).replace("\r\n", "\n")


def test_colour_can_be_turned_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dumb terminal gets no escape sequence."""
    log = write_lines(tmp_path / "log.jsonl", SUPERSEDED)
    program = "import os; os.environ['TERM'] = 'dumb'; from intervalguard.edges.cli import main; main()"
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", program, "audit", str(log)], stdout=theirs, stderr=theirs):
        os.close(theirs)
    out = os.read(ours, 1 << 16)
    os.close(ours)
    assert b"stale" in out
    assert b"\x1b" not in out


def test_what_a_terminal_cannot_encode_is_escaped(tmp_path: Path) -> None:
    """A name outside of the output's encoding is no error."""
    log = write_lines(tmp_path / "log.jsonl", [event("c", "größe/\u4e2d", 1, 2, depends_on=["gone"])])
    ran = run_process("audit", log, PYTHONIOENCODING="ascii")
    assert (ran.status, ran.err) == (1, "")
    assert "gr\\xf6\\xdfe/\\u4e2d" in ran.out


def test_progress_is_shown_on_a_terminal_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long work tells on standard error how far it is, and wipes it away, if that is a terminal; else never."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    log = write_lines(
        tmp_path / "log.jsonl",
        SUPERSEDED * 0 + (*SUPERSEDED[:2], *({**SUPERSEDED[2], "id": str(n)} for n in range(9000))),
    )
    ticks = iter(range(10**6))
    monkeypatch.setattr("intervalguard.edges.cli.time.monotonic", lambda: next(ticks))
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert main(["audit", str(log)]) == 1
    shown = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert "reading " in shown
    assert "judging " in shown
    assert shown.endswith("\r\x1b[K")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert main(["audit", str(log)]) == 1
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]


# -- cut off


def many(tmp_path: Path) -> Path:
    lines = [SUPERSEDED[0], SUPERSEDED[1], *({**SUPERSEDED[2], "id": f"c{number}"} for number in range(20_000))]
    return write_lines(tmp_path / "log.jsonl", lines)


@pytest.mark.parametrize("format", ["text", "json"])
def test_a_reader_that_leaves_ends_it_quietly(format: str, tmp_path: Path) -> None:
    """`| head` gets its lines, and no traceback."""
    with subprocess.Popen(
        [sys.executable, "-m", "intervalguard", "audit", str(many(tmp_path)), "--format", format],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_ctrl_c_ends_it_with_130() -> None:
    """An interrupt while it reads ends it without a traceback."""
    with subprocess.Popen(
        [sys.executable, "-m", "intervalguard", "audit", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"\n" * (1 << 18))  # More than a pipe holds: it has begun to read.
        process.stdin.flush()
        for _ in range(20):
            process.send_signal(signal.SIGINT)
            try:
                process.wait(2)
                break
            except subprocess.TimeoutExpired:  # It came between two system calls.
                continue
        else:
            process.kill()
        assert process.stderr.read() == b""
    assert process.returncode == 130


def test_a_full_disk_is_an_error_in_words(tmp_path: Path) -> None:
    """What cannot be written is said, with status 2."""
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "intervalguard", "audit", str(many(tmp_path))],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (2, b"intervalguard: cannot write: [Errno 28] No space left on device\n")


STREAMS = {"pipe": "", "closed": ">&-", "full": ">/dev/full"}


@pytest.mark.parametrize("err", STREAMS)
@pytest.mark.parametrize("out", STREAMS)
def test_what_cannot_be_written_is_status_2(out: str, err: str, tmp_path: Path) -> None:
    """Closed or full, standard output or error: no traceback, and status 2 where the answer gets lost."""
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    log = write_lines(tmp_path / "log.jsonl", SUPERSEDED)
    (bad := tmp_path / "bad.jsonl").write_text("{}\n")
    streams = f"{STREAMS[out]} {STREAMS[err] and '2' + STREAMS[err]}"
    for status, unbuffered, *arguments in (
        (0, "", "--help"),
        (0, "1", "audit", "--help"),
        (0, "", "--version"),
        (1, "", "audit", log),
        (1, "1", "audit", log, log, "--format", "json"),
        (2, "", "audit", bad),
        (2, "", "audit", log, "--nope"),
    ):
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {streams}', "sh", sys.executable, "-m", "intervalguard", *arguments],
            env={**os.environ, "PYTHONUNBUFFERED": str(unbuffered)},
            capture_output=True,
            text=True,
            check=False,
        )
        if status == 2:
            assert (done.returncode, done.stdout) == (2, "")
            assert err != "pipe" or done.stderr
        elif out == "pipe":
            assert (status, "") == (done.returncode, done.stderr)
            assert done.stdout
        else:
            assert done.returncode == 2
            assert err != "pipe" or re.fullmatch(r"intervalguard: cannot write: .*\n", done.stderr)
        assert not {"Traceback", "Exception"} & set(re.findall(r"\w+", done.stderr))


def test_closed_standard_input_is_an_error_in_words() -> None:
    """Said as of any file that cannot be read."""
    command = ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-m", "intervalguard", "audit", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "intervalguard: -: cannot be read: standard input is closed\n")


def test_the_command_line_starts_quickly() -> None:
    """Neither rich nor msgspec nor asyncio is imported before it is needed."""
    program = "import sys, intervalguard.edges.cli; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"rich", "msgspec", "asyncio", "hypothesis"} & set(modules)


@pytest.mark.parametrize("known", FIELDS)
def test_a_misspelt_field_is_told(known: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is spelt almost as a field of an event is kept, judged by nobody, and told, once a file; what is not is fine."""
    first, *rest = known.split("_")
    near = {"".join([first, *map(str.title, rest)]), known.upper(), known.replace("_", "-"), f" {known}"} - {known}
    for spelt in near:
        lines = [
            event("a", "x", 0, 1),
            event("b", "x", 2, 3) | {spelt: None, f"{known}2": 1, "x": 2},
            event("c", "x", 4, 5, depends_on=["a"]),
        ]
        ran = run(capsys, "audit", write_lines(tmp_path / "log.jsonl", lines), "--format", "json")
        assert (ran.status, ran.report) == (0, {"events": 3, "findings": []})
        assert ran.err.count("\n") == 1
        assert f"the field {spelt!r} is kept and not judged: {known} is" in ran.err
    lines = [event("a", "x", 0, 1) | {f"{known}2": 1, f"x_{known}": 1}, event("b", "x", 2, 3, depends_on=["a"])]
    assert run(capsys, "audit", write_lines(tmp_path / "log.jsonl", lines)).err == ""


def test_a_file_without_dependencies_but_with_other_fields_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may have meant them by another name; a file that says nothing else has just nothing to judge."""
    path = write_lines(tmp_path / "log.jsonl", [event("a", "x", 0, 1), event("b", "x", 2, 3) | {"rests on\x1b": ["a"]}])
    ran = run(capsys, "audit", path)
    assert (ran.status, ran.out) == (0, "2 events, 0 calls judged: 0 stale, 0 suspect, 0 unverifiable\n")
    assert ran.err.endswith("so no call is judged; fields that are no event's: 'rests on\\x1b'\n")
    assert run(capsys, "audit", write_lines(path, [event("a", "x", 0, 1)])).err == ""
