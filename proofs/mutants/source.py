"""The kernel's source in one form, whatever its comments, docstrings and layout: what mutants are made of.

In this form a statement is a line, unless it holds others.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

KERNEL = Path(__file__).parents[2] / "src" / "intervalguard" / "kernel"
MODULE = "<module>"
"""What stands for a function where a statement is in none: tables, constants, the bodies of classes."""


def path_of(module: str) -> Path:
    return KERNEL / f"{module}.py"


def is_text(statement: ast.stmt) -> bool:
    """Whether a statement is a docstring, or one that documents what is above it."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def bare(source: str) -> str:
    """The source without comments and docstrings, in the form that `ast.unparse` gives it."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [each for each in node.body if not is_text(each)] or [ast.Pass()]
    return ast.unparse(tree) + "\n"


class Scope(NamedTuple):
    """A function, or what is in none, with its first and last line."""

    name: str
    first: int
    last: int
    is_decorated: bool


@functools.cache
def functions(code: str) -> list[Scope]:
    """The functions of a module and the methods of its classes, with those inside them."""

    def walk(body: list[ast.stmt], within: str) -> Iterator[Scope]:
        for node in body:
            if isinstance(node, ast.ClassDef):
                yield from walk(node.body, f"{node.name}.")
            elif isinstance(node, ast.FunctionDef):
                first = min(node.lineno, *(each.lineno for each in node.decorator_list), node.lineno)
                yield Scope(within + node.name, first, node.end_lineno or first, bool(node.decorator_list))

    return list(walk(ast.parse(code).body, ""))


def function_at(code: str, line: int) -> Scope:
    """The function that a line is in."""
    here = (each for each in functions(code) if each.first <= line <= each.last)
    return next(here, Scope(MODULE, 1, len(code.splitlines()), False))


def _shown(node: object) -> object:
    """A tree as nested tuples. Fields that are empty are left out: what they are depends on the version of Python."""
    if isinstance(node, ast.AST):
        fields = ((name, _shown(value)) for name, value in ast.iter_fields(node) if name not in ("kind", "type_params"))
        return type(node).__name__, *(each for each in fields if each[1] not in ((), None, "None"))
    return tuple(map(_shown, node)) if isinstance(node, list) else repr(node)


def digests(source: str) -> dict[str, str]:
    """A digest of each function, and one of what is in none. Comments, docstrings and layout change none of them."""
    code = bare(source)
    tree = ast.parse(code)
    found: dict[str, str] = {}

    def digest(nodes: list[ast.stmt]) -> str:
        return hashlib.sha256(repr(_shown(nodes)).encode()).hexdigest()[:16]

    def take(body: list[ast.stmt], within: str) -> list[ast.stmt]:
        rest: list[ast.stmt] = []
        for node in body:
            if isinstance(node, ast.FunctionDef):
                found[within + node.name] = digest([node])
            else:
                if isinstance(node, ast.ClassDef):
                    node.body = take(node.body, f"{node.name}.")
                rest.append(node)
        return rest

    found[MODULE] = digest(take(tree.body, ""))
    return found


def executable(code: str) -> set[int]:
    """The lines of statements that do something: no imports, headers of functions and classes, fields without a value."""
    idle = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef | ast.Pass | ast.Try
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.stmt) and not isinstance(node, idle):
            is_field = isinstance(node, ast.AnnAssign) and node.value is None
            if not is_text(node) and not is_field and not is_for_types(code.splitlines()[node.lineno - 1]):
                found.add(node.lineno)
    return found


READ_TYPES = ("AllenRelation", "Kind", "Outcome")
"""Types of which the library takes the names."""


def is_for_types(line: str) -> bool:
    """Whether a statement names a type, for checkers, and does nothing that the library uses."""
    is_alias = ": TypeAlias" in line and not line.startswith(READ_TYPES)
    return line.startswith("__all__") or "TypeVar(" in line or is_alias


@functools.cache
def _tops(code: str) -> dict[str, range]:
    """The lines of each function and class of a module."""
    tops = [each for each in ast.parse(code).body if isinstance(each, ast.FunctionDef | ast.ClassDef)]
    first = {each.name: min([each.lineno, *(its.lineno for its in each.decorator_list)]) for each in tops}
    return {each.name: range(first[each.name], (each.end_lineno or each.lineno) + 1) for each in tops}


def left_out(code: str, line: int, names: Collection[str]) -> bool:
    """Whether a line is in a function, or a class, of one of these names."""
    return any(line in _tops(code)[name] for name in names)
