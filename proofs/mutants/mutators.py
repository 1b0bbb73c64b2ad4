"""The mutants of a module: those of mutmut, also where mutmut itself does not go, and those of a few operators more.

mutmut writes its mutants beside the function that they are of, so it leaves out what is decorated and what is in no
function. Here a mutant is a whole module, and these are mutated, too. The operators that are added see to it that each
part of a condition, each element of a set, each value that is returned and each loop has a mutant.
"""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.file_mutation import MutationVisitor
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import IgnoredCode

from .source import is_for_types

SWAPPED = {"start": "end", "end": "start", "start_time": "end_time", "call": "parent", "parent": "call"}
"""Fields that are easily taken for each other."""


def negated(node: cst.If | cst.CompIf | cst.While) -> Iterable[cst.CSTNode]:
    """The condition turned round."""
    test = node.test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    yield node.with_changes(test=cst.UnaryOperation(cst.Not(), test))


def one_side(node: cst.BooleanOperation) -> Iterable[cst.CSTNode]:
    """One part of a condition alone."""
    parens = {"lpar": [cst.LeftParen()], "rpar": [cst.RightParen()]}
    yield node.left.with_changes(**parens)
    yield node.right.with_changes(**parens)


def returned_none(node: cst.Return) -> Iterable[cst.CSTNode]:
    """Nothing is returned."""
    if node.value is not None and not (isinstance(node.value, cst.Name) and node.value.value == "None"):
        yield node.with_changes(value=cst.Name("None"))


def no_round(node: cst.For | cst.CompFor) -> Iterable[cst.CSTNode]:
    """A loop over nothing."""
    yield node.with_changes(iter=cst.Tuple([]))


def element_dropped(node: cst.Set | cst.Tuple | cst.List) -> Iterable[cst.CSTNode]:
    """One element less; of a set not the last, for ``{}`` is none."""
    if len(node.elements) > 1:
        for each in range(len(node.elements)):
            left = [*node.elements[:each], *node.elements[each + 1 :]]
            if isinstance(node, cst.Tuple) and len(left) == 1:
                left = [left[0].with_changes(comma=cst.Comma())]
            yield node.with_changes(elements=left)


def field_swapped(node: cst.Attribute) -> Iterable[cst.CSTNode]:
    """Another field of the same thing."""
    if node.attr.value in SWAPPED:
        yield node.with_changes(attr=cst.Name(SWAPPED[node.attr.value]))


def not_done(node: cst.SimpleStatementLine) -> Iterable[cst.CSTNode]:
    """Something that is not done: a call, or a refusal."""
    if isinstance(node.body[0], cst.Raise) or (
        isinstance(node.body[0], cst.Expr) and isinstance(node.body[0].value, cst.Call)
    ):
        yield node.with_changes(body=[cst.Pass()])


def without_crashes(made: Callable[[Any], Iterable[cst.CSTNode]]) -> Callable[[Any], Iterable[cst.CSTNode]]:
    """An operator of mutmut without what says no more than another mutant of the same place does.

    A call with an argument less is a ``TypeError``, and the argument has become ``None`` in a mutant before it; a text in
    capitals is another text, and so is one with ``XX`` around it.
    """

    def operator(node: Any) -> Iterator[cst.CSTNode]:
        for each in made(node):
            if isinstance(node, cst.Call) and isinstance(each, cst.Call) and len(each.args) < len(node.args):
                continue
            if isinstance(each, cst.SimpleString) and "XX" not in each.value:
                continue
            yield each

    return operator


OPERATORS = [(node, without_crashes(made)) for node, made in mutation_operators]
MORE: Sequence[tuple[Any, Any]] = [
    (cst.If | cst.CompIf | cst.While, negated),
    (cst.BooleanOperation, one_side),
    (cst.Return, returned_none),
    (cst.For | cst.CompFor, no_round),
    (cst.Set | cst.Tuple | cst.List, element_dropped),
    (cst.Attribute, field_swapped),
    (cst.SimpleStatementLine, not_done),
]


class Everywhere(MutationVisitor):
    """mutmut's visitor, which also goes into what is decorated, and not into types and the words of what is raised."""

    def _skip_node_and_children(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Raise | cst.Import | cst.ImportFrom | cst.AssignTarget):
            return True
        if isinstance(node, cst.SimpleStatementLine) and is_for_types(cst.Module([node]).code):
            return True
        return not isinstance(node, cst.FunctionDef) and super()._skip_node_and_children(node)


class Made(NamedTuple):
    """A mutant: the line of what is changed, and the whole text."""

    line: int
    text: str


def _found(code: str, visitor: type[MutationVisitor], operators: Sequence[Any]) -> tuple[cst.Module, list[tuple[Any, int]]]:
    """The module, and its mutations with their lines."""
    wrapper = MetadataWrapper(cst.parse_module(code))
    found = visitor(operators, IgnoredCode(set(), set(), set()))
    module = wrapper.visit(found)
    positions = wrapper.resolve(PositionProvider)
    return module, [(each, positions[each.original_node].start.line) for each in found.mutations]


@functools.cache
def mutants(code: str) -> Sequence[Made]:
    """Every mutant of a module's text, each text once, without those that are no Python."""
    module, mutations = _found(code, Everywhere, [*OPERATORS, *MORE])
    statements = [*module.body]
    texts = [module.code_for_node(each) for each in statements]
    if "".join(texts) != code:
        raise ValueError("the text is more than its statements: give it as `bare` makes it")
    ends = list(itertools.accumulate(text.count("\n") for text in texts))
    made: dict[str, int] = {}
    for each, line in mutations:
        place = bisect.bisect_left(ends, line)
        changed = statements[place].deep_replace(each.original_node, each.mutated_node)
        text = "".join([*texts[:place], module.code_for_node(changed), *texts[place + 1 :]])  # type: ignore[arg-type]
        try:
            compile(text, "mutant", "exec")
        except SyntaxError:
            continue
        if text != code:
            made.setdefault(text, line)
    return [Made(line, text) for text, line in made.items()]


def lines_of_mutmut(code: str) -> set[int]:
    """The lines that mutmut has a mutant for when it is run by itself."""
    _, mutations = _found(code, MutationVisitor, mutation_operators)
    return {line for each, line in mutations if each.contained_by_top_level_function is not None}
