"""Running proofs against mutants, each in a process of its own, which takes the mutant for the module that ships."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
import z3  # noqa: F401  # here, so that each of the processes below has it already

from . import direct
from .scope import IMPORT, SURVIVED, TIME_OUT
from .source import path_of

PROOFS = Path(__file__).parents[1]


class Job(NamedTuple):
    """A module of the kernel, the text that stands for it, and the proofs to run, in this order."""

    module: str
    text: str
    proofs: Sequence[str]


class InPlace(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives a module of the kernel another text."""

    def __init__(self, module: str, text: str) -> None:
        self._name, self._text, self._path = f"intervalguard.kernel.{module}", text, str(path_of(module))

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_loader(name, self, origin=self._path) if name == self._name else None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = self._path
        exec(compile(self._text, f"<mutant of {self._name}>", "exec"), module.__dict__)


class FirstFailure:
    """Keeps which proof failed first, or that the proofs could not even be imported."""

    by: str | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self.by is None:
            self.by = report.nodeid.removeprefix("proofs/").partition("[")[0]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and self.by is None:
            self.by = IMPORT


_SHARED = ("kernels", "small_logs", "statement", "symbolic", "weak_orders", "allen_by_hand")


def judged(job: Job) -> str:
    """What kills the mutant in this process: the first proof that fails, `IMPORT`, or nothing: `SURVIVED`."""
    if direct.is_direct(job.proofs):
        return direct.judged(*job)
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("intervalguard", *_SHARED) or name.startswith("test_"):
            del sys.modules[name]  # what was loaded with the kernel that ships
    sys.modules["intervalguard"] = package = ModuleType("intervalguard")
    package.__path__ = [str(path_of(job.module).parents[1])]  # the kernel alone is imported, not all that the package is
    sys.meta_path.insert(0, InPlace(job.module, job.text))
    seen = FirstFailure()
    plugins = ("cacheprovider", "logging", "faulthandler", "unraisableexception")
    options = ["-x", "-q", "--tb=no", "--assert=plain", *(f"-pno:{each}" for each in plugins)]
    code = pytest.main([*options, *(str(PROOFS / proof) for proof in job.proofs)], plugins=[seen])
    if seen.by is None and code != pytest.ExitCode.OK:
        raise RuntimeError(f"pytest ended with {code!r} and no proof failed: is each of {job.proofs} there?")
    return seen.by or SURVIVED


_PATIENCE = 10


def _start(job: Job, answer: str, seconds: int) -> int:
    child = os.fork()
    if child:
        return child
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    status = 1
    with open(os.devnull, "w") as null, contextlib.redirect_stdout(null), contextlib.redirect_stderr(null):
        try:
            said = judged(job)
        except BaseException as raised:
            said = f"error: {raised!r}"
        Path(answer).write_text(json.dumps(said))
        status = 0
    os._exit(status)


def run(
    jobs: Sequence[Job], workers: int, seconds: int, tell: Callable[[int, str, float], None] = lambda *_: None
) -> list[str]:
    """What kills each of the mutants, so many at a time.

    One that takes more than these seconds of processor time, or `_PATIENCE` as many of any time, dies of `TIME_OUT`.
    Raises ``RuntimeError`` where proofs could not be run.
    """
    said = [""] * len(jobs)
    if any(direct.is_direct(job.proofs) for job in jobs):
        direct.load()  # once, here, for each of the processes
    with tempfile.TemporaryDirectory() as folder:
        waiting = iter(range(len(jobs)))
        running: dict[int, tuple[int, float]] = {}

        def fill() -> Iterator[int]:
            while len(running) < workers and (number := next(waiting, None)) is not None:
                yield number

        while True:
            for number in fill():
                running[_start(jobs[number], f"{folder}/{number}", seconds)] = number, time.monotonic()
            if not running:
                return said
            time.sleep(0.02)
            for child, (number, since) in list(running.items()):
                took = time.monotonic() - since
                ended, status = os.waitpid(child, os.WNOHANG)
                if ended == 0 and took < _PATIENCE * seconds:
                    continue
                if ended == 0:
                    os.killpg(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                answer = Path(f"{folder}/{number}")
                if ended == 0 or os.WIFSIGNALED(status):
                    said[number] = TIME_OUT
                else:
                    said[number] = json.loads(answer.read_text())
                del running[child]
                if said[number].startswith("error"):
                    raise RuntimeError(f"{jobs[number].module}: {said[number]}")
                tell(number, said[number], took)
