"""Agents that run programs over one log, as a machine whose every step asks the shipped admission rule.

A state holds what each agent is about to do, what became of its calls, and the order of the endpoints in the log. Each
question is put to the shipped `admit` or `settle` over a view of exactly these events; nothing of the rule is
restated here. What is restated is the world: an effect makes every value of that resource that another agent saw before
a superseded one, whatever the log says. The invariant compares the two.

A lease may run out at any moment while the call is pending, which it then is no more: the log takes it for unknown, its
pins and the waits for it end, and its agent, who knows nothing of that, goes on to the end of the body, where it is told.
What a lost write does, it does until the time has come until which it may land, and never after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from intervalguard.kernel.admission import Admit, Decision, Refuse, Settlement, Wait
from intervalguard.kernel.staleness import REASONS, Claim, Probe
from intervalguard.kernel.views import Entry, Extra

from .breadth_first import Move
from .reduction import Reduction
from .states import CLEARED, IMPATIENT, LAPSED, NOT_WAITING, NOTHING, WOKEN, Agent, Done, LogOf, State, call_id, call_of

SUPERSEDED_EFFECT = "and its premise is superseded"
SUPERSEDED_RESULT = "and what it was derived from is superseded"
SETTLED_LATE = "and can settle without it"


class Machine(Reduction):
    """Agents that run the programs under the rules, every interleaving of them."""

    def starts(self, agents: int) -> list[State]:
        """Every choice of a program for each agent."""
        return [
            State(tuple(Agent(each, 0, NOT_WAITING, (NOTHING,) * len(self.programs[each].calls)) for each in chosen), ())
            for chosen in product(range(len(self.programs)), repeat=agents)
        ]

    # -- the log of a state

    def view(self, state: State) -> LogOf:
        """The events of a state, each endpoint at its place in the order."""
        place = {endpoint: number for number, endpoint in enumerate(state.order)}
        entries = []
        for a, agent in enumerate(state.agents):
            for c, done in enumerate(agent.calls):
                if done.outcome in ("", "past"):
                    continue
                id = call_id(a, c)
                call = self.programs[agent.program].calls[c]
                until = place.get((id, "u"))
                outcome = "unknown" if done.outcome == LAPSED else done.outcome
                start, end = place[id, "b"], place.get((id, "e"))
                keys = tuple(call_id(a, each) for each in call.rests_on)
                parent = None if call.parent is None else call_id(a, call.parent)
                extra = None if until is None else Extra(until=until, until_time=0)
                entries.append(
                    Entry(id, call.name, call.kind, outcome, start, end, 0, 0, keys, None, id, parent, None, extra)
                )
        return self.rules.view(entries)

    def claim(self, state: State, a: int, c: int) -> Claim:
        """The call as admission sees it."""
        agent = state.agents[a]
        call = self.programs[agent.program].calls[c]
        probes = {}
        for premise in call.rests_on:
            done = agent.calls[premise]
            if done.probe:
                id = call_id(a, premise)
                seen = state.order.index((id, "p"))
                probes[id] = Probe(done.probe == "another", seen, seen, 0)
        return Claim(
            call_id(a, c),
            None if call.parent is None else call_id(a, call.parent),
            tuple(call_id(a, each) for each in call.rests_on),
            probes or None,
        )

    # -- questions

    def asking(self, state: State) -> Iterator[tuple[int, int]]:
        """The agents that are about to ask for a write, with the call that it is."""
        for a, agent in enumerate(state.agents):
            if agent.program >= 0 and agent.stage < self._ends[agent.program] and agent.wait != CLEARED:
                do, c = self.programs[agent.program].steps[agent.stage]
                if do == "begin" and self._call(agent, c).kind == "write":
                    yield a, c

    def decide(self, view: LogOf, state: State, a: int, c: int, waited: bool = False) -> Decision:
        """What the rules say to an agent that asks for a call."""
        call = self._call(state.agents[a], c)
        touches = ((call.name, call.kind, None),)
        return self.rules.admit(
            view, self.claim(state, a, c), touches, self.rules.least, len(state.order), 0, waited
        )

    def settled(self, view: LogOf, state: State, a: int, c: int, outcome: str) -> Settlement:
        """What the rules say to an agent whose call ends so."""
        first = view.find(call_id(a, c))
        return self.rules.settle(view, first, self.claim(state, a, c), outcome, self.rules.least, len(state.order), 0)

    # -- moves

    def moves(self, state: State) -> Iterator[Move[State]]:
        """Every step that some agent, a lost write, or time can take."""
        views: list[LogOf] = []

        def view() -> LogOf:
            if not views:
                views.append(self.view(state))
            return views[0]

        for a, agent in enumerate(state.agents):
            if agent.program < 0:
                continue
            for c, done in enumerate(agent.calls):
                if done.outcome == "pending" and self._call(agent, c).kind == "write":
                    yield self._loses_its_lease(state, a, c)
                elif done.outcome in ("unknown", LAPSED):
                    yield from self._lost_moves(state, a, c, done)
            steps = self.programs[agent.program].steps
            if agent.stage < len(steps):
                do, c = steps[agent.stage]
                if do in ("begin", "look"):
                    yield from self._asking_moves(state, view, a, c)
                elif do in ("effect", "end") and self._call(agent, c).kind == "write":
                    yield from self._write_moves(state, view, a, c)
                elif do == "end":
                    yield self._read_ends(state, view, a, c)
                elif do == "past":
                    yield self._move(state, a, "writes past the guard:", c, agent.stage + 1, Done("past"), effect=True)
                elif do == "see":
                    done = Done("pending", True)
                    yield self._move(state, a, "sees", c, agent.stage + 1, done)
                else:
                    done = agent.calls[c]
                    said = "another" if done.is_old else "equal"
                    yield self._move(
                        state, a, f"finds an {said} version of" if said == "equal" else "finds another version of",
                        c, agent.stage + 1, done._replace(probe=said), mark="p",
                    )  # fmt: skip

    def _asking_moves(self, state: State, view: Callable[[], LogOf], a: int, c: int) -> Iterator[Move[State]]:
        agent = state.agents[a]
        if agent.wait == CLEARED:
            yield self._recorded(state, a, c, "records that it begins to")
        elif agent.wait == NOT_WAITING:
            yield self._ask(state, view, a, c, "asks to", False)
        else:
            if agent.wait == WOKEN:
                yield self._ask(state, view, a, c, "is woken, asks to", False)
            last = self._ask(state, view, a, c, "gives up waiting, asks to", True)
            yield last._replace(gives_up=agent.wait >= 0)

    def _ask(self, state: State, view: Callable[[], LogOf], a: int, c: int, words: str, waited: bool) -> Move[State]:
        agent = state.agents[a]
        program = self.programs[agent.program]
        call = program.calls[c]
        decision = self.decide(view(), state, a, c, waited)
        if isinstance(decision, Admit):
            if self.rules.is_atomic or call.kind == "read":
                return self._recorded(state, a, c, words, ": admitted")
            return self._set(state, a, agent._replace(wait=CLEARED), f"{words} {call.kind} {call.name}: cleared")
        if isinstance(decision, Wait) and not waited:
            blocker = decision.blocker.id if decision.patient else IMPATIENT
            whom = f"waits for {'abc'[call_of(decision.blocker.id)[0]]}" if decision.patient else "may not wait"
            return self._set(state, a, agent._replace(wait=blocker), f"{words} {call.kind} {call.name}: {whom}")
        why = max((REASONS[raw.grade] for raw in decision.findings), key=REASONS.index, default="conflict")
        return self._set(
            state, a, agent._replace(wait=NOT_WAITING, stage=self.after_refusal(program, c)),
            f"{words} {call.kind} {call.name}: refused, {why}",
        )  # fmt: skip

    def _recorded(self, state: State, a: int, c: int, words: str, said: str = "") -> Move[State]:
        agent = state.agents[a]
        call = self._call(agent, c)
        is_whole = self.programs[agent.program].steps[agent.stage].do == "look"
        id = call_id(a, c)
        done = Done("ok", True) if is_whole else Done("pending")
        after = agent._replace(wait=NOT_WAITING, stage=agent.stage + 1, calls=_with(agent.calls, c, done))
        order = (*state.order, (id, "b"), (id, "e")) if is_whole else (*state.order, (id, "b"))
        return self._set(state._replace(order=order), a, after, f"{words} {call.kind} {call.name}{said}")

    def _read_ends(self, state: State, view: Callable[[], LogOf], a: int, c: int) -> Move[State]:
        agent = state.agents[a]
        program = self.programs[agent.program]
        decision = self.settled(view(), state, a, c, "ok")
        if decision is None:
            return self._told_late(state, a, c)
        if isinstance(decision, Refuse):
            return self._move(state, a, "is not given", c, len(program.steps), Done("refused"), mark="e")
        done = agent.calls[c]._replace(outcome="ok")
        returned = self._move(state, a, "has read", c, agent.stage + 1, done, mark="e")
        is_superseded = any(agent.calls[each].is_old for each in self.closures[agent.program][c])
        return returned._replace(broken=SUPERSEDED_RESULT if is_superseded else None)

    def _write_moves(self, state: State, view: Callable[[], LogOf], a: int, c: int) -> Iterator[Move[State]]:
        agent = state.agents[a]
        program = self.programs[agent.program]
        done = agent.calls[c]
        is_late = done.outcome != "pending"
        if not done.acted and (not is_late or self._may_land(done)):
            acted = done._replace(acted=True)
            yield self._move(state, a, "changes", c, agent.stage + 1, acted, effect=True, is_late=is_late)
        settled = 1 + max(place for place, step in enumerate(program.steps) if step.call == c)
        outcomes = ("ok", "error", "unknown") if done.acted else ("failed", "error", "unknown")
        recorded = [each for each in outcomes if self.settled(view(), state, a, c, each) is not None]
        for outcome in recorded:
            stage = settled if outcome == "ok" else self.after_refusal(program, c)
            yield self._move(
                state, a, f"settles as {outcome} its write of", c, stage, done._replace(outcome=outcome), mark="e"
            )
        if len(recorded) < len(outcomes):
            yield self._told_late(state, a, c)

    def _loses_its_lease(self, state: State, a: int, c: int) -> Move[State]:
        agent = state.agents[a]
        lost = agent._replace(calls=_with(agent.calls, c, agent.calls[c]._replace(outcome="unknown")))
        after = State((*state.agents[:a], lost, *state.agents[a + 1 :]), (*state.order, (call_id(a, c), "e")))
        view = self.view(after)
        is_settled = any(self.settled(view, after, a, c, outcome) is not None for outcome in ("ok", "error", "failed"))
        words = f"{'abc'[a]} loses the lease of {self._call(agent, c).name}"
        return Move(words, self.normal(after), SETTLED_LATE if is_settled else None, gives_up=True)

    def _told_late(self, state: State, a: int, c: int) -> Move[State]:
        agent = state.agents[a]
        stage = self.after_refusal(self.programs[agent.program], c)
        return self._move(state, a, "is told that it lost the lease of", c, stage, agent.calls[c])

    def _may_land(self, done: Done) -> bool:
        return done.outcome == "unknown" or self.rules.lands_after_lapse

    def _lost_moves(self, state: State, a: int, c: int, done: Done) -> Iterator[Move[State]]:
        agent = state.agents[a]
        is_running = self.is_running(agent, c)
        if not done.acted and not is_running and self._may_land(done):
            yield self._move(
                state, a, "late, changes", c, agent.stage, done._replace(acted=True), effect=True, is_late=True
            )
        if done.outcome == "unknown":
            lapsed = done._replace(outcome=LAPSED)
            yield self._move(state, a, "can no longer change", c, agent.stage, lapsed, mark="u")
        if done.outcome == "unknown" and (done.acted or not is_running):
            order = tuple(each for each in state.order if each != (call_id(a, c), "e"))
            for outcome in ("ok", "error") if done.acted else ("failed", "error"):
                yield self._move(
                    state._replace(order=order), a, f"learns to be {outcome} its lost write of", c, agent.stage,
                    done._replace(outcome=outcome), mark="e",
                )  # fmt: skip

    # -- what a move leads to

    def _move(
        self,
        state: State,
        a: int,
        words: str,
        c: int,
        stage: int,
        done: Done,
        mark: str | None = None,
        effect: bool = False,
        is_late: bool = False,
    ) -> Move[State]:
        """The agent's call becomes ``done``; an effect makes what others saw of that resource old."""
        agents = list(state.agents)
        agent = agents[a]
        name = self._call(agent, c).name
        broken = None
        if effect:
            if not is_late or self.rules.late_effects_count:
                premises = (agent.calls[each] for each in self.closures[agent.program][c])
                if any(each.is_old for each in premises):
                    broken = SUPERSEDED_EFFECT
            for o, each in enumerate(agents):
                if o != a and each.program >= 0:
                    agents[o] = each._replace(calls=tuple(self._aged(each, k, name) for k in range(len(each.calls))))
        agents[a] = agent._replace(stage=stage, calls=_with(agent.calls, c, done))
        order = state.order if mark is None else (*state.order, (call_id(a, c), mark))
        return Move(f"{'abc'[a]} {words} {name}", self.normal(State(tuple(agents), order)), broken)

    def _aged(self, agent: Agent, k: int, name: str) -> Done:
        done = agent.calls[k]
        if done.acted and self._call(agent, k).name == name:
            return done._replace(is_old=True)
        return done

    def _set(self, state: State, a: int, agent: Agent, words: str) -> Move[State]:
        agents = (*state.agents[:a], agent, *state.agents[a + 1 :])
        return Move(f"{'abc'[a]} {words}", self.normal(State(agents, state.order)))


def _with(calls: tuple[Done, ...], c: int, done: Done) -> tuple[Done, ...]:
    return (*calls[:c], done, *calls[c + 1 :])
