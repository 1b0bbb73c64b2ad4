"""With msgspec and without, line by line and column by column, a file reads the same."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from reading import RIGHT, both, line, lines
from strategies import Log, logs

from intervalguard.edges.columns import FIELDS, Rows
from intervalguard.edges.files import write_events

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["r", "s", "read", "ok", "error", "unknown", "a/b"]),
    st.text(max_size=4),
)
MOMENTS: list[Any] = [
    "2026-07-30T12:00:00Z",
    "2026-07-30T12:00:00.5+01:00",
    "2026-07-30t12:00:01.000001z",
    "2026-07-30T12:00:00.1234567Z",
    "2026-07-30T12:00:00.0000001Z",
    "2026-07-30T12:00:02",
    "2026-07-30T12:00Z",
    "2026-02-30T12:00:00Z",
    "0001-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    "2026-07-30T12:00:00+24:00",
    1785412800,
    1785412800.0000001,
    2**53 + 1,
]
USUAL = {
    "name": st.sampled_from(["a", "a/b", "é"]),
    "kind": st.sampled_from(["read", "write"]),
    "start_time": st.sampled_from(MOMENTS),
    "end_time": st.sampled_from(MOMENTS),
    "validity_window_seconds": st.sampled_from([0, 1, 1.5, 1.0]),
    "depends_on": st.lists(st.sampled_from(["r0", "r1", "r2", "x"]), max_size=2),
    "seq": st.integers(0, 3),
    "outcome": st.sampled_from(["ok", "error", "refused"]),
    "call": st.sampled_from(["r0", "c"]),
    "tool": st.sampled_from(["t", 'u"', ""]),
    "version": st.one_of(st.text(max_size=1), st.integers(0, 1), st.just(None)),
    "observed_at": st.sampled_from(MOMENTS),
}
"""What lines say that all say much the same."""
VALUES = st.one_of(
    SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(st.sampled_from(["id", "name", "x"]), SCALARS, max_size=2)
)
SOME_FIELDS = [*FIELDS, "x"]
RECORDS = st.builds(
    lambda more, keep: {**(RIGHT if keep else {}), **more},
    st.dictionaries(st.sampled_from(SOME_FIELDS), VALUES, max_size=4),
    st.booleans(),
)


@st.composite
def uniform_records(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Objects that have much the same fields, as the lines of most files."""
    usual = draw(st.fixed_dictionaries({field: st.just(USUAL[field]) for field in draw(st.sets(st.sampled_from([*USUAL])))}))
    usual = {"start_time": USUAL["start_time"], "name": USUAL["name"], **usual}
    fixed = draw(st.fixed_dictionaries(usual)) if draw(st.booleans()) else {}
    more: list[dict[str, Any]] = [{}, {}, {"kind": "read"}]
    return [
        {"id": f"r{place}", **draw(st.fixed_dictionaries(usual)), **fixed, **draw(st.sampled_from(more))}
        for place in range(draw(st.integers(1, 3)))
    ]


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """Lines as files have them, and then as they should not."""
    written = []
    for record in draw(st.one_of(st.lists(RECORDS, max_size=3), uniform_records())):
        separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,", " :"), (",", "\t: ")]))
        written.append(
            json.dumps(record, separators=separators, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
        )
    text = bytearray(draw(st.sampled_from([b"\n", b"\r\n", b"\n\n"])).join(written))
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        place = draw(st.integers(0, len(text)))
        text[place : place + draw(st.integers(0, 2))] = draw(
            st.one_of(
                st.sampled_from([b'"', b"\\", b"\\ud83d", b"}", b",", b":", b"0", b"e9", b'"id":1,']), st.binary(max_size=2)
            )
        )
    return bytes(text)


@given(texts())
@example(b'{"id":"r","name":"a","start_time":1,"args":{"a":"\\":"}}')
@example(b'{"id":"r","name":"a","start_time":1,"args":"\\ud83d\\ude00 \\ud83d"}')
@example(b'{"id":"r","name":"a","start_time":-0.0,"end_time":1e22}')
@example(b'{"id":"r","name":"a","start_time":1,"end_time":9007199254740993.5}')
def test_both_decoders_read_the_same(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> None:
    """With msgspec and without the entries are the same, and so are the errors; nothing else is raised."""
    path = tmp_path_factory.getbasetemp() / "fuzzed.jsonl"
    path.write_bytes(text)
    both(path)


@pytest.mark.parametrize("first", MOMENTS)
@pytest.mark.parametrize("second", MOMENTS)
def test_both_decoders_read_the_same_times(first: Any, second: Any, tmp_path: Path) -> None:
    """Whatever times stand next to each other."""
    (path := tmp_path / "log.jsonl").write_bytes(
        lines(line(start_time=first, end_time=first), line(id="s", start_time=second))
    )
    both(path)
    begin = 0 if type(first) is int else "0001-01-01T00:01:00Z"
    ends = [line(id=str(end), start_time=begin, end_time=end) for end in (first, second)]
    path.write_bytes(lines(*ends))
    both(path)


@pytest.mark.parametrize("place", range(1, 29))
def test_both_decoders_read_the_same_times_with_a_character_escaped(place: int, tmp_path: Path) -> None:
    """A digit that is too fine may be written as an escape."""
    text = '"2026-07-30T12:00:00.1234567Z"'
    escaped = f"{text[:place]}\\u{ord(text[place]):04x}{text[place + 1 :]}"
    known = [line(start_time=text[1:-1], end_time=None), line(id="s", start_time=text[1:-1], end_time=text[1:-1])]
    (path := tmp_path / "log.jsonl").write_bytes(lines(*known).replace(text.encode(), escaped.encode()))
    assert both(path)[0] == "iso"


@given(logs(calls=5), st.data())
def test_usual_lines_are_read_as_columns(tmp_path_factory: pytest.TempPathFactory, events: Log, data: st.DataObject) -> None:
    """What says nothing unusual takes the quick way, whichever fields the lines leave out."""
    write_events(path := tmp_path_factory.getbasetemp() / "usual.jsonl", events)
    records = []
    for text in path.read_text().splitlines():
        record = {key: value for key, value in json.loads(text).items() if key == "id" or data.draw(st.integers(0, 9))}
        record["depends_on"] = [each if type(each) is str else each["id"] for each in record.get("depends_on", ())]
        if data.draw(st.booleans()):
            record["version"] = data.draw(st.sampled_from(["v", "", 1, 1.5, True, [1]]))
        records.append(record)
    columns = Rows().read("\n".join(map(json.dumps, records)).encode())
    assert columns is not None
    for field in FIELDS:
        said = [record.get(field) for record in records]
        read = [*columns.get(field)]
        assert all(type(each) is datetime or each == other for each, other in zip(read, said, strict=True))
        assert [each is None for each in read] == [each is None for each in said]


def test_a_file_that_says_more_is_not_tried_for_long() -> None:
    """Most pieces of a file with fields of its own are decoded once."""
    rows = Rows()
    own = [rows.read(line(x=1)) for _ in range(100)]
    assert own == [None] * 100
    assert rows.read(line()) is None
    rows = Rows()
    assert [rows.read(line()) is None for _ in range(100)] == [False] * 100
    assert [rows.read(each) is None for each in (line(x=1), line())] == [True, False]
