"""Somebody else will say what was opened: the case waits for the word, then takes the goods back with the fee due."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from palaestra.envs.kit import amount, calculation, enumerate_words, permit_change
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.storefront import requests
from palaestra.envs.worlds.storefront.aftersales import add_return
from palaestra.envs.worlds.storefront.desk import Desk, closing_calls, decline_calls
from palaestra.envs.worlds.storefront.planting import arrival, cheap, sell
from palaestra.envs.worlds.storefront.schema import Customer, Order, OrderLine, Return, Ticket, Tier
from palaestra.envs.worlds.storefront.waiting import (
    TIERS,
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
from palaestra.records import Json, ToolCall
from palaestra.rubrics import Criterion, expect_any, expect_call, expect_read, expect_row

DEAREST = 12_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """Orders whose goods the customer wants to send back."""

    customer: Customer
    orders: Sequence[Order]
    """In the order in which the customer names them."""
    opened: OrderLine
    """It turns out to have been opened."""
    sealed: OrderLine
    """It has not been opened."""
    days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What the case finds after its wait."""

    opened: OrderLine
    returns: Sequence[Return]
    """The returns that a colleague has authorised."""


@family(
    "storefront/await-answer",
    level=3,
    traits=("write", "arithmetic", "multi-hop", "policy-exception", "long"),
    splits=("train", "dev", "heldout", "heldout-records"),
    twin=True,
)
def await_answer(desk: Desk) -> Task:
    leaving = plant(desk)
    request = requests.word_to_come(desk, list_ids(leaving.orders), leaving.days)
    ticket = desk.ticket(leaving.customer, request.subject)
    prompt = desk.mail(ticket, request.body)
    found = meanwhile(desk, leaving.days, "the customer's brother writes", lambda: write_in(desk, leaving))
    opening = look_up(desk, leaving)
    if desk.twin:
        return refusal(desk, ticket, prompt, leaving, found, opening)
    lines = [line for order in leaving.orders for line in desk.lines(order)]
    share, fee = calculation("percent", desk.paid_cents(leaving.opened, 1), desk.policy.restocking_percent)
    fees = {leaving.opened.id: fee, leaving.sealed.id: 0}
    back: list[dict[str, Json]] = [
        {"line_id": line.id, "quantity": 1, "reason": "changed_mind", "fee_cents": fees[line.id]} for line in lines
    ]
    work = [
        *(call("authorise_return", **b) for b in back),
        *closing_calls(ticket, explain_fee(desk, leaving, fee)),
    ]
    facts = ["saw-account", "read-RET-1", "read-RET-2", "read-TCK-1"]
    looks = {
        leaving.opened.id: expect_look(found.made.opened, ["opened"], days=leaving.days, id="saw-opened"),
        leaving.sealed.id: expect_look(leaving.sealed, ["opened"], days=leaving.days, id="saw-sealed"),
    }
    return Task(
        prompt=prompt,
        rubric=[
            forbid_longer(leaving.days),
            expect_account(desk, leaving.customer, leaving.days),
            *(desk.read(section) for section in ("RET-1", "RET-2", "TCK-1")),
            *(knew_delivery(desk, line, n) for n, line in enumerate(lines, 1)),
            *(
                expect_read(desk.product(line), fields=["final_sale"], id=f"saw-product-{n}")
                for n, line in enumerate(lines, 1)
            ),
            *looks.values(),
            *(
                expect_row(
                    Return,
                    {**b, "status": "authorised"},
                    id=f"return-{n}",
                    after=[*facts, looks[line.id].id, f"saw-product-{n}", f"knew-delivery-{n}"],
                )
                for n, (b, line) in enumerate(zip(back, lines, strict=True), 1)
            ),
            *desk.expect_resolved(ticket, after=["return-1", "return-2"], states=fee),
        ],
        allow=[permit_change(line, "returned") for line in lines],
        oracle=[*opening, call("compute_paid", line_id=leaving.opened.id, quantity=1), share, *work],
        alternatives=[
            [
                *(call("read_handbook", section_id=section) for section in ("TCK-1", "RET-2", "RET-1")),
                *for_each("get_order", leaving.orders),
                *(call("compute_return_window", line_id=line.id) for line in lines),
                *(call("get_product", product_id=line.product_id) for line in lines),
                call("reply", message="We keep your ticket open until then."),
                wait(leaving.days - 1),
                wait(1),
                call("get_customer", customer_id=leaving.customer.id),
                *reversed(for_each("get_order", leaving.orders)),
                *reversed(work[:2]),
                *work[2:],
            ]
        ],
        later=[found.event],
        max_turns=50,
    )


def explain_fee(desk: Desk, leaving: Leaving, fee: int) -> str:
    """What the customer is told of the two returns: the fee on the opened piece, and what is left of each."""
    opened, sealed = desk.order(leaving.opened), desk.order(leaving.sealed)
    left = desk.paid_cents(leaving.opened, 1) - fee
    return (
        f"Please send both back. What you bought with {opened.id} was opened, so we keep a restocking fee of "
        f"{amount(fee)}; {amount(left)} are yours once it is here. For what you bought with {sealed.id} it is "
        f"{amount(desk.paid_cents(leaving.sealed, 1))}."
    )


def plant(desk: Desk) -> Leaving:
    """Add two orders of a customer who pays restocking fees, inside their return windows until the case is decided."""
    paying: list[Tier] = [tier for tier in TIERS if tier not in desk.policy.fee_free_tiers]
    customer = pick_customer(desk, 2, DEAREST, tiers=paying)
    days, first = draw_days(desk), desk.stream.below(2)
    one, *goods = desk.stream.permutation(cheap(desk, below=DEAREST))
    other = next(product for product in goods if product.category != one.category)
    orders = [
        sell(desk, customer, [(product, 1)], arrival(desk, desk.today - timedelta(days=1 + n)))
        for n, product in enumerate((one, other))
    ]
    lines = [line for order in orders for line in desk.lines(order)]
    return Leaving(
        customer=desk.state.get(Customer, customer.id),
        orders=orders,
        opened=lines[first],
        sealed=lines[1 - first],
        days=days,
    )


def write_in(desk: Desk, leaving: Leaving) -> Word:
    """The word comes that one package was opened; for the twin, a colleague authorises both returns at once."""
    opened = desk.state.update(leaving.opened, opened=True)
    if not desk.twin:
        return Word(opened=opened, returns=())
    lines = [opened, leaving.sealed] if leaving.opened.id < leaving.sealed.id else [leaving.sealed, opened]
    return Word(opened=opened, returns=[add_return(desk, line, "authorised") for line in lines])


def look_up(desk: Desk, leaving: Leaving) -> list[ToolCall]:
    """Look at the goods and their return windows, wait, and look at the goods and at their returns then."""
    lines = [line for order in leaving.orders for line in desk.lines(order)]
    return [
        *for_each("get_order", leaving.orders),
        call("get_customer", customer_id=leaving.customer.id),
        *(call("get_product", product_id=line.product_id) for line in lines),
        *(call("compute_return_window", line_id=line.id) for line in lines),
        *(call("read_handbook", section_id=section) for section in ("RET-1", "RET-2", "TCK-1")),
        wait(leaving.days),
        call("get_customer", customer_id=leaving.customer.id),
        *for_each("get_order", leaving.orders),
        *for_each("get_returns", leaving.orders),
    ]


def explain_arranged(returns: Sequence[Return]) -> str:
    """That a colleague has arranged the returns, by number."""
    return f"A colleague has arranged both returns already: {enumerate_words([back.id for back in returns])}."


def knew_delivery(desk: Desk, line: OrderLine, n: int) -> Criterion:
    """Expect that the agent found out when the return window of the `n`th line began."""
    record = desk.window_record(desk.order(line))
    fields = ["placed"] if isinstance(record, Order) else ["delivered"]
    window = expect_call("compute_return_window", arguments={"line_id": line.id})
    return expect_any(expect_read(record, fields=fields), window, id=f"knew-delivery-{n}")


def refusal(
    desk: Desk, ticket: Ticket, prompt: str, leaving: Leaving, found: Meanwhile[Word], opening: list[ToolCall]
) -> Task:
    """A colleague has authorised both returns while the case waited."""
    first, second = found.made.returns
    seen = [expect_read(back, id=f"saw-return-{n}") for n, back in enumerate(found.made.returns, 1)]
    facts = ["saw-account", "read-TCK-1", *(c.id for c in seen)]
    return Task(
        prompt=prompt,
        rubric=[
            forbid_longer(leaving.days),
            expect_account(desk, leaving.customer, leaving.days),
            desk.read("TCK-1"),
            *seen,
            *desk.expect_declined(ticket, "RET-1", first, second, after=facts),
        ],
        oracle=[*opening, *decline_calls(ticket, "RET-1", first, explain_arranged(found.made.returns))],
        alternatives=[
            [
                call("read_handbook", section_id="TCK-1"),
                call("read_handbook", section_id="RET-1"),
                *for_each("get_order", leaving.orders),
                wait(leaving.days),
                call("get_customer", customer_id=leaving.customer.id),
                *reversed(for_each("get_returns", leaving.orders)),
                *decline_calls(ticket, "RET-1", second, explain_arranged(found.made.returns)),
            ]
        ],
        later=[found.event],
        max_turns=50,
    )
