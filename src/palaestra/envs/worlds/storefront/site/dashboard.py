"""The first page: what waits, by queue, and the forms by what they are about."""

from collections.abc import Mapping
from functools import cache

from palaestra.envs.surfaces.pages.addresses import write_address
from palaestra.envs.surfaces.pages.pieces import link_element, words
from palaestra.envs.surfaces.pages.routes import PageRequest
from palaestra.envs.surfaces.pages.tree import PageElement

_QUEUES = ("tickets", "orders", "shipments", "refunds", "returns", "warranty_claims")
"""Tables whose rows wait in a status."""
_AREAS: Mapping[str, tuple[str, ...]] = {
    "Money": ("refund", "credit", "payment"),
    "Tickets": ("ticket", "request", "message"),
    "Orders and parcels": ("order", "shipping", "lost", "replacement", "return", "build", "stock", "days"),
    "Warranty": ("warranty",),
    "Customers": ("customer", "hold"),
}
"""By heading: words of the names of the actions that stand under it; an action stands under the first that fits."""
_OTHERS = "Look up and calculate"


def draw_dashboard(request: PageRequest) -> tuple[str, list[PageElement]]:
    """The first page."""
    elements = [PageElement(role="heading", name="Back office")]
    for table in _QUEUES:
        info = request.schema[table]
        queues: list[PageElement] = []
        for status in info.columns["status"].choices:
            count = len(request.state.find(info.kind, status=status))
            url = write_address(table, query={"status": status})
            queues.append(link_element(f"queue.{table}.{status}", f"{status} ({count})", url))
        elements.append(PageElement(role="navigation", name=words(table), children=tuple(queues)))
    areas: dict[str, list[PageElement]] = {heading: [] for heading in (*_AREAS, _OTHERS)}
    for link in request.actions:
        areas[_area(link.id)].append(link)
    for heading, links in areas.items():
        if links:
            elements += [
                PageElement(role="heading", name=heading),
                PageElement(role="list", name=heading, children=tuple(links)),
            ]
    return "Back office", elements


@cache
def _area(link: str) -> str:
    """The heading under which an action stands, by the id of its link."""
    found = (heading for heading, names in _AREAS.items() if any(name in link for name in names))
    return next(found, _OTHERS)
