"""A refund above the agent's limit: the right colleague is asked to approve exactly that amount."""

from dataclasses import replace

from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import answers, requests
from palaestra.envs.worlds.storefront.aftersales import add_pending_refund
from palaestra.envs.worlds.storefront.authority import eligible_approvers
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.lookups import about_refund
from palaestra.envs.worlds.storefront.refusal_conditions import nobody_to_approve, waiting_for_approval
from palaestra.envs.worlds.storefront.replies import KEEP
from palaestra.envs.worlds.storefront.schema import Employee, InternalMessage, OrderLine, Refund, Ticket
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.records import Json, ToolCall
from palaestra.rubrics import Allowance, expect_read, expect_row


@family("storefront/refund-over-limit", level=3, traits=("write", "multi-hop", "policy-exception"), twin=True)
def refund_over_limit(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        return line.quantity == 1 and desk.returnable(line) and desk.paid_cents(line, 1) > desk.policy.agent_limit_cents

    line = desk.pick(OrderLine, fits, what="piece that cost more than an agent may refund", decides=True)
    order, product, amount = desk.order(line), desk.product(line), desk.paid_cents(line, 1)
    able = [e for e in eligible_approvers(desk, amount, planting=True) if not e.on_leave]
    approvers = [e.id for e in able]
    customer = desk.customer(order)
    fault = requests.fault_of(desk.stream, product)
    complaint = requests.faulty(desk, order, product, fault)
    request: dict[str, Json] = {"line_id": line.id, "quantity": 1, "amount_cents": amount, "reason": "faulty"}
    ticket = desk.ticket(customer, complaint.subject)
    prompt = desk.mail(ticket, complaint.body)
    path = [
        *about_refund(order, line, 1),
        call("get_refunds", order_id=order.id),
        call("search_employees", team=able[0].team, rank=able[0].rank),
    ]
    if desk.twin:
        return refusal(desk, ticket, prompt, line, able, path)
    desk.answer = lambda: answers.report_fault(desk, ticket, line, "faulty", fault=fault)
    facts = ["saw-line", "saw-account", "knew-delivery", "read-RET-1", "read-REF-1"]
    return Task(
        prompt=prompt,
        rubric=[
            expect_read(line, id="saw-line"),
            desk.account(customer),
            desk.delivery(line),
            *(desk.read(section) for section in ("RET-1", "REF-1", "REF-2")),
            desk.earlier_refunds(order),
            expect_row(
                Refund,
                {**request, "status": "pending_approval", "approver_id": frozenset(approvers)},
                id="request",
                after=[*facts, "saw-refunds", "read-REF-2"],
            ),
            *desk.expect_resolved(ticket, after=["request"]),
        ],
        allow=[Allowance(table=InternalMessage.table, values=(("recipient_id", frozenset(approvers)),))],
        oracle=[
            *path,
            call("request_refund_approval", approver_id=approvers[0], **request),
            *closing_calls(ticket, f"Your refund is with a colleague for approval. {KEEP}"),
        ],
        alternatives=[
            [
                *(call("read_handbook", section_id=section) for section in ("REF-2", "RET-1", "REF-1")),
                call("get_order", order_id=order.id),
                call("get_refunds", order_id=order.id),
                call("get_shipments", order_id=order.id),
                call("get_customer", customer_id=customer.id),
                call("search_employees", team=able[0].team),
                call("request_refund_approval", approver_id=approvers[0], **request),
                call("send_internal_message", recipient_id=approvers[0], body="Please look at it."),
                *closing_calls(ticket, "A colleague has to approve this; then it is paid."),
            ]
        ],
    )


def refusal(
    desk: Desk, ticket: Ticket, prompt: str, line: OrderLine, able: list[Employee], path: list[ToolCall]
) -> Task:
    waits = desk.stream.chance(50)
    if waits:
        grounds = waiting_for_approval(desk, add_pending_refund(desk, line, able[0]), able[0])
    else:
        grounds = nobody_to_approve(desk, line, able)
        rules = (desk.read("RET-1"), desk.read("REF-1"))
        looks = path[: path.index(call("read_handbook", section_id="REF-2"))]
        grounds = replace(
            grounds,
            facts=(desk.delivery(line), *rules, desk.earlier_refunds(desk.order(line)), *grounds.facts),
            otherwise=(*looks, call("get_refunds", order_id=line.order_id), *grounds.otherwise),
        )
    task = order_refusal_task(desk, ticket, prompt, grounds, desk.order(line), path=path)
    # A note to the approver is welcome (REF-2).
    note = Allowance(table=InternalMessage.table, values=(("recipient_id", able[0].id),))
    return replace(task, allow=[*task.allow, note]) if waits else task
