"""Allen's relations written by hand, from the literature and from the documents: nothing of the library is in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# The textbook's predicates (Allen 1983) of [a0, a1] to [b0, b1], meant for proper intervals.
TEXTBOOK: dict[str, Callable[[Any, Any, Any, Any], bool]] = {
    "before": lambda a0, a1, b0, b1: a1 < b0,
    "meets": lambda a0, a1, b0, b1: a1 == b0,
    "overlaps": lambda a0, a1, b0, b1: a0 < b0 < a1 < b1,
    "finished-by": lambda a0, a1, b0, b1: a0 < b0 and a1 == b1,
    "contains": lambda a0, a1, b0, b1: a0 < b0 and b1 < a1,
    "starts": lambda a0, a1, b0, b1: a0 == b0 and a1 < b1,
    "equals": lambda a0, a1, b0, b1: a0 == b0 and a1 == b1,
    "started-by": lambda a0, a1, b0, b1: a0 == b0 and b1 < a1,
    "during": lambda a0, a1, b0, b1: b0 < a0 and a1 < b1,
    "finishes": lambda a0, a1, b0, b1: b0 < a0 and a1 == b1,
    "overlapped-by": lambda a0, a1, b0, b1: b0 < a0 < b1 < a1,
    "met-by": lambda a0, a1, b0, b1: a0 == b1,
    "after": lambda a0, a1, b0, b1: b1 < a0,
}
# Vilain's (1982): of an instant p to a proper interval [b0, b1],
INSTANT_TO_INTERVAL: dict[str, Callable[[Any, Any, Any], bool]] = {
    "before": lambda p, b0, b1: p < b0,
    "starts": lambda p, b0, b1: p == b0,
    "during": lambda p, b0, b1: b0 < p < b1,
    "finishes": lambda p, b0, b1: p == b1,
    "after": lambda p, b0, b1: b1 < p,
}
# of a proper interval [a0, a1] to an instant q,
INTERVAL_TO_INSTANT: dict[str, Callable[[Any, Any, Any], bool]] = {
    "before": lambda a0, a1, q: a1 < q,
    "finished-by": lambda a0, a1, q: a1 == q,
    "contains": lambda a0, a1, q: a0 < q < a1,
    "started-by": lambda a0, a1, q: a0 == q,
    "after": lambda a0, a1, q: q < a0,
}
# of an instant p to an instant q.
INSTANT_TO_INSTANT: dict[str, Callable[[Any, Any], bool]] = {
    "before": lambda p, q: p < q,
    "equals": lambda p, q: p == q,
    "after": lambda p, q: q < p,
}


def textbook(a0: Any, a1: Any, b0: Any, b1: Any) -> set[str]:
    """All of the textbook's predicates that hold of [a0, a1] to [b0, b1]."""
    return {name for name, holds in TEXTBOOK.items() if holds(a0, a1, b0, b1)}


def by_hand(a0: Any, a1: Any, b0: Any, b1: Any) -> str:
    """The predicate that holds of [a0, a1] to [b0, b1], from the table for their kinds; it must be one."""
    if a0 == a1 and b0 == b1:
        names = {name for name, holds in INSTANT_TO_INSTANT.items() if holds(a0, b0)}
    elif a0 == a1:
        names = {name for name, holds in INSTANT_TO_INTERVAL.items() if holds(a0, b0, b1)}
    elif b0 == b1:
        names = {name for name, holds in INTERVAL_TO_INSTANT.items() if holds(a0, a1, b0)}
    else:
        names = textbook(a0, a1, b0, b1)
    (name,) = names
    return name


FIVE_BY_HAND = {
    "before": "before",
    "meets": "meets",
    "overlaps": "overlaps",
    "overlapped-by": "overlaps",
    "contains": "overlaps",
    "started-by": "overlaps",
    "finished-by": "overlaps",
    "during": "during",
    "starts": "during",
    "finishes": "during",
    "equals": "during",
    "met-by": "after",
    "after": "after",
}

CONVERSE_BY_HAND = {
    "before": "after",
    "meets": "met-by",
    "overlaps": "overlapped-by",
    "finished-by": "finishes",
    "contains": "during",
    "starts": "started-by",
    "equals": "equals",
    "started-by": "starts",
    "during": "contains",
    "finishes": "finished-by",
    "overlapped-by": "overlaps",
    "met-by": "meets",
    "after": "before",
}

LETTERS = {
    "p": "before",
    "m": "meets",
    "o": "overlaps",
    "F": "finished-by",
    "D": "contains",
    "s": "starts",
    "e": "equals",
    "S": "started-by",
    "d": "during",
    "f": "finishes",
    "O": "overlapped-by",
    "M": "met-by",
    "P": "after",
}

# Allen's table in Alspaugh's letters: a row for a to b, a column for b to c, an entry for what a can be to c.
# "con" (concurrent) is oFDseSdfO, "all" is every letter.
COMPOSITION_BY_HAND = """
      p      m      o      F      D      s      e  S      d      f      O      M      P
p     p      p      p      p      p      p      p  p      pmosd  pmosd  pmosd  pmosd  all
m     p      p      p      p      p      m      m  m      osd    osd    osd    Fef    DSOMP
o     p      p      pmo    pmo    pmoFD  o      o  oFD    osd    osd    con    DSO    DSOMP
F     p      m      o      F      D      o      F  D      osd    Fef    DSO    DSO    DSOMP
D     pmoFD  oFD    oFD    D      D      oFD    D  D      con    DSO    DSO    DSO    DSOMP
s     p      p      pmo    pmo    pmoFD  s      s  seS    d      d      dfO    M      P
e     p      m      o      F      D      s      e  S      d      f      O      M      P
S     pmoFD  oFD    oFD    D      D      seS    S  S      dfO    O      O      M      P
d     p      p      pmosd  pmosd  all    d      d  dfOMP  d      d      dfOMP  P      P
f     p      m      osd    Fef    DSOMP  d      f  OMP    d      f      OMP    P      P
O     pmoFD  oFD    con    DSO    DSOMP  dfO    O  OMP    dfO    O      OMP    P      P
M     pmoFD  seS    dfO    M      P      dfO    M  P      dfO    M      P      P      P
P     all    dfOMP  dfOMP  P      P      dfOMP  P  P      dfOMP  P      P      P      P
"""

# What each entry gains when instants are admitted; the other 163 stay as they are.
GROWN_BY_HAND = {
    ("meets", "started-by"): "finished-by",
    ("finished-by", "starts"): "meets",
    ("starts", "met-by"): "finishes",
    ("started-by", "finishes"): "met-by",
    ("finishes", "meets"): "starts",
    ("met-by", "finished-by"): "started-by",
}


def composition_by_hand() -> dict[tuple[str, str], frozenset[str]]:
    header, *rows = (line.split() for line in COMPOSITION_BY_HAND.split("\n") if line.strip())
    short = {"all": "".join(LETTERS), "con": "oFDseSdfO"}
    return {
        (LETTERS[row], LETTERS[column]): frozenset(LETTERS[letter] for letter in short.get(entry, entry))
        for row, *entries in rows
        for column, entry in zip(header, entries, strict=True)
    }
