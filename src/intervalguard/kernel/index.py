"""An index of writes by name, that answers the questions of `View` for the present in O(depth of the name + log n).

It follows a log in the log's order: a write begins (`begin`), it ends (`finish`), an old event goes (`drop`). Each name
that was written has a node for the writes to it, each name above such a one a node for the writes below. A question
about a name looks at its own two nodes and at those of the writes to the names above it.

Nothing here is a second state: everything is a function of the events, and a test compares every answer with
`SequenceView`'s. What the closures of derived reads said is remembered, as a `Memo` at the first event of the call, and
forgotten when a write that touches one of their names begins, ends or goes; or their `Roots` are, where these are few.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import insort
from collections import OrderedDict
from collections.abc import Sequence
from copy import copy
from operator import attrgetter
from typing import Any

from .events import prefixes
from .memos import Callers, Memo, Roots
from .nodes import Ended, Node, first_of, node_of, taken_out
from .staleness import NOT_SETTLED, SUPERSEDED, Said
from .views import GONE, MISSING, Entry, Id, Key, Position, Spared

_start = attrgetter("start")

_FOUND = 4096
"""For so many names it is kept which nodes conflict with them."""


class Index(ABC):
    """A `View` of the present but for `find`, `was_dropped`, `call` and `rests_on`, which its heirs answer.

    ``names`` bounds how many names are kept for the sake of dropped writes alone.
    """

    def __init__(self, names: int | None = None) -> None:
        self._at: dict[str, Node | Entry] = {}
        self._below: dict[str, Node] = {}
        self._found: dict[str, tuple[Node, ...]] = {}
        self._unsettled: dict[Id, tuple[Node, ...]] = {}
        self._watched = False
        self._stand_ins: dict[Id, Entry] = {}
        self._floor: Position = None
        self._dropped: Position = None
        self._names = names
        self._empty: OrderedDict[str, None] = OrderedDict()
        self._heard: OrderedDict[str, None] = OrderedDict()

    @abstractmethod
    def find(self, id: Id) -> Entry | None: ...

    @abstractmethod
    def was_dropped(self, id: Id) -> bool: ...

    @abstractmethod
    def call(self, call: Id) -> Sequence[Entry]: ...

    @abstractmethod
    def rests_on(self, call: Id) -> Sequence[Key]: ...

    def is_derived(self, read: Entry) -> bool:
        return bool(self.rests_on(read.call))

    # -- what happens in the log

    def begin(self, write: Entry) -> None:
        """A write is in flight from now on. Writes begin in the order of their starts. O(depth)."""
        nodes = self._nodes_of(write.name)
        write.name = nodes[0].name
        self._unsettled[write.id] = nodes
        for node in nodes:
            if node.open is None:
                node.open = [write]
            else:
                node.open.append(write)
        if self._watched:
            self._touch(write.name, write.start)

    def finish(self, write: Entry) -> None:
        """A write, begun or not, counts from now on by its ``end`` and ``outcome``. O(depth + log n), amortized.

        What `Ended.add` and `Node.end` do for most writes is done here, for this is on the way of every call.
        """
        begun = self._unsettled.pop(write.id, None)
        nodes = begun or self._nodes_of(write.name)
        outcome, end, call = write.outcome, write.end, write.call
        if outcome == "ok":
            alone = [write]
            for node in nodes:
                if begun:
                    if node.open == alone:
                        node.open = None
                    else:
                        self._release(node, write)
                held = node.ok
                if held is None:
                    held = node.ok = Ended()
                latest = node.latest
                if latest is None or latest < end:
                    if held.peaks is None and (not held or held[-1].start <= write.start):
                        held.append(write)
                    else:
                        held.add(write)
                    if node.by != call:
                        node.before, node.by = latest, call
                    node.latest = end
                else:
                    held.add(write)
                    node.end_earlier(write)
        else:
            if begun:
                for node in nodes:
                    self._release(node, write)
            if outcome == "error":
                for node in nodes:
                    if node.errors is None:
                        node.errors = Ended()
                    node.end(node.errors, write)
            elif outcome == "unknown":
                self._unsettled[write.id] = nodes
                for node in nodes:
                    if node.lost is None:
                        node.lost = []
                    insort(node.lost, write, key=_start)
        ok = nodes[0].ok
        if ok is not None and len(ok) == 1 and nodes[0].is_single():
            self._at[nodes[0].name] = ok[0]  # not always ``write``, which may have failed
        if self._watched:
            self._touch(write.name, write.start)

    def expunge(self, write: Entry) -> None:
        """Know nothing of a write, however far it was begun or finished. O(writes to its name and the names above)."""
        self._unsettled.pop(write.id, None)
        for node in self._nodes_of(write.name):
            node.expunge(write)
        self._touch(write.name)

    def lapse(self, write: Entry) -> None:
        """A lost write can land no longer: it counts as an error that ended at ``until``. O(depth + log n)."""
        extra = write.extra
        assert extra is not None
        nodes = self._nodes_of(write.name)
        if self._unsettled.pop(write.id, None) is not None:
            for node in nodes:
                self._release(node, write)
        stand_in = copy(write)
        stand_in.outcome, stand_in.end, stand_in.memo = "error", extra.until, None
        self._stand_ins[write.id] = stand_in
        for node in nodes:
            if node.errors is None:
                node.errors = Ended()
            node.end(node.errors, stand_in)
        self._touch(write.name)

    def drop(self, event: Entry) -> None:
        """An ended event is no longer held. Amortized O(depth)."""
        event.memo = GONE
        if self._watched:
            self._touch(event.name)
        if event.kind != "write":
            return
        if self._stand_ins:
            event = self._stand_ins.pop(event.id, event)
            event.memo = GONE
        if event.outcome != "ok" and event.outcome != "error":
            self._forget_names(event.name)
            return
        if self._dropped is None or self._dropped < event.end:
            self._dropped = event.end
        for node in self._nodes_of(event.name):
            if node.dropped is None or node.dropped < event.end:
                node.dropped = event.end
            held = node.ok if event.outcome == "ok" else node.errors
            if held is not None:
                held.forget()
        self._forget_names(event.name)

    def forget_closures(self) -> None:
        """Forget everything that was remembered of closures, for what a read gave has changed. O(names)."""
        for node in (*self._at.values(), *self._below.values()):
            if isinstance(node, Node):
                self._wake(node)

    # -- the questions of a view

    def undisturbed(self, name: str, since: Position, at: Position, but: Id = None) -> bool:
        if self._dropped is not None and self._dropped >= since and self.dropped_since(name, since):
            return False
        nodes = self._found.get(name)
        for node in self._conflicting(name) if nodes is None else nodes:
            if node.open or node.lost:
                return False
            if (
                node.latest is not None
                and node.latest >= since
                and (node.by != but or (node.before is not None and node.before >= since))
            ):
                return False
        return True

    def first_after(self, name: str, after: Position, at: Position, spared: Spared) -> Entry | None:
        return first_of(node.ok.first_after(after, spared) for node in self._conflicting(name) if node.ok)

    def first_ended(self, name: str, outcome: str, since: Position, at: Position, spared: Spared) -> Entry | None:
        if outcome == "ok":
            return first_of(node.ok.first_since(since, spared) for node in self._conflicting(name) if node.ok)
        return first_of(node.errors.first_since(since, spared) for node in self._conflicting(name) if node.errors)

    def first_open(self, name: str, at: Position, spared: Spared) -> Entry | None:
        return first_of(
            next((write for write in node.open if not spared(write)), None)
            for node in self._conflicting(name)
            if node.open
        )

    def first_lost(self, name: str, at: Position, spared: Spared) -> Entry | None:
        return first_of(
            next((write for write in node.lost if not spared(write)), None)
            for node in self._conflicting(name)
            if node.lost
        )

    def dropped_since(self, name: str, since: Position) -> bool:
        if self._dropped is None or self._dropped < since:
            return False
        if self._floor is not None and self._floor >= since:
            return True
        return any(node.dropped is not None and node.dropped >= since for node in self._conflicting(name))

    def memory(self) -> Index:
        return self

    # -- closures remembered

    def is_calm(self, roots: Roots, at: Position) -> bool:
        """Whether nothing but these roots was written since each began. It may say no where it is so. O(roots)."""
        for root in roots:  # noqa: SIM110 - it is on the way of every call of an audit
            if not self.undisturbed(root.name, root.start, at, root.call):
                return False
        return True

    def recall(self, call: Id, at: Position) -> Any:
        memo = self.call(call)[0].memo
        if type(memo) is tuple:
            return None if self.is_calm(memo, at) else MISSING
        if type(memo) is not Memo or memo.said is MISSING:
            return MISSING
        said = memo.said
        if said is not None and said.grade == NOT_SETTLED and said.via.end is not None and said.via.end <= at:
            return MISSING
        return said

    def keep(self, call: Id, said: Said | None) -> None:
        first = self.call(call)[0]
        if type(first.memo) is Memo:
            first.memo.said = said
        else:
            first.memo = Memo(said)
        self._watched = True
        until = said.by.start if said is not None and said.grade == SUPERSEDED and said.by is not None else None
        for key in self.rests_on(call):
            id, name = key if type(key) is tuple else (key, None)
            source = self.find(id)
            if source is None:
                continue
            self._watch(name or source.name, first, until)
            built_on = self.call(source.call)[0]
            if type(built_on.memo) is tuple:
                for root in built_on.memo:
                    self._watch(root.name, first, until)
            elif type(built_on.memo) is Memo and built_on is not first:
                built_on.memo.build(first)

    def _watch(self, name: str, call: Entry, until: Position) -> None:
        """Forget what ``call`` says when a write to this name changes it: one that began before ``until``, if it is given.

        For what is superseded stays so, by the first write that did it.
        """
        node = self._node_at(name)
        if self._names is not None and node.dropped is None and node.empty():
            self._let_go(self._heard, name)
        for each in (node, *node.above):
            if until is None:
                if each.watchers is None:
                    each.watchers = Callers()
                each.watchers.add(call)
            else:
                if each.superseded is None:
                    each.superseded = Callers()
                each.superseded.add(call)
                if each.until is None or each.until < until:
                    each.until = until

    def _touch(self, name: str, start: Position = None) -> None:
        """A write to this name that began at ``start`` begins, ends or goes; ``None`` for whatever may change anything."""
        if self._watched:
            for node in self._conflicting(name):
                self._wake(node, start)

    def _wake(self, node: Node, start: Position = None) -> None:
        if node.watchers:
            watchers, node.watchers = node.watchers, None
            self._forget(watchers)
        if node.superseded and (start is None or start < node.until):
            watchers, node.superseded, node.until = node.superseded, None, None
            self._forget(watchers)

    def _forget(self, calls: list[Entry]) -> None:
        """Forget what the closures of these calls said, and of those built on them. O(what is forgotten)."""
        stack = list(calls)
        while stack:
            memo = stack.pop().memo
            if type(memo) is Memo:
                if memo.said is not MISSING:
                    memo.said = MISSING
                if memo.above is not None:
                    stack += memo.above if isinstance(memo.above, Callers) else [memo.above]
                    memo.above = None

    # -- nodes

    def _node_at(self, name: str) -> Node:
        """The node for the writes to ``name``, made where there is none; a name written once has its write in its place."""
        held = self._at.get(name)
        if isinstance(held, Node):
            return held
        self._found.clear()
        node = Node(name) if held is None else node_of(held)
        above = []
        for prefix in prefixes(name):
            under = self._below.get(prefix)
            if under is None:
                under = self._below[prefix] = Node(prefix)
            if held is None:
                under.names += 1
            above.append(under)
        node.above = tuple(above)
        node.all = (node, *above)
        self._at[node.name] = node
        return node

    def _nodes_of(self, name: str) -> tuple[Node, ...]:
        node = self._at.get(name)
        return node.all if isinstance(node, Node) else self._node_at(name).all

    def _conflicting(self, name: str) -> tuple[Node, ...]:
        """The nodes of the writes that conflict with ``name``, kept until there is a new node or one less."""
        nodes = self._found.get(name)
        if nodes is None:
            if len(self._found) >= _FOUND:
                self._found.clear()
            held = [self._at.get(name), self._below.get(name), *map(self._at.get, prefixes(name))]
            nodes = tuple(each if isinstance(each, Node) else node_of(each) for each in held if each is not None)
            self._found[name] = nodes
        return nodes

    def _release(self, node: Node, write: Entry) -> None:
        """Take a write out of those that have not ended, or that may still land."""
        if node.open is not None and taken_out(node.open, write):
            node.open = node.open or None
        elif node.lost is not None and taken_out(node.lost, write):
            node.lost = node.lost or None

    def _forget_names(self, name: str) -> None:
        """Keep at most ``names`` names for dropped writes alone; older ones are merged into one bound for all."""
        node = self._at.get(name)
        if self._names is not None and isinstance(node, Node) and node.empty():
            self._let_go(self._empty, name)

    def _let_go(self, kept: OrderedDict[str, None], name: str) -> None:
        """Keep the nodes of ``name`` and of at most ``names`` in all, which have no writes; nothing is said of older ones.

        ``kept`` are those with writes that were dropped, or those that are there for their watchers alone.
        """
        assert self._names is not None
        kept[name] = None
        kept.move_to_end(name)
        while len(kept) > self._names:
            oldest, _ = kept.popitem(last=False)
            old = self._at.get(oldest)
            if not isinstance(old, Node) or not old.empty() or (old.dropped is not None and kept is self._heard):
                continue
            self._wake(old)
            self._found.clear()
            del self._at[oldest]
            for under in old.above:
                under.names -= 1
                if not under.names:
                    del self._below[under.name]
            if old.dropped is not None and (self._floor is None or self._floor < old.dropped):
                self._floor = old.dropped
