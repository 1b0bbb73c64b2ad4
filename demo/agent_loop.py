"""An agent loop whose model plays a script, in a session, with the calls of one message in parallel.

    python demo/agent_loop.py

The model is to pay orders from a gift card. Twice the world moves under it. A colleague adds an item to an order whose
price the model has read; and two payments that it asks for in one message want the same money. Each time the guard
refuses the call before it runs. The loop hands the error's ``for_model()`` to the model as the result of its call; the
model reads again and decides again. The model is a script here. The loop around it is what one writes for a real one.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attrs

from intervalguard import Guard, GuardError, StaleReadError

guard = Guard()

ORDERS = {"42": 20, "43": 30}
"""What each order costs."""
CARDS = {"gift": 60, "bank": 500}
"""What is left on each card."""
PAID: list[tuple[str, str, int]] = []


# -- the tools


@guard.tracked("orders/{order_id}", writes=False)
def get_order(order_id: str) -> int:
    """What an order costs."""
    time.sleep(0.02)
    return ORDERS[order_id]


@guard.tracked("cards/{card_id}", writes=False)
def get_card(card_id: str) -> int:
    """What is left on a card."""
    time.sleep(0.02)
    return CARDS[card_id]


@guard.tool(writes="cards/{card_id}", rests_on=["orders/{order_id}", "cards/{card_id}"])
def pay(order_id: str, card_id: str, amount: int) -> str:
    """Pay an order. What the conversation has read of the order and of the card must still be true."""
    time.sleep(0.05)
    CARDS[card_id] -= amount
    PAID.append((order_id, card_id, amount))
    return f"paid {amount} for order {order_id} from {card_id}"


@guard.tracked("orders/{order_id}", writes=True)
def add_item(order_id: str, price: int) -> None:
    """Add an item to an order."""
    ORDERS[order_id] += price


TOOLS: dict[str, Callable[..., Any]] = {"get_order": get_order, "get_card": get_card, "pay": pay}


# -- the loop


@attrs.frozen
class Call:
    """One tool call that a model asks for."""

    tool: str
    arguments: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.tool}({', '.join(map(repr, self.arguments))})"


@attrs.frozen
class Result:
    """What became of it: the text for the model, and the error, if it was refused."""

    call: Call
    text: str
    error: GuardError | None = None


Model = Callable[[list[Result]], list[Call]]


def run(model: Model, between: Callable[[int], object]) -> list[list[Result]]:
    """Ask the model, run what it asks for in parallel, tell it what came of it, until it asks for nothing."""
    turns: list[list[Result]] = []
    results: list[Result] = []
    session = guard.session("checkout", agent="cashier")
    with ThreadPoolExecutor() as pool:
        while calls := model(results):
            print(f"turn {len(turns) + 1}")
            with session, session.turn():
                running = [pool.submit(session.bind(perform), call) for call in calls]
                results = [each.result() for each in running]
            for each in results:
                print(f"  {each.call}")
                print("\n".join(f"      {line}" for line in each.text.splitlines()))
            turns.append(results)
            between(len(turns))
    return turns


def perform(call: Call) -> Result:
    try:
        return Result(call, str(TOOLS[call.tool](*call.arguments)))
    except GuardError as error:
        return Result(call, error.for_model(), error)


# -- the script


@attrs.define
class Cashier:
    """Plays the model. It knows what it was told, pays what it knows, and reads again what it is told to read again."""

    orders: dict[str, int | None]
    cards: dict[str, int | None]

    def __call__(self, results: list[Result]) -> list[Call]:
        for each in results:
            self.learn(each)
        unread = [Call("get_order", (each,)) for each, price in self.orders.items() if price is None]
        unread += [Call("get_card", (each,)) for each, balance in self.cards.items() if balance is None]
        return unread or self.payments()

    def learn(self, result: Result) -> None:
        match result:
            case Result(Call("get_order", (str(order),)), text, None):
                self.orders[order] = int(text)
            case Result(Call("get_card", (str(card),)), text, None):
                self.cards[card] = int(text)
            case Result(Call("pay", (str(order), _, _)), _, None):
                del self.orders[order]
            case Result(_, text):
                for what, key in re.findall(r"Read '(\w+)/(\w+)'(?: with tool '\w+')? again", text):
                    {"orders": self.orders, "cards": self.cards}[what][key] = None

    def payments(self) -> list[Call]:
        """Each order from the gift card, if that has enough for it by itself; else from the bank."""
        calls = []
        for order, price in self.orders.items():
            gift = self.cards["gift"]
            assert price is not None
            assert gift is not None
            calls.append(Call("pay", (order, "gift" if price <= gift else "bank", price)))
        return calls


def main() -> int:
    cashier = Cashier(orders={"42": None}, cards={"gift": None, "bank": None})

    def between(turn: int) -> None:
        if turn == 1:
            with guard.session("sales", agent="colleague"):
                add_item("42", 20)
            print("(a colleague adds an item for 20 to order 42)")
        if turn == 2:
            cashier.orders["43"] = None
            print("(the customer hands in order 43 too)")

    turns = run(cashier, between)
    print(f"paid: {', '.join(f'{amount} for {order} from {card}' for order, card, amount in PAID)}; left: {CARDS}")

    # Turn 2 would have paid 20 for an order that costs 40.
    (first,) = turns[1]
    assert isinstance(first.error, StaleReadError)
    assert first.error.phase == "admission"
    (finding,) = first.error.findings
    assert finding.by is not None
    assert (finding.by.name, finding.by.agent) == ("orders/42", "colleague")
    assert "Read 'orders/42'" in first.text

    # Turn 4 asked for 40 and for 30 from a card that has 60: one went through, whichever came first.
    assert [str(each.call) for each in turns[3]] == ["pay('42', 'gift', 40)", "pay('43', 'gift', 30)"]
    (second,) = [each for each in turns[3] if each.error is not None]
    assert isinstance(second.error, StaleReadError)
    assert "Read 'cards/gift'" in second.text

    # The other was paid from the bank once the model had seen what was left; everything was paid once, at its price.
    assert sorted((order, amount) for order, _, amount in PAID) == [("42", 40), ("43", 30)]
    assert sorted(card for _, card, _ in PAID) == ["bank", "gift"]
    assert min(CARDS.values()) >= 0
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
