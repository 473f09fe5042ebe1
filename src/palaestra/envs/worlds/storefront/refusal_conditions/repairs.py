"""Refusal conditions in repairs: a claim that is open, closed or young, a product or a part that is out of stock."""

from datetime import timedelta

from palaestra.envs.kit import RefusalCondition, count
from palaestra.envs.task import call
from palaestra.envs.worlds.storefront.aftersales import add_claim
from palaestra.envs.worlds.storefront.desk import Desk
from palaestra.envs.worlds.storefront.schema import Fault, OrderLine, Product, WarrantyClaim
from palaestra.rubrics import expect_read


def claimed_already(desk: Desk, line: OrderLine, fault: Fault) -> RefusalCondition:
    """A claim for the fault is open."""
    claim = add_claim(desk, line, fault, ago=3)
    return _claim("WAR-2", claim, "Your claim is open already, and our warranty team is at work on it.")


def mended_already(desk: Desk, claim: WarrantyClaim) -> RefusalCondition:
    """The claim was closed."""
    closed = desk.state.update(claim, status="closed")
    return _claim(
        "WAR-2",
        closed,
        f"Your claim {closed.id} is closed, since the repair is done, so we cannot send you a new one in its place.",
    )


def claim_is_young(desk: Desk, claim: WarrantyClaim) -> RefusalCondition:
    """The claim was opened on the first day on which it is not slow."""
    by = (desk.today - claim.opened.date()).days - desk.planting_policy.claim_days
    young = desk.state.update(claim, opened=claim.opened + timedelta(days=by))
    days = count(desk.planting_policy.claim_days, "day")
    told = f"It was opened on {young.opened.date()}. No credit is due before a claim was opened more than {days} ago."
    return _claim("LOY-3", young, told)


def sold_out(desk: Desk, product: Product) -> RefusalCondition:
    """The product that should replace another is out of stock."""
    gone = desk.state.update(product, stock=0)
    return RefusalCondition(
        section="WAR-2",
        evidence=gone,
        facts=(desk.stock(gone),),
        lookups=(call("get_product", product_id=gone.id),),
        otherwise=(call("search_products", query=gone.name),),
        message=f"The {gone.name} is still out of stock, so that we repair yours and cannot replace it.",
    )


def _claim(section: str, claim: WarrantyClaim, message: str) -> RefusalCondition:
    return RefusalCondition(
        section=section,
        evidence=claim,
        facts=(expect_read(claim, fields=["status", "opened"], id="saw-claim"),),
        lookups=(call("get_warranty_claims", line_id=claim.line_id),),
        message=message,
    )
