"""What only a whole event file can tell: numbers that some events lack, cycles, and where each endpoint stands.

The positions are those of `intervalguard.kernel.views.Order`, each as one integer, for integers are quick to compare.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, cast

from intervalguard.kernel.events import covers
from intervalguard.kernel.explain import quoted

from .lines import Fault, given
from .reader import Reader

_PLACE = 32
"""Below so many bits of a position stands what tells apart the endpoints of one time."""
_BARE = (1 << _PLACE) - 1
"""There a bare time stands: after every endpoint of its time."""


def finish(reader: Reader) -> None:
    """Check what only the whole can tell, and give every entry its positions. Raises `Fault`. O(n log n)."""
    _check_numbers(reader)
    _check_narrowed(reader)
    _check_cycles(reader)
    if reader.end_seqs:
        _place_by_number(reader)
    else:
        _place_by_time(reader)


def _check_numbers(reader: Reader) -> None:
    without = [seq is None for seq in reader.seqs]
    if any(without) and not all(without):
        place = without.index(not without[0])
        first = f"line {reader.line_of(0)} has {'none' if without[0] else 'one'}"
        what = "seq is missing" if without[place] else f"seq={given(reader.seqs[place])}"
        words = f"{what}, but {first}: number all events of a file, or none"
        raise Fault("seq", reader.seqs[place], words, reader.line_of(place))
    if reader.end_seqs and len(reader.end_seqs) < reader.settled:
        place = next(
            place for place, entry in enumerate(reader.entries) if entry.took is not None and place not in reader.end_seqs
        )
        numbered = reader.line_of(next(iter(reader.end_seqs)))
        words = f"end_seq is missing, but line {numbered} has one: number the ends of all settled events, or of none"
        raise Fault("end_seq", None, words, reader.line_of(place))


def _check_narrowed(reader: Reader) -> None:
    for place in reader.narrowed:
        for key in reader.entries[place].depends_on:
            held = reader.ids.get(key[0]) if type(key) is tuple else None
            if held is not None and not covers(held.name, key[1]):
                words = (
                    f"depends_on has name={quoted(key[1])} for id={quoted(key[0])}, whose name={quoted(held.name)}"
                    " does not cover it: name the event itself or a part below it"
                )
                raise Fault("depends_on", {"id": key[0], "name": key[1]}, words, reader.line_of(place))


def _check_cycles(reader: Reader) -> None:
    """A cycle has an edge that does not lead to a line before, so it is enough to start from these."""
    entries, ids = reader.entries, reader.ids

    def sources(id: str) -> Iterator[str]:
        for key in ids[id].depends_on:
            source = key[0] if type(key) is tuple else key
            if source in ids:
                yield source

    cycle = _cycle((entries[place].id for place in reader.forward), sources)
    if cycle:
        words = f"depends_on is a cycle: {_told(cycle, 'rests on')}; an event rests on earlier ones"
        raise Fault("depends_on", cycle, words, reader.line_of(entries.index(ids[cycle[0]])))

    parents: dict[str, dict[str, None]] = {}
    for place in reader.nested:
        parents.setdefault(entries[place].call, {})[entries[place].parent] = None
    cycle = _cycle(parents, lambda call: iter(parents.get(call, ())))
    if cycle:
        words = f"parent is a cycle: {_told(cycle, 'was made in')}; a call is made in one that began before it"
        place = next(place for place in reader.nested if entries[place].call == cycle[0])
        raise Fault("parent", entries[place].parent, words, reader.line_of(place))


def _place_by_time(reader: Reader) -> None:
    """Positions of (time, number), as one integer each: the number of an endpoint is below that of a bare time."""
    numbers: Sequence[Any] = reader.seqs
    if not numbers or numbers[0] is None:
        numbers = range(len(reader.entries))
    elif min(numbers) < 0 or max(numbers) >= _BARE:
        ranks = {number: rank for rank, number in enumerate(sorted(set(numbers)))}
        numbers = [ranks[number] for number in numbers]
    for entry, number in zip(reader.entries, numbers, strict=True):
        entry.start = start = (entry.start_time << _PLACE) + number
        if entry.took is not None:
            entry.end = start + (entry.took << _PLACE)
    for extra in reader.extras:
        if extra.seen_time is not None:
            extra.seen = (extra.seen_time << _PLACE) + _BARE
        if extra.until_time is not None:
            extra.until = (extra.until_time << _PLACE) + _BARE


def _place_by_number(reader: Reader) -> None:
    """Positions by number. A bare time stands after the highest number up to that time, and after earlier times."""
    seqs = cast("list[int]", reader.seqs)
    for entry, seq in zip(reader.entries, seqs, strict=True):
        entry.start = seq << _PLACE
    for place, end_seq in reader.end_seqs.items():
        reader.entries[place].end = end_seq << _PLACE
    if not reader.extras:
        return
    ends = [(entry.start_time, seq) for entry, seq in zip(reader.entries, seqs, strict=True)]
    for place, end_seq in reader.end_seqs.items():
        entry = reader.entries[place]
        ends.append((entry.start_time + entry.took, end_seq))
    ends.sort()
    times = [time for time, _ in ends]
    highest = list(accumulate((number for _, number in ends), max))
    lowest = min(number for _, number in ends) - 1
    bare = sorted({time for extra in reader.extras for time in (extra.seen_time, extra.until_time) if time is not None})
    placed: dict[int | None, int | None] = {None: None}
    for rank, time in enumerate(bare, start=1):
        index = bisect_right(times, time)
        placed[time] = ((highest[index - 1] if index else lowest) << _PLACE) + rank
    for extra in reader.extras:
        extra.seen, extra.until = placed[extra.seen_time], placed[extra.until_time]


def _cycle(roots: Iterable[str], following: Callable[[str], Iterator[str]]) -> list[str]:
    """The nodes of some cycle that can be reached from ``roots``, in its order; empty if there is none. Linear."""
    done: dict[str, bool] = {}
    for root in roots:
        if root in done:
            continue
        path, walks = [root], [following(root)]
        done[root] = False
        while path:
            for node in walks[-1]:
                state = done.get(node)
                if state is None:
                    done[node] = False
                    path.append(node)
                    walks.append(following(node))
                    break
                if state is False:
                    return path[path.index(node) :]
            else:
                done[path.pop()] = True
                walks.pop()
    return []


def _told(cycle: list[str], how: str) -> str:
    """A cycle in words, a long one shortened."""
    nodes = [*cycle, cycle[0]]
    if len(nodes) > 6:
        nodes = [*nodes[:3], "...", *nodes[-2:]]
    return f" {how} ".join(each if each == "..." else quoted(each) for each in nodes)
