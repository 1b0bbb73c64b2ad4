"""The demos run, tell their stories, and the shipped log is what its script records."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from documents import ROOT

DEMO = ROOT / "demo"


def run(script: str, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(DEMO / script), *arguments]
    return subprocess.run(command, cwd=cwd, text=True, capture_output=True, timeout=60)


def test_the_debate(tmp_path: Path) -> None:
    """Bare, the debaters agree on what is not true; guarded, the wrong correction is refused and names the writer."""
    ran = run("debate.py", cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    bare, guarded = ran.stdout.split("Guarded:")
    assert 'both      "The berth is free." The board says: taken.' in bare
    assert "StaleReadError: event 'harbour/berth'" in guarded
    assert "agent 'harbour master'" in guarded
    assert 'both      "The berth is taken." The board says: taken.' in guarded
    assert guarded.index("StaleReadError") < guarded.index("I look again")


def test_the_agent_loop(tmp_path: Path) -> None:
    """The model is refused twice, is told to read again, does, and everything is paid once at its price."""
    ran = run("agent_loop.py", cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.count("This call was not carried out") == 2
    assert "Read 'orders/42' with tool 'get_order' again, then decide again." in ran.stdout
    assert "Read 'cards/gift' with tool 'get_card' again, then decide again." in ran.stdout
    assert "turn 6" in ran.stdout


@pytest.mark.parametrize("script", ["debate.py", "agent_loop.py"])
def test_a_demo_can_be_stopped(script: str) -> None:
    """Ctrl-C ends a demo at once, without a traceback."""
    started = subprocess.Popen(
        [sys.executable, str(DEMO / script)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert started.stdout is not None
    started.stdout.readline()
    time.sleep(0.02)
    started.send_signal(signal.SIGINT)
    _, errors = started.communicate(timeout=30)
    assert (started.returncode, errors) == (130, "")


def test_the_shipped_log_is_what_the_script_records(tmp_path: Path) -> None:
    """Recording the afternoon again gives the same file, to the byte."""
    ran = run("record.py", "again.jsonl", cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (tmp_path / "again.jsonl").read_bytes() == (DEMO / "refund-desk.jsonl").read_bytes()


def test_the_script_says_how_to_use_it() -> None:
    """What is no file name is answered with the usage, and status 2."""
    ran = run("record.py", "--help")
    assert ran.returncode == 2
    assert ran.stdout.startswith("Records `refund-desk.jsonl`")


def test_the_demos_have_no_side_effect_when_imported() -> None:
    """Importing a demo runs nothing of it."""
    for script in sorted(DEMO.glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"demo_{script.stem}", script)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        try:
            spec.loader.exec_module(module)
        finally:
            del sys.modules[spec.name]
