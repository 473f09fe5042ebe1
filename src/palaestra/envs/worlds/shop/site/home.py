"""The first page: search, categories, and ways to what the customer has in the shop."""

from collections.abc import Sequence

from palaestra.envs.surfaces.pages.addresses import Address, write_address
from palaestra.envs.surfaces.pages.pieces import link_element
from palaestra.envs.surfaces.pages.routes import PageRequest
from palaestra.envs.surfaces.pages.tree import PageElement
from palaestra.envs.worlds.shop.population import CUSTOMER_ID
from palaestra.envs.worlds.shop.schema import SCHEMA
from palaestra.envs.worlds.shop.site.layout import draw_links
from palaestra.envs.worlds.shop.site.lists import draw_facets
from palaestra.envs.worlds.shop.site.search import CATEGORIES, WORDS

NAVIGATION: Sequence[PageElement] = (
    link_element("nav.home", "Kernwerk", "/"),
    link_element("nav.search", "Search", write_address("variants")),
    link_element("nav.basket", "Basket", write_address("basket")),
    link_element("nav.orders", "Orders", write_address("orders")),
    link_element("nav.account", "Account", write_address("customers", CUSTOMER_ID)),
    link_element("nav.errands", "Errands", write_address("errands")),
    link_element("nav.terms", "Terms", write_address("handbook")),
)
"""What stands on top of every page."""
_FIRST = Address(path=(), query={})


def draw_home(_: PageRequest) -> tuple[str, list[PageElement]]:
    """The first page. It shows no row: everything is behind a link."""
    categories = [
        link_element(f"category.{key}", name, write_address("variants", query={"category": key}))
        for key, name in CATEGORIES.items()
    ]
    return "Kernwerk", [
        PageElement(role="heading", name="Kernwerk, PC hardware"),
        draw_facets("variants", (WORDS,), _FIRST),
        PageElement(role="heading", name="Categories"),
        PageElement(role="list", name="Categories", children=tuple(categories)),
        PageElement(role="heading", name="Your shop"),
        draw_links("Orders", *_by_status("orders")),
        draw_links("Errands", *_by_status("errands")),
        draw_links(
            "Account",
            link_element("home.basket", "Basket", write_address("basket")),
            link_element("home.account", "Account and address book", write_address("customers", CUSTOMER_ID)),
            link_element("home.terms", "Terms of the shop", write_address("handbook")),
        ),
    ]


def _by_status(table: str) -> list[PageElement]:
    return [
        link_element(f"{table}.{status}", status, write_address(table, query={"status": status}))
        for status in SCHEMA[table].columns["status"].choices
    ]
