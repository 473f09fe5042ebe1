"""Cheaper elsewhere, a few days after buying: the difference is credited, within limits, for offers that count."""

from palaestra.envs.kit import amount, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import answers, requests
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.lookups import about_order
from palaestra.envs.worlds.storefront.matching import price_match_calls
from palaestra.envs.worlds.storefront.refusal_conditions import ordered_too_long_ago, sold_out_elsewhere
from palaestra.envs.worlds.storefront.schema import Credit, OrderLine, Ticket
from palaestra.envs.worlds.storefront.twins import order_refusal_task
from palaestra.records import Json, ToolCall
from palaestra.rubrics import expect_read, expect_row


@family("storefront/price-match", level=3, traits=("write", "arithmetic", "multi-hop", "policy-exception"), twin=True)
def price_match(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        order = desk.order(line)
        recent = (desk.today - order.placed.date()).days <= desk.policy.price_match_days
        cheaper = recent and order.status != "cancelled" and desk.best_offer(line) is not None
        return cheaper and desk.can_match(order) and desk.plain(order) and line.returned == 0

    line = desk.pick(OrderLine, fits, what="recent line that a listed shop offers for less", decides=True)
    order, product, best = desk.order(line), desk.product(line), desk.best_offer(line)
    customer, request = desk.customer(order), requests.cheaper(desk, order, product)
    path = [
        *about_order(order),
        call("read_handbook", section_id="PRM-1"),
        call("search_offers", product_id=product.id),
    ]
    ticket = desk.ticket(customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    desk.answer = lambda: answers.match_price(desk, ticket, order, [line])
    if desk.twin:
        return refusal(desk, ticket, prompt, line, path)
    assert best is not None, "the line was picked for having an offer"
    sums, cents = price_match_calls(desk.policy, line.unit_cents, best.price_cents, line.quantity)
    credit: dict[str, Json] = {
        "customer_id": customer.id,
        "order_id": order.id,
        "amount_cents": cents,
        "reason": "price_match",
    }
    cap = desk.policy.price_match_cap_percent
    less = line.quantity * (line.unit_cents - best.price_cents)
    capped = f" That is {cap} % of what you paid, the most that we match." if cents < less else ""
    facts = ["saw-line", "saw-account", "saw-offer", "read-PRM-1"]
    return Task(
        prompt=prompt,
        rubric=[
            expect_read(line, id="saw-line"),
            desk.account(customer),
            expect_read(best, fields=["shop", "price_cents", "in_stock"], id="saw-offer"),
            desk.read("PRM-1"),
            expect_row(Credit, credit, id="credit", after=facts),
            *desk.expect_resolved(ticket, after=["credit"], states=cents),
        ],
        allow=[permit_change(customer, "credit_cents")],
        oracle=[
            *path,
            *sums,
            call("give_credit", **credit),
            *closing_calls(ticket, f"You have {amount(cents)} of store credit to match the price.{capped}"),
        ],
        alternatives=[
            [
                call("get_ticket", ticket_id=ticket.id),
                call("get_customer", customer_id=customer.id),
                call("search_products", query=product.name),
                call("search_offers", product_id=product.id),
                call("read_handbook", section_id="PRM-1"),
                call("get_order", order_id=order.id),
                call("give_credit", **credit),
                call("resolve_ticket", ticket_id=ticket.id),
                call("reply", message=f"We have put {amount(cents)} of store credit into your account."),
                call("finish"),
            ]
        ],
    )


def refusal(desk: Desk, ticket: Ticket, prompt: str, line: OrderLine, path: list[ToolCall]) -> Task:
    order = desk.order(line)
    if desk.stream.chance(50):
        grounds = ordered_too_long_ago(desk, order, desk.planting_policy.price_match_days, "PRM-1")
    else:
        grounds = sold_out_elsewhere(desk, line)
    return order_refusal_task(desk, ticket, prompt, grounds, order, path=path)
