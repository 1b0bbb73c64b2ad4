"""The tools of the shop, guarded properly, and in three ways in which the guard does not learn what it must."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from sample.shop import Shop, row

from intervalguard import Guard


@attrs.frozen
class Tools:
    """What the agents of the shop can do, and the guard that stands before it."""

    guard: Guard
    get_order: Callable[..., Any]
    refund: Callable[..., Any]
    set_left: Callable[..., Any]
    pay: Callable[..., Any]


def order(order_id: str) -> str:
    """The name of an order: that of its row, however it is spelled."""
    return f"orders/{row(order_id)}"


def guarded(shop: Shop) -> Tools:
    """Every tool goes through the guard, says what it rests on, and names the row."""
    guard = Guard()
    return Tools(
        guard,
        guard.tool(reads=order)(shop.get_order),
        guard.tool(writes=order)(shop.refund),
        guard.tool(writes=order)(shop.set_left),
        guard.tool(writes="payments/{payment_id}", rests_on=order)(shop.pay),
    )


def with_a_bare_writer(shop: Shop) -> Tools:
    """First fault: refunds do not go through the guard."""
    return attrs.evolve(guarded(shop), refund=shop.refund)


def with_a_silent_payment(shop: Shop) -> Tools:
    """Second fault: a payment does not say that it rests on the order."""
    tools = guarded(shop)
    return attrs.evolve(tools, pay=tools.guard.tool(writes="payments/{payment_id}", rests_on=[])(shop.pay))


def with_names_as_they_are_spelled(shop: Shop) -> Tools:
    """Third fault: the name is the order's spelling, so that one row has two names."""
    guard = Guard()
    return Tools(
        guard,
        guard.tool(reads="orders/{order_id}")(shop.get_order),
        guard.tool(writes="orders/{order_id}")(shop.refund),
        guard.tool(writes="orders/{order_id}")(shop.set_left),
        guard.tool(writes="payments/{payment_id}", rests_on="orders/{order_id}")(shop.pay),
    )
