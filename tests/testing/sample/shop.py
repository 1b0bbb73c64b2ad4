"""A small project: orders with money left on them, refunds, and payments of what is left. Its tools are bare functions.

An order is spelled in many ways and is one row: ``42`` and ``042`` are the same.
"""

from __future__ import annotations

from collections.abc import Callable

ORDERS = ("42", "042", "7")


def row(order_id: str) -> str:
    """The row of an order, however it is spelled."""
    return order_id.lstrip("0")


class Shop:
    """The database behind the tools. ``pause`` is called where a real one would take its time."""

    def __init__(self, pause: Callable[[], None]) -> None:
        self.left = {"42": 10, "7": 10}
        self.paid: dict[str, int] = {}
        self.references: list[str] = []
        self._pause = pause

    def get_order(self, order_id: str) -> int:
        left = self.left[row(order_id)]
        self._pause()
        return left

    def refund(self, order_id: str, amount: int, reference: str) -> None:
        self._pause()
        self.left[row(order_id)] -= amount
        self.references.append(reference)

    def set_left(self, order_id: str, left: int, reference: str) -> None:
        self._pause()
        self.left[row(order_id)] = left
        self.references.append(reference)

    def pay(self, order_id: str, payment_id: str, amount: int) -> None:
        self._pause()
        self.paid[payment_id] = amount
        self.references.append(payment_id)
