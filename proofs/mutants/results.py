"""The results that are committed: each mutant, and what killed it; each survivor, and why."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import attrs

from .edits import Edit
from .scope import APART, LEFT_OUT, PROOFS, SURVIVED, UNPROVED
from .source import digests, path_of

HERE = Path(__file__).parent
FILE = HERE / "results.json"
REASONS = HERE / "survivors.json"
README = HERE.parent / "README.md"

Mutant = tuple[str, Edit]
"""The module of the kernel, and what is exchanged in it."""


@attrs.define
class Results:
    """What killed each mutant of each module; the digests of the functions that these are of; the lines counted."""

    killers: dict[Mutant, str] = attrs.Factory(dict)
    digests: dict[str, dict[str, str]] = attrs.Factory(dict)
    lines: dict[str, dict[str, int]] = attrs.Factory(dict)

    def forget(self, module: str, function: str | None, present: Mapping[str, str]) -> None:
        """Forget the mutants of a module, or of one function of it, for those of the kernel with these digests."""
        self.killers = {
            (where, edit): by
            for (where, edit), by in self.killers.items()
            if where != module or function not in (None, edit.function)
        }
        kept = self.digests.get(module, {}) if function else {}
        kept = kept | {name: digest for name, digest in present.items() if function in (None, name)}
        self.digests[module] = {name: digest for name, digest in kept.items() if name in present}

    @property
    def done(self) -> list[str]:
        """The modules that were run whole."""
        return [module for module in PROOFS if "mutated" in self.lines.get(module, {})]

    @property
    def survivors(self) -> list[Mutant]:
        return [mutant for mutant, by in self.killers.items() if by == SURVIVED]

    def count(self, module: str | None = None) -> list[int]:
        """How many mutants there are, and how many were killed by a proof, could not be imported, timed out, survived."""
        said = [by for (where, _), by in self.killers.items() if module in (None, where)]
        apart = [said.count(by) for by in APART]
        return [len(said), len(said) - sum(apart), *apart]


def in_scope(module: str, source: str) -> dict[str, str]:
    """The digests of what is in scope of a module's source."""
    names = LEFT_OUT.get(module, {})
    return {name: digest for name, digest in digests(source).items() if name.partition(".")[0] not in names}


def present(modules: Iterable[str]) -> dict[str, dict[str, str]]:
    """The digests of what is in scope in these modules of the kernel as it is now."""
    return {module: in_scope(module, path_of(module).read_text(encoding="utf-8")) for module in modules}


def changed(kept: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The functions, as ``module.function``, of which the results are not those of the kernel as it is now."""
    return sorted(
        f"{module}.{name}"
        for module in {*kept, *now}
        for name in {*kept.get(module, {}), *now.get(module, {})}
        if kept.get(module, {}).get(name) != now.get(module, {}).get(name)
    )


def load(file: Path = FILE) -> Results:
    if not file.exists():
        return Results()
    kept = json.loads(file.read_text(encoding="utf-8"))
    killers = {
        (module, Edit(function, right, wrong, nth)): kept["proofs"][by]
        for module, its in kept["mutants"].items()
        for function, mutants in its.items()
        for right, wrong, nth, by in mutants
    }
    return Results(killers, kept["digests"], kept["lines"])


def save(results: Results, file: Path = FILE) -> None:
    """One mutant a line: the text, what it becomes, which of that text in the function, and what killed it, by number."""
    proofs = sorted(set(results.killers.values()))
    grouped: dict[str, dict[str, list[str]]] = {}
    for (module, edit), by in results.killers.items():
        mutant = json.dumps([edit.right, edit.wrong, edit.nth, proofs.index(by)], ensure_ascii=False)
        grouped.setdefault(module, {}).setdefault(edit.function, []).append(mutant)
    modules = [
        f"{json.dumps(module)}: {{\n"
        + ",\n".join(f"{json.dumps(function)}: [\n" + ",\n".join(mutants) + "\n]" for function, mutants in its.items())
        + "\n}"
        for module, its in sorted(grouped.items())
    ]
    head = {"lines": results.lines, "digests": results.digests, "proofs": proofs}
    text = json.dumps(head, indent=1, sort_keys=True).removesuffix("\n}") + ',\n "mutants": {\n'
    file.write_text(text + ",\n".join(modules) + "\n}\n}\n", encoding="utf-8")


def reasons(file: Path = REASONS) -> dict[Mutant, str]:
    """The survivors that are known, and why each survives."""
    kept = json.loads(file.read_text(encoding="utf-8"))
    return {
        (module, Edit(function, right, wrong, nth)): each["why"]
        for each in kept
        for module, function, right, wrong, nth in each["mutants"]
    }


COLUMNS = (
    "module",
    "executable lines",
    "in scope",
    "mutmut alone reaches",
    "mutated",
    "mutants",
    "killed by a proof",
    "not importable",
    "timed out",
    "survive",
)
BEGIN, END = "<!-- mutants: written by `python -m mutants` -->", "<!-- end of mutants -->"


def table(results: Results) -> str:
    """The numbers as the README has them."""
    names = ("executable", "in scope", "by mutmut", "mutated")
    rows = [[module, *(results.lines[module][name] for name in names), *results.count(module)] for module in results.done]
    total = [sum(column) for column in zip(*(row[1:] for row in rows), strict=True)]
    rows.append(["together", *total])
    shown = [COLUMNS, ["---"] * len(COLUMNS), *rows]
    text = "\n".join(f"| {' | '.join(map(str, row))} |" for row in shown)
    _, scope, alone, mutated, mutants, *killed, survive = total
    whole = sum(each["executable"] for each in results.lines.values())
    left = [f"`{module}`" for module in PROOFS if module not in results.done]
    return (
        f"{text}\n\nOf {mutants} mutants {sum(killed)} die and {survive} survive. There is one for"
        f" {mutated} of the {scope} executable lines in scope ({mutated / scope:.1%}), where mutmut by itself reaches"
        f" {alone} ({alone / scope:.1%}); that is {mutated / whole:.0%} of the {whole} such lines of the whole kernel,"
        f" of which {', '.join(f'`{each}`' for each in UNPROVED)} are held by tests.\n"
        + (f"\n**Not run yet: {', '.join(left)}.**\n" if left else "")
    )


def write_readme(results: Results) -> None:
    """Put the numbers in their place in the README."""
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    README.write_text(f"{before}{BEGIN}\n\n{table(results)}\n{END}{after}", encoding="utf-8")
