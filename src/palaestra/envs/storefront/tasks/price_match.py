"""Cheaper elsewhere, a few days after buying: the difference is credited, within limits, for offers that count."""

from palaestra.envs.storefront.desk import Desk, closing, touches
from palaestra.envs.storefront.policy import price_match_cents
from palaestra.envs.storefront.schema import CompetitorOffer, Credit, OrderLine
from palaestra.envs.task import Task, call, family
from palaestra.records import Json
from palaestra.rubrics import created, saw


def counting_offers(desk: Desk, line: OrderLine) -> list[CompetitorOffer]:
    offers = desk.state.find(CompetitorOffer, product_id=line.product_id)
    listed = [o for o in offers if o.in_stock and o.shop in desk.policy.price_match_shops]
    return sorted(listed, key=lambda o: o.price_cents)


@family("storefront/price-match", level=3, traits=("write", "arithmetic", "multi-hop", "policy-exception"))
def price_match(desk: Desk) -> Task:
    def fits(line: OrderLine) -> bool:
        order = desk.order(line)
        recent = (desk.today - order.placed.date()).days <= desk.policy.price_match_days
        offers = counting_offers(desk, line) if recent and order.status != "cancelled" else []
        cheaper = bool(offers) and offers[0].price_cents < line.unit_cents
        return cheaper and order.promotion_code is None and desk.plain(order) and line.returned == 0

    line = desk.pick(OrderLine, fits, what="recent line that a listed shop offers for less")
    order, product, best = desk.order(line), desk.product(line), counting_offers(desk, line)[0]
    amount = line.quantity * price_match_cents(desk.policy, line.unit_cents, best.price_cents)
    ticket = desk.ticket(desk.customer(order), "Cheaper elsewhere")
    credit: dict[str, Json] = {
        "customer_id": order.customer_id,
        "order_id": order.id,
        "amount_cents": amount,
        "reason": "price_match",
    }
    return Task(
        prompt=desk.mail(
            ticket, f"I bought {product.name} in {order.id}, and now I see it for less. Do you match that?"
        ),
        rubric=[
            saw(line, id="saw-line"),
            saw(best, id="saw-offer"),
            desk.read("PRM-1"),
            created(Credit, credit, id="credit", after=["saw-line", "saw-offer", "read-PRM-1"]),
            *desk.resolved(ticket, after=["credit"]),
        ],
        allow=[touches(desk.customer(order), "credit_cents")],
        oracle=[
            call("get_order", order_id=order.id),
            call("get_product", product_id=product.id),
            call("read_handbook", section_id="PRM-1"),
            call("search_offers", product_id=product.id),
            call("give_credit", **credit),
            *closing(ticket, f"You have {amount} cents of store credit for the difference."),
        ],
    )
