"""The shared cases and recordings, through the command line."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest
from running import run, run_process, write_lines
from shared_data import shared


def test_every_shared_case_comes_out_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`audit --format json` finds of each case what it expects and nothing else, and its exit status says whether."""
    cases = json.loads(shared("cases/staleness.json").read_text())
    assert len(cases) > 40
    wrong = []
    for case in cases:
        ran = run(capsys, "audit", write_lines(tmp_path / "log.jsonl", case["events"]), "--format", "json")
        expected = {(each["event"], each["dependency"], each["verdict"], each["reason"]) for each in case["expect"]}
        if (ran.findings, ran.status, ran.report["events"]) != (expected, bool(expected), len(case["events"])):
            wrong.append((case["id"], ran.findings, expected))
    assert wrong == []


@pytest.mark.parametrize(("store", "least"), [("porcupine_etcd", 25), ("porcupine_kv", 2)])
def test_stale_tells_histories_apart(store: str, least: int, capsys: pytest.CaptureFixture[str]) -> None:
    """No linearizable history of a real store has a stale finding; of the others many have."""
    labels = json.loads(shared(f"data/{store}/labels.json").read_text())
    log = shared(f"data/{store}/events.jsonl")
    runs = {line["id"]: line["run"] for line in map(json.loads, log.read_text().splitlines())}
    stale = defaultdict(int)
    for event, _, verdict, _ in run(capsys, "audit", log, "--format", "json").findings:
        stale[runs[event]] += verdict == "stale"
    assert [name for name, label in labels.items() if label["linearizable"] and stale[name]] == []
    assert least <= sum(1 for name, label in labels.items() if not label["linearizable"] and stale[name])


@pytest.mark.parametrize(
    ("log", "events"),
    [
        ("tau1_airline_gpt4o/events.jsonl", 660),
        ("claude_code_entire/events_small.jsonl", 3783),
        ("claude_code_entire/events.jsonl.gz", 10902),
        ("openhands/events.jsonl", 101),
        ("sweagent_demos/events.jsonl", 227),
        ("tau2_activegraph/events.jsonl", 120),
    ],
)
def test_recordings_run_through(log: str, events: int) -> None:
    """Real recordings are audited whole, without an error, in both formats."""
    path = shared(f"data/{log}")
    ran = run_process("audit", path, "--format", "json")
    assert ("", events) == (ran.err, ran.report["events"])
    assert ran.status == bool(ran.findings)
    text = run_process("audit", path)
    assert (ran.status, len(ran.findings) + 1) == (text.status, text.out.count("\n"))
