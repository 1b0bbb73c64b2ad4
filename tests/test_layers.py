"""Section 3 of the design: imports go up the list of layers only, and the kernel is pure."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import intervalguard

ROOT = Path(intervalguard.__file__).parent
LAYERS = ("kernel", "logs", "shell", "edges", "testing")
MAY_IMPORT = {
    "kernel": {"kernel"},
    "logs": {"kernel", "logs"},
    "shell": {"kernel", "logs", "shell"},
    "edges": {"kernel", "logs", "shell", "edges", ""},
    "testing": {*LAYERS, ""},
    "": {"kernel", "logs", "shell", "edges", ""},
}
"""Each layer, and the layers that it may import; the package's own modules and its public face are ``""``."""

PURE = {
    "__future__",
    "abc",
    "attrs",
    "bisect",
    "collections",
    "contextlib",
    "copy",
    "dataclasses",
    "datetime",
    "enum",
    "fractions",
    "functools",
    "heapq",
    "itertools",
    "json",
    "math",
    "numbers",
    "operator",
    "re",
    "string",
    "textwrap",
    "types",
    "typing",
    "uuid",
}
"""What the kernel may import: no clock, no I/O, no threads, no framework, no chance but the id of a new event."""

CLOCKS = {"now", "utcnow", "today"}

SOURCES = sorted(ROOT.rglob("*.py"))


def layer_of(path: Path) -> str:
    first = path.relative_to(ROOT).parts[0]
    return first if first in LAYERS else ""


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """The absolute names of the modules that a file imports anywhere in it, with the line."""
    package = [intervalguard.__name__, *path.relative_to(ROOT).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, node.module] if node.module else base)
            for alias in node.names:
                yield f"{module}.{alias.name}", node.lineno


def imported_layer(name: str) -> str | None:
    """The layer of a module of ours, ``None`` for anything else."""
    parts = name.split(".")
    if parts[0] != intervalguard.__name__:
        return None
    return parts[1] if len(parts) > 1 and parts[1] in LAYERS else ""


def test_imports_go_up_the_layers_only() -> None:
    """No module imports one of a layer below its own."""
    assert {layer_of(path) for path in SOURCES} == {*LAYERS, ""}
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in SOURCES
        for name, line in imports(path)
        if imported_layer(name) is not None and imported_layer(name) not in MAY_IMPORT[layer_of(path)]
    ]
    assert wrong == []


def test_the_kernel_is_pure() -> None:
    """The kernel imports attrs and such parts of the standard library as have no clock, no I/O and no threads."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in SOURCES
        if layer_of(path) == "kernel"
        for name, line in imports(path)
        if imported_layer(name) is None and name.split(".")[0] not in PURE
    ]
    assert wrong == []


@pytest.mark.parametrize("forbidden", ["now", "utcnow", "today", "open", "print", "input", "eval", "exec"])
def test_the_kernel_reads_no_clock_and_touches_no_file(forbidden: str) -> None:
    """Nothing in the kernel calls what tells the time or reaches outside."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in SOURCES
        if layer_of(path) == "kernel"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and (
            (isinstance(node.func, ast.Name) and node.func.id == forbidden)
            or (isinstance(node.func, ast.Attribute) and node.func.attr == forbidden and forbidden in CLOCKS)
        )
    ]
    assert wrong == []


def test_the_package_needs_attrs_alone() -> None:
    """Importing the package loads nothing outside the standard library but attrs."""
    script = (
        "import sys; before = set(sys.modules); import intervalguard, intervalguard.kernel.audit\n"
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    foreign = {name for name in loaded if name not in sys.stdlib_module_names and not name.startswith("_")}
    assert foreign == {"attr", "attrs", intervalguard.__name__}


def test_kernel_and_shell_import_no_third_party_but_attrs() -> None:
    """What an extra brings is imported in edges, in the test kit, and in the logs that live in a database."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in SOURCES
        if layer_of(path) in ("kernel", "shell", "")
        for name, line in imports(path)
        if imported_layer(name) is None and name.split(".")[0] not in {*sys.stdlib_module_names, "attrs"}
    ]
    assert wrong == []
