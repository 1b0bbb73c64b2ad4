"""Event files: what is read is what was written, times are rounded outward, and positions are those of `Order`."""

from __future__ import annotations

import gc
import itertools
import json
import math
import sys
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import event, write_lines
from strategies import Log, logs

from intervalguard.edges.files import FIELDS, EventFileError, load, read_events, uncollected, write_events
from intervalguard.edges.lines import pieces
from intervalguard.edges.times import TimeError, iso_micros, number_micros, shown, usual_micros, usual_numbers
from intervalguard.kernel.audit import findings
from intervalguard.kernel.events import Event, micros
from intervalguard.kernel.staleness import Raw
from intervalguard.kernel.views import Entry, Extra, Order, by_id, entry

AXES = ("iso", "number")


def plain(first: str, raw: Raw) -> tuple[Any, ...]:
    return (first, raw.dependency, raw.grade, raw.by and raw.by.id, raw.via and raw.via.id)


def judged(events: Log) -> list[tuple[Any, ...]]:
    """The audit of the events as they are, placed by `Order`."""
    order = Order(events)
    entries = [entry(each, order, place) for place, each in enumerate(events)]
    return [plain(first.id, raw) for first, raw in findings(by_id(entries))]


@given(logs(), st.sampled_from(AXES), st.booleans())
def test_an_audit_of_a_file_is_the_audit_of_its_events(
    tmp_path_factory: pytest.TempPathFactory, events: Log, axis: Any, packed: bool
) -> None:
    """Written, read and audited as integers, a log has the findings that the rule has of its events through `Order`."""
    path = tmp_path_factory.getbasetemp() / ("log.jsonl.gz" if packed else "log.jsonl")
    write_events(path, events, axis=axis)
    loaded = load(path)
    assert [plain(first.id, raw) for first, raw in findings(loaded.entries)] == judged(events)
    again = read_events(path)
    assert (list(again.events), again.axis) == (list(events), axis)


HALVES = st.sampled_from((0, 0, 0.5, 1, 1.5, 4))


@st.composite
def placed(draw: st.DrawFn) -> Log:
    """Logs with many bare times, at the times of endpoints, between them and outside, and with any numbers."""
    events = draw(logs(calls=5))
    factor, more = draw(st.sampled_from(((1, 0), (-1, 0), (2**40, -(2**41)))))
    is_timed = all(each.end_seq is None for each in events)
    for each in list(events):
        fields: dict[str, Any] = {"may_land_until": each.start_time + timedelta(seconds=draw(HALVES))}
        fields["observed_at"] = (each.end_time or each.start_time) - timedelta(seconds=draw(HALVES))
        if is_timed and each.seq is not None:
            fields["seq"] = each.seq * factor + more
        events = events.but(each.id, **fields)
    return events


@given(placed())
def test_everything_stands_where_order_puts_it(tmp_path_factory: pytest.TempPathFactory, events: Log) -> None:
    """Integers for positions compare as the positions of `Order` do: endpoints, observations, ends of uncertainty."""
    path = tmp_path_factory.getbasetemp() / "placed.jsonl"
    write_events(path, events)
    order = Order(events)

    def positions(entries: list[Entry]) -> list[Any]:
        each = [(one.start, one.end, one.extra and one.extra.seen, one.extra and one.extra.until) for one in entries]
        return [position for some in each for position in some if position is not None]

    ours = positions([*load(path).entries.values()])
    theirs = positions([entry(each, order, place) for place, each in enumerate(events)])
    assert len(ours) == len(theirs)
    for (one, its), (other, others) in itertools.combinations(zip(ours, theirs, strict=True), 2):
        assert (one < other, one == other) == (its < others, its == others)


@given(
    st.builds(
        Event,
        name=st.sampled_from(["a", "größe/\u2028"]),
        start_time=st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
        end_time=st.datetimes(datetime(2100, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),
        validity_window_seconds=st.one_of(st.none(), st.integers(0, 10**6), st.floats(0, 1e9)),
        depends_on=st.lists(st.sampled_from(["x", "\ud800", {"id": "y", "name": "b"}]), max_size=2),
        kind=st.sampled_from(["read", "write"]),
        id=st.text(min_size=1),
        seq=st.integers(),
        session=st.one_of(st.none(), st.text()),
        tool=st.one_of(st.none(), st.text()),
        version=st.one_of(st.none(), st.text(), st.integers(), st.lists(st.booleans())),
    ),
    st.dictionaries(st.text().filter(lambda key: key not in FIELDS), st.one_of(st.text(), st.integers(), st.none())),
    st.sampled_from(AXES),
)
def test_a_round_trip_keeps_everything(
    tmp_path_factory: pytest.TempPathFactory, one: Event, more: dict[str, Any], axis: Any
) -> None:
    """All fields of an event come back, to the microsecond, and so do the fields that are not an event's."""
    path = tmp_path_factory.getbasetemp() / "round.jsonl"
    write_events(path, [one], unknown=[more], axis=axis)
    again = read_events(path)
    assert (again.events, again.unknown, again.axis) == ((one,), (more,), axis)
    text = path.read_bytes()
    write_events(path, again.events, unknown=again.unknown, axis=again.axis)
    assert text == path.read_bytes()


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    """A further field may not hide one of the event's own, and JSON has no NaN."""
    one = Event("a", datetime(2026, 7, 30, tzinfo=UTC))
    with pytest.raises(ValueError, match=r"unknown\[0\] has 'kind', which is a field of the event"):
        write_events(tmp_path / "log.jsonl", [one], unknown=[{"kind": "write"}])
    with pytest.raises(TypeError, match="not JSON compliant"):
        write_events(tmp_path / "log.jsonl", [one], unknown=[{"x": math.nan}])


@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.gz"])
def test_a_file_stays_as_it_was_where_writing_fails(tmp_path: Path, name: str) -> None:
    """A version that JSON does not have is told with its event, and the old file is not lost."""
    path, day = tmp_path / name, datetime(2026, 7, 30, tzinfo=UTC)
    write_events(path, [Event("a", day, id="e1")])
    before = path.read_bytes()
    with pytest.raises(TypeError, match="event id='e2' with version=datetime"):
        write_events(path, [Event("a", day, id="e1"), Event("a", day, id="e2", version=day)])
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_defaults_are_those_of_an_event(tmp_path: Path) -> None:
    """What a line leaves out, or gives as null where an event may have none, is as `Event` has it."""
    bare = [{"id": "a", "name": "x", "start_time": 1, "end_time": 2}, {"id": "b", "name": "x", "start_time": 1}]
    nulls = dict.fromkeys(set(FIELDS) - {"id", "name", "kind", "start_time", "end_time", "outcome", "call"})
    first, second = read_events(write_lines(tmp_path / "bare.jsonl", bare)).events
    assert (first.kind, first.outcome, first.call, first.depends_on) == ("read", "ok", "a", ())
    assert (second.outcome, second.end_time) == ("pending", None)
    assert (first, second) == read_events(write_lines(tmp_path / "n.jsonl", [{**nulls, **each} for each in bare])).events


def test_an_audit_takes_numbers_that_no_datetime_holds(tmp_path: Path) -> None:
    """Plain numbers may be of any size in an audit; as events they must fit."""
    log = [event("r", "a", -(10**200), 10**200), event("c", "b", 10**200 + 1, 1e250, depends_on=["r"])]
    loaded = load(write_lines(tmp_path / "log.jsonl", log))
    first = loaded.entries["r"]
    assert list(findings(loaded.entries)) == []
    assert loaded.shown(first.start_time + first.took) == 10**200
    with pytest.raises(EventFileError, match="outside the years 1 to 9999"):
        read_events(tmp_path / "log.jsonl")


@pytest.mark.parametrize("field", ["start_time", "end_time", "observed_at", "may_land_until"])
def test_an_event_takes_no_time_that_no_datetime_holds(field: str, tmp_path: Path) -> None:
    """The error names the field that is to blame."""
    far = {"start_time": -(10**12), "end_time": 10**12, "observed_at": -(10**12), "may_land_until": 10**12}[field]
    path = write_lines(tmp_path / "log.jsonl", [event("a", "x", 1, 2), event("b", "x", 1, 2) | {field: far}])
    with pytest.raises(EventFileError, match=f"{field}={far} is outside the years 1 to 9999") as raised:
        read_events(path)
    assert (raised.value.field, raised.value.value) == (field, far)


# -- times


@given(st.integers(-(10**15), 10**15))
def test_a_number_of_microseconds_is_exact(at: int) -> None:
    """Every decimal number of six places is that many microseconds, and is shown as it was written."""
    text = f"{'-' if at < 0 else ''}{abs(at) // 10**6}.{abs(at) % 10**6:06}"
    assert at == number_micros(float(text), up=True) == number_micros(float(text), up=False)
    assert Fraction(text) == Fraction(repr(shown("number", at)))


@given(st.floats(-1e299, 1e299, allow_nan=False))
def test_a_finer_number_is_rounded_outward(number: float) -> None:
    """A start is never later than the number that was written, an end never earlier, neither by a microsecond."""
    exact = Fraction(repr(number)) * 10**6
    down, up = number_micros(number, up=False), number_micros(number, up=True)
    assert down <= exact <= up
    assert up - down <= 1
    assert (up == down) == (exact.denominator == 1)


@given(
    st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)),
    st.integers(-14 * 60, 14 * 60),
    st.text("0123456789", max_size=9),
    st.sampled_from("T t"),
)
def test_a_finer_iso_time_is_rounded_outward(time: datetime, offset: int, fraction: str, separator: str) -> None:
    """The same of ISO 8601 times, with any offset."""
    sign, (hours, minutes) = "-" if offset < 0 else "+", divmod(abs(offset), 60)
    zone = f"{sign}{hours:02}:{minutes:02}" if offset else "Z"
    text = f"{time:%Y-%m-%d}".rjust(10, "0") + f"{separator}{time:%H:%M:%S}{'.' + fraction if fraction else ''}{zone}"
    whole = micros((time.replace(microsecond=0) - timedelta(minutes=offset)).replace(tzinfo=UTC))
    exact = whole + Fraction(int(fraction or 0) * 10**6, 10 ** len(fraction))
    assert math.floor(exact) == iso_micros(text, up=False)
    assert math.ceil(exact) == iso_micros(text, up=True)


@given(
    st.lists(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)), min_size=1, max_size=3),
    st.sampled_from(("Z", "+00:00", "-00:00", "+01:00", "-01:00", "+00:30", "+00:00:30", "z", "", "+0000")),
    st.sampled_from(("seconds", "milliseconds", "microseconds")),
)
def test_usual_times_are_read_as_others_are(times: list[datetime], zone: str, spec: str) -> None:
    """Many at once, or not at all: what is told apart by its looks has the same meaning, and the same errors."""
    texts = [each.isoformat(timespec=spec) + zone for each in times]
    quick = usual_micros(texts)
    if quick is not None:
        assert quick == [iso_micros(text, up=False) for text in texts]
    elif zone in ("Z", "+00:00"):
        with pytest.raises(TimeError):
            [iso_micros(text, up=False) for text in texts]


NUMBERS = st.integers(-(10**17), 10**17) | st.floats() | st.integers(-(10**9), 10**9).map(lambda at: at / 10**6)


@given(st.lists(NUMBERS, min_size=1))
def test_usual_numbers_are_read_as_others_are(numbers: list[float]) -> None:
    """Many at once, or not at all: as each is by itself, and exact."""
    quick = usual_numbers(numbers)
    if quick is not None:
        assert quick == [number_micros(number, up=False) for number in numbers]
        assert quick == [number_micros(number, up=True) for number in numbers]


def test_times_are_read_the_same_in_any_order(tmp_path: Path) -> None:
    """What a reader remembers of earlier times changes nothing, also for times that look alike."""
    spelled = [
        "2026-07-30T12:00:01Z",
        "2026-07-30T12:00:01.000001Z",
        "2026-07-30T12:00:01.0000001Z",
        "2026-07-30T12:00:01.123456+00:00",
        "2026-07-30t12:00:01.5z",
        "2026-07-30 12:00:01,25+02",
        "2026-07-30T12:00+0230",
        "2026-07-30T12:00:59.999999-23:59",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999999Z",
    ]
    for times in (spelled, spelled * 2, spelled[::-1] * 2):
        log = [event(str(place), "a", start, None) for place, start in enumerate(times)]  # type: ignore[arg-type]
        read = [entry.start_time for entry in load(write_lines(tmp_path / "log.jsonl", log)).entries.values()]
        assert [iso_micros(time, up=False) for time in times] == read
    for wrong in ("2026-07-30T12:00:60.000000Z", "2026-07-30T12:00:1_.000000Z", "2026-07-30T12:00:01.00000\u0661Z"):
        log = [event("a", "a", spelled[0], None), event("b", "a", wrong, None)]  # type: ignore[arg-type]
        with pytest.raises(EventFileError, match=":2: start_time="):
            load(write_lines(tmp_path / "log.jsonl", log))


def test_each_time_is_rounded_its_own_way(tmp_path: Path) -> None:
    """Down: start_time and observed_at. Up: end_time and may_land_until."""
    log = [event("a", "x", 1.0000005, 2.0000005, observed_at=1.5000005, may_land_until=3.0000005)]
    (one,) = read_events(write_lines(tmp_path / "log.jsonl", log)).events
    assert [micros(one.start_time), micros(one.end_time or one.start_time)] == [1_000_000, 2_000_001]
    assert [micros(each) for each in (one.observed_at, one.may_land_until) if each] == [1_500_000, 3_000_001]


# -- reading


def test_pieces_have_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the pieces fall, the lines are whole."""
    text = b"a\nbb\n\n\nccc\ndddddddddd\ne"
    (path := tmp_path / "log").write_bytes(text)
    for size in range(1, len(text) + 2):
        monkeypatch.setattr("intervalguard.edges.lines._PIECE", size)
        parts = [part.split(b"\n") for part in pieces(path)]
        assert [line for split in parts for line in split] == text.split(b"\n")


@given(logs(calls=5), st.sampled_from(AXES), st.integers(1, 600))
def test_a_file_reads_the_same_in_any_pieces(
    tmp_path_factory: pytest.TempPathFactory, events: Log, axis: Any, size: int
) -> None:
    """What is checked for many lines at once is what is checked line by line."""
    write_events(path := tmp_path_factory.getbasetemp() / "log.jsonl", events, axis=axis)
    whole = [told(each) for each in load(path).entries.values()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("intervalguard.edges.lines._PIECE", size)
        assert [told(each) for each in load(path).entries.values()] == whole


def told(each: Entry) -> list[Any]:
    """Everything that an entry says."""
    extra = [] if each.extra is None else [getattr(each.extra, field) for field in Extra.__slots__]
    return [getattr(each, field) for field in Entry.__slots__ if field != "extra"] + extra


def test_strings_that_repeat_are_shared(tmp_path: Path) -> None:
    """A name, a tool and an agent are in memory once, and so is an id that others rest on."""
    log = [event(f"some id {n}", "some name", n, n, tool="t", agent="a", depends_on=["some id 0"]) for n in range(1, 9)]
    path = write_lines(tmp_path / "log.jsonl", [event("some id 0", "some name", 0, 0), *log])
    first, *others = load(path).entries.values()
    assert {id(first.name)} == {id(each.name) for each in others}
    assert {id(first.id)} == {id(each.depends_on[0]) for each in others}
    assert {id(others[0].origin)} == {id(each.origin) for each in others}
    assert all(each.call is each.id for each in others)


@pytest.mark.parametrize("collects", [True, False])
def test_the_collector_is_left_as_it_was(collects: bool, tmp_path: Path) -> None:
    """Garbage collection is off only while a file is read, also when that fails."""
    (path := tmp_path / "log").write_text("{")
    try:
        (gc.enable if collects else gc.disable)()
        with pytest.raises(EventFileError):
            load(path)
        assert collects == gc.isenabled()
        with uncollected():
            assert not gc.isenabled()
        assert collects == gc.isenabled()
    finally:
        gc.enable()


def test_standard_output_and_input(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """``-`` is standard output for writing and standard input for reading."""
    import io

    one = Event("a", datetime(2026, 7, 30, tzinfo=UTC), id="e")
    write_events("-", [one])
    written = capsysbinary.readouterr().out
    assert {"id": "e", "name": "a", "kind": "read", "start_time": "2026-07-30T00:00:00Z"}.items() <= json.loads(
        written
    ).items()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(written)))
    assert (one,) == read_events("-").events
