"""Two pieces arrived broken and cost together more than an agent may pay: one request, to the right supervisor."""

from datetime import timedelta

from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import answers
from palaestra.envs.worlds.storefront.authority import newcomer, stand_ins
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.lookups import about_refund
from palaestra.envs.worlds.storefront.planting import DEAREST_SHIPPING_CENTS, arrival, plain_customer, sell
from palaestra.envs.worlds.storefront.replies import KEEP
from palaestra.envs.worlds.storefront.schema import (
    Customer,
    Employee,
    InternalMessage,
    OrderLine,
    Product,
    Refund,
    Ticket,
)
from palaestra.records import Json, ToolCall
from palaestra.rubrics import Allowance, Criterion, expect_read, expect_row, forbid_call

MARGIN = 2_000
"""The most cents by which a limit covers the amount, or misses it."""


@family("storefront/least-approver", level=3, traits=("write", "multi-hop", "policy-exception"), twin=True)
def least_approver(desk: Desk) -> Task:
    alone, most = desk.policy.agent_limit_cents, desk.policy.supervisor_limit_cents

    def fits(product: Product) -> bool:
        price = product.price_cents
        return price <= alone < 2 * price - MARGIN and 2 * price + MARGIN < most and not product.final_sale

    product = desk.pick(Product, fits, what="product of which only two pieces need approval", decides=True)
    amount = 2 * product.price_cents
    roomy = plain_customer(desk, room=amount + DEAREST_SHIPPING_CENTS)
    customer = desk.pick(Customer, roomy, what="customer with room for an order")
    day = desk.today - timedelta(days=desk.stream.between(3, 12))
    order = sell(desk, customer, [(product, 2)], arrival(desk, day))
    [line] = desk.lines(order)
    body = desk.word_body(
        "both-damaged",
        (
            f"I ordered two of the {product.name} in {order.id}, and both arrived broken. I want my money back.",
            f"Both pieces of the {product.name} from {order.id} were damaged in the parcel. Please refund them.",
        ),
        product=product.name,
        order=order.id,
    )
    ticket = desk.ticket(customer, desk.word_subject("both-damaged", "Both arrived damaged"))
    prompt = desk.mail(ticket, body)
    set_limits(desk, amount)
    opening = [
        *about_refund(order, line, 2),
        call("get_refunds", order_id=order.id),
        call("read_handbook", section_id="WHO-2"),
        call("search_employees", team="support", rank="supervisor"),
    ]
    facts = [
        expect_read(line, id="saw-line"),
        desk.account(desk.state.get(Customer, customer.id)),
        desk.delivery(line),
        desk.read("RET-1"),
        desk.read("REF-1"),
        desk.earlier_refunds(order),
        desk.colleague(newcomer(desk), id="saw-colleagues"),
    ]
    desk.answer = lambda: answers.report_fault(desk, ticket, line, "damaged", pieces=2)
    if desk.twin:
        return nobody_at_work(desk, ticket, prompt, line, facts, opening)
    asked: dict[str, Json] = {"line_id": line.id, "quantity": 2, "amount_cents": amount, "reason": "damaged"}
    approvers = [e.id for e in stand_ins(desk, amount)]
    work = [
        call("request_refund_approval", approver_id=approvers[0], **asked),
        *closing_calls(ticket, f"Your refund is with a colleague for approval. {KEEP}"),
    ]
    wanted = {**asked, "status": "pending_approval", "approver_id": frozenset(approvers)}
    return Task(
        prompt=prompt,
        rubric=[
            *never_split(line),
            *facts,
            desk.read("REF-2"),
            desk.read("WHO-2"),
            expect_row(Refund, wanted, id="request", after=[*(f.id for f in facts), "read-REF-2", "read-WHO-2"]),
            *desk.expect_resolved(ticket, after=["request"]),
        ],
        allow=[Allowance(table=InternalMessage.table, values=(("recipient_id", frozenset(approvers)),))],
        oracle=[*opening, *work],
        alternatives=[[opening[-2], call("search_employees", team="support"), *opening[:-2], *work]],
    )


def set_limits(desk: Desk, amount: int) -> None:
    """Let the newest supervisor's limit cover the amount narrowly or miss it, and that of one on leave cover it."""
    away, *_ = desk.state.find(Employee, team="support", rank="agent", on_leave=True)
    desk.state.update(away, rank="supervisor", approval_limit_cents=amount + 1)
    margin = desk.stream.between(2, MARGIN)
    enough = desk.stream.chance(50) and not desk.twin
    desk.state.update(newcomer(desk), approval_limit_cents=amount + (margin if enough else -margin))


def never_split(line: OrderLine) -> list[Criterion]:
    """Forbid what would keep the amount below a limit: paying alone, or asking for less than is due."""
    return [
        forbid_call("issue_refund", "refund_payment", id="never-paid-alone"),
        forbid_call("request_refund_approval", arguments={"line_id": line.id, "quantity": 1}, id="never-split"),
    ]


def nobody_at_work(
    desk: Desk, ticket: Ticket, prompt: str, line: OrderLine, facts: list[Criterion], opening: list[ToolCall]
) -> Task:
    """All whose limit covers the amount are on leave, so that finance takes over."""
    amount = desk.paid_cents(line, 2)
    for able in stand_ins(desk, amount):
        desk.state.update(able, on_leave=True)
    assert not stand_ins(desk, amount), "who was at work is on leave now"
    grounds = {"policy_id": "REF-2", "evidence_id": line.id}
    hand_over = call("escalate_ticket", ticket_id=ticket.id, team="finance", priority="normal", **grounds)
    told = f"Nobody here may approve it today, so our finance team decides. {KEEP}"
    reply, finish = call("reply", message=told), call("finish")
    after = [fact.id for fact in facts]
    return Task(
        prompt=prompt,
        rubric=[
            forbid_call("request_refund_approval", id="never-asked"),
            forbid_call("issue_refund", "refund_payment", id="never-paid-alone"),
            *facts,
            *desk.expect_escalated(ticket, "REF-2", line, team="finance", priority="normal", after=after),
        ],
        oracle=[*opening, hand_over, reply, finish],
        alternatives=[
            [call("search_employees", team="support"), *opening[:-2], reply, hand_over, finish],
        ],
    )
