"""Refusal conditions in a build: whose it is, what is left of the parts for it, and what its other parts can take."""

from dataclasses import replace

from palaestra.envs.kit import RefusalCondition
from palaestra.envs.task import call
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.policy import needed_watts
from palaestra.envs.worlds.storefront.schema import Build, Customer, Product
from palaestra.envs.worlds.storefront.stock_search import expect_searches
from palaestra.envs.worlds.storefront.workbench import exchange_part, knew_misfit, parts_of, shelf
from palaestra.rubrics import expect_read


def anothers_build(desk: Desk, build: Build) -> tuple[RefusalCondition, Customer]:
    """The build belongs to somebody else's account; the grounds, and whose it is."""
    owner = desk.pick(Customer, lambda c: c.id != build.customer_id and not c.fraud_hold)
    desk.state.update(build, customer_id=owner.id)
    grounds = RefusalCondition(
        section="PRV-1",
        evidence=owner,
        message="We can only act on a request of the owner. Please check the number or write from their address.",
    )
    return grounds, owner


def parts_sold_out(desk: Desk, build: Build, parts: list[Product]) -> RefusalCondition:
    """None of the parts that would make the build work is left."""
    gone = [desk.state.update(part, stock=0) for part in parts]
    category = parts[0].category
    return RefusalCondition(
        section="BLD-1",
        evidence=build,
        facts=(
            expect_read(build, id="saw-build"),
            replace(expect_searches(desk, gone), id="saw-shelf"),
        ),
        lookups=tuple(shelf(desk, category)[0]),
        message=f"No {category} that we have in stock makes {build.id} work, so we have left it as it is.",
    )


def card_sold_out(desk: Desk, build: Build, card: Product) -> RefusalCondition:
    """The card that is to go into the build is out of stock."""
    gone = desk.state.update(card, stock=0)
    return RefusalCondition(
        section="BLD-1",
        evidence=build,
        facts=(desk.stock(gone),),
        lookups=(call("search_products", query=gone.name),),
        message=f"The {gone.name} is out of stock, so we have left {build.id} as it is.",
    )


def rest_changed(desk: Desk, build: Build, card: Product, other: Product) -> RefusalCondition:
    """The build has `other` in it, with which it works, and with which the card does not."""
    changed = desk.state.update(build, **{f"{other.category}_id": other.id})
    parts = exchange_part(parts_of(desk, changed), card)
    ids = [p.id for p in parts]
    if other.category == "case":
        reason = f"The {card.name} is {card.length_mm} mm long, and the {other.name} takes {other.length_mm} mm"
    else:
        needed = needed_watts(desk.planting_policy, parts)
        reason = f"With the {card.name} your build needs {needed} W, and the {other.name} gives {other.watts} W"
    find = call("search_products", query=card.name)
    return RefusalCondition(
        section="BLD-1",
        evidence=changed,
        facts=(knew_misfit(desk.planting_policy, parts),),
        lookups=(find, call("check_compatibility", product_ids=[*ids])),
        message=f"{reason}, so we have left {build.id} as it is.",
    )
