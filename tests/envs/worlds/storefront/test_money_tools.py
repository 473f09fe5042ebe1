"""Refunds, approvals and store credit: what each call writes, and every way in which it is refused."""

import pytest

from palaestra.envs.worlds.storefront.policy import POLICY, paid_cents
from palaestra.envs.worlds.storefront.schema import Customer, Employee, Order, OrderLine, Payment, Refund
from palaestra.records import Json
from worlds.support_desk import SupportDesk

LIMIT = POLICY.agent_limit_cents


@pytest.fixture
def desk() -> SupportDesk:
    return SupportDesk()


def pending(desk: SupportDesk) -> Refund:
    """A refund over the agent's limit that an agent has asked for."""
    line = desk.fresh_line(least_cents=LIMIT + 20_000)
    [refund_id] = desk.write("request_refund_approval", **refund(line, 1, LIMIT + 1), approver_id=approver(desk).id)
    return desk.state.get(Refund, refund_id)


def approver(desk: SupportDesk) -> Employee:
    return desk.pick(Employee, lambda e: e.rank == "supervisor")


def refund(line: OrderLine, quantity: int, amount_cents: int, reason: str = "damaged") -> dict[str, Json]:
    return {"line_id": line.id, "quantity": quantity, "amount_cents": amount_cents, "reason": reason}


# Refunds of goods


def test_a_refund_pays_the_payment_back_and_counts_the_pieces(desk: SupportDesk) -> None:
    line = desk.fresh_line(pieces=2, least_cents=500, most_cents=20_000)
    order, moment = desk.order(line), desk.clock.now
    written = desk.write("issue_refund", **refund(line, 1, 500))
    new = desk.state.find(Refund, order_id=order.id)[-1]
    assert written == {
        line.id: {"returned": 1},
        desk.payment(order).id: {"refunded_cents": 500},
        new.id: {
            "id": new.id,
            "order_id": order.id,
            "line_id": line.id,
            "payment_id": desk.payment(order).id,
            "quantity": 1,
            "amount_cents": 500,
            "reason": "damaged",
            "status": "paid",
            "approver_id": None,
            "created": moment,
        },
    }


def test_a_refund_of_more_pieces_than_are_left_is_refused(desk: SupportDesk) -> None:
    line = desk.fresh_line(pieces=2, most_cents=10_000)
    desk.write("issue_refund", **refund(line, line.quantity - 1, 1))
    refusal = desk.refused("issue_refund", **refund(line, 2, 1))
    assert refusal.code == "bad_quantity"
    assert refusal.message == f"{line.id} has 1 piece(s) left to refund or return, not 2"


def test_a_refund_of_more_than_was_paid_for_the_pieces_is_refused(desk: SupportDesk) -> None:
    line = desk.pick(OrderLine, lambda x: desk.is_untouched(x) and desk.order(x).discount_cents > 0)
    most = paid_cents(desk.order(line), line, 1)
    refusal = desk.refused("issue_refund", **refund(line, 1, most + 1))
    assert refusal.code == "over_paid"
    assert refusal.message.startswith(f"1 piece(s) of {line.id} cost EUR {most // 100}.{most % 100:02d};")


def test_a_refund_above_the_agents_limit_is_refused_at_the_first_cent(desk: SupportDesk) -> None:
    line = desk.fresh_line(least_cents=LIMIT + 20_000)
    refusal = desk.refused("issue_refund", **refund(line, 1, LIMIT + 1))
    assert refusal.code == "over_limit"
    assert refusal.message == "EUR 300.01 is above your limit of EUR 300.00; ask for approval"
    desk.write("issue_refund", **refund(line, 1, LIMIT))


def test_a_refund_of_an_order_that_was_not_captured_is_refused(desk: SupportDesk) -> None:
    order = desk.pick(Order, lambda o: o.status == "processing")
    line = desk.pick(OrderLine, lambda x: x.order_id == order.id)
    refusal = desk.refused("issue_refund", **refund(line, 1, 1))
    assert refusal.code == "nothing_to_refund"
    assert refusal.message == f"{order.id} has no captured payment with money left to give back"


def test_a_refund_of_more_than_the_payment_has_left_is_refused(desk: SupportDesk) -> None:
    line = desk.fresh_line(least_cents=1_000, most_cents=20_000)
    payment = desk.payment(desk.order(line))
    while (left := payment.amount_cents - payment.refunded_cents) > 10:
        desk.write("refund_payment", payment_id=payment.id, amount_cents=min(left - 10, LIMIT), reason="billing_error")
        payment = desk.payment(desk.order(line))
    refusal = desk.refused("issue_refund", **refund(line, 1, 11))
    assert refusal.code == "over_paid"
    assert refusal.message == f"{payment.id} has EUR 0.10 left to give back, not EUR 0.11"


def test_pieces_refunded_one_by_one_cost_no_more_than_the_line_nor_than_they_cost_alone(desk: SupportDesk) -> None:
    def rounds(line: OrderLine) -> bool:
        order = desk.order(line)
        whole = paid_cents(order, line, line.quantity) if desk.is_untouched(line) else 0
        return whole not in (0, line.quantity * paid_cents(order, line, 1)) and line.unit_cents < LIMIT

    line = desk.pick(OrderLine, rounds)
    order, paid = desk.order(line), 0
    for piece in range(line.quantity):
        alone = paid_cents(order, line, 1)
        assert desk.refused("issue_refund", **refund(line, 1, alone + 1)).code == "over_paid"
        due = min(alone, paid_cents(order, line, piece + 1) - paid_cents(order, line, piece))
        desk.write("issue_refund", **refund(line, 1, due))
        paid += due
    assert paid_cents(order, line, line.quantity) - line.quantity < paid <= paid_cents(order, line, line.quantity)


def test_money_goes_back_to_the_payment_that_has_some_left(desk: SupportDesk) -> None:
    order = desk.pick(Order, lambda o: [p.refunded_cents for p in desk.state.find(Payment, order_id=o.id)] == [0, 0])
    first, second = desk.state.find(Payment, order_id=order.id)
    while (left := first.amount_cents - first.refunded_cents) > 0:
        desk.write("refund_payment", payment_id=first.id, amount_cents=min(left, LIMIT), reason="billing_error")
        first = desk.state.get(Payment, first.id)
    line = desk.pick(OrderLine, lambda x: x.order_id == order.id)
    assert desk.write("issue_refund", **refund(line, 1, 1))[second.id] == {"refunded_cents": 1}


# Refunds of charges


def test_a_payment_is_refunded_without_touching_a_line(desk: SupportDesk) -> None:
    payment = desk.payment(desk.order(desk.fresh_line()))
    written = desk.write("refund_payment", payment_id=payment.id, amount_cents=1, reason="lost")
    [new] = [desk.state.get(Refund, key) for key in written if key != payment.id]
    assert written[payment.id] == {"refunded_cents": 1}
    assert (new.line_id, new.quantity, new.amount_cents, new.status) == (None, 0, 1, "paid")


@pytest.mark.parametrize("status", ["authorised", "voided"])
def test_a_payment_that_was_not_captured_is_not_refunded(desk: SupportDesk, status: str) -> None:
    payment = desk.pick(Payment, lambda p: p.status == status)
    refusal = desk.refused("refund_payment", payment_id=payment.id, amount_cents=1, reason="lost")
    assert refusal.code == "not_captured"
    assert refusal.message == f"{payment.id} is {status}; only captured money can go back"


def test_a_payment_is_not_refunded_above_what_is_left_or_the_limit(desk: SupportDesk) -> None:
    small = desk.pick(Payment, lambda p: p.status == "captured" and p.amount_cents < LIMIT and not p.refunded_cents)
    big = desk.pick(Payment, lambda p: p.status == "captured" and p.amount_cents > LIMIT and not p.refunded_cents)
    more = desk.refused("refund_payment", payment_id=small.id, amount_cents=small.amount_cents + 1, reason="lost")
    assert more.code == "over_paid"
    assert small.id in more.message
    assert desk.refused("refund_payment", payment_id=big.id, amount_cents=LIMIT + 1, reason="lost").code == "over_limit"


# Approvals


def test_a_request_for_approval_pays_nothing_yet(desk: SupportDesk) -> None:
    waiting = pending(desk)
    assert (waiting.status, waiting.amount_cents, waiting.approver_id) == (
        "pending_approval",
        LIMIT + 1,
        approver(desk).id,
    )
    assert [c.table for c in desk.state.changes()] == ["refunds"]


def test_an_agent_is_no_approver(desk: SupportDesk) -> None:
    line = desk.fresh_line(least_cents=1_000)
    agent = desk.pick(Employee, lambda e: e.rank == "agent")
    refusal = desk.refused("request_refund_approval", **refund(line, 1, 1), approver_id=agent.id)
    assert refusal.code == "forbidden"
    assert refusal.message == f"{agent.id} is an agent and approves no refunds"


def test_approval_is_not_asked_for_more_than_was_paid_or_for_pieces_that_are_gone(desk: SupportDesk) -> None:
    line, boss = desk.fresh_line(least_cents=1_000), approver(desk).id
    most = paid_cents(desk.order(line), line, 1)
    over = desk.refused("request_refund_approval", **refund(line, 1, most + 1), approver_id=boss)
    gone = desk.refused("request_refund_approval", **refund(line, line.quantity + 1, 1), approver_id=boss)
    assert (over.code, gone.code) == ("over_paid", "bad_quantity")
    assert line.id in over.message
    assert line.id in gone.message


def test_approval_is_not_asked_where_no_money_was_captured(desk: SupportDesk) -> None:
    line = desk.pick(OrderLine, lambda x: desk.order(x).status == "cancelled")
    refusal = desk.refused("request_refund_approval", **refund(line, 1, 1), approver_id=approver(desk).id)
    assert refusal.code == "nothing_to_refund"
    assert line.order_id in refusal.message


def test_an_approved_refund_is_paid_and_counted(desk: SupportDesk) -> None:
    waiting = pending(desk)
    desk.context.role = "supervisor"
    assert desk.write("approve_refund", refund_id=waiting.id) == {
        waiting.line_id: {"returned": 1},
        waiting.payment_id: {"refunded_cents": LIMIT + 1},
        waiting.id: {"status": "paid"},
    }


def test_a_refund_is_approved_once(desk: SupportDesk) -> None:
    waiting = pending(desk)
    desk.context.role = "manager"
    desk.write("approve_refund", refund_id=waiting.id)
    refusal = desk.refused("approve_refund", refund_id=waiting.id)
    assert (refusal.code, refusal.message) == ("not_pending", f"{waiting.id} is paid")


def test_an_approval_that_no_longer_fits_pays_nothing(desk: SupportDesk) -> None:
    waiting = pending(desk)
    line = desk.state.get(OrderLine, waiting.line_id or "")
    desk.write("authorise_return", line_id=line.id, quantity=line.quantity, reason="damaged", fee_cents=0)
    desk.context.role = "manager"
    refusal = desk.refused("approve_refund", refund_id=waiting.id)
    assert refusal.code == "bad_quantity"
    assert line.id in refusal.message


# Store credit


def credit(order: Order, amount_cents: int = 1_500, **changed: Json) -> dict[str, Json]:
    given: dict[str, Json] = {"customer_id": order.customer_id, "order_id": order.id, "amount_cents": amount_cents}
    return {**given, "reason": "delay", **changed}


def test_credit_is_recorded_and_held_by_the_customer(desk: SupportDesk) -> None:
    order = desk.pick(Order)
    held = desk.customer(order).credit_cents
    written = desk.write("give_credit", **credit(order))
    [(key, new)] = [(k, v) for k, v in written.items() if k != order.customer_id]
    assert written[order.customer_id] == {"credit_cents": held + 1_500}
    assert new is not None
    assert key.startswith("CRD-")
    assert {k: new[k] for k in credit(order)} == credit(order)


def test_credit_for_an_order_of_somebody_else_is_refused(desk: SupportDesk) -> None:
    order = desk.pick(Order)
    other = desk.pick(Customer, lambda c: c.id != order.customer_id)
    refusal = desk.refused("give_credit", **credit(order, customer_id=other.id))
    assert refusal.code == "wrong_customer"
    assert refusal.message == f"{order.id} is not an order of {other.id}"


def test_credit_above_the_agents_limit_is_refused(desk: SupportDesk) -> None:
    order = desk.pick(Order)
    assert desk.refused("give_credit", **credit(order, LIMIT + 1)).code == "over_limit"
    desk.write("give_credit", **credit(order, LIMIT))


@pytest.mark.parametrize("amount", [0, -1, 10_000_001])
def test_an_amount_outside_the_schema_is_refused_by_name(desk: SupportDesk, amount: int) -> None:
    line = desk.fresh_line()
    for tool, arguments in (
        ("issue_refund", refund(line, 1, amount)),
        ("give_credit", credit(desk.order(line), amount)),
        ("refund_payment", {"payment_id": "PAY-10001", "amount_cents": amount, "reason": "lost"}),
    ):
        refusal = desk.refused(tool, **arguments)
        assert refusal.code == "invalid_arguments"
        assert refusal.message.startswith("amount_cents: Input should be ")


# Reading it back


def test_what_was_paid_credited_and_approved_can_be_read(desk: SupportDesk) -> None:
    waiting = pending(desk)
    order = desk.state.get(Order, waiting.order_id)
    desk.write("give_credit", **credit(order))
    [payment] = desk.read("get_payments", order_id=order.id)["payments"]
    refunds = desk.read("get_refunds", order_id=order.id)["refunds"]
    credits_ = desk.read("get_credits", customer_id=order.customer_id)["credits"]
    assert payment["id"] == waiting.payment_id
    assert [r["status"] for r in refunds if r["id"] == waiting.id] == ["pending_approval"]
    assert credits_[-1]["amount_cents"] == 1_500
    assert desk.read("get_customer", customer_id=order.customer_id)["credit_cents"] >= 1_500
