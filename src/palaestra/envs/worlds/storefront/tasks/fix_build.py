"""A custom PC does not fit together: one part is replaced by the cheapest in stock that works."""

from dataclasses import replace

from palaestra.envs.kit import refusal_task
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls, decline_calls
from palaestra.envs.worlds.storefront.policy import StorePolicy, build_problems
from palaestra.envs.worlds.storefront.refusal_conditions import anothers_build, parts_sold_out
from palaestra.envs.worlds.storefront.schema import Build, Category, Customer, Product, Ticket
from palaestra.envs.worlds.storefront.workbench import check, knew_fit, parts_of, shelf
from palaestra.records import ToolCall
from palaestra.rubrics import expect_any, expect_change, expect_read

FIXABLE: tuple[Category, ...] = ("psu", "memory", "case", "cooler")
"""The parts that a customer may ask to have exchanged."""


def fixes(desk: Desk, build: Build, slot: Category, policy: StorePolicy | None = None) -> list[Product]:
    """The parts in stock that would make the build work in this slot, cheapest first."""
    kept = [p for p in parts_of(desk, build) if p.category != slot]
    shelf = [p for p in desk.state.find(Product, category=slot) if p.stock > 0]
    working = [p for p in shelf if not build_problems(policy or desk.policy, [*kept, p])]
    return sorted(working, key=lambda p: p.price_cents)


def clear_fix(desk: Desk, build: Build, slot: Category, policy: StorePolicy | None = None) -> Product | None:
    """The cheapest fix in this slot, unless two cost the same."""
    found = fixes(desk, build, slot, policy)
    tied = len(found) > 1 and found[0].price_cents == found[1].price_cents
    return None if tied or not found else found[0]


@family("storefront/fix-build", level=3, traits=("write", "multi-hop", "arithmetic"), twin=True)
def fix_build(desk: Desk) -> Task:
    def slots(build: Build, policy: StorePolicy) -> list[Category]:
        return [s for s in FIXABLE if clear_fix(desk, build, s, policy)]

    def fits(build: Build) -> bool:
        return (
            build.status == "draft"
            and bool(build_problems(desk.policy, parts_of(desk, build)))
            and bool(slots(build, desk.policy))
        )

    build = desk.pick(Build, fits, what="draft build that one part would fix", decides=True)
    slot = desk.stream.choice(slots(build, desk.planting_policy))
    part = clear_fix(desk, build, slot)
    customer = desk.state.get(Customer, build.customer_id)
    ticket = desk.ticket(customer, desk.word_subject("fix-build", f"My build {build.name}"))
    words = (
        f"The shop says that my build {build.id} will not work. I think that it is the {slot}. Please put in the "
        f"cheapest {slot} you have in stock that makes it work, and leave the rest."
    )
    prompt = desk.mail(ticket, desk.word_body("fix-build", (words,), build=build.id, part=slot))
    if desk.twin:
        return refusal(desk, ticket, prompt, build, slot)
    desk.answer = lambda: cheapest_fix(desk, ticket, build, slot)
    assert part is not None or desk.is_rule_twin, "the slot was chosen for having a fix"
    if part is None:
        return Task(prompt=prompt, oracle=desk.answer())
    kept = [p for p in parts_of(desk, build) if p.category != slot]
    return Task(
        prompt=prompt,
        rubric=[
            expect_read(build, id="saw-build"),
            desk.account(customer),
            expect_any(knew_fit([*kept, part]), expect_read(part), id="checked"),
            desk.read("BLD-1"),
            expect_change(build, {f"{slot}_id": part.id}, id="fixed", after=["saw-build", "saw-account", "read-BLD-1"]),
            # A draft can be changed back, so that the check may follow the exchange, before the end.
            *desk.expect_resolved(ticket, after=["fixed", "checked"]),
        ],
        oracle=[
            *part_lookups(desk, build, slot),
            call("replace_build_part", build_id=build.id, product_id=part.id),
            *closing_calls(ticket, f"The {part.name} is in {build.id} now, and it works."),
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


def cheapest_fix(desk: Desk, ticket: Ticket, build: Build, slot: Category) -> list[ToolCall]:
    """Put the cheapest part that makes the build work into its slot, or decline where there is none."""
    found, looks = fixes(desk, build, slot), part_lookups(desk, build, slot)
    if not found:
        return [*looks, *decline_calls(ticket, "BLD-1", build, "No part in stock makes it work.")]
    work = call("replace_build_part", build_id=build.id, product_id=found[0].id)
    return [*looks, work, *closing_calls(ticket, "It works now.")]


def refusal(desk: Desk, ticket: Ticket, prompt: str, build: Build, slot: Category) -> Task:
    owner = desk.state.get(Customer, build.customer_id)
    if desk.stream.chance(50):
        grounds = parts_sold_out(desk, build, fixes(desk, build, slot, desk.planting_policy))
        path = part_lookups(desk, build, slot)
        grounds = replace(grounds, lookups=tuple(path[2:]))
    else:
        grounds, owner = anothers_build(desk, build)
        path = part_lookups(desk, desk.state.get(Build, build.id), slot)
    return refusal_task(desk, ticket, prompt, grounds, account=owner, opening=path[:2], path=path)


def part_lookups(desk: Desk, build: Build, slot: Category) -> list[ToolCall]:
    """What is looked up, in order: the build, whose it is, and the parts in stock from the cheapest until one works."""
    parts = parts_of(desk, build)
    kept = [p for p in parts if p.category != slot]
    pages, candidates = shelf(desk, slot)
    tried: list[ToolCall] = []
    for part in candidates:
        tried.append(check([*kept, part]))
        if not build_problems(desk.policy, [*kept, part]):
            break
    return [
        call("get_build", build_id=build.id),
        call("get_customer", customer_id=build.customer_id),
        call("read_handbook", section_id="BLD-1"),
        check(parts),
        *pages,
        *tried,
    ]
