"""A customer wants another graphics card in a build: it goes in where the rest of the build can take it."""

from collections.abc import Iterator
from dataclasses import replace

from palaestra.envs.kit import amount, calculation, refusal_task
from palaestra.envs.kit.paging import PAGE
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls, decline_calls
from palaestra.envs.worlds.storefront.policy import StorePolicy, build_problems
from palaestra.envs.worlds.storefront.refusal_conditions import card_sold_out, rest_changed
from palaestra.envs.worlds.storefront.schema import Build, Customer, Product, Ticket
from palaestra.envs.worlds.storefront.workbench import exchange_part, knew_fit, parts_of
from palaestra.records import ToolCall
from palaestra.rubrics import expect_change


def offers(desk: Desk, build: Build, policy: StorePolicy) -> Iterator[tuple[Product, Product]]:
    """Cards that a working build can take, each with a case or power supply with which it works and cannot."""
    parts = parts_of(desk, build)
    if build_problems(policy, parts):
        return
    for card in desk.state.find(Product, category="gpu"):
        if card.stock == 0 or card in parts or build_problems(policy, exchange_part(parts, card)):
            continue
        for other in [*desk.state.find(Product, category="case"), *desk.state.find(Product, category="psu")]:
            rest = exchange_part(parts, other)
            if not build_problems(policy, rest) and build_problems(policy, exchange_part(rest, card)):
                yield card, other
                break


@family("storefront/swap-graphics-card", level=2, traits=("write", "lookup"), twin=True)
def swap_graphics_card(desk: Desk) -> Task:
    def fits(build: Build) -> bool:
        return (
            build.status == "draft" and build.gpu_id is not None and any(True for _ in offers(desk, build, desk.policy))
        )

    build = desk.pick(Build, fits, what="draft build that can take another graphics card", decides=True)
    card, other = desk.stream.choice(list(offers(desk, build, desk.planting_policy)))
    customer = desk.state.get(Customer, build.customer_id)
    request = requests.other_card(desk, build.id, card)
    ticket = desk.ticket(customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    desk.answer = lambda: exchange(desk, ticket, build, card)
    if desk.twin:
        return refusal(desk, ticket, prompt, build, card, other)
    kept = [p for p in parts_of(desk, build) if p.category != "gpu"]
    facts = ["saw-account", f"saw-stock-{card.id}", "read-BLD-1"]
    check = call("check_compatibility", product_ids=[*(p.id for p in kept), card.id])
    compare, told = price_change(desk, build, card)
    return Task(
        prompt=prompt,
        rubric=[
            desk.stock(card),
            knew_fit([*kept, card], exchanged=("gpu",)),
            desk.account(customer),
            desk.read("BLD-1"),
            expect_change(build, {"gpu_id": card.id}, id="swapped", after=facts),
            # A draft can be changed back, so that the check may follow the exchange, before the end.
            *desk.expect_resolved(ticket, after=["swapped", "checked-together"]),
        ],
        oracle=[
            *part_lookups(desk, build, card),
            *compare,
            call("replace_build_part", build_id=build.id, product_id=card.id),
            *closing_calls(ticket, told),
        ],
        alternatives=[
            [
                call("read_handbook", section_id="BLD-1"),
                call("search_products", category="gpu", query=card.name),
                call("get_product", product_id=card.id),
                call("get_build", build_id=build.id),
                call("get_ticket", ticket_id=ticket.id),
                call("get_customer", customer_id=customer.id),
                check,
                call("replace_build_part", build_id=build.id, product_id=card.id),
                call("resolve_ticket", ticket_id=ticket.id),
                call("reply", message=f"Your build has the {card.name} that you asked for."),
                call("finish"),
            ]
        ],
    )


def part_lookups(desk: Desk, build: Build, card: Product) -> list[ToolCall]:
    """What is looked up, in order: the build, whose it is, the cards, the rule, and whether it all works together."""
    kept = [p.id for p in parts_of(desk, build) if p.category != "gpu"]
    return [
        call("get_build", build_id=build.id),
        call("get_customer", customer_id=build.customer_id),
        *list_cards(desk, build, card),
        call("read_handbook", section_id="BLD-1"),
        call("check_compatibility", product_ids=[*kept, card.id]),
    ]


def list_cards(desk: Desk, build: Build, card: Product) -> list[ToolCall]:
    """List the graphics cards of the shop, page by page, until the card and the one in the build were listed."""
    listed = sorted(product.id for product in desk.state.find(Product, category="gpu"))
    last = max(listed.index(key) for key in (card.id, str(build.gpu_id)))
    pages = [call("search_products", category="gpu")]
    ends = range(PAGE, last + 1, PAGE)
    return [*pages, *(call("search_products", category="gpu", cursor=listed[end - 1]) for end in ends)]


def price_change(desk: Desk, build: Build, card: Product) -> tuple[list[ToolCall], str]:
    """The calls that compare a card with the one in a build, and what the customer is told of both."""
    [old] = [part for part in parts_of(desk, build) if part.category == "gpu"]
    low, high = sorted((card.price_cents, old.price_cents))
    made, less = calculation("difference", high, low)
    by = f"{amount(less)} {'more' if card.price_cents == high else 'less'} than" if less else "as much as"
    told = (
        f"The {card.name} works with the other parts of {build.id}, so it is in your build now. It costs "
        f"{amount(card.price_cents)}, {by} the {old.name} that it replaces."
    )
    return ([made] if less else []), told


def exchange(desk: Desk, ticket: Ticket, build: Build, card: Product) -> list[ToolCall]:
    """Put the card into the build where it is in stock and the rest can take it, and decline otherwise."""
    build, card = desk.state.get(Build, build.id), desk.state.get(Product, card.id)
    looks = part_lookups(desk, build, card)
    if card.stock == 0 or build_problems(desk.policy, exchange_part(parts_of(desk, build), card)):
        return [*looks, *decline_calls(ticket, "BLD-1", build, "Your build cannot take it.")]
    compare, told = price_change(desk, build, card)
    work = call("replace_build_part", build_id=build.id, product_id=card.id)
    return [*looks, *compare, work, *closing_calls(ticket, told)]


def refusal(desk: Desk, ticket: Ticket, prompt: str, build: Build, card: Product, other: Product) -> Task:
    customer = desk.state.get(Customer, build.customer_id)
    grounds = rest_changed(desk, build, card, other) if desk.stream.chance(50) else card_sold_out(desk, build, card)
    # The cards were listed already, so that nothing is left to search for.
    known = tuple(look for look in grounds.lookups if look.tool != "search_products")
    grounds = replace(grounds, lookups=known, otherwise=grounds.lookups)
    path = part_lookups(desk, desk.state.get(Build, build.id), card)
    return refusal_task(desk, ticket, prompt, grounds, account=customer, opening=path[:2], path=path)
