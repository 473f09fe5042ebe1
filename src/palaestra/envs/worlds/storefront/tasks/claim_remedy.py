"""A repair was agreed on when the product was out of stock, and goods have come in: the claim is made anew."""

from dataclasses import replace

from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.aftersales import add_claim
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.lookups import about_order
from palaestra.envs.worlds.storefront.refusal_conditions import mended_already, sold_out
from palaestra.envs.worlds.storefront.schema import OrderLine, Ticket, WarrantyClaim
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.records import Json, ToolCall
from palaestra.rubrics import expect_change, expect_read, expect_row


@family("storefront/claim-remedy", level=3, traits=("write", "multi-hop", "policy-exception"), twin=True)
def claim_remedy(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        return desk.claimable(line) and desk.warranty_ends(line) >= desk.today and desk.product(line).stock > 0

    line = desk.pick(OrderLine, fits, what="line under warranty whose product is in stock")
    order, product = desk.order(line), desk.product(line)
    customer, request = desk.customer(order), requests.new_one(desk, order, product)
    fault, other = requests.fault_of(desk.stream, product), requests.fault_of(desk.stream, product)
    add_claim(desk, line, other, ago=9, remedy="repair", status="withdrawn")
    claim = add_claim(desk, line, fault, ago=desk.stream.between(3, 8), remedy="repair")
    ticket = desk.ticket(customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    path = [
        *about_order(order),
        call("get_warranty_claims", line_id=line.id),
        call("read_handbook", section_id="WAR-2"),
        call("get_product", product_id=product.id),
    ]
    if desk.twin:
        return refusal(desk, ticket, prompt, line, claim, path)
    anew: dict[str, Json] = {"line_id": line.id, "fault": fault, "remedy": "replace"}
    facts = ["saw-claim", "saw-account", "read-WAR-2", f"saw-stock-{product.id}"]
    return Task(
        prompt=prompt,
        rubric=[
            expect_read(claim, id="saw-claim"),
            desk.account(customer),
            desk.stock(product),
            desk.read("WAR-2"),
            expect_change(claim, {"status": "withdrawn"}, id="withdrawn", after=facts),
            expect_row(WarrantyClaim, {**anew, "status": "open"}, id="claim", after=["withdrawn"]),
            *desk.expect_resolved(ticket, after=["claim"]),
        ],
        oracle=[
            *path,
            call("withdraw_warranty_claim", claim_id=claim.id),
            call("open_warranty_claim", **anew),
            *closing_calls(
                ticket, f"The {product.name} is in stock again, so we send you a new one in place of the repair."
            ),
        ],
        alternatives=[
            [
                call("read_handbook", section_id="WAR-2"),
                call("get_ticket", ticket_id=ticket.id),
                call("get_customer", customer_id=customer.id),
                call("get_order", order_id=order.id),
                call("search_products", query=product.name),
                call("get_warranty_claims", line_id=line.id),
                call("withdraw_warranty_claim", claim_id=claim.id),
                call("open_warranty_claim", **anew),
                call("resolve_ticket", ticket_id=ticket.id),
                call("reply", message="You get a new one in place of the repair."),
                call("finish"),
            ]
        ],
    )


def refusal(
    desk: Desk, ticket: Ticket, prompt: str, line: OrderLine, claim: WarrantyClaim, path: list[ToolCall]
) -> Task:
    closed = desk.stream.chance(50)
    grounds = mended_already(desk, claim) if closed else sold_out(desk, desk.product(line))
    if not closed:
        looked = expect_read(claim, fields=["status"], id="saw-claim")
        looks = (call("get_warranty_claims", line_id=line.id), *grounds.lookups)
        grounds = replace(
            grounds, facts=(looked, *grounds.facts), lookups=looks, otherwise=(looks[0], *grounds.otherwise)
        )
    return order_refusal_task(desk, ticket, prompt, grounds, desk.order(line), path=path)
