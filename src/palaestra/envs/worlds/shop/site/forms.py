"""Forms in the shop's words, and the review of those that move money or goods."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from palaestra.envs.surfaces.pages.addresses import write_address
from palaestra.envs.surfaces.pages.forms import field_element, form_fields
from palaestra.envs.surfaces.pages.generated import CONTINUE, DO, REVIEW, SEND
from palaestra.envs.surfaces.pages.pieces import link_element
from palaestra.envs.surfaces.pages.routes import DrawPage, PageRequest
from palaestra.envs.surfaces.pages.tree import PageElement, Submit
from palaestra.envs.worlds.shop.site.layout import draw_facts, draw_links
from palaestra.envs.worlds.shop.tools import (
    TOOLBOX,
    add_to_basket,
    cancel_order,
    change_address,
    change_quantity,
    redirect_order,
    remove_from_basket,
    start_return,
)
from palaestra.records import Row
from palaestra.tools import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShopForm:
    """A form of the shop."""

    tool: Tool
    """What it calls."""
    name: str
    text: str
    """What it does, as a customer reads it."""
    labels: Mapping[str, str]
    """By argument: what the page calls it."""
    terms: Mapping[str, str]
    """By section of the terms that the form is about: the text of the link to it."""


_ADDRESS = {"street": "Street and number", "city": "Postcode and town"}
REVIEWED_FORMS = (
    ShopForm(
        tool=cancel_order,
        name="Cancel an order",
        text="An order in processing is cancelled whole. That cannot be undone.",
        labels={"order_id": "Order"},
        terms={"ORD-3": "Terms of cancelling"},
    ),
    ShopForm(
        tool=redirect_order,
        name="Send an order to another address",
        text="An order in processing goes to this address. Your address book stays as it is.",
        labels={"order_id": "Order", **_ADDRESS},
        terms={"ADR-1": "Terms of another address"},
    ),
    ShopForm(
        tool=start_return,
        name="Send something back",
        text="You announce that pieces of a delivered order come back.",
        labels={"line_id": "Line of the order", "quantity": "Pieces"},
        terms={"RET-1": "Terms of returns", "RET-2": "Terms of clearance"},
    ),
)
"""The forms that are reviewed before they are sent."""
PLAIN_FORMS = (
    ShopForm(
        tool=add_to_basket,
        name="Add to basket",
        text="Pieces of an article are put into the basket. Nothing is ordered yet.",
        labels={"variant_id": "Article", "quantity": "Pieces"},
        terms={"STK-1": "Terms of what is sold out"},
    ),
    ShopForm(
        tool=change_quantity,
        name="Change pieces",
        text="A line of the basket has as many pieces as you enter.",
        labels={"line_id": "Line of the basket", "quantity": "Pieces"},
        terms={"ORD-2": "Terms of pieces"},
    ),
    ShopForm(
        tool=remove_from_basket,
        name="Remove from basket",
        text="A line is taken out of the basket.",
        labels={"line_id": "Line of the basket"},
        terms={},
    ),
    ShopForm(
        tool=change_address,
        name="Change your address",
        text="The address in your address book is changed. Orders that were placed keep theirs.",
        labels={"customer_id": "Customer", **_ADDRESS},
        terms={"ADR-2": "Terms of the address book"},
    ),
    ShopForm(
        tool=TOOLBOX["resolve_errand"],
        name="Resolve an errand",
        text="The errand was done as the terms allow.",
        labels={"errand_id": "Errand"},
        terms={},
    ),
    ShopForm(
        tool=TOOLBOX["decline_request"],
        name="Decline an errand",
        text="The terms do not allow what the errand asks for. State the section, and the record that shows it.",
        labels={"errand_id": "Errand", "policy_id": "Section of the terms", "evidence_id": "Record"},
        terms={},
    ),
    ShopForm(
        tool=TOOLBOX["reopen_errand"],
        name="Reopen an errand",
        text="An errand that was closed is open again.",
        labels={"errand_id": "Errand"},
        terms={},
    ),
)
"""The forms that are sent at once."""
_SUMMARIES: Mapping[str, Mapping[str, str]] = {
    "orders": {"id": "Order", "placed": "Placed", "status": "Status", "due": "Due", "total_cents": "Total"},
    "order_lines": {
        "id": "Line",
        "product_name": "Name",
        "quantity": "Pieces",
        "unit_cents": "Each",
        "returned": "Sent back",
    },
}
"""By table: what a review shows of the row that a form is about."""


def draw_form(form: ShopForm, *, reviewed: bool) -> DrawPage:
    """The function that draws a form's page.

    Args:
        form: The form.
        reviewed: Whether it leads to a review, which sends it.
    """
    return partial(_draw_form, form, reviewed)


def draw_form_review(form: ShopForm) -> DrawPage:
    """The function that draws a form's review: what was entered, what it is about, and the button that sends it."""
    return partial(_draw_review, form)


def _draw_form(form: ShopForm, reviewed: bool, request: PageRequest) -> tuple[str, list[PageElement]]:  # noqa: FBT001
    fields = form_fields(form.tool)
    parts = [
        replace(field_element(field, request.address.query.get(field.argument, "")), name=form.labels[field.argument])
        for field in fields
    ]
    if reviewed:
        send = Submit(action="", fields=fields, url=write_address(DO, form.tool.name, REVIEW))
        button = PageElement(role="button", id=CONTINUE, name="Review", activation=send)
    else:
        send = Submit(action=form.tool.name, fields=fields)
        button = PageElement(role="button", id=SEND, name=form.name, activation=send)
    elements = [
        PageElement(role="heading", name=form.name),
        PageElement(role="text", value=form.text),
        PageElement(role="form", name=form.name, children=(*parts, button)),
    ]
    return form.name, [*elements, *_draw_terms(form)]


def _draw_review(form: ShopForm, request: PageRequest) -> tuple[str, list[PageElement]]:
    fields = form_fields(form.tool)
    entered = {name: value for name in form.labels if (value := request.address.query.get(name))}
    elements = [
        PageElement(role="heading", name=f"Review: {form.name.lower()}"),
        *(PageElement(role="definition", name=form.labels[name], value=value) for name, value in entered.items()),
    ]
    for field in fields:
        labels = _SUMMARIES.get(field.references)
        row: Row | None = None
        if labels and field.argument in entered:
            row = request.state.peek(request.schema[field.references].kind, entered[field.argument])
        if labels and row is not None:
            elements += draw_facts(request, row, f"About {row.id}", labels)
    send = Submit(action=form.tool.name, fields=fields, kept=tuple(entered.items()))
    button = PageElement(role="button", id=SEND, name=form.name, activation=send)
    change = link_element("review.change", "Change", write_address(DO, form.tool.name, query=entered))
    return f"Review: {form.name.lower()}", [
        *elements,
        PageElement(role="form", name=form.name, children=(button,)),
        draw_links("Review", change),
        *_draw_terms(form),
    ]


def _draw_terms(form: ShopForm) -> list[PageElement]:
    links = [link_element(f"terms.{key}", name, write_address("handbook", key)) for key, name in form.terms.items()]
    return [draw_links("Terms", *links)] if links else []
