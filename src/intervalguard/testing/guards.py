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
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import chain
from typing import Any, ClassVar

from hypothesis import HealthCheck, Phase
from hypothesis import settings as Settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from ..shell.errors import GuardError
from ..shell.guard import Guard
from .agents import ARGUMENTS, Agent, KnowsNothing
from .fibers import Fiber, Time, this_fiber
from .loops import StoryLoop
from .scripts import Move, shortest
from .story import Part, Step, logged, shown, tell
from .tallies import Tally
from .waits import waits_of_a_story

_SCRIPT = "__intervalguard_script__"
_MOST_ROUNDS = 20
_MOST_MOVES = 10
"""How often somebody begins or goes on, at most, before all come to their ends."""

_STOPS = st.sampled_from((0, 1, 1, 1, 2))
"""At which pause others come in, if at any."""


class GuardFault(AssertionError):
    """A guarded tool acted on a stale value, or an effect was lost or took place twice; the message is the story."""


class GuardMachine(RuleBasedStateMachine):
    """Drives tools from several agents; subclass it, say what they do with `act`, and run it with `check_guard`.

    For each story `start` makes the world new and gives its guard. `states` looks at the real world behind the tools, and
    `effects` at the effects that took place in it. One agent acts at a time; where a body calls `pause`, as the slow parts
    of a test's fakes should, where it awaits, and where the guard lets it wait, others may begin, go on and end before it
    goes on. Time is the story's own: what waits goes on when it can, or when its time is up because it is its turn.

    A fault is an act that had an effect while what it rested on was not what the agent knew of it any more, an effect
    of an act that ended well and is not there exactly once, and any effect that is there twice. A story's cost is that of
    its acts, a look at the world at every turn, and a thread for each act.
    """

    agents: ClassVar[Sequence[str]] = ("ann", "bob")
    """The names of the agents."""

    may_raise: ClassVar[tuple[type[Exception], ...]] = ()
    """What acts may raise, as for a time-out: then nobody was told that all went well, and no effect is missed."""

    _tally: ClassVar[Tally] = Tally()

    def __init__(self) -> None:
        super().__init__()
        self._acts = {name: method for name, method in inspect.getmembers(self) if hasattr(method, ARGUMENTS)}
        if not self._acts:
            raise TypeError(f"{type(self).__name__} has no acts: put @act(...) above what its agents do")
        if not self.agents:
            raise TypeError(f"{type(self).__name__}.agents={self.agents!r} names nobody: name one agent or more")
        self._given: dict[tuple[str, str], dict[str, Any]] = {}
        self._time = Time()
        self._loop = StoryLoop(self._time)
        self._script: list[Move] = []
        self._steps: list[Step] = []
        self._running: list[Step] = []
        self._parts: list[Part] = []
        self._references = 0
        self._changed_by: dict[Hashable, Part | None] = {}
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
        fiber = this_fiber()
        if fiber is not None:
            with self._loop.stepping_out():
                fiber.pause()

    # -- how it runs

    def _round(self) -> st.SearchStrategy[list[Move]]:
        """What agents may do next. Arguments that were given before come again often, or agents would seldom meet."""

        def arguments(given: Mapping[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
            return st.fixed_dictionaries(
                {name: st.one_of(*self._again(name, strategy), strategy) for name, strategy in given.items()}
            )

        agents = st.sampled_from(list(self.agents))
        moves = [
            st.builds(Move, agents, st.just(name), arguments(getattr(method, ARGUMENTS)), _STOPS)
            for name, method in self._acts.items()
        ]
        return st.lists(st.one_of(moves), min_size=1, max_size=_MOST_MOVES)

    @rule(moves=st.runner().flatmap(lambda machine: machine._round()))
    def agents_act(self, moves: list[Move]) -> None:
        """Agents act, one after the other or at once, until all have ended what they began."""
        for move in moves:
            for name, strategy in getattr(self._acts[move.act], ARGUMENTS).items():
                value = move.arguments[name]
                self._given.setdefault((name, repr(strategy)), {}).setdefault(repr(value), value)
        self._play(moves)
        if self._wrong is not None:
            error = self._error or GuardFault(self._story())
            setattr(error, _SCRIPT, self._script)
            raise error

    def _again(self, name: str, strategy: st.SearchStrategy[Any]) -> Iterator[st.SearchStrategy[Any]]:
        """What was given in this story for a parameter of this name, of whichever act, that is drawn from the same."""
        given = self._given.get((name, repr(strategy)))
        if given:
            yield st.sampled_from(list(given.values()))

    def _to_the_end(self) -> Iterator[Move]:
        """Let all go on that are in an act: whoever need not wait first, then whose time is up first."""
        while self._running:
            first = min(self._running, key=lambda step: (not step.fiber.ready(), step.fiber.until))
            if not first.fiber.can_go_on:
                agent = first.move.agent
                self._error = RuntimeError(f"{agent!r} waits for ever: nothing in the story wakes it, and it has no timeout")
                self._blame(first, "waits for ever.")
            yield Move(first.move.agent)

    def _play(self, moves: Iterable[Move]) -> None:
        """Make these moves, and let all acts come to their ends, until something goes wrong."""
        self._context = contextvars.copy_context()
        self._look(None)
        try:
            with waits_of_a_story():
                for move in chain(moves, self._to_the_end()):
                    self._move(move)
                    if self._wrong is not None:
                        self._read_log()
                        break
        finally:
            last = self._parts[-1].step if self._parts else None
            for step in sorted(self._running, key=lambda step: step is last):
                step.fiber.close()  # first who stands: one that an interrupt left running may wait for what it holds

    def _move(self, move: Move) -> None:
        """Let an agent go on with its act, or else begin one, up to where others come in; nothing, where it can not."""
        step = self._agents[move.agent]._step
        if step is not None:
            move = Move(move.agent, stops_at=move.stops_at)
        elif move.act:
            step = self._begin(move)
        if step is None or not step.fiber.can_go_on:
            return
        self._script.append(move)
        fiber = step.fiber
        if not (self._parts and self._parts[-1].step is step):
            self._parts.append(Part(step))
        part, fiber.countdown = self._parts[-1], move.stops_at
        part.is_late |= not fiber.ready()
        while fiber.can_go_on:
            fiber.go_on()
            if fiber.done or fiber.countdown == 0 or not self._must_not_wait(step):
                break
        part.stood = "It paused" if fiber.ready() else "It waited"
        self._look(part)
        if fiber.done:
            self._end(step)

    def _must_not_wait(self, step: Step) -> bool:
        """Whether nobody else could go on while it waits."""
        return not any(each is not step and each.fiber.ready() for each in self._running)

    def _begin(self, move: Move) -> Step:
        agent = self._agents[move.agent]
        session: AbstractContextManager[Any] = nullcontext()
        if self.guard is not None:
            session = self.guard.session(agent._key, agent=agent.name, run=f"step {len(self._steps)}")
        method, arguments = self._acts[move.act], copy.deepcopy(dict(move.arguments))

        def perform() -> None:
            with session:
                result = method(agent, **arguments)
                if inspect.iscoroutine(result):
                    self._loop.run(fiber, result)

        fiber = Fiber(self._time, partial(self._context.copy().run, perform))
        step = agent._step = Step(move, fiber)
        self._steps.append(step)
        self._running.append(step)
        return step

    def _end(self, step: Step) -> None:
        """Note what became of an act, and check the effects of all."""
        error, became = step.fiber.error, "ok"
        self._running.remove(step)
        self._agents[step.move.agent]._step = None
        if error is None:
            step.outcome = "ok"
        elif isinstance(error, KnowsNothing):
            step.outcome = became = "skipped"
            self._parts = [part for part in self._parts if part.is_worth_telling]
        elif isinstance(error, Exception):
            became = self._end_badly(step, error)
        else:
            raise error
        self._tally.count(step.move.act, became)
        self._check_effects()

    def _end_badly(self, step: Step, error: Exception) -> str:
        """An act has raised: a refusal, what it may raise, a group of these, or an error that ends the test."""
        name, raised = type(error).__name__, list(_leaves(error))
        step.outcome = f"It raised {name}"
        refused = next((each for each in raised if isinstance(each, GuardError)), None)
        if not all(isinstance(each, (GuardError, *self.may_raise)) for each in raised):
            if self._wrong is None:
                self._error = error
            self._blame(step, f"raised {name}.")
        elif refused is not None:
            became = "refused it" if refused.phase == "admission" else "withheld its result"
            step.outcome = f"The guard {became} ({type(refused).__name__})"
        return "raised" if refused is None else "refused"

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
        return tell(fault, self._parts, step, self.guard is not None)

    # -- what the world really was

    def _look(self, part: Part | None) -> None:
        """Look at the world: what has changed since the last look was changed in ``part``, or by nobody in the story."""
        now = copy.deepcopy(dict(self.states()))
        was, self._world = self._world, now
        changed = [each for each in {**was, **now} if was.get(each) != now.get(each)]
        for resource in changed:
            self._history.setdefault(resource, [was.get(resource)]).append(now.get(resource))
        effects, self._effects = self._effects, list(self.effects())
        if part is not None and (changed or self._effects != effects):
            self._judge(part, was)
            agent = self._agents[part.step.move.agent]
            for resource in changed:
                part.changes.append((resource, was.get(resource), now.get(resource)))
                agent._known[resource] = now.get(resource)
                if resource in part.step.expects:
                    part.step.expects[resource] = now.get(resource)
        self._changed_by.update(dict.fromkeys(changed, part))

    def _judge(self, part: Part, was: Mapping[Hashable, Any]) -> None:
        """An act has had an effect: what it rests on must have been, until then, what the agent knew of it."""
        self._tally.checks += len(part.step.expects)
        for resource, known in part.step.expects.items():
            if was.get(resource) != known:
                part.wrong[resource] = (known, was.get(resource), self._changed_by.get(resource))
        if part.wrong:
            through = "" if self.guard is None else ", and the guard let it through"
            self._blame(part.step, f"acted on a value that was stale{through}.")

    def _check_seen(self, resource: Hashable, value: Any) -> None:
        if resource not in self._history and value is not None:
            raise ValueError(
                f"sees({shown(resource)}, {shown(value)}): states() has never had this key, but"
                f" {', '.join(map(shown, self._history)) or 'none at all'}"
            )
        held = self._history.get(resource, [None])
        if not any(each == value for each in held):
            raise ValueError(
                f"sees({shown(resource)}, {shown(value)}): the real state was never that, but"
                f" {', '.join(shown(each) for each in held)}: let states() give what a read of it gives"
            )

    def _check_effects(self) -> None:
        counts = Counter(self._effects)
        for step in self._steps:
            self._tally.checks += len(step.references)
            for reference in step.references:
                if counts[reference] > 1:
                    self._blame(step, "acted once, and its effect took place more than once.")
                elif step.outcome == "ok" and not step.gave_up and not counts[reference]:
                    self._blame(step, "acted, was told that all went well, and its effect is lost.")

    def _blame(self, step: Step, fault: str) -> None:
        self._wrong = self._wrong or (fault, step)


def check_guard(machine: type[GuardMachine], *, settings: Settings | None = None) -> None:
    """Run a machine as a test: raise `GuardFault` with the shortest story found in which something went wrong.

    Nothing can be left out of that story. ``settings`` are Hypothesis' own: ``settings(max_examples=500)`` looks at more
    stories, ``stateful_step_count`` bounds the rounds of a story (20, unless another number than Hypothesis' default is
    given), ``derandomize=True`` looks at the same stories each time. Deadlines and health checks are off: a story takes
    what its acts take. What an act raises that is no `GuardError` is raised, with its story as a note.

    Raises ``ValueError`` where no story checked anything, and warns of an act that was begun often and never got through.
    """
    __tracebackhide__ = True
    if not (isinstance(machine, type) and issubclass(machine, GuardMachine)):
        raise TypeError(f"machine={machine!r} is no subclass of GuardMachine: pass the class, not an object of it")
    tally = machine._tally = Tally()
    try:
        run_state_machine_as_test(machine, settings=_of_stories(Settings() if settings is None else settings))
    except Exception as error:
        script = getattr(error, _SCRIPT, None)
        if script is None:
            raise
        found = error
    else:
        return tally.complain(machine.__name__)
    story = _shortest_story(machine, script, type(found))
    if isinstance(found, GuardFault):
        raise GuardFault(story)
    found.__notes__ = [story]
    raise found


def _of_stories(given: Settings) -> Settings:
    """These settings for whole stories, which are shortened here and not by Hypothesis."""
    is_default = given.stateful_step_count == Settings.get_profile("default").stateful_step_count
    return Settings(
        given,
        stateful_step_count=_MOST_ROUNDS if is_default else given.stateful_step_count,
        phases=[each for each in given.phases if each not in (Phase.shrink, Phase.explain)],
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


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

    return played(shortest(script, goes_wrong))._story()


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """The errors of a group, and of the groups in it; of any other error, itself."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error
