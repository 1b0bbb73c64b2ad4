"""The claims table in the README and the proofs are in step: none is unlisted, and none is listed that is gone."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
README = HERE / "README.md"
COLUMNS = ["claim", "law", "proved by", "tool", "about", "bound", "assumes", "seconds"]
MODELS = (".tla", ".v")
LIMIT = 120
"""So many seconds all proofs that pytest runs may take together, on two cores."""


def rows(text: str) -> list[dict[str, str]]:
    """The rows of the tables that have the columns of claims."""
    found: list[dict[str, str]] = []
    inside = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if cells == COLUMNS:
            inside = True
        elif not cells:
            inside = False
        elif inside and set(line) - set("|- "):
            found.append(dict(zip(COLUMNS, cells, strict=True)))
    return found


def listed(text: str) -> set[str]:
    """What the rows name: a test as ``file::test``, a whole file as ``file``."""
    return {name for row in rows(text) for name in re.findall(r"`([\w/.]+\.(?:py|tla|v)(?:::\w+)?)`", row["proved by"])}


def there(folder: Path) -> dict[str, set[str]]:
    """The proofs in a folder: each file, with its tests as ``file::test``."""
    found: dict[str, set[str]] = {}
    for path in sorted(folder.rglob("*")):
        file = path.relative_to(folder).as_posix()
        if path.suffix in MODELS:
            found[file] = set()
        elif re.fullmatch(r"test_\w+\.py", path.name):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            functions = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
            found[file] = {f"{file}::{name}" for name in functions if name.startswith("test_")}
    return found


def out_of_step(text: str, folder: Path) -> list[str]:
    """What is wrong between a README's text and the proofs in a folder."""
    names, proofs = listed(text), there(folder)
    tests = set().union(*proofs.values())
    wrong = [f"{name} is listed and gone" for name in names if name not in tests and name not in proofs]
    for file, its in proofs.items():
        if file not in names:
            missing = its - names if its else {file}
            wrong += [f"{name} is not listed" for name in missing]
    return sorted(wrong)


def test_the_table_and_the_proofs_are_in_step() -> None:
    """Every proof has its line, and every line its proof."""
    assert out_of_step(README.read_text(encoding="utf-8"), HERE) == []


def test_every_line_is_whole() -> None:
    """Each line fills all columns, names a proof, and says in seconds what it takes: all together within the limit."""
    lines = rows(README.read_text(encoding="utf-8"))
    assert len(lines) > 20
    for line in lines:
        assert all(line.values()), line
        assert listed("| " + " | ".join(COLUMNS) + " |\n| " + " | ".join(line.values()) + " |"), line
    assert sum(float(line["seconds"]) for line in lines) <= LIMIT


TABLE = f"""
| {" | ".join(COLUMNS)} |
| --- | --- | --- | --- | --- | --- | --- | --- |
| it holds | L1 | `test_one.py::test_a`, `test_two.py`, `deep/Model.tla` | pen | paper | one page | none | 0.1 |
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "Model.tla").write_text("")
    (tmp_path / "test_one.py").write_text("def test_a(): ...\ndef help(): ...\n")
    (tmp_path / "test_two.py").write_text("async def test_b(): ...\ndef test_c(): ...\n")
    return tmp_path


def test_what_is_unlisted_or_gone_is_noticed(folder: Path) -> None:
    """A proof without its line is named, and so is a line without its proof."""
    assert out_of_step(TABLE, folder) == []
    assert out_of_step(TABLE.replace("`test_two.py`, ", ""), folder) == [
        "test_two.py::test_b is not listed",
        "test_two.py::test_c is not listed",
    ]
    assert out_of_step(TABLE.replace("`deep/Model.tla`", ""), folder) == ["deep/Model.tla is not listed"]
    (folder / "test_one.py").write_text("def test_other(): ...\n")
    (folder / "deep" / "Model.tla").unlink()
    assert out_of_step(TABLE, folder) == [
        "deep/Model.tla is listed and gone",
        "test_one.py::test_a is listed and gone",
        "test_one.py::test_other is not listed",
    ]
