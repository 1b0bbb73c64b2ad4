"""The mutation run that is kept is one of the kernel as it is, and the README has its numbers."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .edits import Edit, edit_between, made_again
from .results import BEGIN, END, FILE, README, Mutant, Results, changed, in_scope, load, present, reasons, save, table
from .scope import APART, PROOFS, SURVIVED
from .source import MODULE, bare, path_of

pytestmark = pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="the results are of the source as Python 3.11 writes it: run this with 3.11"
)

RESULTS = load()
RUN = "run (cd proofs && python -m mutants --changed), which takes minutes, and commit what it writes"


def test_the_results_are_of_the_kernel_as_it_is() -> None:
    """No function has changed since, but for comments, docstrings and layout."""
    others = changed(RESULTS.digests, present(RESULTS.done))
    assert not others, f"{', '.join(others)}: not what the mutants in {FILE.name} were made of; {RUN}"


def test_every_survivor_has_its_reason() -> None:
    """Who survives is listed with the reason, and nobody is who does not."""
    known = reasons()
    unknown = [edit.shown for module, edit in RESULTS.survivors if (module, edit) not in known]
    assert not unknown, "kill these, or say in survivors.json why they are no fault"
    assert set(known) == set(RESULTS.survivors), "some in survivors.json do not survive"
    assert all(len(why) > 20 for why in known.values())


def test_every_mutant_can_be_made_again() -> None:
    """Each is another kernel than the one that ships, and each proof that killed one is among those that were run."""
    codes = {module: bare(path_of(module).read_text(encoding="utf-8")) for module in RESULTS.done}
    fresh = {name.partition(".")[::2] for name in changed(RESULTS.digests, present(RESULTS.done))}
    texts = [
        (module, made_again(codes[module], edit)) for module, edit in RESULTS.killers if (module, edit.function) not in fresh
    ]
    assert len(set(texts)) == len(texts) > 200
    assert all(text != codes[module] for module, text in texts)
    for (module, edit), by in RESULTS.killers.items():
        assert by in {*APART, *(proof.partition("[")[0] for proof in PROOFS[module])}, edit.shown


def test_the_readme_has_the_numbers() -> None:
    """What stands between the marks is what the results say."""
    between = README.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert between.strip() == table(RESULTS).strip(), "run (cd proofs && python -m mutants --readme)"


def sample(results: Results, each: int) -> list[int]:
    """The numbers of so many killed mutants of each module, always the same, of those that die of a quick proof."""
    mutants = list(results.killers)
    found: list[int] = []
    for module in results.done:
        quick = {proof.partition("[")[0] for proof in PROOFS[module][:3]}
        its = [
            at
            for at, mutant in enumerate(mutants)
            if mutant[0] == module and results.killers[mutant] in quick and not re.search("\\bf['\"]", mutant[1].right)
        ]
        found += random.Random(module).sample(its, min(each, len(its)))
    return found


def test_a_sample_dies_again() -> None:
    """Ten mutants or more are killed by the proofs that killed them, and the kernel that ships is not."""
    numbers = sample(RESULTS, -(-10 // len(RESULTS.done)))
    assert len(numbers) >= 10
    command = [sys.executable, "-m", "mutants", "--workers", "2", "--again", *map(str, numbers)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(command, cwd=README.parent, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    mutants = [list(RESULTS.killers)[number] for number in numbers]
    assert said[: len(numbers)] == [RESULTS.killers[each] for each in mutants]
    assert said[len(numbers) :] == [SURVIVED] * len(dict(mutants))


# --- What these checks find ---

SOURCE = '''"""A module."""
LIMIT = 8  # as measured

def less(a, b):
    """Whether."""
    return a < b

class Pair:
    def ends(self):
        return (self.start,
                self.end)
'''


@pytest.mark.parametrize(
    ("right", "wrong", "names"),
    [
        ("# as measured", "# guessed", []),
        ('"""Whether."""', '"""Whether it is."""', []),
        ("(self.start,\n                self.end)", "self.start, self.end", []),
        ("a < b", "a <= b", ["views.less"]),
        ("= 8", "= 9", [f"views.{MODULE}"]),
        ("self.end)", "self.start)", ["views.Pair.ends"]),
        ("def less", "def fewer", ["views.fewer", "views.less"]),
        ("class Pair", "class Two", [f"views.{MODULE}", "views.Pair.ends", "views.Two.ends"]),
    ],
)
def test_a_changed_function_is_named(right: str, wrong: str, names: list[str]) -> None:
    """Comments, docstrings and layout change nothing; what does is named."""
    assert SOURCE.count(right) == 1
    before, after = in_scope("views", SOURCE), in_scope("views", SOURCE.replace(right, wrong))
    assert changed({"views": before}, {"views": after}) == names


def test_a_mutant_is_kept_and_made_again() -> None:
    """By its function and its text, of which there may be several; whatever is added elsewhere."""
    code = bare(SOURCE + "\ndef twice(a):\n    a += 1\n    a += 1\n    return a\n")
    text = code[::-1].replace("1 =+", "1 =-", 1)[::-1]
    edit = edit_between(code, text, code[: code.rindex("a += 1")].count("\n") + 1)
    assert edit == Edit("twice", "a += 1", "a -= 1", 1)
    assert made_again(code, edit) == text
    assert made_again("import os\n" + code, edit) == "import os\n" + text
    with pytest.raises(ValueError, match="'a \\+= 1' is 0 times in less"):
        made_again(code, edit._replace(function="less"))
    with pytest.raises(ValueError, match="no function thrice"):
        made_again(code, edit._replace(function="thrice"))


def test_results_are_kept(tmp_path: Path) -> None:
    """What is saved is what is loaded; to run one function again forgets what was kept of it alone."""
    file = tmp_path / "results.json"
    one, other, elsewhere = (
        ("views", Edit("less", "a < b", 'a <= "ö"')),
        ("views", Edit(MODULE, "8", "9")),
        ("events", Edit("less", "a < b", "a > b")),
    )
    killers: dict[Mutant, str] = {one: SURVIVED, other: "test_a.py::test", elsewhere: SURVIVED}
    results = Results(killers, {"views": {"less": "1", "old": "2", MODULE: "3"}}, {"views": {"executable": 3}})
    save(results, file)
    assert load(file) == results
    results.forget("views", "less", {"less": "4", MODULE: "5"})
    assert results.killers == {other: "test_a.py::test", elsewhere: SURVIVED}
    assert results.digests == {"views": {"less": "4", MODULE: "3"}}
