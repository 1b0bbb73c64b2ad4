"""Running shipped functions on numbers of which nothing is known: every path of them, decided by Z3.

A `Number` stands for any real. To compare two asks the executor, which goes both ways where both are possible: it
runs the function again and again, each time down another path, until none is left. What the function then did on
each path, it does for every number that satisfies the path's comparisons.

Three things keep that honest. What numbers do not support raises `Unsupported`, a `BaseException` that no code under
proof swallows. A path is run again by replaying its answers, and each question must be the one that was asked there
before, so a function that depends on anything but its arguments is found out. At the end a second solver, which
shares nothing with the first, goes over the paths and certifies that they leave out nothing that the assumptions allow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar

import z3

T = TypeVar("T")


class Unsupported(BaseException):
    """The code under proof did what cannot be followed, or the executor itself went wrong: no proof."""


class Refuted(BaseException):
    """A claim fails: the message names it and gives values for which it does."""


class Question(NamedTuple):
    """What a path was asked: a formula that holds or does not, or a choice of one of several options."""

    name: str
    options: int
    formula: Any = None


class Leaf(NamedTuple, Generic[T]):
    """One path: its questions with their answers, and what the function returned or raised on it."""

    answers: tuple[tuple[Question, int], ...]
    value: T | None
    error: Exception | None

    @property
    def condition(self) -> Any:
        """When the path is taken, as a formula; what was chosen on it is not part of that."""
        asked = [(question.formula, answer) for question, answer in self.answers if question.formula is not None]
        return z3.And([formula if answer else z3.Not(formula) for formula, answer in asked])


class Truth:
    """A comparison that has not been made yet. Only to ask which it is, by ``bool``, is supported."""

    __slots__ = ("_executor", "_formula", "_holds")

    def __init__(self, executor: Executor, formula: Any, holds: bool) -> None:
        self._executor = executor
        self._formula = formula
        self._holds = holds

    def __bool__(self) -> bool:
        return bool(self._executor.ask(self._formula)) is self._holds

    def __eq__(self, other: object) -> NoReturn:
        raise Unsupported("== of a comparison: ask bool() of it")

    __hash__ = None  # type: ignore[assignment]


def _refuse(name: str) -> Callable[..., NoReturn]:
    def refused(self: Any, *_: Any) -> NoReturn:
        raise Unsupported(f"{name} of the symbolic number {self!r}: only comparing, adding and subtracting can be followed")

    return refused


class Number:
    """Any real number. It can be compared, added, subtracted and shown; all else is refused."""

    __slots__ = ("executor", "term")

    def __init__(self, executor: Executor, term: Any) -> None:
        self.executor = executor
        self.term = term

    def _less(self, small: Any, big: Any, holds: bool) -> Truth:
        return Truth(self.executor, self.executor.compared("<", self._term(small), self._term(big)), holds)

    def _equal(self, other: Any, holds: bool) -> Truth:
        return Truth(self.executor, self.executor.compared("=", self.term, self._term(other)), holds)

    def _term(self, given: Any) -> Any:
        if type(given) is Number and given.executor is self.executor:
            return given.term
        if type(given) is int or type(given) is Fraction:
            return z3.RealVal(str(given))
        raise Unsupported(f"a symbolic number beside {given!r}")

    def __lt__(self, other: Any) -> Truth:
        return self._less(self, other, True)

    def __gt__(self, other: Any) -> Truth:
        return self._less(other, self, True)

    def __le__(self, other: Any) -> Truth:
        return self._less(other, self, False)

    def __ge__(self, other: Any) -> Truth:
        return self._less(self, other, False)

    def __eq__(self, other: object) -> Truth:  # type: ignore[override]
        return self._equal(other, True)

    def __ne__(self, other: object) -> Truth:  # type: ignore[override]
        return self._equal(other, False)

    def __add__(self, other: Any) -> Number:
        return Number(self.executor, self.term + self._term(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Number:
        return Number(self.executor, self.term - self._term(other))

    def __rsub__(self, other: Any) -> Number:
        return Number(self.executor, self._term(other) - self.term)

    def __repr__(self) -> str:
        return str(self.term)


_REFUSED = """
    abs bool bytes ceil complex divmod float floor floordiv format getitem hash index int invert iter len matmul mod mul
    neg pos pow rdivmod rfloordiv rmod rmul round rpow rtruediv str truediv trunc
"""
for _name in _REFUSED.split():
    setattr(Number, f"__{_name}__", _refuse(f"__{_name}__"))


class Executor:
    """Runs a function down every path that numbers within the assumptions, and choices, can lead to."""

    def __init__(self) -> None:
        self.solver = z3.SolverFor("QF_LRA")
        self._assumptions: list[Any] = []
        self._numbers: dict[str, Number] = {}
        self._compared: dict[tuple[str, int, int], tuple[Any, Any, Any]] = {}
        self._trail: list[list[Any]] = []
        self._at = 0
        self._known: dict[int, int] = {}
        self._chosen: dict[str, int] = {}
        self._model: Any = None
        self._running = False

    def number(self, name: str) -> Number:
        """The number of this name, the same one whenever it is asked for."""
        if name not in self._numbers:
            self._numbers[name] = Number(self, z3.Real(name))
        return self._numbers[name]

    def assume(self, formula: Any) -> None:
        """Look at such numbers alone. Before exploring only."""
        if self._running:
            raise Unsupported("an assumption in the middle of a run")
        self._assumptions.append(formula)
        self.solver.add(formula)

    def compared(self, how: str, one: Any, other: Any) -> Any:
        """``one < other`` or ``one = other``, made once. Terms are kept: Z3 gives the id of one that is gone to another."""
        key = how, one.get_id(), other.get_id()
        if key not in self._compared:
            self._compared[key] = one, other, one < other if how == "<" else one == other
        return self._compared[key][2]

    # What the code under proof, and the claim about it, ask.

    def ask(self, formula: Any) -> int:
        """Whether a comparison made by `compared` holds on this path; where it may and may not, there is a path for each."""
        key = formula.get_id()
        if key in self._known:
            return self._known[key]
        if self._at < len(self._trail):
            answer = self._replay("", formula)
        else:
            answer = int(z3.is_true(self._model.eval(formula, model_completion=True)))
            self._extend(Question("", 2, formula), answer, [1 - answer])
        self._known[key] = answer
        return answer

    def choose(self, name: str, options: Sequence[T]) -> T:
        """Each of the options, one a path; the same one whenever the choice of this name is asked for on a path."""
        if name in self._chosen:
            return options[self._chosen[name]]
        if self._at < len(self._trail):
            answer = self._replay(name, None)
        else:
            answer = 0
            self._extend(Question(name, len(options)), 0, list(range(len(options) - 1, 0, -1)))
        self._chosen[name] = answer
        return options[answer]

    def claim(self, holds: bool, law: str) -> None:
        """`Refuted` unless it holds, with numbers for which it does not."""
        if not holds:
            raise Refuted(f"{law}: {self._example()}")

    def entail(self, formula: Any, law: str) -> None:
        """`Refuted` unless the formula follows from what has been asked on this path."""
        if self._at < len(self._trail):
            raise Unsupported("a claim in the middle of a replay: make it at the end of the run")
        verdict = self.solver.check(z3.Not(formula))
        if verdict == z3.sat:
            self._model = self.solver.model()
            raise Refuted(f"{law}: {self._example()}")
        if verdict != z3.unsat:
            raise Unsupported(f"Z3 cannot tell whether {law}")

    def _example(self) -> str:
        chosen = [f"{question.name}={answer}" for question, answer, _ in self._trail if question.formula is None]
        return ", ".join([*sorted(f"{each}={self._model[each]}" for each in self._model), *chosen])

    # Going down every path.

    def _replay(self, name: str, formula: Any) -> int:
        question, answer, _ = self._trail[self._at]
        if question.name != name or question.formula is not formula:
            asked = Question(name, question.options, formula)
            raise Unsupported(f"the code under proof is not deterministic: it asked {asked} where it had asked {question}")
        self._at += 1
        return answer

    def _extend(self, question: Question, answer: int, others: list[int]) -> None:
        self.solver.push()
        self._trail.append([question, answer, others])
        self._add(question, answer)
        self._at += 1

    def _add(self, question: Question, answer: int) -> None:
        if question.formula is not None:
            self.solver.add(question.formula if answer else z3.Not(question.formula))

    def explore(self, run: Callable[[], T]) -> list[Leaf[T]]:
        """Every path of ``run``; the paths are certified to be all.

        An ``Exception`` that it raises is what it does on that path. `Refuted` and `Unsupported` go through.
        """
        self._running = True
        if self.solver.check() != z3.sat:
            raise Unsupported("no numbers satisfy the assumptions: whatever is claimed of them says nothing")
        self._model = self.solver.model()
        leaves: list[Leaf[T]] = []
        more = True
        while more:
            self._at, self._known, self._chosen = 0, {}, {}
            value = error = None
            try:
                value = run()
            except Exception as raised:
                error = raised
            if self._at != len(self._trail):
                raise Unsupported("the code under proof is not deterministic: it asked less than before")
            leaves.append(Leaf(tuple((question, answer) for question, answer, _ in self._trail), value, error))
            more = self._next()
        self._running = False
        certify(self._assumptions, [leaf.answers for leaf in leaves])
        return leaves

    def _next(self) -> bool:
        """Turn to the next path, from the last question that has an answer left which is possible."""
        while self._trail:
            question, _, others = self._trail[-1]
            self.solver.pop()
            if not others:
                self._trail.pop()
                continue
            self._trail[-1][1] = answer = others.pop()
            self.solver.push()
            self._add(question, answer)
            verdict = self.solver.check()
            if verdict == z3.sat:
                self._model = self.solver.model()
                return True
            if verdict != z3.unsat:
                raise Unsupported(f"Z3 cannot tell whether a path is possible: {question}")
        return False


def certify(assumptions: Sequence[Any], paths: Sequence[tuple[tuple[Question, int], ...]]) -> None:
    """`Unsupported` unless every number that the assumptions allow, with every choice, is on one of the paths.

    The paths must be a tree: what is asked next follows from the answers so far, and each answer without a path is one
    that the assumptions and the answers before it rule out.
    """
    solver = z3.Solver()
    solver.add(*assumptions)

    def cover(paths: Sequence[tuple[tuple[Question, int], ...]], depth: int) -> None:
        if len(paths) == 1 and len(paths[0]) == depth:
            return
        if any(len(path) == depth for path in paths):
            raise Unsupported("two paths are one")
        question = paths[0][depth][0]
        parts: list[list[Any]] = [[] for _ in range(question.options)]
        for path in paths:
            if path[depth][0] is not question:
                raise Unsupported("two paths were asked different questions after the same answers")
            parts[path[depth][1]].append(path)
        for answer, part in enumerate(parts):
            solver.push()
            if question.formula is not None:
                solver.add(question.formula if answer else z3.Not(question.formula))
            if part:
                cover(part, depth + 1)
            elif question.formula is None or solver.check() != z3.unsat:
                raise Unsupported(f"a path was lost: {question}, answer={answer}")
            solver.pop()

    cover(paths, 0)
