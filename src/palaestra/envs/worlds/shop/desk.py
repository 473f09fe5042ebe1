"""A draft of the Shop world, and the two ways in which its tasks end: an order, or a refusal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from palaestra.envs.kit import CaseDraft, Letter, LetterKind, RefusalCondition, refusal_task
from palaestra.envs.task import Task, call
from palaestra.envs.worlds.shop.letters import LETTERS
from palaestra.envs.worlds.shop.population import CUSTOMER_ID
from palaestra.envs.worlds.shop.schema import (
    BasketLine,
    Checkout,
    Delivery,
    Errand,
    PaymentMethod,
    ShopOrder,
    Variant,
)
from palaestra.envs.worlds.shop.terms import ShopTerms, order_totals
from palaestra.envs.worlds.shop.tools import CASES
from palaestra.envs.worlds.storefront.schema import Category, Customer, Promotion
from palaestra.records import Json, Row, ToolCall
from palaestra.rubrics import Allowance, Criterion, expect_change, expect_read, expect_row

FACTS = ("price_cents", "stock", "lead_days")
"""What has to be known of an article before it is ordered."""
PAYMENTS: Mapping[PaymentMethod, str] = {"card": "card", "paypal": "PayPal", "bank_transfer": "bank transfer"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """An order that is to be placed."""

    goods: tuple[tuple[Variant, int], ...]
    """Articles and their pieces."""
    delivery: Delivery
    payment: PaymentMethod
    promotion: Promotion | None = None
    address: tuple[str, str] | None = None
    """Street and town; `None`: the customer's own."""


class ShopDraft(CaseDraft[Errand]):
    """A draft of this world."""

    cases = CASES
    letters: ClassVar[Mapping[str, LetterKind]] = LETTERS
    account_fields: ClassVar[tuple[str, ...]] = ("name", "street", "city")
    rules: ShopTerms
    planting_rules: ShopTerms

    @classmethod
    def person(cls) -> None:  # type: ignore[override]
        """Nobody: the rows hold what the customer's own login may see, so there is nothing to keep from a reader."""

    @property
    def customer(self) -> Customer:
        """Who is logged in."""
        return self.state.get(Customer, CUSTOMER_ID)

    def open_errand(self, kind: str, *, subject: str, bodies: Sequence[str], **facts: str) -> tuple[Errand, str]:
        """The errand that the task is about, and its prompt, in words of the split."""
        letter: Letter = self.word_request(
            kind, subject=subject, bodies=[body.format(**facts) for body in bodies], **facts
        )
        errand = self.open_case(self.customer, letter.subject)
        return errand, self.message(errand, letter.body)

    def choose_payment(self) -> PaymentMethod:
        """How the customer pays."""
        return self.stream.choice(tuple(PAYMENTS))

    def variants(self, where: Callable[[Variant], bool]) -> list[Variant]:
        """The articles for which `where` holds."""
        return [variant for variant in self.state.find(Variant) if where(variant)]

    def lines(self, order: ShopOrder) -> list[BasketLine]:
        """The lines of an order."""
        return self.state.find(BasketLine, order_id=order.id)

    def find_calls(self, *wanted: Variant, **filters: Json) -> list[ToolCall]:
        """The pages of a search up to the last of some articles."""
        found = self.variants(lambda v: all(getattr(v, name) == value for name, value in filters.items()))
        last = max(variant.id for variant in wanted)
        calls = [call("search_variants", **filters)]
        for start in range(10, len(found), 10):
            if found[start - 1].id >= last:
                break
            calls.append(call("search_variants", **filters, cursor=found[start - 1].id))
        return calls

    def opening(self, errand: Errand) -> list[ToolCall]:
        """The calls that begin every errand."""
        return [call("get_errand", errand_id=errand.id), call("get_customer", customer_id=CUSTOMER_ID)]


def read_calls(sections: Sequence[str]) -> list[ToolCall]:
    """The calls that read sections of the handbook."""
    return [call("read_handbook", section_id=section) for section in sections]


def buy(
    desk: ShopDraft,
    errand: Errand,
    prompt: str,
    purchase: Purchase,
    *,
    lookups: Sequence[ToolCall],
    sections: Sequence[str],
    facts: Sequence[Criterion] = (),
) -> Task:
    """The task of placing one order, once the articles, the terms and whatever else decides are known."""
    known = [
        *facts,
        *(expect_read(v, fields=FACTS, id=f"saw-article-{n}") for n, (v, _) in enumerate(purchase.goods, 1)),
        desk.account(desk.customer),
        *(desk.read(section) for section in sections),
    ]
    order, lines, allow = _order_criteria(desk, purchase, after=[fact.id for fact in known])
    return Task(
        prompt=prompt,
        rubric=[*known, *lines, order, *desk.expect_resolved(errand, after=["ordered", *(line.id for line in lines)])],
        allow=allow,
        oracle=[
            *desk.opening(errand),
            *lookups,
            *read_calls(sections),
            *_order_calls(purchase),
            *desk.closing_calls(errand, "I have placed the order."),
        ],
        max_turns=40,
    )


def _order_calls(purchase: Purchase) -> list[ToolCall]:
    calls = [call("add_to_basket", variant_id=v.id, quantity=number) for v, number in purchase.goods]
    if purchase.address is not None:
        calls.append(call("deliver_to", street=purchase.address[0], city=purchase.address[1]))
    calls += [
        call("choose_delivery", delivery=purchase.delivery),
        call("choose_payment", payment=purchase.payment),
    ]
    if purchase.promotion is not None:
        calls.append(call("apply_voucher", code=purchase.promotion.id))
    return [*calls, call("place_order")]


def _order_criteria(
    desk: ShopDraft, purchase: Purchase, *, after: Sequence[str]
) -> tuple[Criterion, list[Criterion], list[Allowance]]:
    """What is expected of the order and of its lines, and what may change besides."""
    goods: list[tuple[Category, int]] = [(v.category, v.price_cents * number) for v, number in purchase.goods]
    sums = order_totals(desk.rules, goods, purchase.delivery, purchase.promotion)
    key = desk.state.next_id(ShopOrder)
    [checkout] = desk.state.find(Checkout, customer_id=CUSTOMER_ID)
    street, city = purchase.address or (desk.customer.street, desk.customer.city)
    order = expect_row(
        ShopOrder,
        {
            "customer_id": CUSTOMER_ID,
            "status": "processing",
            "delivery": purchase.delivery,
            "payment": purchase.payment,
            "promotion_code": None if purchase.promotion is None else purchase.promotion.id,
            "subtotal_cents": sums.subtotal_cents,
            "total_cents": sums.total_cents,
            "ship_street": street,
            "ship_city": city,
        },
        id="ordered",
        after=after,
    )
    lines = [
        replace(
            expect_row(
                BasketLine,
                {"variant_id": v.id, "quantity": number, "order_id": key},
                id=f"line-{place}",
                text=f"The order has {number} of {v.id}.",
                after=after,
            ),
            allows=(Allowance(table=BasketLine.table, values=(("variant_id", v.id), ("customer_id", CUSTOMER_ID))),),
        )
        for place, (v, number) in enumerate(purchase.goods, 1)
    ]
    chosen: dict[str, object] = {"delivery": purchase.delivery, "payment": purchase.payment}
    if purchase.promotion is not None:
        chosen["promotion_code"] = purchase.promotion.id
    if purchase.address is not None:
        chosen |= {"ship_street": street, "ship_city": city}
    allow = [
        Allowance(table=Checkout.table, key=checkout.id, values=tuple(chosen.items())),
        *(
            Allowance(table=Variant.table, key=v.id, values=(("stock", v.stock - number),))
            for v, number in purchase.goods
        ),
    ]
    return order, lines, allow


def decline(
    desk: ShopDraft,
    errand: Errand,
    prompt: str,
    section: str,
    *evidence: Row,
    lookups: Sequence[ToolCall],
    facts: Sequence[Criterion] = (),
    path: Sequence[str] = (),
    others: Sequence[tuple[str, Row]] = (),
) -> Task:
    """The task of declining an errand by a section of the terms, with any one of some records."""
    first, *more = evidence
    why = RefusalCondition(
        section=section,
        evidence=first,
        facts=tuple(facts),
        lookups=tuple(lookups),
        message="I am sorry, the terms of the shop do not allow that, so I left it.",
        others=(*((section, row) for row in more), *others),
    )
    walk = [*desk.opening(errand), *lookups, *read_calls([s for s in path if s != section]), *read_calls([section])]
    return refusal_task(desk, errand, prompt, why, account=desk.customer, opening=desk.opening(errand), path=walk)


def change(
    desk: ShopDraft,
    errand: Errand,
    prompt: str,
    work: ToolCall,
    done: Sequence[Criterion],
    *,
    lookups: Sequence[ToolCall],
    sections: Sequence[str] = (),
    facts: Sequence[Criterion] = (),
    allow: Sequence[Allowance] = (),
) -> Task:
    """The task of one change to an order, a line or the account."""
    known = [*facts, desk.account(desk.customer), *(desk.read(section) for section in sections)]
    after = tuple(fact.id for fact in known)
    return Task(
        prompt=prompt,
        rubric=[
            *known,
            *(replace(one, after=after) for one in done),
            *desk.expect_resolved(errand, after=[one.id for one in done]),
        ],
        allow=allow,
        oracle=[
            *desk.opening(errand),
            *lookups,
            *read_calls(sections),
            work,
            *desk.closing_calls(errand, "I have done what you asked me for."),
        ],
    )


def expect_columns(row: Row, id: str, **values: Any) -> Criterion:
    """Expect that a row has these values in the end."""
    return expect_change(row, values, id=id)
