"""The test suite of `intervalguard` 0.1.1 passes against this library, unchanged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import intervalguard

OLD = os.environ.get("INTERVALGUARD_OLD_SUITE")

HOW = (
    "set INTERVALGUARD_OLD_SUITE to the directory of its tests; to get them, with Python 3.12:"
    " pip download --no-deps --no-binary :all: intervalguard==0.1.1, and unpack the .tar.gz"
)


@pytest.mark.skipif(not OLD, reason=HOW)
def test_the_old_suite_passes(tmp_path: Path) -> None:
    """All of it, in a process of its own, against the library that is tested here."""
    assert OLD is not None
    tests = sorted(Path(OLD).resolve().glob("test_*.py"))
    assert tests, f"INTERVALGUARD_OLD_SUITE={OLD!r} holds no test_*.py: {HOW}"
    library = Path(intervalguard.__file__).resolve().parents[1]
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text(
        f"import intervalguard\nassert intervalguard.__file__.startswith({str(library)!r}), intervalguard.__file__\n"
    )
    for each in tests:
        (tmp_path / each.name).write_bytes(each.read_bytes())
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(library)},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"{_count(tests)} passed" in ran.stdout, ran.stdout


def _count(tests: list[Path]) -> int:
    """How many test functions there are; the old suite has no parameters and no classes."""
    return sum(each.read_text().count("\ndef test_") for each in tests)
