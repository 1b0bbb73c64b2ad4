"""Events as rows: how an entry of a view is kept in a table, and made from it again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from ...kernel.events import prefixes
from ...kernel.sessions import Unread
from ...kernel.views import Entry, Extra, Key
from ..calls import Origin

COLUMNS = (
    'id, call, name, kind, outcome, start, "end", start_time, end_time, due, window, rests, parent,'
    " tool, session, batch, run, agent, seen, seen_time, version, until, until_time"
)
"""The columns of an event, in the order in which `entry_of` and `row_of` have them."""

NO_LEASE = 1 << 62
"""When a call is due that has no lease: past every time."""


def entry_of(row: Sequence[Any]) -> Entry:
    """The entry that a row is kept for. O(what it rests on)."""
    (id, call, name, kind, outcome, start, end, start_time, end_time, _, window, rests, parent,
     tool, session, batch, run, agent, seen, seen_time, version, until, until_time) = row  # fmt: skip
    extra = None
    if seen_time is not None or version is not None or until_time is not None:
        extra = Extra(seen, seen_time, None if version is None else version_of(version), until, until_time)
    return Entry(
        id, name, kind, outcome, start, end, start_time, None if end is None else end_time - start_time,
        () if rests is None else keys_of(rests), window, call, parent,
        Origin(_told(tool), _told(session), _told(batch), _told(run), _told(agent)), extra,
    )  # fmt: skip


def row_of(entry: Entry, due: int | None) -> tuple[Any, ...]:
    """The row for an entry without extras: one that begins, or an outside write."""
    origin: Origin = entry.origin
    end_time = None if entry.end is None else entry.start_time + entry.took
    return (
        entry.id, entry.call, entry.name, entry.kind, entry.outcome, entry.start, entry.end, entry.start_time, end_time,
        due, entry.window, rests_of(entry.depends_on), entry.parent,
        *map(kept, (origin.tool, origin.session, origin.batch, origin.run, origin.agent)), None, None, None, None, None,
    )  # fmt: skip


def kept(text: str | None) -> str | bytes | None:
    """A text as a database keeps it: as it is, or as bytes where it is no valid Unicode. Equal ones stay equal."""
    if text is None or text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def _told(kept: str | bytes | None) -> str | None:
    return kept.decode("utf-8", "surrogatepass") if type(kept) is bytes else kept  # type: ignore[return-value]


def names_of(name: str) -> list[tuple[str, int]]:
    """Where a write to ``name`` is looked for: at the name itself, and below each name above it. O(depth)."""
    return [(name, 0), *((above, 1) for above in prefixes(name))]


def rests_of(keys: Sequence[Key]) -> str | None:
    """What a call rests on, as text. A name that resolved to nothing stays told from an id that nobody knows."""
    if not keys:
        return None
    return json.dumps([{"unread": str(key)} if type(key) is Unread else key for key in keys], separators=(",", ":"))


def keys_of(rests: str) -> tuple[Key, ...]:
    return tuple(map(_key, json.loads(rests)))


def _key(kept: Any) -> Key:
    if type(kept) is list:
        return tuple(kept)
    return Unread(kept["unread"]) if type(kept) is dict else kept


def text_of(version: Any) -> str | None:
    """A version as text, from which `version_of` makes an equal one of the same type.

    Raises ``TypeError`` for what is no ``None``, ``bool``, ``int``, ``float``, ``str`` or ``bytes``, nor a tuple or list
    of these.
    """
    return None if version is None else json.dumps(_plain(version), separators=(",", ":"))


def version_of(text: str) -> Any:
    return _made(json.loads(text))


def _plain(version: Any) -> Any:
    kind = type(version)
    if version is None or kind in (bool, int, float, str):
        return version
    if kind is bytes:
        return {"bytes": version.hex()}
    if kind in (tuple, list):
        return {kind.__name__: [_plain(each) for each in version]}
    raise TypeError(
        f"version={version!r} is a {kind.__name__}, which this log cannot keep: let version= give a str, an int, a float,"
        " a bool, bytes, or a tuple or list of these"
    )


def _made(plain: Any) -> Any:
    if type(plain) is not dict:
        return plain
    ((kind, kept),) = plain.items()
    if kind == "bytes":
        return bytes.fromhex(kept)
    made: Iterable[Any] = map(_made, kept)
    return tuple(made) if kind == "tuple" else list(made)
