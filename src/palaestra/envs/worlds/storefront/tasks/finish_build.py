"""A build lacks its graphics card: the cheapest that fits goes in, with a stronger power supply if it needs one."""

from dataclasses import dataclass

from palaestra.envs.kit import amount, calculation
from palaestra.envs.kit.paging import PAGE
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls, decline_calls
from palaestra.envs.worlds.storefront.policy import StorePolicy, build_problems
from palaestra.envs.worlds.storefront.schema import Build, Category, Customer, Product, Ticket
from palaestra.envs.worlds.storefront.stock_search import expect_searches
from palaestra.envs.worlds.storefront.workbench import check, knew_fit, parts_of, shelf
from palaestra.records import Json, ToolCall
from palaestra.rubrics import expect_any, expect_change, expect_read

SIZES = ("8 GB", "12 GB", "16 GB", "32 GB")
"""How much memory a customer may want their card to have; a card's name says it."""
STEP = 1_000
"""Budgets are stated in steps of so many cents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPlan:
    """What finishes a build."""

    size: str
    """The memory that the card has to have."""
    kept: tuple[Product, ...]
    """The parts that stay in any case."""
    card: Product
    """The cheapest such card in stock that the case has room for."""
    supply: Product
    """The cheapest power supply in stock that is enough for it."""
    weak: Product
    """A power supply that is enough for the kept parts alone, and not with the card."""

    @property
    def cents(self) -> int:
        """What both cost."""
        return self.card.price_cents + self.supply.price_cents


def cheapest(parts: list[Product]) -> Product | None:
    """The cheapest of the parts that are in stock, unless two cost the same."""
    shelf = sorted((p for p in parts if p.stock > 0), key=lambda p: p.price_cents)
    tied = len(shelf) > 1 and shelf[0].price_cents == shelf[1].price_cents
    return None if tied or not shelf else shelf[0]


def working(desk: Desk, kept: list[Product], category: Category, policy: StorePolicy | None = None) -> list[Product]:
    """The parts of a category with which `kept` works, in stock or not, by the rules of the desk or by others."""
    rules = policy or desk.policy
    return [p for p in desk.state.find(Product, category=category) if not build_problems(rules, [*kept, p])]


def cards(desk: Desk, kept: list[Product], size: str, policy: StorePolicy | None = None) -> list[Product]:
    """The cards with so much memory that the case has room for, in stock or not."""
    return [p for p in working(desk, kept, "gpu", policy) if p.name.endswith(f" {size}")]


def plans(desk: Desk, build: Build, policy: StorePolicy | None = None) -> list[BuildPlan]:
    """How the build could be finished if it lacked its card and had a weak power supply, by the memory wanted."""
    found = (plan(desk, build, size, policy) for size in SIZES)
    return [p for p in found if p is not None]


def plan(desk: Desk, build: Build, size: str, policy: StorePolicy | None = None) -> BuildPlan | None:
    """The same for one size of memory; `None` where there is no such card, or none that asks for another supply."""
    kept = [p for p in parts_of(desk, build) if p.category not in {"gpu", "psu"}]
    card = cheapest(cards(desk, kept, size, policy))
    if build_problems(policy or desk.policy, kept) or card is None:
        return None
    enough = working(desk, [*kept, card], "psu", policy)
    weak = [p for p in working(desk, kept, "psu", policy) if p not in enough]
    supply = cheapest(enough)
    if supply is None or not weak or not is_on_first_page(desk, supply):
        return None
    return BuildPlan(size=size, kept=tuple(kept), card=card, supply=supply, weak=weak[0])


def search_arguments(part: Product, size: str) -> dict[str, Json]:
    """What to search for to have a part listed: its category, in stock, for no more than it costs."""
    asked: dict[str, Json] = {"category": part.category, "in_stock": True, "max_price_cents": part.price_cents}
    return {**asked, "query": size} if part.category == "gpu" else asked


def is_on_first_page(desk: Desk, part: Product) -> bool:
    """Whether the first page of its category's stock, for no more than it costs, lists a part."""
    shelf = [p for p in desk.state.find(Product, category=part.category) if p.stock > 0]
    return part in [p for p in shelf if p.price_cents <= part.price_cents][:PAGE]


@family("storefront/finish-build", level=3, traits=("write", "multi-hop", "arithmetic"), twin=True)
def finish_build(desk: Desk) -> Task:
    build = desk.pick(
        Build, lambda b: b.status == "draft" and bool(plans(desk, b)), what="draft to finish", decides=True
    )
    found = desk.stream.choice(plans(desk, build, desk.planting_policy))
    customer = desk.state.get(Customer, build.customer_id)
    build = desk.state.update(build, gpu_id=None, psu_id=found.weak.id)
    wish = f"the cheapest graphics card with {found.size} that you have in stock and the case has room for"
    supplies = "If the power supply is too weak for it, put in the cheapest one in stock that is enough."
    budget = (found.cents // STEP + 1 + desk.stream.below(3)) * STEP
    limit = f"I can spend EUR {budget // 100}; if that is not enough for both, leave the build as it is."
    body = desk.word_body(
        "finish-build",
        (
            f"My build {build.id} has no graphics card yet. Please put in {wish}. {supplies} {limit}",
            f"I want to finish {build.id}: {wish}. {supplies} {limit}",
        ),
        build=build.id,
        size=found.size,
        budget=str(budget // 100),
    )
    ticket = desk.ticket(customer, desk.word_subject("finish-build", f"My build {build.name}"))
    prompt = desk.mail(ticket, body)
    opening = [
        call("get_build", build_id=build.id),
        call("get_customer", customer_id=customer.id),
        call("read_handbook", section_id="BLD-1"),
    ]
    if desk.twin:
        return too_dear(desk, ticket, prompt, build, found, opening, budget=budget)
    desk.answer = lambda: cheapest_pair(desk, ticket, build, found, opening, budget=budget)
    kept, card, supply = [p.id for p in found.kept], found.card, found.supply
    shelves = [call("search_products", **search_arguments(part, found.size)) for part in (card, supply)]
    try_both = call("check_compatibility", product_ids=[*kept, supply.id, card.id])
    work = [call("replace_build_part", build_id=build.id, product_id=part.id) for part in (card, supply)]
    told = f"The {card.name} and the {supply.name} are in {build.id} now, for {amount(found.cents)} together. It works."
    close = closing_calls(ticket, told)
    facts = ["saw-build", "saw-account", "read-BLD-1"]
    return Task(
        prompt=prompt,
        rubric=[
            expect_read(build, id="saw-build"),
            desk.account(customer),
            knew_fit([*found.kept, supply, card], exchanged=("gpu", "psu")),
            desk.read("BLD-1"),
            expect_change(build, {"gpu_id": card.id}, id="card", after=facts),
            expect_change(build, {"psu_id": supply.id}, id="supply", after=facts),
            # A draft can be changed back, so that the check may follow the exchange, before the end.
            *desk.expect_resolved(ticket, after=["card", "supply", "checked-together"]),
        ],
        oracle=[*opening, *part_lookups(desk, build, found.size), *work, *close],
        alternatives=[
            [
                opening[2],
                *reversed(shelves),
                call("get_product", product_id=card.id),
                call("get_product", product_id=supply.id),
                *opening[:2],
                try_both,
                *reversed(work),
                *close,
            ]
        ],
    )


def part_lookups(desk: Desk, build: Build, size: str) -> list[ToolCall]:
    """The cards from the cheapest until the case has room for one, then the power supplies until one is enough."""
    parts = [p for p in parts_of(desk, build) if p.category != "gpu"]
    kept = [p for p in parts if p.category != "psu"]
    pages, listed = shelf(desk, "gpu", size)
    calls = pages
    card = None
    for candidate in (p for p in listed if p.name.endswith(f" {size}")):
        calls.append(check([*parts, candidate]))
        if not build_problems(desk.policy, [*kept, candidate]):
            card = candidate
            break
    if card is None:
        return calls
    pages, listed = shelf(desk, "psu")
    calls += pages
    for supply in listed:
        calls.append(check([*kept, supply, card]))
        if not build_problems(desk.policy, [*kept, supply, card]):
            calls.append(calculation("sum", card.price_cents, supply.price_cents)[0])
            break
    return calls


def cheapest_pair(
    desk: Desk, ticket: Ticket, build: Build, found: BuildPlan, opening: list[ToolCall], *, budget: int
) -> list[ToolCall]:
    """Put the cheapest such card into the build, and a supply that is enough for it where the weak one is not."""
    kept = list(found.kept)
    card = cheapest(cards(desk, kept, found.size))
    parts = [] if card is None else [card]
    if card is not None and build_problems(desk.policy, [*kept, card, found.weak]):
        supply = cheapest(working(desk, [*kept, card], "psu"))
        parts = [] if supply is None else [card, supply]
    shelf = call("search_products", category="gpu", query=found.size, in_stock=True)
    if not parts or sum(part.price_cents for part in parts) > budget:
        return [*opening, shelf, *decline_calls(ticket, "BLD-1", build, "No card fits your build and your budget.")]
    looks = [call("search_products", **search_arguments(part, found.size)) for part in parts]
    check = call("check_compatibility", product_ids=[p.id for p in (*kept, *parts)])
    work = [call("replace_build_part", build_id=build.id, product_id=part.id) for part in parts]
    return [*opening, shelf, *looks, check, *work, *closing_calls(ticket, "It works now.")]


def too_dear(
    desk: Desk, ticket: Ticket, prompt: str, build: Build, found: BuildPlan, opening: list[ToolCall], *, budget: int
) -> Task:
    """Every card that could be had for the money was sold since."""
    kept = list(found.kept)
    policy, sold = desk.planting_policy, list[Product]()
    for card in cards(desk, kept, found.size, policy):
        enough = cheapest(working(desk, [*kept, card], "psu", policy))
        if enough is None or card.price_cents + enough.price_cents <= budget:
            sold.append(desk.state.update(card, stock=0))
    gone = desk.state.get(Product, found.card.id)
    query: dict[str, Json] = {"query": found.size, "category": "gpu"}
    listed = call("search_products", **query, in_stock=True)
    left = cheapest(cards(desk, kept, found.size, policy)) is not None
    at_price = f" does it for EUR {budget // 100}" if left else " fits your build"
    told = f"No graphics card with {found.size} in stock{at_price}, so we have left it as it is."
    return Task(
        prompt=prompt,
        rubric=[
            expect_read(build, id="saw-build"),
            desk.account(desk.state.get(Customer, build.customer_id)),
            expect_any(
                desk.stock(gone), expect_searches(desk, [p for p in sold if p.price_cents <= budget]), id="saw-shelf"
            ),
            *desk.expect_declined(ticket, "BLD-1", build, after=["saw-build", "saw-account", "saw-shelf"]),
        ],
        oracle=[
            *opening,
            *part_lookups(desk, build, found.size),
            *decline_calls(ticket, "BLD-1", build, told),
        ],
        alternatives=[
            [*opening, listed, *decline_calls(ticket, "BLD-1", build, "No card fits your build and your budget.")]
        ],
    )
