"""A custom PC does not fit together: one part is replaced by the cheapest in stock that works."""

from palaestra.envs.kit import refusal_task
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.policy import build_problems
from palaestra.envs.worlds.storefront.refusal_conditions import anothers_build, parts_sold_out
from palaestra.envs.worlds.storefront.schema import Build, Customer, Product, Ticket
from palaestra.envs.worlds.storefront.workbench import checked_together, parts_of
from palaestra.rubrics import expect_any, expect_change, expect_read


def fixes(desk: Desk, build: Build, slot: str) -> list[Product]:
    """The parts in stock that would make the build work in this slot, cheapest first."""
    kept = [p for p in parts_of(desk, build) if p.category != slot]
    shelf = [p for p in desk.state.find(Product, category=slot) if p.stock > 0]
    working = [p for p in shelf if not build_problems(desk.policy, [*kept, p])]
    return sorted(working, key=lambda p: p.price_cents)


def clear_fix(desk: Desk, build: Build, slot: str) -> Product | None:
    """The cheapest fix in this slot, unless two cost the same."""
    found = fixes(desk, build, slot)
    tied = len(found) > 1 and found[0].price_cents == found[1].price_cents
    return None if tied or not found else found[0]


@family("storefront/fix-build", level=3, traits=("write", "multi-hop", "arithmetic"), twin=True)
def fix_build(desk: Desk) -> Task:
    def slots(build: Build) -> list[str]:
        return [s for s in ("psu", "memory", "case", "cooler") if clear_fix(desk, build, s)]

    def fits(build: Build) -> bool:
        return (
            build.status == "draft" and bool(build_problems(desk.policy, parts_of(desk, build))) and bool(slots(build))
        )

    build = desk.pick(Build, fits, what="draft build that one part would fix")
    slot = desk.stream.choice(slots(build))
    part = clear_fix(desk, build, slot)
    assert part is not None, "the slot was chosen for having a fix"
    customer = desk.state.get(Customer, build.customer_id)
    ticket = desk.ticket(customer, f"My build {build.name}")
    body = (
        f"The shop says that my build {build.id} will not work. I think that it is the {slot}. Please put in the "
        f"cheapest {slot} you have in stock that makes it work, and leave the rest."
    )
    prompt = desk.mail(ticket, body)
    if desk.twin:
        return refusal(desk, ticket, prompt, build, slot)
    ids = [p.id for p in parts_of(desk, build)]
    kept = [p.id for p in parts_of(desk, build) if p.category != slot]
    return Task(
        prompt=prompt,
        rubric=[
            expect_read(build, id="saw-build"),
            desk.account(customer),
            expect_any(checked_together([*kept, part.id]), expect_read(part), id="checked"),
            expect_change(build, {f"{slot}_id": part.id}, id="fixed", after=["saw-build", "saw-account", "checked"]),
            *desk.resolved(ticket, after=["fixed"]),
        ],
        oracle=[
            call("get_build", build_id=build.id),
            call("get_customer", customer_id=customer.id),
            call("check_compatibility", product_ids=list(ids)),
            call("search_products", category=slot, in_stock=True, max_price_cents=part.price_cents),
            call("check_compatibility", product_ids=[*kept, part.id]),
            call("replace_build_part", build_id=build.id, product_id=part.id),
            *closing_calls(ticket, f"{part.name} is in your build now, and it works."),
        ],
        alternatives=[
            [
                call("read_handbook", section_id="BLD-1"),
                call("get_build", build_id=build.id),
                call("search_products", category=slot, max_price_cents=part.price_cents),
                call("get_product", product_id=part.id),
                call("get_ticket", ticket_id=ticket.id),
                call("get_customer", customer_id=customer.id),
                call("replace_build_part", build_id=build.id, product_id=part.id),
                call("resolve_ticket", ticket_id=ticket.id),
                call("reply", message="Your build will work now."),
                call("finish"),
            ]
        ],
    )


def refusal(desk: Desk, ticket: Ticket, prompt: str, build: Build, slot: str) -> Task:
    owner = desk.state.get(Customer, build.customer_id)
    if desk.stream.chance(50):
        grounds = parts_sold_out(desk, build, fixes(desk, build, slot))
    else:
        grounds, owner = anothers_build(desk, build)
    opening = [call("get_build", build_id=build.id), call("get_customer", customer_id=owner.id)]
    return refusal_task(desk, ticket, prompt, grounds, account=owner, opening=opening)
