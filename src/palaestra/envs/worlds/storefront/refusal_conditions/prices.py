"""Refusal conditions in prices and credit: ordered too long ago, sold out elsewhere, credited already."""

from palaestra.envs.kit import RefusalCondition, count
from palaestra.envs.kit import amount as euros
from palaestra.envs.task import call
from palaestra.envs.worlds.storefront.aftersales import lately
from palaestra.envs.worlds.storefront.consequences import move_back
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import Credit, CreditReason, Order, OrderLine
from palaestra.rubrics import expect_read


def ordered_too_long_ago(desk: Desk, order: Order, days: int, section: str) -> RefusalCondition:
    """The order was placed one day more than `days` ago."""
    move_back(desk, order.id, days=days + 1 - (desk.today - order.placed.date()).days)
    earlier = desk.state.get(Order, order.id)
    return RefusalCondition(
        section=section,
        evidence=earlier,
        facts=(expect_read(earlier, fields=["placed"], id="saw-order"),),
        message=f"{order.id} was placed on {earlier.placed.date()}. We can do this within {count(days, 'day')} of the "
        "day of the order, and these have passed.",
    )


def sold_out_elsewhere(desk: Desk, line: OrderLine) -> RefusalCondition:
    """No shop that asks less has the product in stock."""
    offer = best = desk.best_offer(line)
    while best is not None:
        desk.state.update(best, in_stock=False)
        best = desk.best_offer(line)
    assert offer is not None, f"no shop asks less for {line.id}"
    return RefusalCondition(
        section="PRM-1",
        evidence=desk.order(line),
        facts=(
            expect_read(desk.order(line), fields=["placed"], id="saw-order"),
            expect_read(offer, fields=["shop", "price_cents", "in_stock"], id="saw-offer"),
        ),
        lookups=(call("search_offers", product_id=line.product_id),),
        message="The shops that ask for less cannot deliver it, so there is no offer that we could match.",
    )


def credited_already(desk: Desk, order: Order, reason: CreditReason, amount: int, section: str) -> RefusalCondition:
    """A colleague has given the credit."""
    customer = desk.customer(order)
    credit = desk.state.insert(
        Credit(
            id=desk.state.next_id(Credit),
            customer_id=customer.id,
            order_id=order.id,
            amount_cents=amount,
            reason=reason,
            created=lately(desk, order),
        )
    )
    desk.state.update(customer, credit_cents=customer.credit_cents + amount)
    return RefusalCondition(
        section=section,
        evidence=credit,
        facts=(expect_read(credit, fields=["order_id", "reason"], id="saw-credit"),),
        lookups=(call("get_credits", customer_id=customer.id),),
        message=f"The credit of {euros(amount)} for {order.id} is in your account already: it was given on "
        f"{credit.created.date()}.",
    )
