"""Reads the documents' fenced blocks, runs them, and compares what they print with what the document says.

* ``python`` blocks of a document run in order, in one namespace. What one prints must stand in the ``text`` block right
  below it. A block with ``>>>`` in it is a doctest.
* ``console`` blocks are commands after ``$``, each with its output.

Ids, session keys and times differ from run to run, so they compare as their kind; ``...`` stands for anything.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import attrs

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "proofs" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@attrs.frozen
class Fenced:
    """A fenced block: its language, its text, the line on which the text begins, the block right below it."""

    language: str
    text: str
    line: int
    below: Fenced | None = None


def fenced(document: Path) -> list[Fenced]:
    text = document.read_text(encoding="utf-8")
    blocks: list[Fenced] = []
    after, below = len(text), None
    for match in reversed(list(_FENCE.finditer(text))):
        near = below if not text[match.end() : after].strip() else None
        below = Fenced(match[1], match[2], text.count("\n", 0, match.start()) + 2, near)
        after = match.start()
        blocks.insert(0, below)
    return blocks


_KINDS = [
    (re.compile(r"'[0-9a-f]{16}'"), "'KEY'"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"^( +)\d+\.\d\d s ", re.MULTILINE), r"\1SECONDS s "),
]


_ID = re.compile(r"\b[0-9a-f]{12}-\d+\b|\b[0-9a-f]{32}\b")


def normal(text: str) -> str:
    """The text with ids counted in the order in which they come, so that the same stay the same."""
    ids: dict[str, str] = {}
    text = _ID.sub(lambda match: ids.setdefault(match[0], f"ID{len(ids) + 1}"), text)
    for pattern, kind in _KINDS:
        text = pattern.sub(kind, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def same(expected: str, got: str) -> bool:
    pattern = ".*?".join(re.escape(part) for part in normal(expected).split("..."))
    return re.fullmatch(pattern, normal(got), re.DOTALL) is not None


def compare(where: str, expected: str, got: str) -> None:
    assert same(expected, got), f"{where} should print\n\n{expected}\nbut prints\n\n{got}"


def run(document: Path, folder: Path) -> int:
    """Run a document's blocks, in ``folder``; how many there were."""
    shutil.copytree(ROOT / "demo", folder / "demo", dirs_exist_ok=True)
    module = ModuleType(document.stem)
    done = 0
    with contextlib.chdir(folder):
        for block in fenced(document):
            where = f"{document.name}, line {block.line}"
            if block.language == "python":
                _run_python(block, document, where, module)
            elif block.language == "console":
                _run_console(block, where, folder)
            else:
                continue
            done += 1
    return done


def _run_python(block: Fenced, document: Path, where: str, module: ModuleType) -> None:
    if ">>> " in block.text:
        test = doctest.DocTestParser().get_doctest(block.text, {}, where, str(document), block.line - 1)
        test.globs = module.__dict__
        out = io.StringIO()
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=out.write, clear_globs=False)
        assert not out.getvalue(), out.getvalue()
        return
    printed = io.StringIO()
    # Line numbers in a traceback are those of the document.
    code = compile("\n" * (block.line - 1) + block.text, str(document), "exec")
    with contextlib.redirect_stdout(printed):
        exec(code, module.__dict__)
    expected = block.below.text if block.below is not None and block.below.language == "text" else ""
    compare(where, expected, printed.getvalue())


def _run_console(block: Fenced, where: str, folder: Path) -> None:
    commands = list(_commands(block.text))
    mark = "--- the next command ---"
    python = f"'{sys.executable}'"
    lines = [f'python() {{ {python} "$@"; }}', f'intervalguard() {{ {python} -m intervalguard "$@"; }}']
    for command, _ in commands:
        lines += [command, "status=$?", f"echo '{mark}'", "(exit $status)"]
    ran = subprocess.run(
        ["sh", "-c", "\n".join(lines)], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120
    )
    printed = ran.stdout.split(f"{mark}\n")
    for (command, expected), got in zip(commands, printed, strict=False):
        compare(f"{where}: {command}", expected, got)


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command, with the lines after ``> `` that belong to it, and its output."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        match = re.match(r"(.*\n(?:> .*\n)*)", part)
        assert match is not None
        yield re.sub(r"^> ", "", match[0], flags=re.MULTILINE).rstrip("\n"), part[match.end() :]
