"""Probes: a look at the current version of what a call rests on, outside every lock, before the log is asked."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ..kernel.explain import quoted
from ..kernel.staleness import Probe
from ..kernel.views import Entry, Id, Key

if TYPE_CHECKING:
    from .calls import Tool

Probes: TypeAlias = "Mapping[Id, Probe] | None"
"""What was looked at; ``None`` where there was nothing to look at."""


def probe_all(tool: Tool, keys: Sequence[Key]) -> Probes:
    """Look at each dependency of which a version is known and that has a probe."""
    probes: dict[Id, Probe] = {}
    for id, entry in _probed(tool, keys):
        try:
            start, _ = tool.guard.log.ticks()
            version = entry.origin.probe(entry.name)
            if isinstance(version, Awaitable):
                if hasattr(version, "close"):
                    version.close()
                raise TypeError(f"it is async, and {tool.name!r}, which rests on what it read, is not")
            probes[id] = Probe(_is_another(version, entry), start, *tool.guard.log.ticks())
        except Exception as error:
            _failed(tool, entry, error)
    return probes or None


async def probe_all_async(tool: Tool, keys: Sequence[Key]) -> Probes:
    """The same on an event loop, where a probe may be async."""
    probes: dict[Id, Probe] = {}
    for id, entry in _probed(tool, keys):
        try:
            start, _ = tool.guard.log.ticks()
            version = entry.origin.probe(entry.name)
            if isinstance(version, Awaitable):
                version = await version
            probes[id] = Probe(_is_another(version, entry), start, *tool.guard.log.ticks())
        except Exception as error:
            _failed(tool, entry, error)
    return probes or None


def _failed(tool: Tool, entry: Entry, error: Exception) -> None:
    told = (
        f"This call was not carried out: it rests on {quoted(entry.name)}, and the look at whether that has changed failed."
        " Nothing was changed. Try the same call again in a moment; if it fails again, ask someone for help: to read"
        f" {quoted(entry.name)} again does not mend that."
    )
    tool.fault(f"probe= of {entry.origin.tool!r} failed", error, told)


def _probed(tool: Tool, keys: Sequence[Key]) -> list[tuple[Id, Entry]]:
    found = []
    for key in keys:
        id = key[0] if type(key) is tuple else key
        entry = tool.guard.log.find(id)
        if entry is not None and entry.extra is not None and entry.extra.version is not None and entry.origin.probe:
            found.append((id, entry))
    return found


def _is_another(version: Any, read: Entry) -> bool:
    assert read.extra is not None
    return bool(version != read.extra.version)
