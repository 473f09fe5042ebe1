"""The basket, and the steps of the checkout: address, delivery, payment, voucher, and the review of the order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from palaestra.envs.kit import amount
from palaestra.envs.surfaces.pages.addresses import Address, write_address
from palaestra.envs.surfaces.pages.forms import field_element, form_fields
from palaestra.envs.surfaces.pages.generated import DO, LOOK_UP, SEND
from palaestra.envs.surfaces.pages.pieces import column_text, link_element, write_amount
from palaestra.envs.surfaces.pages.routes import DrawPage, PageRequest
from palaestra.envs.surfaces.pages.tree import PageElement, Submit
from palaestra.envs.worlds.shop.schema import BasketLine, Checkout, Variant
from palaestra.envs.worlds.shop.site.layout import draw_facts, draw_lead, draw_line, draw_links, draw_table
from palaestra.envs.worlds.shop.site.lists import draw_choice
from palaestra.envs.worlds.shop.terms import goods_of_lines, order_totals, read_terms
from palaestra.envs.worlds.shop.tools import (
    apply_voucher,
    change_quantity,
    choose_delivery,
    choose_payment,
    deliver_to,
    place_order,
    remove_from_basket,
)
from palaestra.envs.worlds.storefront.schema import Promotion
from palaestra.protocols import StateView
from palaestra.records import ToolCall
from palaestra.tools import Tool

_COLUMNS = {"variant_id": "Article", "quantity": "Pieces", "unit_cents": "Each"}
_CHOICES = {
    "ship_street": "Street",
    "ship_city": "Town",
    "delivery": "Delivery",
    "payment": "Payment",
    "promotion_code": "Voucher",
}
"""The choices of the checkout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckoutStep:
    """A step of the checkout: one choice, made by the form of one action."""

    tool: Tool
    name: str
    text: str
    """What a customer should know before they choose."""
    button: str
    labels: Mapping[str, str]
    """By argument: what the page calls it."""
    columns: Mapping[str, str]
    """By argument: the column of the checkout that holds what was chosen."""
    terms: Sequence[str] = ()
    """The sections of the terms that it is about."""


STEPS = (
    CheckoutStep(
        tool=deliver_to,
        name="Address",
        text="The order goes to this address. For a present, enter the address of whoever gets it; your address book "
        "stays as it is.",
        button="Deliver here",
        labels={"street": "Street and number", "city": "Postcode and town"},
        columns={"street": "ship_street", "city": "ship_city"},
    ),
    CheckoutStep(
        tool=choose_delivery,
        name="Delivery",
        text="What each costs, how long it takes and what it carries stands in the terms.",
        button="Choose",
        labels={"delivery": "Delivery"},
        columns={"delivery": "delivery"},
        terms=("DEL-1", "DEL-2"),
    ),
    CheckoutStep(
        tool=choose_payment,
        name="Payment",
        text="Choose how this order is paid.",
        button="Choose",
        labels={"payment": "Payment"},
        columns={"payment": "payment"},
    ),
    CheckoutStep(
        tool=apply_voucher,
        name="Voucher",
        text="If you have a voucher, enter its code. Whether it holds is checked after the order.",
        button="Use voucher",
        labels={"code": "Code"},
        columns={"code": "promotion_code"},
        terms=("VOU-1",),
    ),
)
"""What is chosen before the review."""


def look_up_basket(_: Address) -> ToolCall:
    """The look-up that opening the basket makes: of lines that are in no order. Finding none is an answer too."""
    return ToolCall(tool=LOOK_UP, arguments={"table": "order_lines", "where": {"order_id": None}})


def draw_basket(request: PageRequest) -> tuple[str, list[PageElement]]:
    """The basket: its lines, what they come to, and the way to the checkout."""
    lines = _find_lines(request.state)
    elements = [PageElement(role="heading", name="Basket"), _draw_lines(request, lines, changes=True)]
    elements += [_draw_quantity(line) for _, line in lines]
    if lines:
        elements += _draw_totals(request.state, lines)
        elements.append(draw_lead("basket.checkout", "Go to checkout", write_address(DO, STEPS[0].tool.name)))
    search = link_element("basket.search", "Find articles", write_address("variants"))
    return "Basket", [*elements, draw_links("Go on", search)]


def draw_step(step: CheckoutStep) -> DrawPage:
    """The function that draws a step of the checkout."""
    return partial(_draw_step, step)


def draw_review(request: PageRequest) -> tuple[str, list[PageElement]]:
    """The last step: everything that the order will be, and the button that places it."""
    lines = _find_lines(request.state)
    if not lines:
        return "Checkout: review", [
            PageElement(role="heading", name="Checkout: review"),
            PageElement(role="text", value="The basket is empty. What you have ordered stands among your orders."),
            draw_links("Go on", link_element("review.orders", "Your orders", write_address("orders"))),
        ]
    send = Submit(action=place_order.name, fields=form_fields(place_order))
    button = PageElement(role="button", id=SEND, name="Place order", activation=send)
    return "Checkout: review", [
        PageElement(role="heading", name="Checkout: review"),
        _draw_place(place_order.name),
        _draw_lines(request, lines),
        *draw_facts(request, _find_checkout(request.state), "Your choices", _CHOICES),
        *_draw_totals(request.state, lines),
        PageElement(role="form", name="Place order", children=(button,)),
        draw_links("Go on", link_element("review.basket", "Change the basket", write_address("basket"))),
    ]


def _draw_step(step: CheckoutStep, request: PageRequest) -> tuple[str, list[PageElement]]:
    checkout = _find_checkout(request.state)
    labels = {column: _CHOICES[column] for column in step.columns.values()}
    fields = form_fields(step.tool)
    chosen = {argument: column_text(getattr(checkout, column)) for argument, column in step.columns.items()}
    parts = [
        replace(
            field_element(field, request.address.query.get(field.argument, chosen[field.argument])),
            name=step.labels[field.argument],
        )
        for field in fields
    ]
    send = Submit(action=step.tool.name, fields=fields)
    button = PageElement(role="button", id=SEND, name=step.button, activation=send)
    place = STEPS.index(step) + 1
    after = STEPS[place].tool.name if place < len(STEPS) else place_order.name
    terms = [link_element(f"terms.{key}", f"Section {key}", write_address("handbook", key)) for key in step.terms]
    return f"Checkout: {step.name.lower()}", [
        PageElement(role="heading", name=f"Checkout: {step.name.lower()}"),
        _draw_place(step.tool.name),
        PageElement(role="text", value=step.text),
        *draw_facts(request, checkout, "Chosen so far", labels),
        PageElement(role="form", name=step.name, children=(*parts, button)),
        *([draw_links("Terms", *terms)] if terms else []),
        draw_lead("step.next", "Next step", write_address(DO, after)),
    ]


def _draw_place(action: str) -> PageElement:
    """The steps, of which one is in front."""
    names = {**{step.tool.name: step.name for step in STEPS}, place_order.name: "Review"}
    choices = {
        f"step.{one}": (f"{number} {name}", write_address(DO, one))
        for number, (one, name) in enumerate(names.items(), 1)
    }
    return draw_choice("Steps", choices, f"step.{action}")


def _find_lines(state: StateView) -> list[tuple[Variant, BasketLine]]:
    return [(state.get(Variant, line.variant_id), line) for line in state.find(BasketLine, order_id=None)]


def _find_checkout(state: StateView) -> Checkout:
    [checkout] = state.find(Checkout)
    return checkout


def _draw_lines(
    request: PageRequest, lines: Sequence[tuple[Variant, BasketLine]], *, changes: bool = False
) -> PageElement:
    drawn: list[PageElement] = []
    for _, line in lines:
        more = [PageElement(role="cell", name="Together", value=amount(line.quantity * line.unit_cents))]
        if changes:
            url = write_address(DO, remove_from_basket.name, query={"line_id": line.id})
            more.append(link_element(f"{line.id}.remove", "Remove", url))
        article = write_address("variants", line.variant_id)
        info = request.schema["order_lines"]
        drawn.append(draw_line(info, line, _COLUMNS, title="product_name", url=article, more=more))
    return draw_table("Basket", drawn, empty="The basket is empty.")


def _draw_quantity(line: BasketLine) -> PageElement:
    """The form that changes how many pieces a line has."""
    element = f"{line.id}.quantity"
    fields = tuple(
        replace(field, element=element) if field.argument == "quantity" else field
        for field in form_fields(change_quantity)
    )
    send = Submit(action=change_quantity.name, fields=fields, kept=(("line_id", line.id),))
    parts = (
        PageElement(
            role="textbox", id=element, name=f"Pieces of {line.product_name}", value=str(line.quantity), required=True
        ),
        PageElement(role="button", id=f"{line.id}.change", name="Change pieces", activation=send),
    )
    return PageElement(role="form", name=line.product_name, children=parts)


def _draw_totals(state: StateView, lines: list[tuple[Variant, BasketLine]]) -> list[PageElement]:
    """What an order would come to. What delivery costs follows once it is chosen, as in `get_basket`."""
    checkout = _find_checkout(state)
    code = checkout.promotion_code
    sums = order_totals(
        read_terms(state),
        goods_of_lines(lines),
        checkout.delivery or "standard",
        None if code is None else state.get(Promotion, code),
    )
    amounts = {"Goods": sums.subtotal_cents, "Discount": sums.discount_cents}
    if checkout.delivery is not None:
        amounts |= {"Delivery": sums.shipping_cents, "Total": sums.total_cents}
    heading = PageElement(role="heading", name="Total" if checkout.delivery else "Total before delivery is chosen")
    return [
        heading,
        *(PageElement(role="definition", name=name, value=write_amount(cents)) for name, cents in amounts.items()),
    ]
