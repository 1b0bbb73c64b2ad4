"""Two debaters, one corrector, and evidence that changes while the corrector is on its way.

    python demo/debate.py

Is there a free berth in the harbour? Two agents argue about it. A third, the corrector, looks at the berth board and
tells both what it says; it has looked, so they believe it. But looking takes time, writing the correction takes more,
and in between a ship comes in. The same minute runs twice: bare, and with the three tools guarded.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

import attrs

from intervalguard import Guard, StaleReadError, resting_on, with_event

FETCH = 0.15
"""Seconds that the corrector's look at the board takes."""
DRAFT = 0.15
"""Seconds from having looked to telling the debaters."""
SHIP = 0.07
"""Seconds from the end of the look to the ship's coming in."""


@attrs.define
class Harbour:
    """The board that tells the truth, and what the two debaters think of it."""

    board: str = "free"
    beliefs: dict[str, str] = attrs.field(factory=lambda: {"Ines": "taken", "Tomas": "free"})

    @property
    def consensus(self) -> str | None:
        views = set(self.beliefs.values())
        return views.pop() if len(views) == 1 else None


@attrs.define
class Story:
    """Prints what happens, with the seconds since the start; threads may tell it too."""

    started: float = attrs.field(factory=time.monotonic)

    def tell(self, who: str, what: str) -> None:
        print(f"  {time.monotonic() - self.started:4.2f} s  {who:<9} {what}", flush=True)


def look(harbour: Harbour) -> str:
    """Read the board, slowly: it is read first, and then the answer travels."""
    seen = harbour.board
    time.sleep(FETCH)
    return seen


def dock(harbour: Harbour) -> None:
    """A ship takes the berth, and the board is changed."""
    harbour.board = "taken"


def correct(harbour: Harbour, verdict: str) -> None:
    """Both debaters take over what the corrector tells them."""
    for debater in harbour.beliefs:
        harbour.beliefs[debater] = verdict


def opening(harbour: Harbour, story: Story) -> None:
    for debater, belief in harbour.beliefs.items():
        story.tell(debater, f'"The berth is {belief}."')


class Master:
    """The harbour master, in a thread: once it has begun, the ship is on its way."""

    def __init__(self, story: Story, dock: Callable[[], object]) -> None:
        self._story = story
        self._dock = dock
        self._thread = threading.Thread(target=self._comes_in, daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def _comes_in(self) -> None:
        time.sleep(SHIP)
        self._dock()
        self._story.tell("master", "A ship comes in. The board now says: taken.")

    def join(self) -> None:
        self._thread.join()


def bare() -> Harbour:
    """Nobody watches over the tools."""
    harbour, story = Harbour(), Story()
    master = Master(story, lambda: dock(harbour))
    opening(harbour, story)
    story.tell("corrector", "I look at the board.")
    seen = look(harbour)
    master.begin()
    story.tell("corrector", f"It said: {seen}. I write that up.")
    time.sleep(DRAFT)
    master.join()
    correct(harbour, seen)
    story.tell("corrector", f'"I have checked. The berth is {seen}."')
    story.tell("both", f'"The berth is {harbour.consensus}." The board says: {harbour.board}.')
    return harbour


def guarded() -> tuple[Harbour, StaleReadError]:
    """The same, with the tools guarded: the correction rests on the look, and says so."""
    harbour, story, guard = Harbour(), Story(), Guard()
    look_guarded = guard.tracked("harbour/berth", writes=False)(look)
    dock_guarded = guard.tracked("harbour/berth", writes=True)(dock)
    correct_guarded = guard.tracked("debate/consensus", writes=True)(correct)

    def docked() -> None:
        with guard.session(agent="harbour master"):
            dock_guarded(harbour)

    master = Master(story, docked)
    opening(harbour, story)
    story.tell("corrector", "I look at the board.")
    seen, read = with_event(look_guarded, harbour)
    master.begin()
    story.tell("corrector", f"It said: {seen}. I write that up.")
    time.sleep(DRAFT)
    master.join()
    before = dict(harbour.beliefs)
    try:
        resting_on(correct_guarded, read)(harbour, seen)
    except StaleReadError as error:
        refused = error
        story.tell("guard", f"{type(error).__name__}: {error}")
    else:
        raise AssertionError("the wrong correction went through")
    assert harbour.beliefs == before, "the body of a refused call does not run"
    story.tell("corrector", "I look again.")
    seen, read = with_event(look_guarded, harbour)
    resting_on(correct_guarded, read)(harbour, seen)
    story.tell("corrector", f'"I have checked. The berth is {seen}."')
    story.tell("both", f'"The berth is {harbour.consensus}." The board says: {harbour.board}.')
    return harbour, refused


def main() -> int:
    print("Bare:")
    harbour = bare()
    assert harbour.consensus == "free"
    assert harbour.board == "taken"
    print("They agree, with the authority of a check, on what is no longer true.\n")

    print("Guarded:")
    harbour, refused = guarded()
    (finding,) = refused.findings
    assert refused.phase == "admission"
    assert (finding.verdict, finding.reason) == ("stale", "superseded")
    assert finding.read is not None
    assert (finding.read.tool, finding.read.name) == ("look", "harbour/berth")
    assert finding.by is not None
    assert (finding.by.tool, finding.by.agent) == ("dock", "harbour master")
    assert harbour.consensus == harbour.board == "taken"
    print("The wrong correction was never made. What a model would be told:\n")
    print(refused.for_model())
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
