"""A machine that drives guarded tools from several agents in random interleavings, and tells what went wrong as a story.

What an agent saw, what it acted on and what the world really was are noted by the machine, without asking the guard. So
it finds what the guard was not told: a writer that goes past it, an act that does not say what it rests on, a name that
is not the resource's.
"""

from __future__ import annotations

import contextvars
import copy
import inspect
from collections import Counter
from collections.abc import Callable, Coroutine, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, ClassVar

from hypothesis import Phase
from hypothesis import settings as Settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from ..shell.calls import Tool
from ..shell.errors import GuardError
from ..shell.guard import Guard
from .agents import ARGUMENTS, Agent, KnowsNothing
from .scripts import Move, shortest
from .story import Step, logged, shown, tell

_SCRIPT = "__intervalguard_script__"
_MOST_ACTS = 20
_AT_ONE_PAUSE = 3
"""How many acts of others at most come in at one pause."""


class GuardFault(AssertionError):
    """A guarded tool acted on a stale value, or an effect was lost or took place twice; the message is the story."""


class GuardMachine(RuleBasedStateMachine):
    """Drives tools from several agents; subclass it, say what they do with `act`, and run it with `check_guard`.

    For each story `start` makes the world new and gives its guard. `states` looks at the real world behind the tools, and
    `effects` at the effects that took place in it. The agents act in turns; where a body calls `pause`, as the slow parts
    of a test's fakes should, others may act before it goes on. Nothing waits meanwhile: the time to wait is up at once.

    A fault is an act that had an effect while what it rested on was not what the agent knew of it any more, an effect
    of an act that ended well and is not there exactly once, and any effect that is there twice. A story's cost is that of
    its acts, and two looks at the world for each.
    """

    agents: ClassVar[Sequence[str]] = ("ann", "bob")
    """The names of the agents."""

    def __init__(self) -> None:
        super().__init__()
        self._acts = {name: method for name, method in inspect.getmembers(self) if hasattr(method, ARGUMENTS)}
        if not self._acts:
            raise TypeError(f"{type(self).__name__} has no acts: put @act(...) above what its agents do")
        self._draw: Callable[[st.SearchStrategy[Any]], Any] | None = None
        self._script: list[Move] = []
        self._steps: list[Step] = []
        self._running: list[Step] = []
        self._references = 0
        self._changed_by: dict[Hashable, Step | None] = {}
        self._wrong: tuple[str, Step] | None = None
        self._error: Exception | None = None
        self.guard = self.start()
        self._world: dict[Hashable, Any] = copy.deepcopy(dict(self.states()))
        self._history = {resource: [state] for resource, state in self._world.items()}
        self._effects = list(self.effects())
        self._agents = {name: Agent(self, name) for name in self.agents}

    # -- what a user says

    def start(self) -> Guard | None:
        """Make the world new, and give the guard of its tools; ``None`` where they have none."""
        raise NotImplementedError(f"{type(self).__name__} has no start(): make the world there, and return its guard")

    def states(self) -> Mapping[Any, Any]:
        """The real state of every resource, by a key of one's own, as a read of it would show it now; ``None`` if gone."""
        raise NotImplementedError(f"{type(self).__name__} has no states(): return the real state of every resource")

    def effects(self) -> Iterable[str]:
        """The references (`Agent.effect`) of all effects that have taken place, each as often as it did."""
        return ()

    def pause(self) -> None:
        """To be called in the middle of a tool's body: other agents may act before it goes on."""
        if not self._running:
            return
        step = self._running[-1]
        step.pauses += 1
        inside = step.move.inside
        if self._draw is not None:
            for _ in range(_AT_ONE_PAUSE):
                if self._wrong or not self._idle() or not self._draw(st.booleans()):
                    return
                move = self._drawn(self._draw)
                inside.setdefault(step.pauses, []).append(move)
                self._move(move)
        else:
            for move in inside.get(step.pauses, ()):
                self._move(move)

    # -- how it runs

    @rule(data=st.data())
    def agent_acts(self, data: st.DataObject) -> None:
        """An agent does something, and where that pauses others do."""
        self._draw = data.draw
        move = self._drawn(data.draw)
        self._script.append(move)
        self._play([move])
        if self._wrong is not None:
            self._read_log()
            error = self._error or GuardFault(self._story())
            setattr(error, _SCRIPT, self._script)
            raise error

    def _play(self, moves: Iterable[Move]) -> None:
        """Make these moves, one after the other, until something goes wrong."""
        self._context = contextvars.copy_context()
        with _nothing_waits():
            for move in moves:
                self._look(None)
                self._move(move)
                if self._wrong is not None:
                    break

    def _drawn(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> Move:
        agent = draw(st.sampled_from(self._idle()))
        name = draw(st.sampled_from(sorted(self._acts)))
        strategies = getattr(self._acts[name], ARGUMENTS)
        return Move(agent.name, name, {each: draw(strategy) for each, strategy in strategies.items()})

    def _idle(self) -> list[Agent]:
        return [agent for agent in self._agents.values() if agent._step is None]

    def _move(self, move: Move) -> None:
        agent = self._agents[move.agent]
        during = self._running[-1] if self._running else None
        if during is not None:
            self._look(during)
        step = Step(move, during)
        session = self._session(agent)
        self._steps.append(step)
        self._running.append(step)
        agent._step = step
        try:
            self._context.copy().run(_perform, session, self._acts[move.act], agent, copy.deepcopy(dict(move.arguments)))
            step.outcome = "ok"
        except KnowsNothing:
            step.outcome = "skipped"
        except GuardError as error:
            became = "refused it" if error.phase == "admission" else "withheld its result"
            step.outcome = f"The guard {became} ({type(error).__name__})"
        except Exception as error:
            step.outcome = f"It raised {type(error).__name__}"
            if self._wrong is None:
                self._error = error
            self._blame(step, f"raised {type(error).__name__}.")
        finally:
            agent._step = None
            self._running.pop()
        self._look(step)
        self._check_effects()

    def _session(self, agent: Agent) -> AbstractContextManager[Any]:
        """The conversation of an agent, its calls marked as those of the next step."""
        if self.guard is None:
            return nullcontext()
        return self.guard.session(agent._key, agent=agent.name, run=f"step {len(self._steps)}")

    def _read_log(self) -> None:
        """Note what the guard's log tells of each step."""
        if self.guard is None:
            return
        events = self.guard.log.events()
        names = {event.id: event.name for event in events}
        steps = {(self._agents[step.move.agent]._key, f"step {at}"): step for at, step in enumerate(self._steps)}
        for event in events:
            step = steps.get((event.session or "", event.run or ""))
            if step is not None:
                step.logged.append(logged(event, names))

    def _story(self) -> str:
        assert self._wrong is not None
        fault, step = self._wrong
        return tell(fault, self._steps, step, self.guard is not None)

    # -- what the world really was

    def _look(self, step: Step | None) -> None:
        """Look at the world: what has changed since the last look was changed by ``step``, or by nobody in the story."""
        now = copy.deepcopy(dict(self.states()))
        was, self._world = self._world, now
        changed = [each for each in {**was, **now} if was.get(each) != now.get(each)]
        for resource in changed:
            self._history.setdefault(resource, [was.get(resource)]).append(now.get(resource))
        effects, self._effects = self._effects, list(self.effects())
        if step is not None and (changed or self._effects != effects):
            self._judge(step, was)
            agent = self._agents[step.move.agent]
            for resource in changed:
                step.changes.append((resource, was.get(resource), now.get(resource)))
                agent._known[resource] = now.get(resource)
                if resource in step.expects:
                    step.expects[resource] = now.get(resource)
        self._changed_by.update(dict.fromkeys(changed, step))

    def _judge(self, step: Step, was: Mapping[Hashable, Any]) -> None:
        """An act has had an effect: what it rests on must have been, until then, what the agent knew of it."""
        for resource, known in step.expects.items():
            if was.get(resource) != known:
                step.wrong[resource] = (was.get(resource), self._changed_by.get(resource))
        if step.wrong:
            through = "" if self.guard is None else ", and the guard let it through"
            self._blame(step, f"acted on a value that was stale{through}.")

    def _check_seen(self, resource: Hashable, value: Any) -> None:
        held = self._history.get(resource, [None])
        if not any(each == value for each in held):
            raise ValueError(
                f"sees({shown(resource)}, {shown(value)}): the real state was never that, but"
                f" {', '.join(shown(each) for each in held)}: let states() give what a read of it gives"
            )

    def _check_effects(self) -> None:
        counts = Counter(self._effects)
        for step in self._steps:
            for reference in step.references:
                if counts[reference] > 1:
                    self._blame(step, "acted once, and its effect took place more than once.")
                elif step.outcome == "ok" and not counts[reference]:
                    self._blame(step, "acted, was told that all went well, and its effect is lost.")

    def _blame(self, step: Step, fault: str) -> None:
        self._wrong = self._wrong or (fault, step)


def check_guard(machine: type[GuardMachine], *, settings: Settings | None = None) -> None:
    """Run a machine as a test: raise `GuardFault` with the shortest story found in which something went wrong.

    Nothing can be left out of that story. ``settings`` are Hypothesis' own: ``settings(max_examples=500)`` looks at more
    stories, ``stateful_step_count`` bounds a story's acts (20 unless it is given), ``derandomize=True`` looks at the same
    stories each time. What an act raises that is no `GuardError` is raised, with its story as a note.
    """
    __tracebackhide__ = True
    if not (isinstance(machine, type) and issubclass(machine, GuardMachine)):
        raise TypeError(f"machine={machine!r} is no subclass of GuardMachine: pass the class, not an object of it")
    chosen = Settings(machine.TestCase.settings, stateful_step_count=_MOST_ACTS) if settings is None else settings
    phases = [each for each in chosen.phases if each not in (Phase.shrink, Phase.explain)]
    try:
        run_state_machine_as_test(machine, settings=Settings(chosen, phases=phases))
    except Exception as error:
        script = getattr(error, _SCRIPT, None)
        if script is None:
            raise
        found = error
    else:
        return
    story = _shortest_story(machine, script, type(found))
    if isinstance(found, GuardFault):
        raise GuardFault(story)
    found.__notes__ = [story]
    raise found


def _shortest_story(machine: type[GuardMachine], script: Sequence[Move], kind: type[Exception]) -> str:
    """The story of the shortest script that ends as this one does, in a fault or in an error of this kind."""

    def played(moves: Sequence[Move]) -> GuardMachine:
        again = machine()
        again._play(moves)
        return again

    def goes_wrong(moves: Sequence[Move]) -> bool:
        again = played(moves)
        error = again._error
        return again._wrong is not None and (GuardFault if error is None else type(error)) is kind

    last = played(shortest(script, goes_wrong))
    last._read_log()
    return last._story()


def _perform(
    session: AbstractContextManager[Any], method: Callable[..., Any], agent: Agent, arguments: Mapping[str, Any]
) -> None:
    """Let an agent act in its session, to the end."""
    with session:
        result = method(agent, **arguments)
        if inspect.iscoroutine(result):
            _to_the_end(method.__qualname__, result)


def _to_the_end(name: str, coroutine: Coroutine[Any, Any, Any]) -> None:
    """Run a coroutine that waits for nothing; others act where it calls `GuardMachine.pause`."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    coroutine.close()
    raise TypeError(
        f"{name}() waits for an event loop, of which a story has none: let the test's fakes call"
        " machine.pause() where they would wait"
    )


@contextmanager
def _nothing_waits() -> Iterator[None]:
    """While it lasts, the time that a call may wait is up at once.

    Who is in its way stands still below it on the same stack, so a wait would always last to its end.
    """
    wait = Tool._wait

    def ask_once(tool: Tool, asked: Any, decision: Any) -> Any:
        return tool._ask(asked, True)

    Tool._wait = ask_once  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        Tool._wait = wait  # type: ignore[method-assign]
