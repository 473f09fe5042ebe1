"""Errands that the terms or the stock may forbid: several pieces, a day, a voucher, the same again, a gift, a pair."""

from datetime import timedelta

from palaestra.envs.kit import CITIES, STREETS, amount
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.shop.desk import PAYMENTS, Purchase, ShopDraft, buy, decline
from palaestra.envs.worlds.shop.schema import BasketLine, Delivery, Errand, PaymentMethod, ShopOrder, Variant
from palaestra.envs.worlds.shop.tasks.buying import PAID, describe, is_plain, is_single, round_up
from palaestra.envs.worlds.shop.terms import due_day
from palaestra.envs.worlds.storefront.schema import Promotion
from palaestra.records import ToolCall
from palaestra.rubrics import expect_read


def _find(desk: ShopDraft, *goods: Variant) -> list[ToolCall]:
    """The calls that find articles by their category and colour, and show them."""
    calls: list[ToolCall] = []
    for one in goods:
        calls += desk.find_calls(one, category=one.category, colour=one.colour)
        calls.append(call("get_variant", variant_id=one.id))
    return list({(c.tool, str(c.arguments)): c for c in calls}.values())


@family("shop/buy-pair", level=3, traits=("write", "arithmetic"), twin=True)
def buy_pair(desk: ShopDraft) -> Task:
    """Two articles within one budget; in the twin they cost more together."""
    first = desk.pick(Variant, lambda v: is_single(desk, v) and v.price_cents < 40_000)
    second = desk.pick(
        Variant, lambda v: is_single(desk, v) and v.category != first.category and v.price_cents < 40_000
    )
    limit, payment = round_up(first.price_cents + second.price_cents), desk.choose_payment()
    errand, prompt = desk.open_errand(
        "pair",
        subject="Two things",
        bodies=(
            "Please buy one {first} and one {second} in one order. The goods may cost {limit} together." + PAID,
            "I need two things in one order, for at most {limit} in all: one {first}, and one {second}." + PAID,
        ),
        first=describe(first),
        second=describe(second),
        limit=amount(limit),
        delivery="standard",
        payment=PAYMENTS[payment],
    )
    if desk.twin:
        first = desk.state.update(first, price_cents=limit - second.price_cents + 10 * desk.stream.between(1, 40))
    lookups = _find(desk, first, second)
    if desk.twin:
        facts = [expect_read(v, fields=["price_cents"], id=f"saw-{n}") for n, v in enumerate((first, second), 1)]
        return decline(desk, errand, prompt, "BUD-1", first, second, lookups=lookups, facts=facts)
    order = Purchase(goods=((first, 1), (second, 1)), delivery="standard", payment=payment)
    return buy(desk, errand, prompt, order, lookups=lookups, sections=["BUD-1"])


def _ask_several(desk: ShopDraft, one: Variant, number: int, payment: PaymentMethod) -> tuple[Errand, str]:
    return desk.open_errand(
        "several",
        subject="A few pieces",
        bodies=(
            "Please order {number} of {what}." + PAID,
            "I need {number} of {what}, all in one order." + PAID,
        ),
        number=f"{number} pieces",
        what=describe(one),
        delivery="standard",
        payment=PAYMENTS[payment],
    )


@family("shop/buy-several", level=2, traits=("write",), twin=True)
def buy_several(desk: ShopDraft) -> Task:
    """As many pieces as a household may have; in the twin there are fewer."""
    one = desk.pick(Variant, lambda v: is_single(desk, v))
    number, payment = desk.planting_rules.most_pieces, desk.choose_payment()
    errand, prompt = _ask_several(desk, one, number, payment)
    if desk.twin:
        one = desk.state.update(one, stock=number - 1)
    facts = [expect_read(one, fields=["stock"], id="saw-stock")]
    if number > desk.rules.most_pieces:
        facts = [expect_read(one, fields=["name", "colour", "edition"], id="saw-article")]
        return decline(desk, errand, prompt, "ORD-2", one, lookups=_find(desk, one), facts=facts)
    if desk.twin:
        return decline(desk, errand, prompt, "STK-1", one, lookups=_find(desk, one), facts=facts)
    order = Purchase(goods=((one, number),), delivery="standard", payment=payment)
    return buy(desk, errand, prompt, order, lookups=_find(desk, one), sections=["ORD-2"])


@family("shop/refuse-many", level=2, traits=("refusal",), no_twin="it turns on a refusal itself")
def refuse_many(desk: ShopDraft) -> Task:
    """One piece more than a household may have."""
    one = desk.pick(Variant, lambda v: is_single(desk, v))
    number, payment = desk.planting_rules.most_pieces + 1, desk.choose_payment()
    errand, prompt = _ask_several(desk, one, number, payment)
    if number <= desk.rules.most_pieces:
        order = Purchase(goods=((one, number),), delivery="standard", payment=payment)
        return buy(desk, errand, prompt, order, lookups=_find(desk, one), sections=["ORD-2"])
    facts = [expect_read(one, fields=["name", "colour", "edition"], id="saw-article")]
    return decline(desk, errand, prompt, "ORD-2", one, lookups=_find(desk, one), facts=facts)


@family("shop/refuse-small", level=2, traits=("refusal",), no_twin="it turns on a refusal itself")
def refuse_small(desk: ShopDraft) -> Task:
    """An order below the smallest one."""
    one = desk.pick(Variant, lambda v: v.stock >= 9 and v.price_cents < 30_000 and is_single(desk, v, small=True))
    payment = desk.choose_payment()
    errand, prompt = _ask_several(desk, one, 1, payment)
    prompt = prompt.replace("1 pieces", "1 piece")
    one = desk.state.update(one, price_cents=desk.planting_rules.minimum_cents - 10 * desk.stream.between(1, 40))
    if one.price_cents >= desk.rules.minimum_cents:
        order = Purchase(goods=((one, 1),), delivery="standard", payment=payment)
        return buy(desk, errand, prompt, order, lookups=_find(desk, one), sections=["ORD-1"])
    facts = [expect_read(one, fields=["price_cents"], id="saw-price")]
    return decline(desk, errand, prompt, "ORD-1", one, lookups=_find(desk, one), facts=facts)


@family("shop/buy-by-day", level=3, traits=("write", "arithmetic"), twin=True)
def buy_by_day(desk: ShopDraft) -> Task:
    """An article by a day, with the cheapest delivery in time; in the twin no delivery is in time."""
    one = desk.pick(
        Variant, lambda v: is_single(desk, v) and v.price_cents < 9_000 and v.category not in desk.rules.no_express
    )
    wanted: Delivery = "express" if desk.stream.chance(50) else "standard"
    payment = desk.choose_payment()
    day = due_day(desk.planting_rules, desk.today, one.lead_days, wanted)
    errand, prompt = desk.open_errand(
        "by-day",
        subject="Needed by a day",
        bodies=(
            "Please order one {what}. It must arrive by {day}; take the cheapest delivery in time. I pay by {payment}.",
            "I need one {what} by {day} at the latest, with the cheapest delivery in time, paid by {payment}.",
        ),
        what=describe(one),
        day=day.isoformat(),
        payment=PAYMENTS[payment],
    )
    if desk.twin:
        one = desk.state.update(one, lead_days=(day - desk.today).days)
    kinds: tuple[Delivery, ...] = ("standard", "express")
    facts = [expect_read(one, fields=["lead_days"], id="saw-lead")]
    in_time: list[Delivery] = [k for k in kinds if due_day(desk.rules, desk.today, one.lead_days, k) <= day]
    if not in_time:
        return decline(desk, errand, prompt, "DEL-1", one, lookups=_find(desk, one), facts=facts)
    order = Purchase(goods=((one, 1),), delivery=in_time[0], payment=payment)
    return buy(desk, errand, prompt, order, lookups=_find(desk, one), sections=["DEL-1"])


@family("shop/use-voucher", level=3, traits=("write", "policy-exception"), twin=True)
def use_voucher(desk: ShopDraft) -> Task:
    """An article with a voucher that holds; in the twin it has expired."""
    one = desk.pick(Variant, lambda v: is_single(desk, v))
    promotion = desk.pick(Promotion)
    payment = desk.choose_payment()
    price = desk.planting_rules.voucher_floor_cents + 10 * desk.stream.between(0, 40)
    errand, prompt = desk.open_errand(
        "voucher",
        subject="A voucher",
        bodies=(
            "Please buy one {what} with the voucher {code}, and only if the voucher holds." + PAID,
            "Use my voucher {code} for one {what}; without it I do not want the article." + PAID,
        ),
        what=describe(one),
        code=promotion.id,
        delivery="standard",
        payment=PAYMENTS[payment],
    )
    one = desk.state.update(one, price_cents=price)
    ends = desk.today + timedelta(days=-1 if desk.twin else desk.stream.between(0, 9))
    promotion = desk.state.update(
        promotion, starts=desk.today - timedelta(days=20), ends=ends, category=one.category, minimum_cents=3_000
    )
    lookups = [*_find(desk, one), call("get_voucher", code=promotion.id)]
    facts = [expect_read(promotion, id="saw-voucher")]
    if desk.twin or price < desk.rules.voucher_floor_cents:
        return decline(desk, errand, prompt, "VOU-1", promotion, lookups=lookups, facts=facts)
    order = Purchase(goods=((one, 1),), delivery="standard", payment=payment, promotion=promotion)
    return buy(desk, errand, prompt, order, lookups=lookups, sections=["VOU-1"], facts=facts)


@family("shop/buy-again", level=2, traits=("write", "multi-hop"), twin=True)
def buy_again(desk: ShopDraft) -> Task:
    """An article of an earlier order once more; in the twin it is sold out."""

    def fits(line: BasketLine) -> bool:
        if line.order_id is None or desk.state.get(ShopOrder, line.order_id).status != "delivered":
            return False
        names = [
            desk.state.get(Variant, x.variant_id).name for x in desk.state.find(BasketLine, order_id=line.order_id)
        ]
        return names.count(line.product_name) == 1 and is_plain(desk, desk.state.get(Variant, line.variant_id))

    line = desk.pick(BasketLine, fits)
    one, payment = desk.state.get(Variant, line.variant_id), desk.choose_payment()
    errand, prompt = desk.open_errand(
        "again",
        subject="The same again",
        bodies=(
            "Please order one more of the {what} from {order}, same colour and edition." + PAID,
            "I was happy with the {what} of {order}. Please buy the very same article once more." + PAID,
        ),
        what=line.product_name,
        order=line.order_id or "",
        delivery="standard",
        payment=PAYMENTS[payment],
    )
    if desk.twin:
        one = desk.state.update(one, stock=0)
    lookups = [call("get_order", order_id=line.order_id), call("get_variant", variant_id=one.id)]
    if desk.twin:
        facts = [
            expect_read(line, fields=["variant_id"], id="saw-line"),
            expect_read(one, fields=["stock"], id="saw-stock"),
        ]
        return decline(desk, errand, prompt, "STK-1", one, lookups=lookups, facts=facts)
    order = Purchase(goods=((one, 1),), delivery="standard", payment=payment)
    facts = [expect_read(line, fields=["variant_id"], id="saw-line")]
    return buy(desk, errand, prompt, order, lookups=lookups, sections=["STK-1"], facts=facts)


@family("shop/send-gift", level=2, traits=("write",), twin=True)
def send_gift(desk: ShopDraft) -> Task:
    """An article by express to another address; in the twin express does not carry it."""
    one = desk.pick(Variant, lambda v: is_single(desk, v) and v.category not in desk.planting_rules.no_express)
    street, city = f"{desk.stream.choice(STREETS)} {desk.stream.between(150, 199)}", desk.stream.choice(CITIES)
    payment = desk.choose_payment()
    errand, prompt = desk.open_errand(
        "gift",
        subject="A present",
        bodies=(
            "Please send one {what} as a present to {street}, {city}." + PAID,
            "I would like to give somebody one {what}. Please have it delivered to {street}, {city}." + PAID,
        ),
        what=describe(one),
        street=street,
        city=city,
        delivery="express",
        payment=PAYMENTS[payment],
    )
    if desk.twin:
        one = desk.state.update(one, category=desk.planting_rules.no_express[0])
    facts = [expect_read(one, fields=["category"], id="saw-kind")]
    lookups = [call("search_variants", query=one.name), call("get_variant", variant_id=one.id)]
    if one.category in desk.rules.no_express:
        return decline(desk, errand, prompt, "DEL-2", one, lookups=lookups, facts=facts)
    order = Purchase(goods=((one, 1),), delivery="express", payment=payment, address=(street, city))
    return buy(desk, errand, prompt, order, lookups=lookups, sections=["DEL-2"], facts=facts)
