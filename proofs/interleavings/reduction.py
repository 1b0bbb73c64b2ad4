"""What of a state no later question can depend on is forgotten, so that there are few states.

That nothing else is forgotten is a test: a search that forgets nothing finds the same states.
"""

from __future__ import annotations

from collections.abc import Sequence

from .programs import Call, Program
from .states import FINISHED, LAPSED, NOTHING, SHIPPED, WOKEN, Agent, Done, Rules, State, call_id, call_of


class Reduction:
    """``programs`` run under ``rules``. ``is_reduced`` forgets what no later question can depend on."""

    def __init__(self, programs: Sequence[Program], rules: Rules = SHIPPED, is_reduced: bool = True) -> None:
        self.programs = tuple(programs)
        self.rules = rules
        self.is_reduced = is_reduced
        self.closures = [[self._closure(each, call) for call in range(len(each.calls))] for each in self.programs]
        self._to_come = [
            [
                frozenset(
                    premise for step in each.steps[stage:] if step.do in ("begin", "look", "probe")
                    for premise in self.closures[place][step.call] | ({step.call} if step.do == "probe" else set())
                )
                for stage in range(len(each.steps) + 1)
            ]
            for place, each in enumerate(self.programs)
        ]  # fmt: skip
        self._ends = [len(each.steps) for each in self.programs]

    @staticmethod
    def _closure(program: Program, call: int) -> frozenset[int]:
        found: set[int] = set()
        stack = list(program.calls[call].rests_on)
        while stack:
            premise = stack.pop()
            if premise not in found:
                found.add(premise)
                if program.calls[premise].kind == "read":
                    stack += program.calls[premise].rests_on
        return frozenset(found)

    def is_over(self, state: State) -> bool:
        """Whether every agent has ended, and no lost write may land."""
        return all(
            agent.program < 0
            or (agent.stage == self._ends[agent.program] and all(done.outcome != "unknown" for done in agent.calls))
            for agent in state.agents
        )

    def after_refusal(self, program: Program, c: int) -> int:
        """The stage at which an agent goes on whose call did not go well: behind a nested call, and else nowhere."""
        if program.calls[c].parent is None:
            return len(program.steps)
        return 1 + max(place for place, step in enumerate(program.steps) if step.call == c)

    def is_running(self, agent: Agent, c: int) -> bool:
        """Whether the agent is within the body of this call, pending or not."""
        return any(step.call == c for step in self.programs[agent.program].steps[agent.stage:])

    def _call(self, agent: Agent, c: int) -> Call:
        return self.programs[agent.program].calls[c]

    def normal(self, state: State) -> State:
        """Wake who waits for nothing any more and, if reduced, forget what no later question can depend on.

        Forgotten are premises that nobody will rest on, settled writes that ended before every premise of their resource
        began, the rest of a body that has lost its lease and makes no call any more, and the order of endpoints that no
        rule compares: of two reads, of two settled writes, of different names.
        """
        if not self.is_reduced:
            return State(self._woken(state.agents), state.order)
        state = State(tuple(map(self._told, state.agents)), state.order)
        live = [self._live(agent) for agent in state.agents]
        since = self._seen_since(state, live)
        agents = []
        for a, agent in enumerate(state.agents):
            if agent.program >= 0:
                calls = tuple([self._kept(state, a, c, done, live[a], since) for c, done in enumerate(agent.calls)])
                if agent.stage == self._ends[agent.program] and all(done is NOTHING for done in calls):
                    agent = FINISHED
                elif calls != agent.calls:
                    agent = Agent(agent.program, agent.stage, agent.wait, calls)
            agents.append(agent)
        woken = self._woken(agents)
        return State(woken, self.in_one_order(woken, state.order, live))

    def _woken(self, agents: Sequence[Agent]) -> tuple[Agent, ...]:
        return tuple(
            agent._replace(wait=WOKEN) if agent.wait >= 0 and not _is_pending(agents, agent.wait) else agent
            for agent in agents
        )

    def _told(self, agent: Agent) -> Agent:
        """The agent behind a body that has lost its lease and makes no call any more: its change may come as a late one."""
        if agent.program < 0 or agent.stage == self._ends[agent.program]:
            return agent
        program = self.programs[agent.program]
        do, c = program.steps[agent.stage]
        if do not in ("effect", "end") or program.calls[c].kind == "read" or agent.calls[c].outcome == "pending":
            return agent
        return self._told(agent._replace(stage=self.after_refusal(program, c)))

    def _seen_since(self, state: State, live: Sequence[frozenset[int]]) -> dict[str, int]:
        """Where the first premise of each name began that is still rested on."""
        since: dict[str, int] = {}
        for place, (id, mark) in enumerate(state.order):
            a, c = call_of(id)
            if mark == "b" and c in live[a]:
                since.setdefault(self._call(state.agents[a], c).name, place)
        return since

    def _live(self, agent: Agent) -> frozenset[int]:
        """The calls that this one's pending calls and calls to come rest on."""
        if agent.program < 0:
            return _NONE
        live = self._to_come[agent.program][agent.stage]
        for c, done in enumerate(agent.calls):
            if done.outcome == "pending" or (done.outcome == "unknown" and self.rules.late_effects_count):
                live |= self.closures[agent.program][c]
        return live

    def _kept(self, state: State, a: int, c: int, done: Done, live: frozenset[int], since: dict[str, int]) -> Done:
        """What is still known of a call."""
        if done is NOTHING or self.is_running(state.agents[a], c):
            return done
        if c in live:
            return done if done.outcome == "ok" else NOTHING
        call, id = self._call(state.agents[a], c), call_id(a, c)
        if call.kind == "read" or done.outcome in ("failed", "refused", "past"):
            return NOTHING
        if done.outcome == "unknown" or (self.rules.lands_after_lapse and not done.acted):
            return Done(done.outcome, done.acted)
        end = state.order.index((id, "u" if done.outcome == LAPSED else "e"))
        return Done(done.outcome, True) if end > since.get(call.name, end) else NOTHING

    def in_one_order(
        self, agents: Sequence[Agent], order: Sequence[tuple[int, str]], live: Sequence[frozenset[int]] = ()
    ) -> tuple[tuple[int, str], ...]:
        """The endpoints of calls that are known, in the one order that stands for all that differ in what commutes.

        It is Foata's normal form: each endpoint as early as the endpoints before it allow that do not commute with it.
        """
        live = live or [self._live(agent) for agent in agents]
        levels: list[tuple[int, tuple[int, str], str, bool, bool, bool]] = []
        for endpoint in order:
            a, c = call_of(endpoint[0])
            agent = agents[a]
            if not agent.calls or agent.calls[c] is NOTHING:
                continue
            call = self.programs[agent.program].calls[c]
            name, writes, looks = call.name, call.kind == "write", c in live[a] or call.kind == "read"
            begins = writes and agent.calls[c].outcome == "pending"
            level = 0
            for before, (id, _), its_name, it_writes, it_looks, it_begins in levels:
                if before >= level and (
                    (begins and it_begins)
                    or id == endpoint[0]
                    or (its_name == name and ((writes and it_looks) or (looks and it_writes)))
                ):
                    level = before + 1
            levels.append((level, endpoint, name, writes, looks, begins))
        levels.sort()
        return tuple([each[1] for each in levels])


def _is_pending(agents: Sequence[Agent], id: int) -> bool:
    a, c = call_of(id)
    return bool(agents[a].calls) and agents[a].calls[c].outcome == "pending"


_NONE: frozenset[int] = frozenset()
