"""Event files that are malformed: a clear error with file, line, field and value, status 2, never a traceback.

Each is read twice, with msgspec and without; both say the same.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import RIGHT, both, line, lines
from running import run, run_process, write_lines

from intervalguard.edges.files import EventFileError, load, read_events
from intervalguard.edges.lines import LONGEST_LINE

BAD: dict[str, tuple[bytes, int | None, str | None, str]] = {
    # what is no JSON object a line
    "cut short": (b'{"id":"a","name":"b","sta', 1, None, "cut short"),
    "cut short later": (lines(line(), b'{"id":"a",'), 2, None, "cut short"),
    "more on a line": (line() + b"{}", 1, None, "one JSON object a line"),
    "a list": (b"[1]", 1, None, "one JSON object a line"),
    "a number": (b"7", 1, None, "one JSON object a line"),
    "a list of events": (b"[\n" + line() + b"\n]", 1, None, "cut short"),
    "binary": (bytes(range(256)), 1, None, "no JSON"),
    "not UTF-8": (b'{"id":"\xff"}', 1, None, "not UTF-8"),
    "UTF-16": (line().decode().encode("utf-16"), 1, None, "not UTF-8"),
    "byte order mark": (b"\xef\xbb\xbf" + line(), 1, None, "byte order mark"),
    "nested deeply": (b'{"id":' + b"[" * 100_000, 1, None, "nested too deeply"),
    "nested deeply but closed": (b'{"x":' + b"[" * 50_000 + b"]" * 50_000 + b"}", 1, None, "nested too deeply"),
    "NaN": (b'{"id":"r","name":"a","start_time":NaN}', 1, None, "NaN is no JSON"),
    "NaN in an unknown field": (b'{"id":"r","name":"a","start_time":1,"x":[NaN]}', 1, None, "NaN is no JSON"),
    "-Infinity": (b'{"id":"r","name":"a","start_time":-Infinity}', 1, None, "-Infinity is no JSON"),
    "a key twice": (b'{"id":"r","id":"s","name":"a","start_time":1}', 1, "id", "'id' is given twice"),
    "a key twice, spelled apart": (b'{"kind":"read","\\u006bind":"write"}', 1, "kind", "'kind' is given twice"),
    "a key twice, spaced": (b'{"id" :"r","id":"s","name":"a","start_time":1}', 1, "id", "'id' is given twice"),
    "an event over two lines": (
        b'{"id":"r","name":"a",\n"start_time":1} {"id":"s","name":"a","start_time":1}',
        1,
        None,
        "no JSON, at character 22",
    ),
    "a key twice within": (line(x={"y": 1}).replace(b'{"y"', b'{"y":0,"y"'), 1, "y", "'y' is given twice"),
    "a number of 5,000 digits": (b'{"id":"r","name":"a","start_time":' + b"1" * 5000 + b"}", 1, None, "too long"),
    # fields
    "no id": (b'{"name":"a","start_time":1,"end_time":2}', 1, "id", "id is missing"),
    "id is a number": (line(id=7), 1, "id", "id=7 "),
    "id is empty": (line(id=""), 1, "id", "id='' "),
    "id is null": (line(id=None), 1, "id", "id=None "),
    "no name": (b'{"id":"a","start_time":1,"end_time":2}', 1, "name", "name is missing"),
    "name is null": (line(name=None), 1, "name", "name=None "),
    "name is a list": (line(name=["a"]), 1, "name", "name=['a'] "),
    "name is empty": (line(name=""), 1, "name", "empty segment in name=''"),
    "name has an empty segment": (line(name="a//b"), 1, "name", "empty segment in name='a//b'"),
    "name is too deep": (line(name="/".join("a" * 129)), 1, "name", "129 segments in name='a/a/"),
    "name has a lone surrogate": (line(name="a\ud800"), 1, "name", "no valid Unicode"),
    "no start": (b'{"id":"a","name":"b"}', 1, "start_time", "start_time is missing"),
    "start is null": (line(start_time=None), 1, "start_time", "start_time=None "),
    "start is a bool": (line(start_time=True), 1, "start_time", "start_time=True "),
    "start is a list": (line(start_time=[1]), 1, "start_time", "start_time=[1] "),
    "start is infinite": (line().replace(b"0,", b"1e999,"), 1, "start_time", "start_time=inf "),
    "start is too large": (line(start_time=10**300), 1, "start_time", "too large"),
    "end is false": (line(end_time=False), 1, "end_time", "end_time=False "),
    "start after end": (line(start_time=2), 1, "end_time", "end_time=1 is before start_time=2"),
    "start after end, in ISO": (
        line(start_time="2026-07-30T12:00:00Z", end_time="2026-07-30T12:00:00+00:01"),
        1,
        "end_time",
        "end_time='2026-07-30T12:00:00+00:01' is before start_time='2026-07-30T12:00:00Z'",
    ),
    "naive": (line(start_time="2026-07-30T12:00:00"), 1, "start_time", "has no time zone"),
    "no time of day": (line(start_time="2026-07-30"), 1, "start_time", "is no ISO 8601 time"),
    "no such day": (line(start_time="2026-02-30T12:00:00Z"), 1, "start_time", "is no time: day is out of range"),
    "a leap second": (line(start_time="2026-06-30T23:59:60Z"), 1, "start_time", "second must be in 0..59"),
    "foreign digits": (line(start_time="२०२६-07-30T12:00:00Z"), 1, "start_time", "is no ISO 8601 time"),
    "no such offset": (line(start_time="2026-07-30T12:00:00+24:00"), 1, "start_time", "offset"),
    "before the year 1": (line(start_time="0001-01-01T00:00:00+10:00"), 1, "start_time", "outside the years"),
    "two axes in a line": (line(end_time="2026-07-30T12:00:00Z"), 1, "end_time", "one file has one axis"),
    "two axes": (lines(line(), line(id="s", start_time="2026-07-30T12:00:00Z")), 2, "start_time", "one axis"),
    "two axes, in a field more": (line(may_land_until="2026-07-30T12:00:00Z"), 1, "may_land_until", "one axis"),
    "unknown kind": (line(kind="Read"), 1, "kind", "kind='Read' is not one of 'read', 'write'"),
    "kind is null": (line(kind=None), 1, "kind", "kind=None "),
    "kind is a list": (line(kind=["read"]), 1, "kind", "kind=['read'] "),
    "unknown outcome": (line(outcome="OK"), 1, "outcome", "outcome='OK' is not one of"),
    "outcome is a number": (line(outcome=1), 1, "outcome", "outcome=1 is not one of"),
    "outcome is null": (line(outcome=None), 1, "outcome", "outcome=None is not one of"),
    "pending with an end": (line(outcome="pending"), 1, "outcome", "contradicts end_time=1"),
    "ok without an end": (line(outcome="ok", end_time=None), 1, "end_time", "needs an end_time"),
    "negative window": (line(validity_window_seconds=-1), 1, "validity_window_seconds", "=-1 is not finite"),
    "window is a text": (line(validity_window_seconds="30"), 1, "validity_window_seconds", "='30' is no number"),
    "window is a bool": (line(validity_window_seconds=True), 1, "validity_window_seconds", "=True is no number"),
    "window is a bool that equals one before": (
        lines(line(validity_window_seconds=1), line(id="s", validity_window_seconds=True)),
        2,
        "validity_window_seconds",
        "=True is no number",
    ),
    "window is infinite": (line(validity_window_seconds=7).replace(b"7", b"1e999"), 1, "validity_window_seconds", "=inf"),
    "window is huge": (line(validity_window_seconds=10**400), 1, "validity_window_seconds", "too large"),
    "seq is a fraction": (line(seq=1.0), 1, "seq", "seq=1.0 is no whole number"),
    "seq is a bool": (line(seq=True), 1, "seq", "seq=True is no whole number"),
    "end_seq is a text": (line(seq=1, end_seq="2"), 1, "end_seq", "end_seq='2' is no whole number"),
    "end_seq without seq": (line(end_seq=1), 1, "end_seq", "end_seq=1 "),
    "end_seq before seq": (line(seq=5, end_seq=4), 1, "end_seq", "end_seq=4 is before seq=5"),
    "end_seq long before seq": (line(seq=10**3000, end_seq=4), 1, "end_seq", "end_seq=4 is before seq=1000000000"),
    "end_seq without an end": (line(seq=5, end_seq=6, end_time=None), 1, "end_seq", "end_seq=6 "),
    "call is empty": (line(call=""), 1, "call", "call='' "),
    "call is null": (line(call=None), 1, "call", "call=None "),
    "call is a number": (line(call=3), 1, "call", "call=3 "),
    "agent is a list": (line(agent=["x"]), 1, "agent", "agent=['x'] is no text"),
    "parent is a number": (line(parent=1), 1, "parent", "parent=1 is no text"),
    "run is a number": (line(run=1), 1, "run", "run=1 is no text"),
    "observed after the end": (line(observed_at=1.5), 1, "observed_at", "observed_at=1.5 is after end_time=1"),
    "may land before the start": (line(may_land_until=-1), 1, "may_land_until", "may_land_until=-1 is before start_time=0"),
    "depends_on is a text": (line(depends_on="r"), 1, "depends_on", "depends_on='r' is no list"),
    "depends_on is an object": (line(depends_on={"id": "r"}), 1, "depends_on", "is no list"),
    "a dependency is a number": (line(depends_on=["x", 1]), 1, "depends_on", "depends_on=1 is no dependency"),
    "a dependency without id": (line(depends_on=[{"name": "a"}]), 1, "depends_on", "is no dependency"),
    "a dependency with more": (line(depends_on=[{"id": "x", "nam": "a"}]), 1, "depends_on", "more than an id and a name"),
    "a part that is no name": (line(depends_on=[{"id": "x", "name": "a/"}]), 1, "depends_on", "empty segment"),
    # the whole
    "an id twice": (lines(line(), b"", line(kind="write")), 3, "id", "is also the id of line 1"),
    "a part that is not covered": (
        lines(line(depends_on=[{"id": "s", "name": "a/c"}]), line(id="s")),
        1,
        "depends_on",
        "does not cover it",
    ),
    "rests on itself": (lines(line(id="q"), line(depends_on=["r"])), 2, "depends_on", "'r' rests on 'r'"),
    "a cycle": (
        lines(line(depends_on=["s"]), line(id="s", depends_on=["t"]), line(id="t", depends_on=[{"id": "r"}])),
        1,
        "depends_on",
        "'r' rests on 's' rests on 't' rests on 'r'",
    ),
    "its own parent": (line(parent="r"), 1, "parent", "'r' was made in 'r'"),
    "a cycle of parents": (lines(line(parent="x"), line(id="s", call="x", parent="r")), 1, "parent", "was made in"),
    "some without seq": (lines(line(seq=1), b"", line(id="s")), 3, "seq", "seq is missing, but line 1 has one"),
    "some with seq": (lines(line(), line(id="s", seq=1)), 2, "seq", "seq=1, but line 1 has none"),
    "some without end_seq": (
        lines(line(seq=1, end_time=None), line(id="s", seq=2), line(id="t", seq=3, end_seq=4)),
        2,
        "end_seq",
        "end_seq is missing, but line 3 has one",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_malformed_is_told(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error has the line, the field and the value, the same with and without msgspec, and the status is 2."""
    text, number, field, words = BAD[what]
    path = tmp_path / "log.jsonl"
    for end in (b"", b"\n"):
        path.write_bytes(text + end)
        message, *where = both(path)
        assert [number, field] == where[:2]
        assert message.startswith(f"{path}:{number}: ")
        assert words in message
        assert len(message) < 400 + len(str(path))
    for format in ("text", "json"):
        assert run(capsys, "audit", path, "--format", format) == (2, "", f"intervalguard: {message}\n")
    with pytest.raises(EventFileError) as raised:
        read_events(path)
    assert str(raised.value) == message


ALONE = {
    what: text
    for what, (text, number, _, _) in BAD.items()
    if number == 1 and b"\n" not in text and what not in ("UTF-16", "its own parent")
}
"""What is wrong with a line by itself."""


@given(st.data(), st.integers(1, 400))
def test_the_first_wrong_line_is_told(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, size: int) -> None:
    """Of several wrong lines among right and blank ones, the first, however the file falls into pieces."""
    path = tmp_path_factory.getbasetemp() / "log.jsonl"
    kinds = data.draw(st.lists(st.sampled_from(("right", "right", "blank", "wrong")), min_size=1, max_size=12))
    texts = {
        "right": lambda place: line(id=f"right {place}"),
        "blank": lambda place: b" ",
        "wrong": lambda place: data.draw(st.sampled_from(sorted(ALONE.values()))).replace(b'"r"', b'"r%d"' % place),
    }
    text = lines(line(id="first"), *(texts[kind](place) for place, kind in enumerate(kinds)))
    path.write_bytes(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("intervalguard.edges.lines._PIECE", size)
        result = both(path)
    assert result[1] == kinds.index("wrong") + 2 if "wrong" in kinds else len(result[1]) == kinds.count("right") + 1


@pytest.mark.parametrize("what", ALONE)
def test_what_is_malformed_is_told_among_others(what: str, tmp_path: Path) -> None:
    """The line is told also where those around it are right."""
    (path := tmp_path / "log.jsonl").write_bytes(lines(line(id="before"), ALONE[what], line(id="after")))
    assert both(path)[1] == 2


def test_an_id_twice_is_told_before_what_comes_later(tmp_path: Path) -> None:
    """Whatever was wrong, and was looked at, after it."""
    log = [line(id="a"), line(id="a"), line(id="b", depends_on=[1]), line(id="c")]
    (path := tmp_path / "log.jsonl").write_bytes(lines(*log))
    assert both(path)[1] == 2


def test_what_is_no_event_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A directory, a missing file, a name that cannot be one, a file that is not or only half compressed."""
    text = gzip.compress(line() * 1000, mtime=0)
    (cut := tmp_path / "cut.gz").write_bytes(text[: len(text) // 2])
    (rotten := tmp_path / "rotten.gz").write_bytes(text[:12] + bytes(8) + text[20:])
    (plain := tmp_path / "plain.gz").write_bytes(line())
    (tail := tmp_path / "tail.gz").write_bytes(text + b"rubbish")
    for path in (tmp_path, tmp_path / "none", f"{tmp_path}\0", cut, rotten, plain, tail):
        status, out, err = run(capsys, "audit", path)
        assert (status, out) == (2, "")
        assert err.startswith("intervalguard: /")
        assert err.count("\n") == 1
        with pytest.raises(EventFileError):
            read_events(path)


def test_permission_denied(tmp_path: Path) -> None:
    """A file that may not be read is told in words."""
    (path := tmp_path / "log.jsonl").write_bytes(line())
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(EventFileError, match="cannot be read: Permission denied"):
        load(path)


@pytest.mark.parametrize("pack", [False, True])
def test_a_line_of_100_megabytes_is_refused_early(pack: bool, tmp_path: Path) -> None:
    """A line that no event is costs an error and little memory, also where it is packed small."""
    path = tmp_path / ("log.jsonl.gz" if pack else "log.jsonl")
    with gzip.open(path, "wb", compresslevel=1) if pack else open(path, "wb") as file:
        file.write(line() + b'\n{"id":"')
        for _ in range(100):
            file.write(b"x" * 1_000_000)
    program = (
        "import sys; from intervalguard.edges.cli import main; print(main(sys.argv[1:]));"
        "print(*(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    if not Path("/proc/self/status").exists():
        pytest.skip("no /proc here")
    done = subprocess.run([sys.executable, "-c", program, "audit", str(path)], capture_output=True, text=True, check=True)
    status, kilobytes = map(int, done.stdout.split())
    assert status == 2
    assert done.stderr == (
        f"intervalguard: {path}:2: longer than 16 MiB, which no event is: is it JSON Lines, one event a line?\n"
    )
    assert kilobytes < 150_000


def test_a_long_line_that_is_short_enough_is_read(tmp_path: Path) -> None:
    """A line of many megabytes is read, up to the limit."""
    padding = LONGEST_LINE - len(line(x=""))
    (path := tmp_path / "log.jsonl").write_bytes(lines(line(x="x" * padding), line(id="s")))
    assert len(load(path).entries) == 2
    path.write_bytes(lines(line(), line(id="s", x="x" * (padding + 1))))
    with pytest.raises(EventFileError, match=r":2: longer than 16 MiB"):
        load(path)


def test_values_in_errors_are_short(tmp_path: Path) -> None:
    """An error stays one line of a bounded length, whatever the value is."""
    nested: Any = 1
    for _ in range(400):
        nested = {"k" * 1000: [nested, nested]} if _ < 8 else [nested]
    wrong: list[dict[str, Any]] = [
        {field: value}
        for field in ("id", "name", "kind", "start_time", "outcome", "seq", "depends_on", "call", "tool", "parent")
        for value in ("//\n" * 100_000, nested, [["x" * 10**5] * 50], 10**3000)
    ]
    for fields in wrong:
        message = both(write_lines(tmp_path / "log.jsonl", [{**RIGHT, **fields}]))[0]
        if isinstance(message, str):
            assert len(message) < 1000
            assert message.isprintable()


def test_a_cycle_of_a_million_is_found(tmp_path: Path) -> None:
    """A long chain of forward references is read in linear time without recursion; closed, it is a short error."""
    count = 200_000
    chain = [line(id=str(number), depends_on=[str(number + 1)]) for number in range(count)]
    (path := tmp_path / "log.jsonl").write_bytes(lines(*chain))
    assert len(load(path).entries) == count
    path.write_bytes(lines(*chain, line(id=str(count), depends_on=["0"])))
    with pytest.raises(EventFileError, match=r":1: depends_on is a cycle: '0' rests on '1' .* rests on '0';") as raised:
        load(path)
    assert len(str(raised.value)) < 300


def test_blank_lines_are_skipped(tmp_path: Path) -> None:
    """A line of nothing but white space says nothing; lines are counted all the same, and may end as on Windows."""
    text = lines(b"", line(), b"  \t", b"", line(id="s") + b"\r", b"\r", b"")
    (path := tmp_path / "log.jsonl").write_bytes(text)
    assert [*load(path).entries] == ["r", "s"]
    path.write_bytes(text + line(id="s"))
    assert both(path)[1] == 7
    assert "line 5" in both(path)[0]


def test_a_traceback_never_gets_out(tmp_path: Path) -> None:
    """As a process too, rubbish is one line on standard error."""
    (path := tmp_path / "log.jsonl").write_bytes(os.urandom(10_000))
    ran = run_process("audit", path)
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
