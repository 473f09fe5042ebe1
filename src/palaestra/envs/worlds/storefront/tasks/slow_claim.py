"""A warranty claim has been open for long: store credit of a share of the price paid."""

from palaestra.envs.kit import amount, calculation, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import answers, requests
from palaestra.envs.worlds.storefront.aftersales import add_claim
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.lookups import about_order
from palaestra.envs.worlds.storefront.policy import percent_of
from palaestra.envs.worlds.storefront.refusal_conditions import claim_is_young, credited_already
from palaestra.envs.worlds.storefront.schema import Credit, Order, OrderLine, Ticket, WarrantyClaim
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.records import Json, ToolCall
from palaestra.rubrics import expect_any, expect_call, expect_read, expect_row


@family("storefront/slow-claim", level=3, traits=("write", "arithmetic", "multi-hop", "policy-exception"), twin=True)
def slow_claim(desk: Desk) -> Task:
    ago = desk.planting_policy.claim_days + desk.stream.between(1, 5)

    def fits(line: OrderLine) -> bool:
        if not desk.claimable(line) or desk.state.find(Credit, order_id=line.order_id):
            return False
        since = (desk.today - desk.last_return_day(desk.order(line))).days
        return since > ago and desk.warranty_ends(line) >= desk.today

    line = desk.pick(OrderLine, fits, what="line under warranty, long past its return window", decides=True)
    order, product = desk.order(line), desk.product(line)
    customer, request = desk.customer(order), requests.slow_repair(desk, order, product)
    claim = add_claim(desk, line, requests.fault_of(desk.stream, product), ago=ago)
    share, cents = calculation("percent", desk.paid_cents(line, 1), desk.policy.claim_credit_percent)
    given = percent_of(desk.paid_cents(line, 1), desk.planting_policy.claim_credit_percent)
    path = [
        *about_order(order),
        call("get_warranty_claims", line_id=line.id),
        call("read_handbook", section_id="LOY-3"),
        call("get_credits", customer_id=customer.id),
        call("compute_paid", line_id=line.id, quantity=1),
        share,
    ]
    ticket = desk.ticket(customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    desk.answer = lambda: answers.credit_slow_claim(desk, ticket, line, claim)
    if desk.twin:
        return refusal(desk, ticket, prompt, claim, order, given, path)
    credit: dict[str, Json] = {
        "customer_id": customer.id,
        "order_id": order.id,
        "amount_cents": cents,
        "reason": "goodwill",
    }
    paid = expect_call("compute_paid", arguments={"line_id": line.id})
    facts = ["saw-claim", "saw-account", "saw-credits", "knew-price", "read-LOY-3"]
    return Task(
        prompt=prompt,
        rubric=[
            expect_any(expect_read(line), paid, id="knew-price"),
            expect_read(claim, id="saw-claim"),
            desk.account(customer),
            desk.read("LOY-3"),
            desk.earlier_credit(customer),
            expect_row(Credit, credit, id="credit", after=facts),
            *desk.expect_resolved(ticket, after=["credit"], states=cents),
        ],
        allow=[permit_change(customer, "credit_cents")],
        oracle=[
            *path,
            call("give_credit", **credit),
            *closing_calls(ticket, f"We are sorry for the wait and give you {amount(cents)} of store credit."),
        ],
        alternatives=[
            [
                call("read_handbook", section_id="LOY-3"),
                call("get_ticket", ticket_id=ticket.id),
                call("get_customer", customer_id=customer.id),
                call("get_order", order_id=order.id),
                call("get_warranty_claims", line_id=line.id),
                call("get_credits", customer_id=customer.id),
                call("give_credit", **credit),
                call("resolve_ticket", ticket_id=ticket.id),
                call("reply", message=f"You have store credit for the wait: {amount(cents)}."),
                call("finish"),
            ]
        ],
    )


def refusal(
    desk: Desk, ticket: Ticket, prompt: str, claim: WarrantyClaim, order: Order, cents: int, path: list[ToolCall]
) -> Task:
    young = desk.stream.chance(50)
    grounds = claim_is_young(desk, claim) if young else credited_already(desk, order, "goodwill", cents, "LOY-3")
    return order_refusal_task(desk, ticket, prompt, grounds, order, path=path)
