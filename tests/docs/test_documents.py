"""What the documents say beside their examples: pictures, tables, links, and nothing of the machine they were written on."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from documents import DOCUMENTS, ROOT

from intervalguard.kernel.staleness import REASONS, REMEDIES, verdict_of

SEMANTICS = ROOT / "docs" / "semantics.md"
WRITTEN = [*DOCUMENTS, *sorted((ROOT / "docs").glob("*.py")), *sorted((ROOT / "demo").iterdir())]


def ids(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def pictures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "docs" / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["pictures"] = module
    spec.loader.exec_module(module)
    return module


def test_pictures_are_in_step(pictures: ModuleType) -> None:
    """Every picture stands in the semantics, as the library's own tables and rule draw it today."""
    assert pictures.main(["--check", str(SEMANTICS)]) == 0
    assert set(pictures.OPENING.findall(SEMANTICS.read_text(encoding="utf-8"))) == set(pictures.PICTURES)


def test_a_picture_out_of_step_is_noticed(pictures: ModuleType, tmp_path: Path) -> None:
    """A changed picture fails the check, and writing it anew mends it."""
    copy = tmp_path / "copy.md"
    copy.write_text(SEMANTICS.read_text(encoding="utf-8").replace("stale (superseded)", "fresh"), encoding="utf-8")
    assert pictures.main(["--check", str(copy)]) == 1
    assert pictures.main(["--write", str(copy)]) == 0
    assert copy.read_text(encoding="utf-8") == SEMANTICS.read_text(encoding="utf-8")


def test_the_pictures_of_the_verdicts_say_what_the_definition_says(pictures: ModuleType) -> None:
    """L2, as the documents draw it: fresh before, stale after, suspect in every other relation of write and read."""
    lines = [line.split() for line in pictures.verdicts().splitlines() if " w " in line]
    said = {words[0]: words[words.index("┊") + 1] for words in lines}
    assert said == {r: {"before": "fresh", "after": "stale"}.get(r, "suspect") for r in pictures.ALLEN}


def test_reasons_and_remedies_are_the_rules(pictures: ModuleType) -> None:
    """The table of reasons holds all of them, highest first, with the verdict and the remedy that the rule has."""
    text = SEMANTICS.read_text(encoding="utf-8")
    table = text[text.index("<!-- reasons -->") :].split("\n\n")[0].splitlines()[3:]
    rows = [[cell.strip().strip("`") for cell in row.strip("|").split("|")] for row in table]
    grades = reversed(range(len(REASONS)))
    assert [(verdict_of(grade), REASONS[grade], REMEDIES[REASONS[grade]]) for grade in grades] == [
        (verdict, reason, remedy) for verdict, reason, _, remedy in rows
    ]


@pytest.mark.parametrize("path", WRITTEN, ids=ids)
def test_nothing_of_a_machine(path: Path) -> None:
    """No document and no demo names an absolute path of a machine, or its host or temporary folders."""
    text = path.read_text(encoding="utf-8")
    found = re.findall(r"(?<![\w.])/(?:work|home|root|Users|var|opt|mnt|usr)\b\S*|[A-Z]:\\\S*|localhost\S*", text)
    assert found == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=ids)
def test_links_lead_somewhere(document: Path) -> None:
    """Every link within the project leads to a file, and to a heading that is there."""
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        path, _, heading = target.partition("#")
        file = (document.parent / path).resolve() if path else document
        assert file.exists(), target
        assert not heading or heading in headings(file), target


def headings(document: Path) -> set[str]:
    text = re.sub(r"^```.*?^```$", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    found = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in found}
