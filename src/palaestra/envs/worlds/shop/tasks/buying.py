"""Errands that are bought by attributes: one article, the cheapest, the best rated, two in a budget."""

from collections.abc import Callable

from palaestra.envs.kit import amount
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.shop.desk import PAYMENTS, Purchase, ShopDraft, buy, decline
from palaestra.envs.worlds.shop.schema import Errand, Variant
from palaestra.records import Json
from palaestra.rubrics import expect_read

NOUNS = {
    "cpu": "CPU", "motherboard": "motherboard", "memory": "memory kit", "gpu": "graphics card (gpu)",
    "storage": "storage drive", "psu": "power supply (psu)", "case": "case", "cooler": "cooler", "monitor": "monitor",
    "keyboard": "keyboard", "mouse": "mouse",
}  # fmt: skip
PAID = " {delivery} delivery, paid by {payment}."


def describe(variant: Variant) -> str:
    """One article in words that name no other."""
    return f'{variant.name} in {variant.colour}, edition "{variant.edition}"'


def is_plain(desk: ShopDraft, variant: Variant) -> bool:
    """Whether nothing in the terms stands against an order of one piece, by any handbook."""
    return variant.stock >= 9 and variant.price_cents >= desk.rules.minimum_cents


def round_up(cents: int) -> int:
    """The next limit in whole tens of euros."""
    return (cents // 1_000 + 1) * 1_000


def _like(desk: ShopDraft, variant: Variant) -> list[Variant]:
    """The articles of the same category and colour, in stock or not."""
    return desk.variants(lambda v: v.category == variant.category and v.colour == variant.colour)


def is_single(desk: ShopDraft, variant: Variant, *, small: bool = False) -> bool:
    """Whether an article can be told by its name, colour and edition, and one piece of it be ordered, small or not."""
    same = desk.variants(lambda v: (v.name, v.colour, v.edition) == (variant.name, variant.colour, variant.edition))
    return (small or is_plain(desk, variant)) and len(same) == 1


def _settle(
    desk: ShopDraft,
    errand: Errand,
    prompt: str,
    fitting: list[Variant],
    best: Variant,
    limit: int,
    purchase: Purchase,
    *,
    out_of: str,
    **filters: Json,
) -> Task:
    """Buy the best of the fitting articles or, in the twin, decline since none is left (STK-1) or all cost too much."""
    opened = call("get_variant", variant_id=best.id)
    if desk.twin:
        changed = [
            desk.state.update(v, stock=0)
            if out_of == "STK-1"
            else desk.state.update(v, price_cents=limit + 10 * n + 90)
            for n, v in enumerate(fitting)
        ]
        decisive = "stock" if out_of == "STK-1" else "price_cents"
        facts = [expect_read(*changed, fields=[decisive], id="saw-choice")]
        looks = [*desk.find_calls(*changed, **filters), opened]
        return decline(desk, errand, prompt, out_of, *changed, lookups=looks, facts=facts)
    looks = [*desk.find_calls(*fitting, **filters), opened]
    facts = [expect_read(*fitting, fields=["price_cents", "rating"], id="saw-choice")] if len(fitting) > 1 else []
    return buy(desk, errand, prompt, purchase, lookups=looks, sections=[out_of, "ORD-1"], facts=facts)


@family("shop/buy-article", level=1, traits=("write",), twin=True)
def buy_article(desk: ShopDraft) -> Task:
    """One article by name, colour and edition; in the twin it is sold out."""
    one = desk.pick(Variant, lambda v: is_single(desk, v), what="article")
    limit, payment = round_up(one.price_cents), desk.choose_payment()
    errand, prompt = desk.open_errand(
        "buy-one",
        subject="Please buy something",
        bodies=(
            "Please buy one {what} for at most {limit}." + PAID,
            "I would like one {what}, up to {limit}." + PAID,
            "Can you order {what}, one piece? It may cost {limit}." + PAID,
        ),
        what=describe(one),
        limit=amount(limit),
        delivery="standard",
        payment=PAYMENTS[payment],
    )
    order = Purchase(goods=((one, 1),), delivery="standard", payment=payment)
    filters: dict[str, Json] = {"category": one.category, "colour": one.colour}
    return _settle(desk, errand, prompt, [one], one, limit, order, out_of="STK-1", **filters)


def _choose(desk: ShopDraft, kind: str, subject: str, bodies: tuple[str, ...], key: Callable[[Variant], int]) -> Task:
    """The best article of a category, colour and edition by `key`; in the twin all of them cost more than allowed."""

    def rivals(v: Variant) -> list[Variant]:
        return [w for w in _like(desk, v) if w.edition == v.edition]

    def decides(v: Variant) -> bool:
        fitting = rivals(v)
        keys = [key(w) for w in fitting]
        return (
            2 <= len(fitting) <= 6
            and all(is_plain(desk, w) for w in fitting)
            and key(v) == min(keys)
            and keys.count(key(v)) == 1
        )

    best = desk.pick(Variant, decides, what="article that is the best of its kind")
    fitting, payment = rivals(best), desk.choose_payment()
    limit = round_up(max(w.price_cents for w in fitting))
    errand, prompt = desk.open_errand(
        kind,
        subject=subject,
        bodies=bodies,
        what=f'the {NOUNS[best.category]} articles in {best.colour}, edition "{best.edition}"',
        limit=amount(limit),
        delivery="standard",
        payment=PAYMENTS[payment],
    )
    order = Purchase(goods=((best, 1),), delivery="standard", payment=payment)
    filters: dict[str, Json] = {"category": best.category, "colour": best.colour, "edition": best.edition}
    return _settle(desk, errand, prompt, fitting, best, limit, order, out_of="BUD-1", **filters)


@family("shop/buy-cheapest", level=2, traits=("write", "multi-hop"), twin=True)
def buy_cheapest(desk: ShopDraft) -> Task:
    """The cheapest of a few articles; in the twin every one costs more than the limit."""
    bodies = (
        "Please buy the cheapest of {what}, one piece, for at most {limit}." + PAID,
        "Of {what}, buy the one with the lowest price, one piece, up to {limit}." + PAID,
    )
    return _choose(desk, "cheapest", "The cheapest one", bodies, lambda v: v.price_cents)


@family("shop/buy-best-rated", level=2, traits=("write", "multi-hop"), twin=True)
def buy_best_rated(desk: ShopDraft) -> Task:
    """The best rated of a few articles; in the twin every one costs more than the limit."""
    bodies = (
        "Please buy the best rated of {what}, one piece, for at most {limit}." + PAID,
        "Of {what}, buy the one with the highest rating, one piece, up to {limit}." + PAID,
    )
    return _choose(desk, "best-rated", "The best one", bodies, lambda v: -v.rating)
