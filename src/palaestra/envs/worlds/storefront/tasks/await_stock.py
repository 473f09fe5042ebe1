"""Goods are to come in for repairs that drag on: the case waits, then swaps what it can and credits what is slow."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from palaestra.envs.kit import amount, calculation, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.aftersales import add_claim
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls
from palaestra.envs.worlds.storefront.planting import arrival, cheap, sell
from palaestra.envs.worlds.storefront.schema import Credit, Customer, Order, OrderLine, Product, Ticket, WarrantyClaim
from palaestra.envs.worlds.storefront.tickets import TICKETS
from palaestra.envs.worlds.storefront.waiting import (
    Meanwhile,
    draw_days,
    expect_account,
    expect_look,
    for_each,
    forbid_longer,
    list_ids,
    meanwhile,
    pick_customer,
    wait,
)
from palaestra.errors import DrawError
from palaestra.records import Json, ToolCall
from palaestra.rubrics import expect_change, expect_row, forbid_call

DEAREST = 12_000
ARRIVED_DAYS = (80, 100, 120, 140, 160, 180, 200)
"""How many days ago the goods may have arrived: the return window has to be closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A piece that is to be repaired since it was out of stock."""

    order: Order
    line: OrderLine
    product: Product
    claim: WarrantyClaim


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """Two repairs of a customer."""

    customer: Customer
    orders: Sequence[Order]
    """In the order in which the customer names them."""
    young: Repair
    """It has waited for a short while, and its product comes in."""
    slow: Repair
    """It will have waited for long, and its product stays away."""
    days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What the case finds after its wait."""

    product: Product
    customer: Customer


@family(
    "storefront/await-stock",
    level=3,
    traits=("write", "arithmetic", "multi-hop", "policy-exception", "long"),
    splits=("train", "dev", "heldout", "heldout-records"),
    twin=True,
)
def await_stock(desk: Desk) -> Task:
    repairs = plant(desk)
    young, slow = repairs.young, repairs.slow
    request = requests.goods_to_come(desk, list_ids(repairs.orders), repairs.days)
    ticket = desk.ticket(repairs.customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    found = meanwhile(desk, repairs.days, "goods come in", lambda: come_in(desk, repairs))
    opening = look_up(repairs)
    if desk.twin:
        return escalation(desk, ticket, prompt, repairs, found, opening)
    share, cents = calculation("percent", desk.paid_cents(slow.line, 1), desk.policy.claim_credit_percent)
    credit: dict[str, Json] = {
        "customer_id": repairs.customer.id,
        "order_id": slow.order.id,
        "amount_cents": cents,
        "reason": "goodwill",
    }
    anew: dict[str, Json] = {"line_id": young.line.id, "fault": young.claim.fault, "remedy": "replace"}
    swap = [call("withdraw_warranty_claim", claim_id=young.claim.id), call("open_warranty_claim", **anew)]
    give = call("give_credit", **credit)
    close = closing_calls(
        ticket,
        f"The {young.product.name} from {young.order.id} has come in, so we send you a new one. The "
        f"{slow.product.name} from {slow.order.id} is still out of stock, so its repair goes on; for the long wait you "
        f"have {amount(cents)} of store credit.",
    )
    account = call("get_customer", customer_id=repairs.customer.id)
    earlier = call("get_credits", customer_id=repairs.customer.id)
    claims = [call("get_warranty_claims", line_id=repair.line.id) for repair in (young, slow)]
    stock = [call("get_product", product_id=repair.product.id) for repair in (young, slow)]
    facts = ["saw-account", "read-TCK-1"]
    return Task(
        prompt=prompt,
        rubric=[
            forbid_longer(repairs.days),
            forbid_call("give_credit", arguments={"order_id": young.order.id}, id="never-young"),
            expect_account(desk, repairs.customer, repairs.days),
            desk.earlier_credit(repairs.customer),
            *(desk.read(section) for section in ("WAR-2", "LOY-3", "TCK-1")),
            expect_look(young.claim, ["status"], days=repairs.days, id="saw-young"),
            expect_look(slow.claim, ["status"], days=repairs.days, id="saw-slow"),
            expect_look(found.made.product, ["stock"], days=repairs.days, id="saw-stock"),
            expect_look(slow.product, ["stock"], days=repairs.days, id="saw-slow-stock"),
            expect_change(
                young.claim,
                {"status": "withdrawn"},
                id="withdrawn",
                after=[*facts, "saw-young", "saw-stock", "read-WAR-2"],
            ),
            expect_row(WarrantyClaim, {**anew, "status": "open"}, id="claim", after=["withdrawn"]),
            expect_row(
                Credit,
                credit,
                id="credit",
                after=[*facts, "saw-slow", "saw-credits", "read-LOY-3"],
            ),
            *desk.expect_resolved(ticket, after=["claim", "credit", "saw-slow-stock"], states=cents),
        ],
        allow=[permit_change(repairs.customer, "credit_cents")],
        oracle=[
            *opening,
            earlier,
            call("compute_paid", line_id=slow.line.id, quantity=1),
            share,
            give,
            *swap,
            *close,
        ],
        alternatives=[
            [
                *(call("read_handbook", section_id=section) for section in ("TCK-1", "LOY-3", "WAR-2")),
                *for_each("get_order", repairs.orders),
                *claims,
                call("reply", message="We keep your ticket open until then."),
                wait(repairs.days - 1),
                wait(1),
                *claims,
                earlier,
                *reversed(stock),
                account,
                *swap,
                give,
                *close,
            ]
        ],
        later=[found.event],
        max_turns=50,
    )


def plant(desk: Desk) -> Repairs:
    """Add two orders of one customer whose goods are to be repaired, since there was none in stock."""
    customer = pick_customer(desk, 2, DEAREST)
    days, slow_first = draw_days(desk), desk.stream.chance(50)
    limit = desk.planting_policy.claim_days
    ages = {"slow": limit - desk.stream.below(days), "young": desk.stream.between(1, limit - days)}
    found: dict[str, Repair] = {}
    orders: list[Order] = []
    for name in ("slow", "young") if slow_first else ("young", "slow"):
        product = desk.stream.choice([p for p in cheap(desk, below=DEAREST) if has_faults(p) and p.stock > 0])
        fault = requests.fault_of(desk.stream, product)
        gone = desk.state.update(product, stock=0)
        order = sell_long_ago(desk, customer, gone)
        [line] = desk.lines(order)
        claim = add_claim(desk, line, fault, ago=ages[name], remedy="repair")
        found[name] = Repair(order=order, line=line, product=gone, claim=claim)
        orders.append(order)
    return Repairs(
        customer=desk.state.get(Customer, customer.id),
        orders=orders,
        young=found["young"],
        slow=found["slow"],
        days=days,
    )


def has_faults(product: Product) -> bool:
    """Whether the warranty of a product knows a fault of it, and lasts."""
    return product.category not in {"case", "cooler"} and product.warranty_months >= 12


def sell_long_ago(desk: Desk, customer: Customer, product: Product) -> Order:
    """Add an order that arrived so long ago that its return window is closed."""
    mark = len(desk.state.journal)
    for ago in ARRIVED_DAYS:
        order = sell(desk, customer, [(product, 1)], arrival(desk, desk.today - timedelta(days=ago)))
        if desk.last_planted_return_day(order) < desk.today - timedelta(days=desk.planting_policy.claim_days):
            return order
        desk.state.rollback(mark)
    raise DrawError("no day is long enough ago for the return window to be closed")


def come_in(desk: Desk, repairs: Repairs) -> Delivery:
    """One of the products comes in; for the twin, the account is put under a fraud hold as well."""
    stocked = desk.state.update(repairs.young.product, stock=3 + repairs.days)
    held = desk.state.update(repairs.customer, fraud_hold=True) if desk.twin else repairs.customer
    return Delivery(product=stocked, customer=held)


def look_up(repairs: Repairs) -> list[ToolCall]:
    """Look at the repairs, wait, and look at the account, the repairs and the stock then."""
    named = [r for order in repairs.orders for r in (repairs.young, repairs.slow) if r.order.id == order.id]
    claims = [call("get_warranty_claims", line_id=repair.line.id) for repair in named]
    return [
        *for_each("get_order", repairs.orders),
        call("get_customer", customer_id=repairs.customer.id),
        *claims,
        *(call("read_handbook", section_id=section) for section in ("WAR-2", "LOY-3", "TCK-1")),
        wait(repairs.days),
        call("get_customer", customer_id=repairs.customer.id),
        *claims,
        *(call("get_product", product_id=repair.product.id) for repair in named),
    ]


def escalation(
    desk: Desk, ticket: Ticket, prompt: str, repairs: Repairs, found: Meanwhile[Delivery], opening: list[ToolCall]
) -> Task:
    """The fraud team has placed a hold on the account while the case waited."""
    held, priority = found.made.customer, desk.policy.hold_priority
    read, reply = call("read_handbook", section_id="FRD-1"), call("reply", message="A colleague will be in touch.")
    hand_over = TICKETS.escalate(ticket, "FRD-1", held, team="fraud", priority=priority)
    return Task(
        prompt=prompt,
        rubric=[
            forbid_longer(repairs.days),
            forbid_call("give_credit", id="never-credit"),
            desk.read("TCK-1"),
            expect_look(held, ["fraud_hold"], days=repairs.days, id="saw-hold"),
            *desk.expect_escalated(
                ticket, "FRD-1", held, team="fraud", priority=priority, after=["saw-hold", "read-TCK-1"]
            ),
        ],
        oracle=[*opening, read, hand_over, reply, call("finish")],
        alternatives=[
            [
                read,
                call("read_handbook", section_id="TCK-1"),
                *for_each("get_order", repairs.orders),
                wait(repairs.days),
                call("get_customer", customer_id=held.id),
                reply,
                hand_over,
                call("finish"),
            ]
        ],
        later=[found.event],
        max_turns=50,
    )
