"""An agent of a story: what it has seen, what it rests on when it acts, and what it can do."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from hypothesis import strategies as st

from ..kernel.events import Event
from ..shell.running import last_event
from .story import Part, Step

if TYPE_CHECKING:
    from .guards import GuardMachine

_F = TypeVar("_F", bound=Callable[..., Any])
_T = TypeVar("_T")

ARGUMENTS = "__intervalguard_act__"
"""The attribute of an act that holds the strategies of its arguments."""


class KnowsNothing(Exception):
    """An agent has not seen what it would act on."""


def act(**arguments: st.SearchStrategy[Any]) -> Callable[[_F], _F]:
    """Make a method of a `GuardMachine` something that its agents do: ``def pay(self, agent, order_id)``, sync or async.

    ``arguments`` are strategies for its parameters after ``self`` and the `Agent`. An act is one decision of an agent:
    what it looks up with `Agent.knows`, it rests on. A `GuardError` that it raises is a refusal, which is no fault;
    anything else that it raises is one, unless `GuardMachine.may_raise` names it.

    Raises ``TypeError`` at decoration where the parameters are not those.
    """

    def mark(method: _F) -> _F:
        names = list(inspect.signature(method).parameters)
        if len(names) < 2 or sorted(names[2:]) != sorted(arguments):
            raise TypeError(
                f"{method.__qualname__}({', '.join(names)}) does not fit act({', '.join(arguments)}): write"
                f" def {method.__name__}({', '.join(['self', 'agent', *arguments])})"
            )
        setattr(method, ARGUMENTS, arguments)
        return method

    return mark


class Agent:
    """One agent of a story, as its acts see it: what it has seen, and what it rests on when it acts."""

    def __init__(self, machine: GuardMachine, name: str) -> None:
        self.name = name
        self._key = uuid4().hex
        self._machine = machine
        self._known: dict[Hashable, Any] = {}
        self._events: dict[Hashable, Event | None] = {}
        self._step: Step | None = None

    def sees(self, resource: Hashable, value: _T) -> _T:
        """Note that the agent has just been shown ``value`` as the state of ``resource``, and give it back.

        The resource is a key of `GuardMachine.states`. An act that has looked it up already rests on what it sees from here
        on. Raises ``ValueError`` for a value that the resource never had in
        this story: then ``states`` does not give what a read gives, and nothing could be compared.
        """
        part = self._part()
        self._machine._look(part)
        self._machine._check_seen(resource, value)
        self._known[resource] = part.seen[resource] = copy.deepcopy(value)
        if resource in part.step.expects:
            part.step.expects[resource] = self._known[resource]
        self._events[resource] = last_event()
        return value

    def knows(self, resource: Hashable) -> Any:
        """What the agent last saw of ``resource``, or made of it: the act rests on it from here on.

        An agent that has seen nothing of it does not act: the act ends here, and is not told.
        """
        part = self._part()
        self._machine._look(part)
        if resource not in self._known:
            raise KnowsNothing(resource)
        part.premises[resource] = part.step.expects[resource] = self._known[resource]
        return copy.deepcopy(self._known[resource])

    @property
    def depends_on(self) -> list[Event]:
        """The events of what the act rests on, for tools that are given ``depends_on=`` and know no sessions."""
        events = [self._events.get(resource) for resource in self._acting().expects]
        return [event for event in events if event is not None]

    def effect(self) -> str:
        """A new reference for an effect of this act, to be given to the tool and shown by `GuardMachine.effects`."""
        step = self._acting()
        self._machine._references += 1
        step.references.append(f"{self.name}-{self._machine._references}")
        return step.references[-1]

    def gave_up(self) -> None:
        """Say that the act ends without what it was to do, as after an error that it caught: no effect of it is missed."""
        self._acting().gave_up = True

    def _part(self) -> Part:
        self._acting()
        return self._machine._parts[-1]

    def _acting(self) -> Step:
        if self._step is None:
            raise RuntimeError(f"{self.name!r} is not acting: an agent is asked within its act")
        return self._step
