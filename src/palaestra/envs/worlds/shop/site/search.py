"""What the shop sells: the search, a product with its articles, an article with its stock, a voucher."""

from dataclasses import replace

from palaestra.envs.surfaces.pages.addresses import Address, write_address
from palaestra.envs.surfaces.pages.forms import form_fields
from palaestra.envs.surfaces.pages.generated import AFTER, SEARCH, SEND
from palaestra.envs.surfaces.pages.pieces import link_element
from palaestra.envs.surfaces.pages.routes import PageRequest, find_row
from palaestra.envs.surfaces.pages.tree import PageElement, Submit
from palaestra.envs.worlds.shop.schema import SCHEMA, Variant
from palaestra.envs.worlds.shop.site.layout import (
    ARTICLE_COLUMNS,
    draw_facts,
    draw_filled,
    draw_line,
    draw_links,
    draw_table,
)
from palaestra.envs.worlds.shop.site.lists import SKIP, Facet, ShopList, draw_choice, draw_list
from palaestra.envs.worlds.shop.tools import add_to_basket
from palaestra.envs.worlds.storefront.schema import Product

CATEGORIES = {
    "cpu": "Processors",
    "motherboard": "Motherboards",
    "memory": "Memory",
    "gpu": "Graphics cards",
    "storage": "Storage",
    "psu": "Power supplies",
    "case": "Cases",
    "cooler": "Coolers",
    "monitor": "Monitors",
    "keyboard": "Keyboards",
    "mouse": "Mice",
}
"""By category: what the shop calls it."""
WORDS = Facet(name="search", condition=SEARCH, label="Search")
"""The field for words."""
_IN_STOCK = "stock >"
"""The condition of articles that can be ordered."""
_FACETS = (
    WORDS,
    Facet(
        name="category", condition="category", label="Category", options=SCHEMA["variants"].columns["category"].choices
    ),
    Facet(name="colour", condition="colour", label="Colour", options=SCHEMA["variants"].columns["colour"].choices),
    Facet(name="from", condition="price_cents >=", label="Price from, in cents"),
    Facet(name="to", condition="price_cents <=", label="Price to, in cents"),
    Facet(name="rating", condition="rating >=", label="Rating from, in tenths", options=("20", "30", "40", "45")),
)
ARTICLES = ShopList(
    table="variants",
    name="Articles",
    columns=ARTICLE_COLUMNS,
    title="name",
    facets=_FACETS,
    sorts={"price": lambda article: article.price_cents, "rating": lambda article: -article.rating},
)
"""The results of a search."""


def draw_search(request: PageRequest) -> tuple[str, list[PageElement]]:
    """The results of a search. Editions and brands can be chosen within a category.

    Raises:
        ToolRefusal: the address asks for what articles do not have.
    """
    query = request.address.query
    category = query.get("category", "")
    name = CATEGORIES.get(category, ARTICLES.name)
    facets = (*_FACETS[:3], *_own_facets(request, category), *_FACETS[3:])
    heading, *others = draw_list(request, replace(ARTICLES, name=name, facets=facets))
    return name, [heading, others[0], _draw_stock(request.address), *others[1:]]


def _own_facets(request: PageRequest, category: str) -> list[Facet]:
    """What articles of a category have to choose from besides."""
    found = request.state.find(Variant, category=category) if category in CATEGORIES else []
    choices = {"edition": sorted({one.edition for one in found}), "brand": sorted({one.brand for one in found})}
    return [
        Facet(name=name, condition=name, label=name.capitalize(), options=tuple(options))
        for name, options in choices.items()
        if options
    ]


def _draw_stock(address: Address) -> PageElement:
    asked = {name: value for name, value in address.query.items() if name not in (_IN_STOCK, AFTER, SKIP)}
    choices = {
        "stock.all": ("all articles", write_address("variants", query=asked)),
        "stock.some": ("only in stock", write_address("variants", query={**asked, _IN_STOCK: "0"})),
    }
    return draw_choice("Show", choices, "stock.some" if _IN_STOCK in address.query else "stock.all")


def draw_product(request: PageRequest) -> tuple[str, list[PageElement]]:
    """A product: its articles, its conditions and its technical data.

    Raises:
        ToolRefusal: there is no such product.
    """
    product = find_row(request, "products")
    assert isinstance(product, Product), "it is of the products"
    facts = {"id": "Product", "name": "Name", "brand": "Brand", "category": "Category"}
    conditions = {
        "final_sale": "Clearance (final sale)",
        "warranty_months": "Warranty in months",
        "price_cents": "List price",
        "stock": "Stock of the product; articles have their own",
    }
    technical = {
        "socket": "Socket",
        "memory_type": "Memory",
        "form_factor": "Form factor",
        "watts": "Watts",
        "length_mm": "Length in mm",
    }
    info = request.schema["variants"]
    lines = [
        draw_line(info, one, ARTICLE_COLUMNS, title="name")
        for one in request.state.find(Variant, product_id=product.id)
    ]
    return product.name, [
        *draw_facts(request, product, product.name, facts),
        PageElement(role="heading", name="Colours and editions"),
        draw_table("Articles", lines, empty="Nothing of it is on sale."),
        *draw_facts(request, product, "Conditions", conditions),
        *draw_filled(request, product, "Technical data", technical),
    ]


def draw_article(request: PageRequest) -> tuple[str, list[PageElement]]:
    """An article: price, stock and lead days, and the form that puts it into the basket.

    Raises:
        ToolRefusal: there is no such article.
    """
    article = find_row(request, "variants")
    assert isinstance(article, Variant), "it is of the variants"
    offer = {
        "price_cents": "Price",
        "stock": "Pieces in stock",
        "lead_days": "Days until it is sent",
        "rating": "Rating",
    }
    facts = {
        "id": "Article",
        "name": "Name",
        "colour": "Colour",
        "edition": "Edition",
        "brand": "Brand",
        "category": "Category",
        "product_id": "Product",
    }
    fields = form_fields(add_to_basket)
    send = Submit(action=add_to_basket.name, fields=fields, kept=(("variant_id", article.id),))
    form = (
        PageElement(role="textbox", id="field.quantity", name="Pieces", value="1", required=True),
        PageElement(role="button", id=SEND, name="Add to basket", activation=send),
    )
    product = write_address("products", article.product_id)
    return article.name, [
        *draw_facts(request, article, article.name, offer),
        PageElement(role="form", name="Add to basket", children=form),
        *draw_facts(request, article, "Article", facts),
        draw_links(
            "Go on",
            link_element("article.others", "Product, other colours and editions", product),
            link_element("article.basket", "Basket", write_address("basket")),
            link_element("article.delivery", "What delivery costs", write_address("handbook", "DEL-1")),
        ),
    ]


def draw_voucher(request: PageRequest) -> tuple[str, list[PageElement]]:
    """A voucher: its discount, and when and for what it holds.

    Raises:
        ToolRefusal: there is no such voucher.
    """
    voucher = find_row(request, "promotions")
    facts = {
        "id": "Code",
        "percent": "Percent off",
        "category": "Only for",
        "starts": "First day",
        "ends": "Last day",
        "minimum_cents": "Smallest sum of goods",
    }
    use = write_address("do", "apply_voucher", query={"code": voucher.id})
    return f"Voucher {voucher.id}", [
        *draw_facts(request, voucher, f"Voucher {voucher.id}", facts),
        draw_links(
            "Go on",
            link_element("voucher.use", "Use it for the next order", use),
            link_element("voucher.terms", "Terms of vouchers", write_address("handbook", "VOU-1")),
        ),
    ]
