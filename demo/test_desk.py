"""Tests of two small tools, with what the pytest plugin gives. Run: python -m pytest demo/test_desk.py"""

import pytest

from intervalguard import Guard, StaleReadError, last_event


def tools(guard):
    @guard.tracked("orders/{order_id}", 30, writes=False)
    def get_order(order_id):
        return {"left": 10}

    @guard.tracked("orders/{order_id}", writes=True)
    def refund(order_id):
        return "refunded"

    return get_order, refund


def test_an_old_read_is_refused(intervalguard_guard, intervalguard_clock):
    get_order, refund = tools(intervalguard_guard)
    get_order("42")
    intervalguard_clock.advance(31)
    with pytest.raises(StaleReadError, match="past its validity window of 30s"):
        refund("42", depends_on=last_event())


def test_two_refunds(intervalguard_guard):
    observing = Guard(intervalguard_guard.log, mode="observe")
    get_order, refund = tools(observing)
    get_order("42")
    seen = last_event()
    refund("42", depends_on=seen)
    refund("42", depends_on=seen)
