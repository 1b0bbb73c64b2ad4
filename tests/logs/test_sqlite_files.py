"""The file of a log: what is opened, what is refused and left as it is, and what a step leaves behind that fails."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from intervalguard import Guard, GuardError
from intervalguard.kernel.admission import Admit
from intervalguard.logs import LogError, SQLiteLog
from intervalguard.logs.calls import Learned, Origin
from intervalguard.logs.sql import file as sqlite_file

TOOL = Origin("a tool")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "guard.db"


@pytest.fixture
def log(path: Path) -> Iterator[SQLiteLog]:
    log = SQLiteLog(path, durability="normal")
    yield log
    log.close()


def write(log: SQLiteLog, name: str) -> Any:
    decision, first = log.admit(TOOL, [(name, "write", None)])
    assert type(decision) is Admit
    return first


def sound(path: Path) -> bool:
    """Whether the file is, to SQLite; and whether what only says where to look agrees with the events."""
    with sqlite3.connect(path) as connection:
        ((said,),) = connection.execute("PRAGMA integrity_check")
        ((held,),) = connection.execute("SELECT held FROM meta")
        ((count,),) = connection.execute("SELECT count(*) FROM event WHERE name <> ''")
        flying = connection.execute("SELECT id FROM flight WHERE below = 0 ORDER BY id").fetchall()
        lost = "outcome = 'pending' OR (outcome = 'unknown' AND until IS NULL)"
        open_ones = connection.execute(f"SELECT id FROM event WHERE kind = 'write' AND ({lost}) ORDER BY id").fetchall()
        ended = connection.execute("SELECT id FROM written WHERE below = 0 ORDER BY id").fetchall()
        counted = "outcome IN ('ok', 'error') OR until IS NOT NULL"
        settled = connection.execute(f"SELECT id FROM event WHERE kind = 'write' AND ({counted}) ORDER BY id").fetchall()
    connection.close()
    return (said, held, flying, ended) == ("ok", count, open_ones, settled)


def test_what_is_told_to_one_is_known_to_the_other(log: SQLiteLog, path: Path) -> None:
    """Two logs on one file are one log: the same ids, events and decisions."""
    other = SQLiteLog(path)
    first = write(log, "a")
    assert other.events() == log.events()
    assert other.number_of(log.id_of(first.id)) == first.id
    decision, refused = other.admit(TOOL, [("a/b", "write", None)])
    assert refused is None
    assert log.id_of(decision.blocker.id) == log.events()[0].id
    log.settle(first, "ok")
    write(other, "a/b")
    assert [event.outcome for event in log.events()] == ["ok", "pending"]
    other.close()


def test_events_are_as_they_were_after_a_restart(log: SQLiteLog, path: Path) -> None:
    """Nothing of an event is lost between two processes."""
    seen = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    origin = Origin("tool", "session", "batch", "run", "agent")
    _, outer = log.admit(origin, [("a", "read", 1_500_000), ("b/c", "read", None)])
    _, first = log.admit(origin, [], (outer.id, (outer.id, "a/x"), "nobody"), outer.id, None)
    log.settle(first, "ok", learned=Learned([("x", None), ("y", 5)], ("v", 1, None, [b"\0", True], 2.5), seen))
    log.settle(outer, "ok")
    log.settle(write(log, "w"), "unknown", may_land_for=7)
    log.write_outside(Origin("hook"), "a", datetime.now(UTC) - timedelta(hours=1))
    before = log.events()
    log.close()
    after = SQLiteLog(path).events()
    assert after == before
    assert [event.version for event in after if event.name in "xy"] == [("v", 1, None, [b"\0", True], 2.5)] * 2
    assert type(after[2].version[3][1]) is bool


def test_a_session_goes_on_after_a_restart(path: Path) -> None:
    """What a conversation has seen is in the file: what moved since is refused, also in another process."""

    def guard() -> Guard:
        return Guard(SQLiteLog(path, durability="normal"), wait_seconds=0)

    before = guard()
    with before.session("desk"):
        before.tracked("orders/{n}", writes=False)(lambda n: n)(1)
    after = guard()
    refund = after.tracked("orders/{n}", writes=True)(lambda n: n)
    with after.session("desk"):
        refund(1)
    before.record_write("orders/1")
    with after.session("desk") as session:
        assert [finding.reason for finding in session.stale()] == ["superseded"]
        with pytest.raises(GuardError, match="superseded"):
            refund(1)


def test_what_a_session_knew_and_was_dropped_is_not_forgotten(path: Path) -> None:
    """A write that rests on it is refused, and is not taken for one that rests on nothing."""
    guard = Guard(SQLiteLog(path, durability="normal", max_events=2), wait_seconds=0)
    with guard.session("desk"), guard.read("orders/1"):
        pass
    for other in range(4):
        guard.record_write(f"others/{other}")
    assert [event.name for event in guard.log.events()] == ["others/2", "others/3"]
    with guard.session("desk"), pytest.raises(GuardError, match="no longer holds it"):
        guard.write("orders/1").__enter__()
    assert sound(path)


def test_names_that_are_forgotten_are_never_taken_for_quiet(path: Path) -> None:
    """Of writes that were dropped so long ago that their names are, a dependency since before is history-dropped."""
    log = SQLiteLog(path, durability="normal", max_events=2)
    _, read = log.admit(TOOL, [("kept", "read", None)])  # it is older than all that is dropped, and in use
    log.settle(read, "ok")
    _, user = log.admit(TOOL, [("user", "write", None)], (read.id,))
    for other in range(20):
        log.write_outside(TOOL, f"others/{other}", None)
    view, at = log.view(), log.position()
    assert view.find(read.id) is not None
    assert not view.undisturbed("never/written", 1, at)
    assert view.undisturbed("never/written", at, at)
    log.settle(user, "ok")
    assert sound(path)


@pytest.mark.parametrize("version", [object(), {1}, {"a": 1}, (object(),)])
def test_a_version_that_cannot_be_kept_is_refused(log: SQLiteLog, version: object) -> None:
    """As it would come back as another one. The call is pending still, and can be settled."""
    _, first = log.admit(TOOL, [("a", "read", None)])
    with pytest.raises(TypeError, match=r"version=.* which this log cannot keep"):
        log.settle(first, "ok", learned=Learned(version=version))
    assert log.settle(first, "error") is not None


# -- what is opened


@pytest.mark.parametrize("path", ["", ":memory:", 3, b"x", None])
def test_what_names_no_file_is_no_path(path: Any) -> None:
    """Each of two such logs would be alone."""
    with pytest.raises((TypeError, ValueError), match="path="):
        SQLiteLog(path)


@pytest.mark.parametrize(
    "option", [{"durability": "off"}, {"max_events": 0}, {"lease_seconds": 0}, {"busy_seconds": float("nan")}]
)
def test_options_are_checked(path: Path, option: Any) -> None:
    """And the message has the option and its value; no file is made."""
    ((name, value),) = option.items()
    with pytest.raises(ValueError, match=f"{name}={value!r}"):
        SQLiteLog(path, **option)
    assert not path.exists()


def _another_program(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()


def _newer(path: Path) -> None:
    SQLiteLog(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()


def _damaged(path: Path) -> None:
    SQLiteLog(path).close()
    content = path.read_bytes()
    path.write_bytes(content[:100] + b"\xff" * (len(content) - 100))


def _text(path: Path) -> None:
    path.write_text("this is not a database, but long enough to be looked at as one\n" * 20)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_another_program, "another program's.*application_id=.*a file of its own"),
        (_newer, "newer version.*version=99.*upgrade"),
        (_damaged, "damaged.*put back a copy"),
        (_text, "no SQLite database.*a file of its own"),
    ],
)
def test_what_is_no_log_is_refused_and_left_as_it_is(path: Path, make: Any, said: str) -> None:
    """With a message that says what is wrong, with which file, and what to do."""
    make(path)
    before = path.read_bytes()
    with pytest.raises(LogError, match=f"(?s)path='{path}'") as raised:
        SQLiteLog(path)
    raised.match(f"(?s){said}")
    assert path.read_bytes() == before


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    """It is not made in silence."""
    with pytest.raises(LogError, match=r"missing/guard\.db.*directory"):
        SQLiteLog(tmp_path / "missing" / "guard.db")


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_a_file_that_may_not_be_written(tmp_path: Path) -> None:
    """A clear error, for who may only read it."""
    folder = tmp_path / "open"
    folder.mkdir()
    path = folder / "guard.db"
    SQLiteLog(path).close()
    before = path.read_bytes()
    path.chmod(0o444)
    folder.chmod(0o555)
    for above in folder.parents[:3]:
        above.chmod(above.stat().st_mode | 0o555)
    code = (
        "import os, sys; from intervalguard.logs import SQLiteLog; SQLiteLog(sys.argv[1]).close()\n"
        "if os.geteuid() == 0: os.setuid(65534)\n"
        "SQLiteLog(sys.argv[2])"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "other.db"), str(path)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60)
    folder.chmod(0o755)
    assert "LogError: the log cannot be used: path=" in said.stderr
    assert "may write" in said.stderr
    assert path.read_bytes() == before


def test_a_file_of_an_older_version_is_brought_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Script by script, in one transaction: what a script breaks leaves the file as it was."""
    log = SQLiteLog(path)
    log.settle(write(log, "a"), "ok")
    before = log.events()
    log.close()
    first = sqlite_file.scripts()
    added = "-- a comment\nALTER TABLE event ADD COLUMN more TEXT;\n"
    monkeypatch.setattr(sqlite_file, "scripts", lambda: [*first, added, "THIS IS NO SQL;"])
    with pytest.raises(LogError, match="syntax error"):
        SQLiteLog(path)
    monkeypatch.setattr(sqlite_file, "scripts", lambda: [*first, added])
    log = SQLiteLog(path)
    assert log.events() == before
    log.close()
    with sqlite3.connect(path) as connection:
        assert "more" in [row[1] for row in connection.execute("PRAGMA table_info(event)")]
    connection.close()
    monkeypatch.undo()
    with pytest.raises(LogError, match="newer version"):
        SQLiteLog(path)


# -- steps that fail


def test_a_busy_file_is_waited_for_and_then_an_error(path: Path) -> None:
    """With nothing recorded; and when the other is done, the log goes on."""
    log = SQLiteLog(path, busy_seconds=0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LogError, match=r"busy.*busy_seconds=0\.05"):
        write(log, "a")
    assert log.events() == []  # reading goes on
    other.execute("ROLLBACK")
    other.close()
    log.settle(write(log, "a"), "ok")
    assert sound(path)


def test_a_full_disk_lets_nothing_through(log: SQLiteLog, path: Path) -> None:
    """The call is refused, what ran is settled when there is room again, and the file is sound."""
    guard = Guard(log, wait_seconds=0)
    done: list[str] = []

    @guard.tracked("rows/{n}", writes=True)
    def tool(n: str) -> None:
        done.append(n)

    def fill() -> None:
        for n in range(10_000):
            tool("x" * 200 + str(n))

    running = write(log, "running")
    ((pages,),) = log._file.ask("PRAGMA page_count", ())
    log._file.ask(f"PRAGMA max_page_count = {pages}", ())
    with pytest.raises(GuardError, match=r"full.*make room"):
        fill()
    recorded = len([event for event in log.events() if event.outcome == "ok"])
    assert recorded == len(done)
    assert sound(path)
    log._file.ask("PRAGMA max_page_count = 100000", ())
    log.settle(running, "ok")
    tool("1")
    assert {event.outcome for event in log.events()} == {"ok"}
    assert sound(path)


@pytest.mark.parametrize("where", ["begin", "execute", "commit", "after"])
def test_a_step_that_is_interrupted_is_whole_or_nothing(
    log: SQLiteLog, path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left pending or pinned by a call whose tool never ran, and no number is anyone else's."""
    step = {"after": "commit"}.get(where, where)
    real = getattr(log._file, step)

    def interrupted(*args: Any) -> None:
        monkeypatch.undo()
        if where in ("after", "execute"):
            real(*args)
        raise KeyboardInterrupt

    guard = Guard(log, wait_seconds=0)
    monkeypatch.setattr(log._file, step, interrupted)
    with pytest.raises(KeyboardInterrupt), guard.write("a"):
        raise AssertionError("it was not let through")
    with guard.write("a"):
        pass
    assert [event.outcome for event in log.events()] == (["failed", "ok"] if where == "after" else ["ok"])
    assert sound(path)


def test_a_call_that_never_was_settles_no_other(log: SQLiteLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that is undone gives its numbers back: who holds the call of it holds nothing."""

    class Holding:
        first: Any = None

    def interrupted() -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    holder = Holding()
    monkeypatch.setattr(log._file, "commit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        log.admit(TOOL, [("a", "write", None)], holder=holder)
    other = write(log, "b")
    assert other.id == holder.first.id
    assert log.settle(holder.first, "ok") is None
    log.settle_from_anywhere(holder.first, "unknown")
    assert [(event.name, event.outcome) for event in log.events()] == [("b", "pending")]
