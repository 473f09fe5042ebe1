"""Broken after the return window: no refund but a warranty claim, replaced where in stock and repaired otherwise."""

from dataclasses import replace

from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import answers, requests
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.lookups import about_warranty
from palaestra.envs.worlds.storefront.refusal_conditions import claimed_already, on_hold
from palaestra.envs.worlds.storefront.remedies import warranty_remedy
from palaestra.envs.worlds.storefront.replies import window_closed
from palaestra.envs.worlds.storefront.schema import Fault, OrderLine, Ticket, WarrantyClaim
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.records import Json
from palaestra.rubrics import expect_call, expect_read, expect_row


@family("storefront/warranty-claim", level=2, traits=("write", "policy-exception"), twin=True)
def warranty_claim(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        return desk.claimable(line) and desk.warranty_ends(line) >= desk.today

    line = desk.pick(OrderLine, fits, what="line under warranty", decides=True)
    order, product = desk.order(line), desk.product(line)
    if desk.stream.chance(50):
        product = desk.state.update(product, stock=0)
    customer, fault = desk.customer(order), requests.fault_of(desk.stream, product)
    request = requests.faulty(desk, order, product, fault)
    claim: dict[str, Json] = {
        "line_id": line.id,
        "fault": fault,
        "remedy": warranty_remedy(desk, product, fault),
    }
    ticket = desk.ticket(customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    if desk.twin:
        return refusal(desk, ticket, prompt, line, fault)
    desk.answer = lambda: answers.report_fault(desk, ticket, line, "faulty", fault=fault)
    facts = [
        "saw-line",
        "saw-account",
        "knew-delivery",
        "knew-warranty",
        "saw-claims",
        "read-WAR-1",
        "read-WAR-2",
        f"saw-stock-{product.id}",
    ]
    covered = f"There is no refund any more, but it is under warranty until {desk.warranty_ends(line)}"
    under_warranty = f"{covered}: we will {claim['remedy']} it."
    return Task(
        prompt=prompt,
        rubric=[
            expect_read(line, id="saw-line"),
            desk.account(customer),
            desk.delivery(line, expect_call("compute_warranty", arguments={"line_id": line.id})),
            desk.warranty(line),
            desk.earlier_claims(line),
            desk.stock(product),
            desk.read("WAR-1"),
            desk.read("WAR-2"),
            expect_row(WarrantyClaim, {**claim, "status": "open"}, id="claim", after=facts),
            *desk.expect_resolved(ticket, after=["claim"]),
        ],
        oracle=[
            *about_warranty(order, line),
            call("open_warranty_claim", **claim),
            *closing_calls(ticket, f"{window_closed(desk, line)} {under_warranty}"),
        ],
        alternatives=[
            [
                call("read_handbook", section_id="WAR-2"),
                call("read_handbook", section_id="WAR-1"),
                call("get_order", order_id=order.id),
                call("get_product", product_id=product.id),
                call("get_shipments", order_id=order.id),
                call("get_customer", customer_id=customer.id),
                call("get_warranty_claims", line_id=line.id),
                call("open_warranty_claim", **claim),
                call("resolve_ticket", ticket_id=ticket.id),
                call("reply", message=f"Your warranty claim is open: we will {claim['remedy']} it."),
                call("finish"),
            ]
        ],
    )


def refusal(desk: Desk, ticket: Ticket, prompt: str, line: OrderLine, fault: Fault) -> Task:
    order = desk.order(line)
    if desk.stream.chance(50):
        grounds = claimed_already(desk, line, fault)
        window = (
            call("compute_return_window", line_id=line.id),
            call("read_handbook", section_id="RET-1"),
        )
        grounds = replace(
            grounds,
            message=f"{window_closed(desk, line)} {grounds.message}",
            otherwise=(*grounds.lookups, *window, call("get_shipments", order_id=order.id)),
            others=(("RET-1", desk.window_record(order)),),
        )
    else:
        grounds = on_hold(desk, desk.customer(order))
    return order_refusal_task(desk, ticket, prompt, grounds, order, path=about_warranty(order, line))
