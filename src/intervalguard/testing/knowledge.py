"""What a log says that a session knows, held against what the session's own events say."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from ..kernel.events import Event
from ..kernel.sessions import Unread
from ..kernel.staleness import Claim, Grade, Raw
from ..kernel.views import Key, Position
from .account import Account
from .agreement import Agreement, check
from .reference import key_of, rests, rests_by_itself, simplest, sources


class Turn:
    """A moment that is kept: the log's position, and the last number that had been given then."""

    def __init__(self, position: Position, highest: int) -> None:
        self.position = position
        self.highest = highest


def check_knowledge(
    account: Account,
    agreement: Agreement,
    turns: Sequence[Turn],
    sessions: Sequence[str],
    names: Sequence[str],
    random: Random,
) -> None:
    """What each session rests on that names these resources, by now and by one of the turns; and what it must read again."""
    check_stale = len(account.held) == len(account.truth)
    for session in sessions:
        own = [each for each in account.truth.values() if each.session == session and each.outcome == "ok"]
        own.sort(key=lambda each: each.end_seq or 0)
        for turn in (None, random.choice(turns)) if turns else (None,):
            known = own if turn is None else [each for each in own if (each.end_seq or 0) <= turn.highest]
            until = None if turn is None else turn.position
            for name in names:
                asked = agreement.log.resting(session, [name], until)
                _check_keys(account, agreement, session, name, "resting", rests(known, name), asked)
                asked = agreement.log.resting_by_itself(session, [name], until)
                _check_keys(account, agreement, session, name, "resting_by_itself", rests_by_itself(known, name), asked)
        if check_stale:
            _check_stale(agreement, session, own)


def _check_keys(
    account: Account,
    agreement: Agreement,
    session: str,
    name: str,
    question: str,
    expected: set[tuple[str, str]] | None,
    keys: Sequence[Key],
) -> None:
    told = f"{question}({session!r}, [{name!r}]) gives {[agreement.public(key) for key in keys]}"
    if len(account.held) < len(account.truth) and _has_forgotten(account, agreement, keys):
        return
    if expected is None:
        check(
            [str(key) for key in keys] == [name] and type(keys[0]) is Unread,
            f"{told}, and nothing that it knows covers that: it is Unread({name!r})",
        )
        return
    unread = [key for key in keys if type(key) is Unread]
    check(not unread, f"{told}, and the session knows {sorted(expected)}, as (call, the part that counts)")
    found = {_part(account, agreement.public(key)) for key in keys}
    check(
        simplest(found) == simplest(expected),
        f"{told}, as (call, the part that counts): {sorted(found)}, and what the session knows of it is {sorted(expected)}",
    )


def _has_forgotten(account: Account, agreement: Agreement, keys: Sequence[Key]) -> bool:
    """Whether an answer is of a session of which the log has dropped something: it keeps of that what it has room for."""
    ids = [key[0] if type(key) is tuple else key for key in keys]
    if any(type(id) is Unread or agreement.log.find(id) is None for id in ids):
        return True
    known = {(e.session, e.name, e.id in account.held) for e in account.truth.values() if e.session and e.outcome == "ok"}
    gone = [each for each in known if not each[2] and (*each[:2], True) not in known]
    return account.max_events is not None and len(gone) > account.max_events


def _part(account: Account, key: Key) -> tuple[str, str]:
    id, part = key if type(key) is tuple else (key, None)
    event = account.truth[id]
    return event.call, part or event.name


def _check_stale(agreement: Agreement, session: str, own: Sequence[Event]) -> None:
    expected: dict[str, Grade] = {}
    reference = agreement.reference
    for name in {event.name for event in own}:
        keys = [key_of(event, name) for event in sources(own, name) or ()]
        _take_worst(expected, agreement.findings_of(reference, Claim(None, None, keys)), agreement)
    found: dict[str, Grade] = {}
    raws = list(agreement.log.stale(session, None))
    _take_worst(found, raws, agreement)
    check(
        found == expected,
        f"stale({session!r}) finds {_told(found, agreement)}, and it is {_told(expected, agreement)} that this session"
        " must read again",
    )


def _take_worst(worst: dict[str, Grade], raws: Sequence[Raw], agreement: Agreement) -> None:
    for raw in raws:
        id = raw.dependency if isinstance(raw.dependency, str) else agreement.log.id_of(raw.dependency)
        call = agreement.truth[id].call
        worst[call] = max(worst.get(call, -1), raw.grade)


def _told(worst: dict[str, Grade], agreement: Agreement) -> Any:
    return [f"{agreement.said(call)} {agreement.reason(grade)}" for call, grade in sorted(worst.items())]
