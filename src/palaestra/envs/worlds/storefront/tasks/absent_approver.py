"""A refund waits for a colleague who went on leave: whoever stands in gets a note, and nothing is asked for twice."""

from datetime import datetime, time, timedelta

from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront.authority import at_work_covering, newcomer, on_leave_covering, stand_ins
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls, decline_calls
from palaestra.envs.worlds.storefront.schema import Employee, InternalMessage, OrderLine, Refund, Ticket
from palaestra.records import ToolCall
from palaestra.rubrics import Allowance, Criterion, expect_read, expect_row, forbid_call

ASKED_DAYS = 6


@family("storefront/absent-approver", level=3, traits=("write", "multi-hop", "policy-exception"), twin=True)
def absent_approver(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        arrived = desk.days_since_delivery(desk.order(line)) or 0
        dear = line.quantity == 1 and desk.paid_cents(line, 1) > desk.policy.agent_limit_cents
        return dear and arrived > ASKED_DAYS + 1 and desk.is_untouched(line)

    line = desk.pick(OrderLine, fits, what="piece that cost more than an agent may refund")
    order, product = desk.order(line), desk.product(line)
    customer = desk.customer(order)
    body = desk.word_body(
        "waiting-refund",
        (
            f"You promised me my money for the {product.name} from {order.id}, and nothing has come. What is wrong?",
            f"A week ago I reported the faulty {product.name} of {order.id}. My refund had to be approved. Was it?",
        ),
        product=product.name,
        order=order.id,
    )
    ticket = desk.ticket(customer, desk.word_subject("waiting-refund", "Where is my refund?"))
    prompt = desk.mail(ticket, body)
    opening = [
        call("get_order", order_id=order.id),
        call("get_customer", customer_id=customer.id),
        call("get_refunds", order_id=order.id),
        call("read_handbook", section_id="REF-2"),
    ]
    amount = desk.paid_cents(line, 1)
    if amount <= desk.planting_policy.supervisor_limit_cents and desk.stream.chance(50):
        desk.state.update(newcomer(desk), approval_limit_cents=amount + desk.stream.between(1, 2_000))
    if desk.twin:
        return refusal(desk, ticket, prompt, pending(desk, line, at_work_covering(desk, amount)), opening)
    refund = pending(desk, line, on_leave_covering(desk, amount))
    deputies = stand_ins(desk, amount)
    team, rank = deputies[0].team, deputies[0].rank
    read = call("read_handbook", section_id="WHO-2")
    colleagues = call("search_employees", team=team, rank=rank)
    note = call(
        "send_internal_message",
        recipient_id=deputies[0].id,
        ticket_id=ticket.id,
        body=f"{refund.id} of {order.id} waits for approval. Please decide on it.",
    )
    work = [
        note,
        *closing_calls(
            ticket,
            f"Your refund for {order.id} has not been approved yet. A colleague who stands in will decide on it.",
        ),
    ]
    facts = ["saw-account", "saw-refund", "saw-colleagues", "read-REF-2", "read-WHO-2"]
    to = {"recipient_id": frozenset(e.id for e in deputies), "ticket_id": ticket.id}
    return Task(
        prompt=prompt,
        rubric=[
            *forbid_second_refund(line),
            desk.account(customer),
            expect_read(refund, id="saw-refund"),
            desk.colleague(deputies[0], id="saw-colleagues"),
            desk.read("REF-2"),
            desk.read("WHO-2"),
            expect_row(
                InternalMessage, to, id="note", text="Wrote to whoever stands in, about this ticket.", after=facts
            ),
            *desk.expect_resolved(ticket, after=["note"]),
        ],
        oracle=[*opening, colleagues, read, *work],
        alternatives=[[read, opening[-1], call("search_employees", team=team), *opening[:-1], *work]],
    )


def pending(desk: Desk, line: OrderLine, approver: Employee) -> Refund:
    """Add the refund that waits."""
    order = desk.order(line)
    [payment] = desk.payments(order)
    asked = datetime.combine(desk.today - timedelta(days=ASKED_DAYS), time(15, 20))
    return desk.state.insert(
        Refund(
            id=desk.state.next_id(Refund),
            order_id=order.id,
            line_id=line.id,
            payment_id=payment.id,
            quantity=1,
            amount_cents=desk.paid_cents(line, 1),
            reason="faulty",
            status="pending_approval",
            approver_id=approver.id,
            created=asked,
        )
    )


def forbid_second_refund(line: OrderLine) -> list[Criterion]:
    """Forbid a second refund beside the one that waits, asked for or paid."""
    return [
        forbid_call("request_refund_approval", arguments={"line_id": line.id}, id="never-asked-again"),
        forbid_call("issue_refund", "refund_payment", id="never-paid"),
    ]


def refusal(desk: Desk, ticket: Ticket, prompt: str, refund: Refund, opening: list[ToolCall]) -> Task:
    """The approver is at work, so that their decision is waited for."""
    assert refund.approver_id is not None, "it waits for somebody"
    approver = desk.state.get(Employee, refund.approver_id)
    line = desk.state.get(OrderLine, refund.line_id or "")
    colleagues = call("search_employees", team=approver.team, rank=approver.rank)
    read = call("read_handbook", section_id="WHO-2")
    close = decline_calls(
        ticket,
        "REF-2",
        refund,
        f"Your refund for {refund.order_id} was asked for and still waits for approval. It cannot be paid before that.",
    )
    reminder = call(
        "send_internal_message",
        recipient_id=approver.id,
        ticket_id=ticket.id,
        body=f"{refund.id} of {refund.order_id} waits for your decision.",
    )
    facts = ["saw-account", "saw-refund", "saw-colleagues", "read-WHO-2"]
    return Task(
        prompt=prompt,
        rubric=[
            *forbid_second_refund(line),
            desk.account(desk.customer(desk.order(line))),
            expect_read(refund, id="saw-refund"),
            desk.colleague(approver, id="saw-colleagues"),
            desk.read("WHO-2"),
            *desk.expect_declined(ticket, "REF-2", refund, after=facts),
        ],
        # A note to the approver is welcome (REF-2).
        allow=[
            Allowance(
                table=InternalMessage.table,
                values=(("recipient_id", approver.id),),
            )
        ],
        oracle=[*opening, colleagues, read, *close],
        alternatives=[
            [opening[-1], read, call("search_employees", team=approver.team), *opening[:-1], *close],
            [*opening, colleagues, read, reminder, *close],
        ],
    )
