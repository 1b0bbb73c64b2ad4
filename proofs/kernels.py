"""The kernel as it ships, and kernels that are broken in one place on purpose.

A proof says something only if it fails for a wrong kernel, so each takes the kernel that it is about, and is given
broken ones too. These are made from the shipped source, with one piece of its text exchanged.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any, NamedTuple

_NAMES = ("events", "intervals", "views", "staleness", "admission")


class Kernel(NamedTuple):
    """The modules of the kernel that proofs run."""

    events: Any
    intervals: Any
    views: Any
    staleness: Any
    admission: Any


SHIPPED = Kernel(*(importlib.import_module(f"intervalguard.kernel.{name}") for name in _NAMES))


class Broken(NamedTuple):
    """One piece of a module's text, and the wrong one to put in its place."""

    module: str
    right: str
    wrong: str

    def kernel(self) -> Kernel:
        """The kernel with this fault. Raises ``ValueError`` unless the right text is there, once."""
        full = [f"intervalguard.kernel.{name}" for name in _NAMES]
        kept = {name: sys.modules[name] for name in full}
        try:
            for name in full:
                # What imports from a module that is broken must import from that one, too.
                sys.modules[name] = module = ModuleType(name)
                module.__package__ = "intervalguard.kernel"
                exec(compile(self._text(name, kept[name]), f"broken {name}", "exec"), module.__dict__)
            return Kernel(*(sys.modules[name] for name in full))
        finally:
            sys.modules.update(kept)

    def _text(self, name: str, shipped: ModuleType) -> str:
        with open(str(shipped.__file__), encoding="utf-8") as source:
            text = source.read()
        if name.rpartition(".")[2] != self.module:
            return text
        if text.count(self.right) != 1:
            raise ValueError(f"{self.right!r} is {text.count(self.right)} times in {name}: find a text that is there once")
        return text.replace(self.right, self.wrong)
