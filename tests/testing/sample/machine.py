"""What the agents of the shop do, and how the shop is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from hypothesis import strategies as st
from sample.shop import ORDERS, Shop, row
from sample.tools import Tools, guarded

from intervalguard import Guard
from intervalguard.testing import Agent, GuardMachine, act

orders = st.sampled_from(ORDERS)


class ShopMachine(GuardMachine):
    """Agents look at orders, refund one unit, set what is left, and pay what they saw."""

    make_tools: ClassVar[Any] = staticmethod(guarded)

    def start(self) -> Guard:
        self.shop = Shop(self.pause)
        self.tools: Tools = self.make_tools(self.shop)
        guard: Guard = self.tools.guard
        return guard

    def states(self) -> Mapping[str, int]:
        return {**self.shop.left, **self.shop.paid}

    def effects(self) -> list[str]:
        return self.shop.references

    @act(order_id=orders)
    def looks(self, agent: Agent, order_id: str) -> None:
        agent.sees(row(order_id), self.tools.get_order(order_id))

    @act(order_id=orders)
    def refunds(self, agent: Agent, order_id: str) -> None:
        if agent.knows(row(order_id)) > 0:
            self.tools.refund(order_id, 1, agent.effect())

    @act(order_id=orders, left=st.integers(0, 9))
    def sets(self, agent: Agent, order_id: str, left: int) -> None:
        agent.knows(row(order_id))
        self.tools.set_left(order_id, left, agent.effect())

    @act(order_id=orders)
    def pays(self, agent: Agent, order_id: str) -> None:
        left = agent.knows(row(order_id))
        self.tools.pay(order_id, agent.effect(), left)
