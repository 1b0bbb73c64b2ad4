"""The log in a file: it keeps what it is told and answers as the reference does, and everyone who opens it sees the same."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from strategies import times

from intervalguard.logs import SQLiteLog
from intervalguard.testing import EventLogMachine
from intervalguard.testing.races import check_races

HOURS = 36_000
"""Seconds that no call of the machine's takes, whose clock runs fast."""


@pytest.fixture(scope="module", autouse=True)
def template(tmp_path_factory: pytest.TempPathFactory) -> None:
    """An empty log to copy, for to make one takes several syncs."""
    SQLiteLogs.template = tmp_path_factory.mktemp("logs") / "empty.db"
    SQLiteLog(SQLiteLogs.template).close()


class SQLiteLogs(EventLogMachine):
    template: Path
    numbers = itertools.count()

    def make(self, **options: Any) -> SQLiteLog:
        path = self.template.with_name(f"{next(self.numbers)}.db")
        shutil.copy(self.template, path)
        return SQLiteLog(path, durability="normal", lease_seconds=HOURS, **options)

    def teardown(self) -> None:
        if hasattr(self, "log"):
            self.log.close()


SQLiteLogs.TestCase.settings = settings(times(0.15), stateful_step_count=40, report_multiple_bugs=False)
TestSQLiteLogs = SQLiteLogs.TestCase


def test_no_race_is_let_through(tmp_path: Path) -> None:
    """At no line of a step does it matter that another thread makes its own."""
    log = SQLiteLog(tmp_path / "log.db", durability="normal", lease_seconds=None)

    def emptied(**options: Any) -> SQLiteLog:
        log.clear()
        return log

    check_races(emptied)
    log.close()
