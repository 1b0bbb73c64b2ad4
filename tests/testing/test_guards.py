"""`GuardMachine`: it finds each fault of the sample project, none where that is guarded properly, and tells it shortly."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from sample import tools
from sample.counting import Counting, Rows
from sample.shop import Shop
from sample.stories import FEW, STORIES, machine_of, played, steps, story_of

from intervalguard import Guard, GuardError, last_event
from intervalguard.testing import Agent, GuardFault, GuardMachine, act, check_guard
from intervalguard.testing.guards import _of_stories
from intervalguard.testing.scripts import Move

# -- the sample project


def test_a_project_that_is_guarded_properly_passes() -> None:
    """No false alarm, over stories in which acts overlap, wait, are let through, and are refused."""
    seen: dict[str, set[str]] = {}

    class Watched(machine_of(tools.guarded)):  # type: ignore[misc]
        def teardown(self) -> None:
            order = [part.step for part in self._parts]
            for part in self._parts:
                seen.setdefault(part.step.move.act, set()).add(part.step.outcome)
                seen.setdefault(part.stood, set()).add(part.step.outcome)
            for one in order:
                first, last = order.index(one), len(order) - order[::-1].index(one)
                if any(order.index(other) > first and other in order[last:] for other in order[first:last]):
                    seen.setdefault("overlapped", set()).add(one.outcome)

    check_guard(Watched, settings=settings(STORIES, max_examples=40))
    refused = "The guard refused it (StaleReadError)"
    assert {"ok", refused} <= seen["refunds"] & seen["sets"]
    assert {"ok", refused} <= seen["pays"]
    assert "ok" in seen["It waited"]
    assert "ok" in seen["overlapped"]
    assert "ok" in seen["looks"]


@pytest.mark.parametrize(
    ("make_tools", "evidence"),
    [
        (tools.with_a_bare_writer, r"refunds\(.*\n   The guard's log of it: nothing\."),
        (tools.with_a_silent_payment, r"pays\(.*\n   The guard's log of it: write 'payments/\S+' ok, rests on nothing\."),
        (tools.with_names_as_they_are_spelled, r"The guard's log of it: (read|write) 'orders/042' ok"),
    ],
)
def test_each_fault_of_the_sample_is_found(make_tools: Callable[[Shop], tools.Tools], evidence: str) -> None:
    """The story is short, says what had been seen and what it was by then, and shows what the guard was not told."""
    story = story_of(machine_of(make_tools))
    assert "acted on a value that was stale, and the guard let it through." in story.splitlines()[0]
    assert len(steps(story)) <= 4
    assert len(re.findall(r"It rested on '\w+': \d+, but it was \d+ when it acted, since \w+ had changed it", story)) == 1
    assert re.search(evidence, story), story


def test_the_story_word_for_word() -> None:
    """Two looks, a change, and the act that rests on what was before it."""
    story = story_of(machine_of(tools.with_a_silent_payment))
    first, second, change, fault = steps(story)
    assert re.fullmatch(r"1\. (ann|bob): looks\(order_id='(\w+)'\)\. It saw '\w+': 10\.", first)
    assert re.fullmatch(r"2\. (ann|bob): looks\(order_id='(\w+)'\)\. It saw '\w+': 10\.", second)
    assert re.fullmatch(
        r"3\. \w+: \w+\(.*\)\. It rested on '\w+': 10\. It changed '\w+' from 10 to \d\. Its effect is '\w+-1'\.", change
    )
    assert re.fullmatch(
        r"4\. \w+: pays\(.*\)\. It rested on '\w+': 10, but it was \d when it acted, since \w+ had changed it in step 3\."
        r" It changed '\w+-2' from None to 10\. Its effect is '\w+-2'\.",
        fault,
    )


def test_a_guard_that_does_not_enforce_lets_faults_through() -> None:
    """The same tools under a guard that only warns."""

    def watching(shop: Shop) -> tools.Tools:
        made = tools.guarded(shop)
        for each in (made.get_order, made.refund, made.set_left, made.pay):
            each.__intervalguard__.asked = None  # type: ignore[attr-defined]
        return made

    assert "acted on a value that was stale" in story_of(machine_of(watching))


# -- effects


def test_a_lost_effect() -> None:
    """Two bodies that interleave overwrite each other; guarded, the second is not let in."""
    story = story_of(Counting)
    assert "acted, was told that all went well, and its effect is lost." in story
    assert story.splitlines()[2:] == [
        "1a. ann: adds(). It paused.",
        "2. bob: adds(). It changed 'counter' from 0 to 1. Its effect is 'bob-2'.",
        "1b. ann went on: adds(). Its effect is 'ann-1'.",
    ]
    check_guard(type("Guarded", (Counting,), {"guarded": True}), settings=FEW)


def test_an_effect_that_takes_place_twice() -> None:
    """One act is enough, though it says that all went well."""
    story = story_of(type("Twice", (Counting,), {"twice": True, "guarded": True}))
    assert "acted once, and its effect took place more than once." in story
    assert len(steps(story)) == 1


def test_an_effect_alone_is_one() -> None:
    """An act whose effect shows in no state is judged all the same."""

    class Mails(Counting):
        def states(self) -> Mapping[str, Any]:
            return {"address": getattr(self, "address", "here")}

        @act()
        def looks(self, agent: Agent) -> None:
            agent.sees("address", self.states()["address"])

        @act()
        def moves(self, agent: Agent) -> None:
            self.address = "there"

        @act()
        def adds(self, agent: Agent) -> None:
            agent.knows("address")
            self.add(agent.effect())

    story = story_of(type("Quick", (Mails,), {"slow": False}))
    assert "3. ann: adds(). It rested on 'address': 'here', but it was 'there' when it acted" in story


def test_a_change_that_is_taken_back() -> None:
    """What a body changed before it paused is its own change, and whoever acts in the pause acts on that."""

    class Dirty(Rows):
        @act()
        def flickers(self, agent: Agent) -> None:
            self.rows["a"] += 5
            self.pause()
            self.rows["a"] -= 5

        @act()
        async def adds(self, agent: Agent) -> None:
            self.rows["b"] = agent.knows("a")

    moves = (Move("ann", "flickers", {}, 1), Move("bob", "reads"), Move("ann"), Move("bob", "adds"))
    assert steps(played(Dirty(), *moves)) == [
        "1a. ann: flickers(). It changed 'a' from 0 to 5. It paused.",
        "2. bob: reads(). It saw 'a': 5.",
        "1b. ann went on: flickers(). It changed 'a' from 5 to 0.",
        "3. bob: adds(). It rested on 'a': 5, but it was 0 when it acted, since ann had changed it in step 1b."
        " It changed 'b' from None to 5.",
    ]


# -- ways to write tools


def test_async_tools_and_dependencies_by_hand() -> None:
    """What is said by hand holds as a session's knowledge does, and its absence is found."""
    check_guard(Rows, settings=FEW)
    assert "acted on a value that was stale" in story_of(type("Silent", (Rows,), {"says_it": False}))


def test_an_error_in_a_pause_is_not_the_outer_tool_s() -> None:
    """What another agent raises comes out of the machine, not out of the body that paused."""
    caught_by_the_body: list[Exception] = []

    class Raises(Counting):
        def add(self, reference: str) -> None:
            try:
                self.pause()
            except Exception as error:
                caught_by_the_body.append(error)
            self.applied = [*self.applied, reference]

        @act()
        def fails(self, agent: Agent) -> None:
            if len(self._running) > 1:
                raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing") as caught:
        check_guard(Raises, settings=STORIES)
    assert caught_by_the_body == []
    assert len(steps(caught.value.__notes__[0])) == 2


class Failing(Counting):
    """A tool that fails before its effect or after it; some of its agents do not take that for an answer."""

    guarded = True
    may_raise = (TimeoutError, LookupError)
    tries = 1

    def add(self, reference: str) -> None:
        self.pause()
        if self.fails == "before":
            raise LookupError("nothing was done")
        self.applied = [*self.applied, reference]
        if self.fails == "after":
            raise TimeoutError("and yet it was done")

    @act(fails=st.sampled_from(["before", "after", ""]))
    def adds(self, agent: Agent, fails: str = "") -> None:
        self.fails, reference = fails, agent.effect()
        for left in reversed(range(self.tries)):
            with suppress(TimeoutError if left else ()):
                self.tool(reference)
                break


def test_what_acts_may_raise_is_no_fault() -> None:
    """Nobody was told that all went well, so the effect may be there or not; that of a second try is one too many."""
    check_guard(Failing, settings=FEW)
    story = story_of(type("Insists", (Failing,), {"tries": 2}))
    assert "acted once, and its effect took place more than once." in story
    assert re.fullmatch(r"1\. (\w+): adds\(fails='after'\)\. .* It raised TimeoutError\.", *steps(story))
    lax = played(type("Lax", (Failing,), {"may_raise": ()})(), Move("ann", "adds", {"fails": "before"}))
    assert lax.startswith("ann raised LookupError.")


# -- what is wrong with a machine


def test_what_does_not_fit_is_said_at_once() -> None:
    """Parameters and strategies, no acts, no start, an object instead of the class."""
    with pytest.raises(TypeError, match=r"does not fit act\(order_id\): write def pay\(self, agent, order_id\)"):

        class Wrong(GuardMachine):
            @act(order_id=st.text())
            def pay(self, agent: Agent, order: str) -> None: ...

    with pytest.raises(TypeError, match=r"has no acts: put @act\(...\) above what its agents do"):
        check_guard(GuardMachine)
    with pytest.raises(NotImplementedError, match=r"has no start\(\)"):
        check_guard(type("NoStart", (Counting,), {"start": GuardMachine.start}))
    with pytest.raises(TypeError, match="is no subclass of GuardMachine"):
        check_guard(Rows())  # type: ignore[arg-type]


def test_states_that_a_read_does_not_show_are_noticed() -> None:
    """Values that could never be compared are an error of the machine's, not a fault of the guard."""

    class Shows(Rows):
        def states(self) -> Mapping[str, str]:  # type: ignore[override]
            return {name: str(value) for name, value in self.rows.items()}

    with pytest.raises(ValueError, match=r"sees\('a', 0\): the real state was never that, but '0':"):
        check_guard(Shows, settings=STORIES)


def test_an_agent_is_asked_within_its_act() -> None:
    """Not before, and not after."""
    machine = Rows()
    with pytest.raises(RuntimeError, match="'ann' is not acting"):
        machine._agents["ann"].knows("a")


def test_hostile_texts_stay_on_their_line() -> None:
    """Values and names of resources are shown escaped."""
    hostile = "\x1b[2J\n\u202ex"

    class Hostile(Counting):
        twice = True

        @act(text=st.just(hostile))
        def adds(self, agent: Agent, text: str) -> None:  # type: ignore[override]
            agent.sees(hostile, None)
            agent.knows(hostile)
            self.tool(agent.effect())

    story = story_of(Hostile)
    assert not {"\x1b", "\u202e"} & set(story)
    assert len(story.splitlines()) == 3


def test_own_writes_are_known() -> None:
    """An agent knows what it wrote, as the guard holds it to know: acting on that is no fault."""

    class Own(Rows):
        @act()
        async def adds_again(self, agent: Agent) -> None:
            value = agent.knows("a")
            await self.write("a", value + 1, depends_on=agent.depends_on)
            await self.write("a", value + 2, depends_on=[event for event in [last_event()] if event])

    check_guard(Own, settings=FEW)


def test_settings_are_made_fit_for_stories() -> None:
    """A story is long, and takes what its acts take: Hypothesis' defaults are for one short example."""
    longer = _of_stories(settings(max_examples=7))
    assert (longer.max_examples, longer.stateful_step_count, longer.deadline) == (7, 20, None)
    assert set(longer.suppress_health_check) == set(HealthCheck)
    assert _of_stories(settings(stateful_step_count=3)).stateful_step_count == 3
    assert Phase.shrink not in longer.phases


class ManyRows(GuardMachine):
    """Guarded rows, and acts that an agent loop has: it tries again, or gives up with what it was told."""

    keys = st.integers(1, 100)

    def start(self) -> Guard:
        guard = Guard()
        self.left = dict.fromkeys(range(1, 101), 10)
        self.paid: list[str] = []
        self.get = guard.tracked("rows/{key}", writes=False)(lambda key: self.left[key])
        self.take = self.guarded(guard)
        self.pay = guard.tool(writes="paid/{reference}", rests_on="rows/{key}")(self.put)
        return guard

    def guarded(self, guard: Guard) -> Callable[[int], None]:
        return guard.tracked("rows/{key}", writes=True, rests_on=[])(self.taken)

    def put(self, key: int, reference: str) -> None:
        self.paid.append(reference)

    def taken(self, key: int) -> None:
        self.left[key] -= 1

    def states(self) -> Mapping[int, int]:
        return self.left

    def effects(self) -> list[str]:
        return self.paid

    @act(key=keys)
    def looks(self, agent: Agent, key: int) -> None:
        agent.sees(key, self.get(key))

    @act(key=keys)
    def takes(self, agent: Agent, key: int) -> None:
        self.take(key)


def test_agents_meet_though_there_are_many_keys() -> None:
    """What was given to an act comes again: a writer past the guard is found among a hundred rows."""

    class Bare(ManyRows):
        def guarded(self, guard: Guard) -> Callable[[int], None]:
            return self.taken

        @act(key=ManyRows.keys)
        def pays(self, agent: Agent, key: int) -> None:
            agent.knows(key)
            self.pay(key, agent.effect())

    with pytest.raises(GuardFault, match="acted on a value that was stale"):
        check_guard(Bare, settings=settings(derandomize=True, database=None))


def test_who_looks_again_rests_on_what_it_sees_then() -> None:
    """An act that was refused, looks, and tries again acts on the second look."""

    class TriesAgain(ManyRows):
        @act(key=ManyRows.keys)
        def pays(self, agent: Agent, key: int) -> None:
            agent.knows(key)
            try:
                self.pay(key, agent.effect())
            except GuardError:
                agent.sees(key, self.get(key))
                self.pay(key, agent.effect())
                agent.gave_up()  # of the first reference

    check_guard(TriesAgain, settings=settings(FEW, stateful_step_count=20))


def test_who_gives_up_has_lost_nothing() -> None:
    """Without a word an act that caught its refusal has ended well, and its effect is missing."""

    class GivesUp(ManyRows):
        says_so = True

        @act(key=ManyRows.keys)
        def pays(self, agent: Agent, key: int) -> None:
            agent.knows(key)
            try:
                self.pay(key, agent.effect())
            except GuardError:
                if self.says_so:
                    agent.gave_up()

    class InSilence(GivesUp):
        says_so = False

    check_guard(GivesUp, settings=settings(FEW, stateful_step_count=20))
    with pytest.raises(GuardFault, match="its effect is lost"):
        check_guard(InSilence, settings=settings(STORIES, stateful_step_count=20))
