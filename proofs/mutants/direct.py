"""Proofs that take the kernel they are about from their module's ``SHIPPED`` are called as they are, on a mutant.

That spares each mutant the start of pytest. Other proofs import the kernel by name, and pytest runs them on a package
in which the mutant stands (`runner`).
"""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

from .scope import IMPORT, SURVIVED

FILES = (
    "test_resource_names",
    "test_positions",
    "test_verdicts_orders",
    "test_verdicts",
    "test_rule",
    "test_changes",
    "test_graphs",
    "test_admission",
)
_NAMES = ("events", "intervals", "views", "staleness", "admission")


def is_direct(proofs: Sequence[str]) -> bool:
    return all(proof.partition(".py::")[0] in FILES for proof in proofs)


def load() -> list[ModuleType]:
    """The modules of these proofs, and with them the kernel that ships."""
    return [importlib.import_module(name) for name in FILES]


def kernel_with(module: str, text: str) -> Any:
    """The kernel with this text for that of one module."""
    kernels: Any = importlib.import_module("kernels")
    full = [f"intervalguard.kernel.{name}" for name in _NAMES]
    for name in full:
        shipped = sys.modules[name]
        sys.modules[name] = made = ModuleType(name)
        made.__package__, made.__file__ = "intervalguard.kernel", shipped.__file__
        with open(str(shipped.__file__), encoding="utf-8") as source:
            its = text if name.endswith(f".{module}") else source.read()
        exec(compile(its, f"<mutant of {name}>", "exec"), made.__dict__)
    return kernels.Kernel(*(sys.modules[name] for name in full))


def calls(proof: str) -> Iterator[Callable[[], Any]]:
    """The calls that a test makes with each of its parameters, or with those of the id in brackets."""
    name, _, only = proof.removesuffix("]").partition("[")
    file, _, test = name.partition(".py::")
    function = getattr(sys.modules[file], test)
    marks = [mark for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"]
    if not marks:
        yield function
        return
    (mark,) = marks
    names = mark.args[0] if isinstance(mark.args[0], tuple) else (mark.args[0],)
    ids = mark.kwargs.get("ids") or [None] * len(mark.args[1])
    shown = [ids(each) for each in mark.args[1]] if callable(ids) else list(ids)
    if only and only not in shown:
        raise LookupError(f"no parameters {only!r} of {test}, which has {shown}")
    for values, id in zip(mark.args[1], shown, strict=True):
        if not only or id == only:
            given = values if len(names) > 1 else (values,)
            yield lambda given=given: function(**dict(zip(names, given, strict=True)))


def judged(module: str, text: str, proofs: Sequence[str]) -> str:
    """What kills the mutant: the first proof that fails, or nothing. To be called once in a process."""
    loaded = load()
    every = list(itertools.chain.from_iterable([(proof, call) for call in calls(proof)] for proof in proofs))
    try:
        kernel = kernel_with(module, text)
    except Exception:
        return IMPORT
    for each in loaded:
        each.SHIPPED = kernel  # type: ignore[attr-defined]
    for proof, call in every:
        try:
            call()
        except BaseException:
            return proof.partition("[")[0]
    return SURVIVED
