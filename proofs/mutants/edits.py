"""A mutant as one piece of text exchanged in one function: what is kept of it, and how it is made again from the source.

The text is the source's in its one form (`source.bare`), so comments, docstrings, layout and other functions are nothing
to it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .source import MODULE, Scope, function_at, functions

_LONG = 110
"""A line that is longer, a table's, is shown in part."""
_AROUND = 12


class Edit(NamedTuple):
    """In the function, the ``nth`` of the texts ``right`` becomes ``wrong``, counted from 0."""

    function: str
    right: str
    wrong: str
    nth: int = 0

    @property
    def shown(self) -> str:
        return f"{self.function}: {self.right!r} -> {self.wrong!r}"


def _bounds(code: str, scope: Scope) -> tuple[int, int]:
    """Where a function begins and ends in the text."""
    lines = code.splitlines(keepends=True)
    return sum(map(len, lines[: scope.first - 1])), sum(map(len, lines[: scope.last]))


def _places(text: str, piece: str) -> list[int]:
    return [found.start() for found in re.finditer(f"(?={re.escape(piece)})", text)]


def _alike(one: str, other: str) -> int:
    """How many characters the two begin with that are the same."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def edit_between(code: str, text: str, line: int) -> Edit:
    """What was exchanged to make this text of the code, in the function that the line is in."""
    same = _alike(code, text)
    end = _alike(code[same:][::-1], text[same:][::-1])
    first = code.rfind("\n", 0, same) + 1
    until = code.find("\n", len(code) - end)
    until = len(code) if until < 0 else until
    if until - first > _LONG:
        first, until = max(first, same - _AROUND), min(until, len(code) - end + _AROUND)
    right, wrong = code[first:until], text[first : until + len(text) - len(code)]
    first += len(right) - len(right.lstrip()) if right.lstrip()[:1] == wrong.lstrip()[:1] or not wrong.strip() else 0
    right = code[first:until]
    wrong = text[first : until + len(text) - len(code)]
    scope = function_at(code, line)
    begin, stop = _bounds(code, scope)
    return Edit(scope.name, right, wrong, _places(code[begin:stop], right).index(first - begin))


def made_again(code: str, edit: Edit) -> str:
    """The mutant's whole text. Raises ``ValueError`` where the function or the text is not there."""
    scope = next((each for each in functions(code) if each.name == edit.function), None)
    if scope is None and edit.function != MODULE:
        raise ValueError(f"no function {edit.function}")
    begin, stop = (0, len(code)) if scope is None else _bounds(code, scope)
    places = _places(code[begin:stop], edit.right)
    if len(places) <= edit.nth:
        raise ValueError(f"{edit.right!r} is {len(places)} times in {edit.function}")
    place = begin + places[edit.nth]
    return code[:place] + edit.wrong + code[place + len(edit.right) :]
