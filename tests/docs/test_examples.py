"""Every example in the README and in the documents runs, and prints what it says."""

from __future__ import annotations

import contextvars
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from documents import DOCUMENTS, ROOT, Fenced, compare, fenced, run

from intervalguard import clear_registry

README = ROOT / "README.md"
QUIET = "--disable-pip-version-check"


def shell_blocks() -> list[Fenced]:
    return [block for block in fenced(README) if block.language == "sh"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_example_runs(document: Path, tmp_path: Path) -> None:
    """Each document's python and console blocks run in order, and print what stands below them."""
    clear_registry()
    languages = [block.language for block in fenced(document)]
    runnable = sum(language in ("python", "console") for language in languages)
    assert runnable == contextvars.Context().run(run, document, tmp_path)
    assert set(languages) <= {"python", "console", "text", "sh"}, "a block that no test looks at"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_fence_is_closed(document: Path) -> None:
    """No block escapes the tests because a fence is indented, doubled or left open."""
    fences = re.findall(r"^\s*[`~]{3,}.*$", document.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(fences) == 2 * len(fenced(document))


def test_the_readme_begins_with_two_commands_that_set_themselves_up() -> None:
    """The first shows what the library does and the second passes the tests; each needs Python, pip and venv alone."""
    first, second = (block.text for block in shell_blocks())
    assert first == (
        "python3 -m venv .venv &&\n"
        f".venv/bin/pip install -q {QUIET} '.[cli]' &&\n"
        ".venv/bin/intervalguard audit demo/refund-desk.jsonl --fail-on never\n"
    )
    assert second == (
        "python3 -m venv .venv &&\n"
        f".venv/bin/pip install -q {QUIET} -e '.[dev]' &&\n"
        ".venv/bin/pytest -q\n"
    )


def test_the_first_command_prints_what_the_readme_shows(tmp_path: Path) -> None:
    """The audit of the shipped log is what stands below the block, run without the set-up."""
    (block, _) = shell_blocks()
    command = block.text.splitlines()[-1].removeprefix(".venv/bin/")
    assert block.below is not None
    assert block.below.language == "text"
    example = tmp_path / "example.md"
    example.write_text(f"```console\n$ {command}\n{block.below.text}$ echo $?\n0\n```\n", encoding="utf-8")
    assert run(example, tmp_path) == 1


@pytest.mark.skipif(not os.environ.get("CI"), reason="installs packages: set CI=1")
def test_the_first_command_word_for_word(tmp_path: Path) -> None:
    """In a copy of the tree the first block runs as it stands, twice, ends well and prints what stands below it."""
    tree = tmp_path / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info"))
    (block, _) = shell_blocks()
    assert block.below is not None
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    for _ in range(2):
        ran = subprocess.run(
            ["sh", "-c", block.text], cwd=tree, env=environment, text=True, capture_output=True, timeout=300
        )
        assert ran.returncode == 0, ran.stderr
        compare("README.md, the first command", block.below.text, ran.stdout)


def test_output_that_differs_is_noticed(tmp_path: Path) -> None:
    """An example that prints something else, or something that the document does not show, fails."""
    wrong = ["print(1)\n```\n\n```text\n2\n", "print(1)\n", "assert 1 == 2\n", ">>> 1 + 1\n3\n"]
    for number, code in enumerate(wrong):
        example = tmp_path / f"{number}.md"
        example.write_text(f"```python\n{code}```\n", encoding="utf-8")
        with pytest.raises(AssertionError):
            run(example, tmp_path)
    example.write_text("```console\n$ echo one\ntwo\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError):
        run(example, tmp_path)


def test_ids_compare_by_which_is_which() -> None:
    """An id may be any id, but the same one must stay the same."""
    one, other = "0123456789ab-1", "0123456789ab-2"
    compare("", f"{one} {other} {one}", "aaaaaaaaaaaa-7 aaaaaaaaaaaa-3 aaaaaaaaaaaa-7")
    with pytest.raises(AssertionError):
        compare("", f"{one} {other} {one}", "aaaaaaaaaaaa-7 aaaaaaaaaaaa-3 aaaaaaaaaaaa-3")
