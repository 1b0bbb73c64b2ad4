"""The SQLite file of a log: opened with care, and written in transactions that wait for one another.

What is no log, is damaged, or was made by a newer version is told from its header and its tables before anything is
written. All errors of the database come out as `LogError`.
"""

from __future__ import annotations

import functools
import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..ids import new_prefix
from .errors import LogError
from .meta import NEW

APPLICATION = 0x49764C67
"""``application_id`` of the file of a log: ``IvLg``."""

SYNCHRONOUS = {"full": "FULL", "normal": "NORMAL"}
"""What each durability is in SQLite, with a write-ahead log."""

_CACHE_KIB = 16_384
"""So much of the file each connection keeps: the inner pages of the indexes of millions of events."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.00005, 0.002
"""Seconds between two tries for the lock of a busy file: a commit takes less than a millisecond."""


@functools.cache
def scripts() -> Sequence[str]:
    """The numbered scripts of the schema: each makes of a file of the version before it one of its own."""
    folder = files(__package__).joinpath("schema")
    return tuple(each.read_text(encoding="utf-8") for each in sorted(folder.iterdir(), key=lambda each: each.name))


class SqliteFile:
    """One connection to the file of a log, opened when it is needed. It is used by one thread at a time.

    Raises `LogError` for whatever the database has against it.
    """

    def __init__(self, path: str | os.PathLike[str], durability: str, busy_seconds: float) -> None:
        self.path = os.fspath(path)
        self._durability = durability
        self._busy_seconds = busy_seconds
        self._connection: sqlite3.Connection | None = None
        self._cursor: sqlite3.Cursor | None = None

    def close(self) -> None:
        """Let go of the file; it is opened again when it is needed."""
        connection, self._connection, self._cursor = self._connection, None, None
        if connection is not None:
            connection.close()

    # -- transactions

    def begin(self, how: str = "BEGIN IMMEDIATE") -> None:
        """Begin a transaction. A file that another connection writes is waited for, but not for long."""
        cursor = self._cursor or self._open()
        self._patiently(lambda: cursor.execute(how))

    def begin_reading(self, sql: str) -> Any:
        """Begin a transaction that only reads; the one row of the query that it begins with."""
        cursor = self._cursor or self._open()

        def begin() -> Any:
            cursor.execute("BEGIN")
            try:
                return cursor.execute(sql).fetchone()
            except BaseException:
                self.roll_back()
                raise

        return self._patiently(begin)

    def ask(self, sql: str, parameters: Sequence[Any]) -> list[Any]:
        cursor = self._cursor or self._open()
        return cursor.execute(sql, parameters).fetchall()

    def execute(self, statements: Iterable[tuple[str, Sequence[Sequence[Any]]]]) -> None:
        cursor = self._cursor
        assert cursor is not None
        for sql, rows in statements:
            if len(rows) == 1:
                cursor.execute(sql, rows[0])
            else:
                cursor.executemany(sql, rows)

    def commit(self) -> None:
        assert self._cursor is not None
        self._cursor.execute("COMMIT")

    def roll_back(self) -> bool:
        """Undo the transaction; ``False`` if none is open."""
        connection = self._connection
        if connection is None or not connection.in_transaction:
            return False
        try:
            connection.rollback()
        except sqlite3.Error:
            self.close()  # which undoes it, too
        return True

    def data_version(self) -> int:
        """A number that changes when another connection has changed the file."""
        cursor = self._cursor or self._open()
        return int(cursor.execute("PRAGMA data_version").fetchone()[0])

    def error(self, error: sqlite3.Error) -> LogError:
        """``error`` as people are told of it."""
        code = getattr(error, "sqlite_errorcode", None)
        known = _TOLD.get(-1 if code is None else code & 0xFF, "check the file with 'PRAGMA integrity_check'")
        return LogError(f"the log cannot be used: path={self.path!r}: {error}. What to do: {known}")

    def _patiently(self, step: Callable[[], Any]) -> Any:
        """Do ``step``, again and again as long as the file is busy."""
        deadline, pause = None, _FIRST_PAUSE
        while True:
            try:
                return step()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                now = time.monotonic()
                deadline = now + self._busy_seconds if deadline is None else deadline
                if now >= deadline:
                    raise LogError(
                        f"the log is busy: path={self.path!r} was written by others for busy_seconds="
                        f"{self._busy_seconds!r}. What to do: {_TOLD[sqlite3.SQLITE_BUSY]}"
                    ) from error
            time.sleep(pause * (0.5 + random.random()))
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    # -- opening

    def _open(self) -> sqlite3.Cursor:
        try:
            connection = sqlite3.connect(
                self.path, timeout=0, isolation_level=None, check_same_thread=False, cached_statements=256
            )
        except sqlite3.Error as error:
            raise self.error(error) from error
        try:
            cursor = connection.cursor()
            version = self._patiently(lambda: self._check(cursor))
            self._patiently(lambda: self._set_up(cursor))
            if version < len(scripts()):
                self._patiently(lambda: self._upgrade(connection, cursor))
        except BaseException as error:
            connection.close()
            if isinstance(error, sqlite3.Error):
                raise self.error(error) from error
            raise
        self._connection, self._cursor = connection, cursor
        return cursor

    def _check(self, cursor: sqlite3.Cursor) -> int:
        """The version of the file, 0 for an empty one. Nothing is written."""
        application, version, tables = (
            cursor.execute(sql).fetchone()[0]
            for sql in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
        )
        if application == 0 and version == 0 and tables == 0:
            return 0
        if application != APPLICATION:
            raise LogError(
                f"the file is another program's: path={self.path!r} has application_id={application:#x}, and not"
                f" {APPLICATION:#x}, and is left as it is. What to do: give the log a file of its own"
            )
        newest = len(scripts())
        if version > newest:
            raise LogError(
                f"the log was written by a newer version of intervalguard: path={self.path!r} has version={version}, and"
                f" this one knows {newest}. It is left as it is. What to do: upgrade intervalguard here"
            )
        return int(version)

    def _set_up(self, cursor: sqlite3.Cursor) -> None:
        cursor.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        cursor.execute(f"PRAGMA synchronous = {SYNCHRONOUS[self._durability]}")
        mode = cursor.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":
            raise LogError(
                f"the file cannot have a write-ahead log: path={self.path!r} has journal_mode={mode!r}. What to do: keep the"
                " log on a local disk; a network file system cannot share it"
            )

    def _upgrade(self, connection: sqlite3.Connection, cursor: sqlite3.Cursor) -> None:
        """Make a new file a log, and an older log one of this version, in one transaction."""
        cursor.execute("BEGIN IMMEDIATE")
        try:
            version = self._check(cursor)  # another process may have been first
            for script in scripts()[version:]:
                for statement in _statements(script):
                    cursor.execute(statement)
            if version == 0:
                cursor.execute(NEW, (new_prefix(),))
                cursor.execute(f"PRAGMA application_id = {APPLICATION}")
            cursor.execute(f"PRAGMA user_version = {len(scripts())}")
            cursor.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.rollback()
            raise


def _statements(script: str) -> list[str]:
    """The statements of a script. No ``;`` stands within one."""
    lines = [line for line in script.splitlines() if not line.lstrip().startswith("--")]
    return [each for each in map(str.strip, "\n".join(lines).split(";")) if each]


def check_path(path: str | os.PathLike[str]) -> Path:
    """``path``, if it can be the path of a log's file. Raises ``TypeError`` or ``ValueError``."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise TypeError(f"path={path!r} is no path: pass the name of a file")
    if not os.fspath(path) or os.fspath(path) == ":memory:":
        raise ValueError(f"path={path!r} names no file: use MemoryLog() for a log in memory")
    return Path(path)


_TOLD = {
    sqlite3.SQLITE_CANTOPEN: "see that its directory is there and that this process may write in it",
    sqlite3.SQLITE_READONLY: "see that this process may write the file and its directory",
    sqlite3.SQLITE_PERM: "see that this process may write the file and its directory",
    sqlite3.SQLITE_FULL: "make room on the disk; nothing of this step was recorded",
    sqlite3.SQLITE_IOERR: "see that the disk works and has room; nothing of this step was recorded",
    sqlite3.SQLITE_NOTADB: "the file is no SQLite database, and is left as it is: give the log a file of its own",
    sqlite3.SQLITE_CORRUPT: "the file is damaged, and is left as it is: put back a copy, or begin with a new file",
    sqlite3.SQLITE_BUSY: "try again; raise busy_seconds= where many processes write",
}
"""What to do, by what SQLite says is wrong."""
