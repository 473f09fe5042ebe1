"""The company's policy as numbers and arithmetic: the one source of the handbook, the tools' checks and the rubrics.

Functions take plain values so that a rubric and a tool that ask the same question cannot disagree.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Literal

from palaestra.envs.kit.cases import Priority
from palaestra.envs.worlds.storefront.schema import Category, Fault, Order, OrderLine, Product, Promotion, Tier
from palaestra.protocols import StateView


@dataclass(frozen=True, slots=True, kw_only=True)
class Season:
    """Days of delivery for which goods may come back longer; days are (month, day)."""

    first: tuple[int, int]
    last: tuple[int, int]
    """The last day of delivery; not before the first one in a year."""
    until: tuple[int, int]
    """Returnable at least until this day: of the next year where it comes before `first` in a year."""

    def end(self, delivered: date) -> date | None:
        """The day until which goods delivered on `delivered` may come back; `None` outside the season."""
        if not self.first <= (delivered.month, delivered.day) <= self.last:
            return None
        return date(delivered.year + (self.until < self.first), *self.until)


FAULTS: tuple[Fault, ...] = ("dead", "noise", "overheating", "display", "intermittent")
"""The faults that a warranty covers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorePolicy:
    """Every rule that the handbook states; amounts in cents, shares in percent, times in days."""

    return_days: dict[Tier, int] = field(
        default_factory=lambda: {"bronze": 30, "silver": 30, "gold": 45, "platinum": 60}
    )
    """RET-1, by tier; the last day still counts."""
    window_from: Literal["delivery", "order"] = "delivery"
    """RET-1: the day from which the window is counted."""
    season: Season = field(default_factory=lambda: Season(first=(11, 15), last=(12, 31), until=(1, 31)))
    """RET-4: when goods were delivered that may come back longer, and until when."""
    restocking_percent: int = 15
    """RET-2: kept from an opened item that comes back for a change of mind."""
    fee_free_tiers: tuple[Tier, ...] = ("platinum",)
    """RET-2: the tiers that pay no restocking fee; there may be none."""
    final_sale_tiers: tuple[Tier, ...] = ()
    """RET-3: the tiers that may return clearance goods as they may any others."""
    agent_limit_cents: int = 30_000
    """REF-2: the largest refund that a support agent may pay alone."""
    supervisor_limit_cents: int = 150_000
    """REF-2: the largest that a support supervisor approves; above it, a finance manager."""
    wrong_charge: Literal["earlier", "later"] = "later"
    """REF-4: which of two equal charges goes back."""
    price_match_days: int = 14
    """PRM-1: counted from the day of the order."""
    price_match_cap_percent: int = 20
    """PRM-1: the largest share of the unit price paid that is credited."""
    price_match_shops: tuple[str, ...] = ("Bitmarkt", "Corsio", "Tekhaus")
    """PRM-1: the shops whose offers count."""
    match_with_promotion: bool = False
    """PRM-1: whether an order that used a promotion code is matched too."""
    lost_after_days: int = 10
    """SHP-1: a parcel is lost when this many days have passed since its due date without a scan after that date."""
    lost_remedy: Literal["replacement", "refund"] = "replacement"
    """SHP-1: what makes up for a lost parcel first; a replacement is possible only where all is in stock."""
    delay_credit_cents: dict[Tier, int] = field(
        default_factory=lambda: {"bronze": 500, "silver": 1_000, "gold": 1_500, "platinum": 2_500}
    )
    """LOY-2: store credit for a parcel that arrived late."""
    delay_grace_days: int = 3
    """LOY-2: a parcel is late when it arrives more than this many days after its due date."""
    claim_days: int = 14
    """LOY-3: a warranty claim is slow when it has been open for more than this many days."""
    claim_credit_percent: int = 10
    """LOY-3: store credit for a slow claim, of the price paid for the piece."""
    promotion_claim_days: int = 7
    """PRM-2: how long after the order a forgotten promotion code may still be claimed."""
    tier_from_cents: dict[Tier, int] = field(
        default_factory=lambda: {"bronze": 0, "silver": 50_000, "gold": 150_000, "platinum": 400_000}
    )
    """LOY-1: lifetime spending from which a tier holds."""
    lifetime_months: int = 24
    """LOY-1: how far back the spending that earns a tier is counted."""
    bundle_claws_back: bool = True
    """PRM-3: whether the discount of what is kept of a bundle is taken back where it is no longer earned."""
    replaced_faults: tuple[Fault, ...] = FAULTS
    """WAR-2: the faults for which a piece is replaced where it is in stock; any other is repaired."""
    hold_priority: Priority = "high"
    """FRD-1: how urgent a request from an account under a fraud hold is."""
    worked_ticket: Literal["first", "last"] = "first"
    """TCK-2: which of several tickets about one matter is worked; the others are closed."""
    asked_first: Literal["lowest", "highest"] = "lowest"
    """WHO-2: whose limit decides who is asked, of several colleagues who may approve an amount."""
    psu_headroom_percent: int = 30
    """BLD-1: what a build's power supply must give over the sum of what its parts draw."""
    recall_credit_percent: int = 10
    """REC-1: the share of the price paid that the owner of a recalled piece gets as store credit."""


POLICY = StorePolicy()


def percent_of(cents: int, percent: int) -> int:
    """`percent` of `cents`, rounded half up to a cent."""
    return (cents * percent + 50) // 100


def tier_for(policy: StorePolicy, lifetime_cents: int) -> Tier:
    """The tier that a lifetime spending earns (LOY-1)."""
    return max(
        (t for t in policy.tier_from_cents if policy.tier_from_cents[t] <= lifetime_cents),
        key=lambda t: policy.tier_from_cents[t],
    )


def earns_tier(policy: StorePolicy, placed: date, today: date) -> bool:
    """Whether an order placed on `placed` still counts for its customer's tier (LOY-1)."""
    return warranty_end(placed, policy.lifetime_months) >= today


def last_return_day(policy: StorePolicy, tier: Tier, delivered: date, placed: date | None = None) -> date:
    """The last day on which goods delivered on `delivered` may come back (RET-1, RET-4).

    Args:
        policy: The rules.
        tier: The customer's.
        delivered: When the last parcel came.
        placed: When they were ordered, which counts where the window is counted from that day; left out, it is not.
    """
    begins = placed if placed is not None and policy.window_from == "order" else delivered
    last = begins + timedelta(days=policy.return_days[tier])
    return max(last, policy.season.end(delivered) or last)


def warranty_end(delivered: date, months: int) -> date:
    """The last day of a warranty of `months` that began on `delivered` (WAR-1); a short month ends it sooner."""
    index = delivered.year * 12 + delivered.month - 1 + months
    year, month = divmod(index, 12)
    following = date(year + (month == 11), (month + 1) % 12 + 1, 1)
    return min(date(year, month + 1, 1) + timedelta(days=delivered.day - 1), following - timedelta(days=1))


def paid_cents(order: Order, line: OrderLine, quantity: int) -> int:
    """What `quantity` pieces of a line really cost: their list price less their share of the order's discount.

    The discount is shared in proportion to list price, rounded half up (REF-3). Shipping is not part of it.
    """
    gross = line.unit_cents * quantity
    if order.subtotal_cents == 0:
        return 0
    share = (2 * order.discount_cents * gross + order.subtotal_cents) // (2 * order.subtotal_cents)
    return gross - share


def restocking_fee(policy: StorePolicy, tier: Tier, paid: int, *, opened: bool, change_of_mind: bool) -> int:
    """What is kept from `paid` when goods come back (RET-2)."""
    if not (opened and change_of_mind) or tier in policy.fee_free_tiers:
        return 0
    return percent_of(paid, policy.restocking_percent)


def price_match_cents(policy: StorePolicy, unit_cents: int, offer_cents: int) -> int:
    """The credit for one piece bought at `unit_cents` that a competitor offers at `offer_cents` (PRM-1)."""
    return min(max(unit_cents - offer_cents, 0), percent_of(unit_cents, policy.price_match_cap_percent))


def promotion_cents(promotion: Promotion, goods: Sequence[tuple[Category, int]], on: date) -> int:
    """What a promotion takes off goods of (category, list cents) ordered on `on`; 0 when it does not apply."""
    if not promotion.starts <= on <= promotion.ends or sum(c for _, c in goods) < promotion.minimum_cents:
        return 0
    counted = sum(cents for category, cents in goods if promotion.category in (None, category))
    return percent_of(counted, promotion.percent)


def build_draw(parts: list[Product]) -> int:
    """The watts that a build's parts draw together, its power supply left out."""
    return sum(p.watts for p in parts if p.category != "psu")


def needed_watts(policy: StorePolicy, parts: list[Product]) -> int:
    """The watts that a build's power supply must give: what its parts draw, and the headroom (BLD-1)."""
    return -(-build_draw(parts) * (100 + policy.psu_headroom_percent) // 100)


def build_problems(policy: StorePolicy, parts: list[Product]) -> list[str]:
    """Why these parts do not make a working PC (BLD-1); empty when they do. At most one part of a category counts."""
    by_category = {p.category: p for p in parts}
    cpu, board, memory = (by_category.get(c) for c in ("cpu", "motherboard", "memory"))
    gpu, psu, case, cooler = (by_category.get(c) for c in ("gpu", "psu", "case", "cooler"))
    problems: list[str] = []
    if cpu and board and cpu.socket != board.socket:
        problems.append(f"socket: {cpu.id} is {cpu.socket}, {board.id} is {board.socket}")
    if cpu and cooler and cpu.socket not in cooler.socket.split():
        problems.append(f"cooler: {cooler.id} does not fit socket {cpu.socket}")
    if memory and board and memory.memory_type != board.memory_type:
        problems.append(f"memory: {memory.id} is {memory.memory_type}, {board.id} takes {board.memory_type}")
    if board and case and FORM_FACTORS.index(board.form_factor) > FORM_FACTORS.index(case.form_factor):
        problems.append(f"case: {case.id} takes {case.form_factor} at most, {board.id} is {board.form_factor}")
    if gpu and case and gpu.length_mm > case.length_mm:
        problems.append(f"length: {gpu.id} is {gpu.length_mm} mm, {case.id} takes {case.length_mm} mm")
    if psu:
        needed = needed_watts(policy, parts)
        if psu.watts < needed:
            problems.append(f"power: {psu.id} gives {psu.watts} W, the build needs {needed} W with headroom")
    return problems


FORM_FACTORS = ("ITX", "mATX", "ATX")
"""Small to large; a case takes its own and every smaller one."""


def build_parts(state: StateView, build_part_ids: list[str | None]) -> list[Product]:
    """The products of a build's part columns, missing ones left out."""
    return [state.get(Product, part) for part in build_part_ids if part is not None]
