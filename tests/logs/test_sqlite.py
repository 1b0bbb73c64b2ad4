"""The log in a file: it keeps what it is told and answers as the reference does, and everyone who opens it sees the same."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from strategies import times

from intervalguard.logs import MemoryLog, SQLiteLog
from intervalguard.logs.sql import meta, own, retention, steps, view
from intervalguard.testing import check_agreement
from intervalguard.testing.cases import check_cases
from intervalguard.testing.conformance import run_machine
from intervalguard.testing.races import check_races

HOURS = 36_000
"""Seconds that no call of the machine's takes, whose clock runs fast."""


@pytest.fixture(scope="module", autouse=True)
def template(tmp_path_factory: pytest.TempPathFactory) -> None:
    """An empty log to copy, for to make one takes several syncs."""
    Files.template = tmp_path_factory.mktemp("logs") / "empty.db"
    SQLiteLog(Files.template).close()


class Files:
    """Makes logs in new files, opens them anew, and opens them once more as another process does."""

    template: Path
    numbers = itertools.count()

    def __call__(self, **options: Any) -> SQLiteLog:
        path = self.template.with_name(f"{next(self.numbers)}.db")
        shutil.copy(self.template, path)
        return self._opened(path, options)

    def _opened(self, path: Path, options: dict[str, Any]) -> SQLiteLog:
        log = SQLiteLog(path, durability="normal", lease_seconds=HOURS, **options)
        self.options = options
        return log

    def reopen(self, log: SQLiteLog) -> SQLiteLog:
        log.close()
        return self._opened(log.path, self.options)

    def another(self, log: SQLiteLog) -> SQLiteLog:
        return self._opened(log.path, self.options)


def test_it_is_a_log() -> None:
    """The cases and the machine of the kit, with two logs on one file that are opened anew."""
    check_cases(Files())
    run_machine([Files()], settings(times(0.1), stateful_step_count=30))


def test_it_agrees_with_the_memory_log() -> None:
    """Side by side, in one story."""

    def alone(**options: Any) -> SQLiteLog:
        return Files()(**options)

    check_agreement(MemoryLog, alone, settings=settings(times(0.05), stateful_step_count=30))


def test_no_race_is_let_through(tmp_path: Path) -> None:
    """At no line of a step does it matter that another thread makes its own."""
    log = SQLiteLog(tmp_path / "log.db", durability="normal", lease_seconds=None)

    def emptied(**options: Any) -> SQLiteLog:
        log.clear()
        return log

    check_races(emptied)
    log.close()


QUESTIONS = [
    view.FIND, view._CALL, view._PINNING, view._LAST_ENDED, view._NEXT_ENDED, view._BEGUN, view._disturbing(3),
    view._in_order("written", "outcome = 'ok' AND start > ?", 3),
    view._in_order("written INDEXED BY written_ended", 'outcome = ? AND "end" >= ?', 3),
    view._in_order("flight", "outcome = 'pending'", 3),
    own._COVERING, own._AT, own._BELOW, own._NAMES, own._KNOWN_COVERING, own._KNOWN_AT, own._KNOWN_BELOW, own._KNOWN_NAMES,
    retention._OLDEST, retention._PENDING, retention._LAST_KNOWN, retention._BETWEEN, steps._DUE, meta.READ,
]  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS, ids=range(len(QUESTIONS)))
def test_no_question_reads_all_events(tmp_path: Path, question: str) -> None:
    """Each is a look-up in an index; what is read whole is one row, or what is in flight."""
    SQLiteLog(tmp_path / "log.db").close()
    connection = sqlite3.connect(tmp_path / "log.db")
    count = 1 if "?1" in question else question.count("?")
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {question}", [1] * count)]
    connection.close()
    assert plan
    assert [each for each in plan if each.startswith("SCAN")] in (
        [], ["SCAN meta"], ["SCAN flight USING INDEX flight_pinning"], ["SCAN CONSTANT ROW"],
    )  # fmt: skip
