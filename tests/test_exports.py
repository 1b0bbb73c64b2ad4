"""The public surface, as data: what is promised is there, sorted, documented, and nothing else is."""

from __future__ import annotations

import importlib.resources
import inspect
import subprocess
import sys
from types import ModuleType

import pytest

import intervalguard
import intervalguard.files
import intervalguard.logs
import intervalguard.testing

PUBLIC = {
    "ConflictError", "Dependency", "Event", "Finding", "Guard", "GuardError", "Guarded", "Interval", "LeaseLostError",
    "Notice", "Session", "StaleReadError", "UnknownDependencyError", "check_dependencies", "clear_registry", "is_stale",
    "last_event", "registry", "relation", "resting_on", "segment", "tracked", "with_event",
}  # fmt: skip


def test_the_public_names() -> None:
    """A name is added or taken away on purpose only."""
    assert set(intervalguard.__all__) == PUBLIC
    assert set(intervalguard.logs.__all__) >= {"MemoryLog"}
    assert set(intervalguard.files.__all__) == {"EventFile", "EventFileError", "read_events", "write_events"}


@pytest.mark.parametrize(
    "module",
    [intervalguard, intervalguard.files, intervalguard.logs, intervalguard.testing],
    ids=lambda module: module.__name__,
)
def test_all_is_sorted_and_true(module: ModuleType) -> None:
    """Each name is there, and says in its docstring what it is."""
    assert list(module.__all__) == sorted(module.__all__)
    for name in module.__all__:
        public = getattr(module, name)
        assert inspect.getdoc(public if callable(public) else type(public)), name


@pytest.mark.parametrize("name", sorted(PUBLIC - {"registry"}))
def test_public_methods_are_documented(name: str) -> None:
    """Each public method and property of a public class says what holds."""
    public = getattr(intervalguard, name)
    if inspect.isclass(public):
        for method, value in vars(public).items():
            if not method.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                assert inspect.getdoc(value), f"{name}.{method}"


def test_star_import_brings_the_public_names() -> None:
    """And nothing besides."""
    namespace: dict[str, object] = {}
    exec("from intervalguard import *", namespace)
    assert set(namespace) - {"__builtins__"} == PUBLIC


def test_the_package_is_typed() -> None:
    """A type checker takes its annotations."""
    assert importlib.resources.files("intervalguard").joinpath("py.typed").is_file()


def test_importing_it_brings_in_no_more_than_it_needs() -> None:
    """Neither an event loop nor the command line's libraries: who does not use them does not wait for them."""
    code = "import intervalguard, sys; print(*sorted({'asyncio', 'rich', 'msgspec', 'subprocess'} & set(sys.modules)))"
    said = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert said.stdout.split() == []
