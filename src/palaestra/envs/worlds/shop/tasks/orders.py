"""Errands about orders that were placed: cancel, send elsewhere, send back, a question; and the address book."""

from dataclasses import replace
from datetime import date, timedelta

from palaestra.envs.kit import CITIES, STREETS
from palaestra.envs.task import Task, call, family
from palaestra.envs.worlds.shop.desk import ShopDraft, change, decline, expect_columns
from palaestra.envs.worlds.shop.population import CUSTOMER_ID
from palaestra.envs.worlds.shop.schema import BasketLine, Checkout, Errand, ShopOrder, Variant
from palaestra.envs.worlds.storefront.schema import Product, Return
from palaestra.records import ToolCall
from palaestra.rubrics import Allowance, expect_read, expect_row


def _look(order: ShopOrder) -> list[ToolCall]:
    return [call("get_order", order_id=order.id)]


def _product(desk: ShopDraft, line: BasketLine) -> Product:
    return desk.state.get(Product, desk.state.get(Variant, line.variant_id).product_id)


@family("shop/cancel-order", level=1, traits=("write",), twin=True)
def cancel_order(desk: ShopDraft) -> Task:
    """An order in processing is cancelled in time; in the twin too many days have passed."""
    order = desk.pick(ShopOrder, lambda o: o.status == "processing")
    errand, prompt = desk.open_errand(
        "cancel",
        subject="An order that I do not want",
        bodies=("Please cancel my order {order}.", "I changed my mind about {order}. Please cancel it."),
        order=order.id,
    )
    days = desk.planting_rules.cancel_days + (1 if desk.twin else 0)
    order = desk.state.update(
        order, placed=order.placed - timedelta(days=days - (desk.today - order.placed.date()).days)
    )
    if (desk.today - order.placed.date()).days > desk.rules.cancel_days:
        facts = [expect_read(order, fields=["placed", "status"], id="saw-order")]
        return decline(desk, errand, prompt, "ORD-3", order, lookups=_look(order), facts=facts)
    back = [(line.quantity, desk.state.get(Variant, line.variant_id)) for line in desk.lines(order)]
    return change(
        desk,
        errand,
        prompt,
        call("cancel_order", order_id=order.id),
        [expect_columns(order, "done", status="cancelled")],
        lookups=_look(order),
        sections=["ORD-3"],
        facts=[expect_read(order, fields=["placed", "status"], id="saw-order")],
        allow=[Allowance(table=v.table, key=v.id, values=(("stock", v.stock + number),)) for number, v in back],
    )


@family("shop/redirect-order", level=2, traits=("write",), twin=True)
def redirect_order(desk: ShopDraft) -> Task:
    """An order in processing goes to another address; in the twin it is due too soon."""
    order = desk.pick(ShopOrder, lambda o: o.status == "processing")
    street, city = f"{desk.stream.choice(STREETS)} {desk.stream.between(150, 199)}", desk.stream.choice(CITIES)
    errand, prompt = desk.open_errand(
        "redirect",
        subject="Another address",
        bodies=(
            "Please have my order {order} sent to {street}, {city}.",
            "My order {order} should be delivered to {street}, {city} instead.",
        ),
        order=order.id,
        street=street,
        city=city,
    )
    left = desk.planting_rules.address_days - (1 if desk.twin else 0)
    order = desk.state.update(order, due=desk.today + timedelta(days=left))
    facts = [expect_read(order, fields=["due", "status"], id="saw-order")]
    if (order.due - desk.today).days < desk.rules.address_days:
        return decline(desk, errand, prompt, "ADR-1", order, lookups=_look(order), facts=facts)
    return change(
        desk,
        errand,
        prompt,
        call("redirect_order", order_id=order.id, street=street, city=city),
        [expect_columns(order, "done", ship_street=street, ship_city=city)],
        lookups=_look(order),
        sections=["ADR-1"],
        facts=facts,
    )


def _plant_delivery(desk: ShopDraft, order: ShopOrder, *, late: bool) -> ShopOrder:
    """The order, delivered on the last day of its window, or a day before that."""
    days = desk.planting_rules.return_days + (1 if late else 0)
    day = desk.today - timedelta(days=days)
    placed = order.placed - timedelta(days=max(0, (order.placed.date() - day).days + 2))
    return desk.state.update(order, delivered=day, due=day, placed=placed)


def _fits_return(desk: ShopDraft, line: BasketLine, *, clearance: bool) -> bool:
    if line.order_id is None or desk.state.get(ShopOrder, line.order_id).status != "delivered":
        return False
    return _product(desk, line).final_sale == clearance


def _ask_return(desk: ShopDraft, line: BasketLine, number: int) -> tuple[Errand, str]:
    return desk.open_errand(
        "send-back",
        subject="Something to send back",
        bodies=(
            "Please send back {number} of {what} from {order}; I changed my mind.",
            "I do not want to keep {what} from {order}. Please start a return of {number}.",
        ),
        number="1 piece" if number == 1 else f"{number} pieces",
        what=line.product_name,
        order=line.order_id or "",
    )


@family("shop/return-article", level=2, traits=("write", "arithmetic"), twin=True)
def return_article(desk: ShopDraft) -> Task:
    """Pieces of a delivered order go back; in the twin the window is over."""
    line = desk.pick(BasketLine, lambda x: _fits_return(desk, x, clearance=False))
    number = desk.stream.between(1, line.quantity)
    errand, prompt = _ask_return(desk, line, number)
    order = _plant_delivery(desk, desk.state.get(ShopOrder, line.order_id or ""), late=desk.twin)
    product, variant = _product(desk, line), desk.state.get(Variant, line.variant_id)
    looks = [*_look(order), call("get_variant", variant_id=variant.id), call("get_product", product_id=product.id)]
    facts = [expect_read(order, fields=["delivered"], id="saw-order")]
    if (desk.today - (order.delivered or desk.today)).days > desk.rules.return_days:
        return decline(desk, errand, prompt, "RET-1", order, lookups=_look(order), facts=facts)
    row = expect_row(
        Return,
        {"line_id": line.id, "quantity": number, "refund_due_cents": number * line.unit_cents, "status": "authorised"},
        id="done",
    )
    return change(
        desk,
        errand,
        prompt,
        call("start_return", line_id=line.id, quantity=number),
        [row],
        lookups=looks,
        sections=["RET-2", "RET-1"],
        facts=[*facts, expect_read(product, fields=["final_sale"], id="saw-product")],
        allow=[Allowance(table=line.table, key=line.id, values=(("returned", number),))],
    )


@family("shop/keep-clearance", level=2, traits=("refusal", "multi-hop"), no_twin="it turns on a refusal itself")
def keep_clearance(desk: ShopDraft) -> Task:
    """Clearance goods do not go back."""
    line = desk.pick(BasketLine, lambda x: _fits_return(desk, x, clearance=False))
    number = desk.stream.between(1, line.quantity)
    errand, prompt = _ask_return(desk, line, number)
    order = _plant_delivery(desk, desk.state.get(ShopOrder, line.order_id or ""), late=False)
    order = desk.state.update(order, delivered=desk.today - timedelta(days=7))
    product = desk.state.update(_product(desk, line), final_sale=True)
    looks = [
        *_look(order),
        call("get_variant", variant_id=line.variant_id),
        call("get_product", product_id=product.id),
    ]
    facts = [expect_read(product, fields=["final_sale"], id="saw-product")]
    return decline(desk, errand, prompt, "RET-2", product, lookups=looks, facts=facts)


@family("shop/ask-last-day", level=1, traits=("lookup", "arithmetic"), no_twin="a question is answered, not granted")
def ask_last_day(desk: ShopDraft) -> Task:
    """The last day on which a delivered order may go back."""
    order = desk.pick(ShopOrder, lambda o: o.status == "delivered")
    errand, prompt = desk.open_errand(
        "last-day",
        subject="A question about an order",
        bodies=(
            "Until which day can I send {order} back? Please tell me the date.",
            "What is the last day on which {order} can go back?",
        ),
        order=order.id,
    )
    day = desk.today - timedelta(days=desk.stream.between(1, 9))
    placed = order.placed - timedelta(days=max(0, (order.placed.date() - day).days + 2))
    order = desk.state.update(order, delivered=day, due=day, placed=placed)
    return _tell_day(desk, errand, prompt, order, day + timedelta(days=desk.rules.return_days))


def _tell_day(desk: ShopDraft, errand: Errand, prompt: str, order: ShopOrder, last: date) -> Task:
    known = [expect_read(order, fields=["delivered"], id="saw-order"), desk.account(desk.customer), desk.read("RET-1")]
    after = [fact.id for fact in known]
    told = replace(desk.expect_reply(after=after, day=last), points=30)
    _, resolved = desk.expect_resolved(errand, after=after)
    return Task(
        prompt=prompt,
        rubric=[*known, told, resolved],
        oracle=[
            *desk.opening(errand),
            *_look(order),
            call("read_handbook", section_id="RET-1"),
            call("reply", message=f"The last day for sending it back is {last.isoformat()}."),
            desk.cases.resolve(errand),
            call("finish"),
        ],
    )


@family("shop/move-house", level=1, traits=("write",), no_twin="nothing stands against a change of one's own address")
def move_house(desk: ShopDraft) -> Task:
    """The customer's own address in the address book."""
    street, city = f"{desk.stream.choice(STREETS)} {desk.stream.between(150, 199)}", desk.stream.choice(CITIES)
    errand, prompt = desk.open_errand(
        "moved",
        subject="My address",
        bodies=(
            "I have moved. Please change my address to {street}, {city}.",
            "My new address is {street}, {city}. Please put it into my account.",
        ),
        street=street,
        city=city,
    )
    customer = desk.customer
    [checkout] = desk.state.find(Checkout, customer_id=CUSTOMER_ID)
    return change(
        desk,
        errand,
        prompt,
        call("change_address", customer_id=CUSTOMER_ID, street=street, city=city),
        [expect_columns(customer, "done", street=street, city=city)],
        lookups=[],
        sections=["ADR-2"],
        allow=[Allowance(table=checkout.table, key=checkout.id, values=(("ship_street", street), ("ship_city", city)))],
    )


@family("shop/cancel-for-friend", level=2, traits=("refusal",), no_twin="it turns on a refusal itself")
def cancel_for_friend(desk: ShopDraft) -> Task:
    """An order of somebody else, which this account does not show, is left alone."""
    number = 2_000 + desk.stream.below(900)
    errand, prompt = desk.open_errand(
        "friend",
        subject="An order of a friend",
        bodies=(
            "A friend of mine has placed {order} from an account of their own. Please cancel it for them.",
            "Please cancel {order}. A friend has ordered it, not I.",
        ),
        order=f"ORD-{number}",
    )
    return decline(desk, errand, prompt, "PRV-1", desk.customer, lookups=[])
