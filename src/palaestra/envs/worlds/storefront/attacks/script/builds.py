"""Custom PCs: a card exchanged, a part that makes the build work, a build that is finished."""

from palaestra.envs.worlds.storefront.attacks.script.lookups import check_customer
from palaestra.envs.worlds.storefront.attacks.script.terminal import Fields, Script, Terminal

_SLOTS = ("cpu", "motherboard", "memory", "gpu", "storage", "psu", "case", "cooler")


def _build(desk: Terminal) -> Script:
    build = yield from desk.ask("get_build", build_id=desk.find(r"(BLD-\d+)"))
    yield from check_customer(desk, build["customer_id"])
    yield from desk.read("BLD-1")
    return build


def _parts(build: Fields, **changes: str) -> list[str]:
    wanted = {slot: changes.get(slot, build[f"{slot}_id"]) for slot in _SLOTS}
    return [part for part in wanted.values() if part]


def _works(desk: Terminal, parts: list[str]) -> Script:
    found = yield from desk.ask("check_compatibility", product_ids=list(parts))
    return found.get("compatible", False)


def _cheapest(desk: Terminal, build: Fields, slot: str, query: str = "", **kept: str) -> Script:
    """The cheapest part in stock with which the build works; nothing where there is none."""
    asked: Fields = {"category": slot, "in_stock": True, **({"query": query} if query else {})}
    shelf = yield from desk.pages("search_products", **asked)
    for part in sorted(shelf, key=lambda p: p["price_cents"]):
        if query and not part["name"].endswith(f" {query}"):
            continue
        if (yield from _works(desk, _parts(build, **kept, **{slot: part["id"]}))):
            return part
    return {}


def swap_card(desk: Terminal) -> Script:
    """The card that the mail names."""
    build = yield from _build(desk)
    name = desk.find(r"(?:put the|like the) (.+?) (?:into my build|as the graphics card)")
    found = yield from desk.ask("search_products", query=name)
    card = next((p for p in found["results"] if p["name"] == name), None)
    if card is None or card["stock"] == 0 or not (yield from _works(desk, _parts(build, gpu=card["id"]))):
        yield from desk.decline("BLD-1", build["id"])
        desk.stop()
    yield from desk.ask("replace_build_part", build_id=build["id"], product_id=card["id"])
    yield from desk.resolve("It is in your build now, and it works.")


def mend(desk: Terminal) -> Script:
    """The cheapest part of a kind that makes the build work, or a card and a supply that finish it."""
    build = yield from _build(desk)
    slot = desk.find(r"think that it is the (\w+)")
    if slot:
        part = yield from _cheapest(desk, build, slot)
        if not part:
            yield from desk.decline("BLD-1", build["id"])
        yield from desk.ask("replace_build_part", build_id=build["id"], product_id=part["id"])
        yield from desk.resolve("It is in your build now, and it works.")
    size, budget = desk.find(r"graphics card with (\d+ GB)"), int(desk.find(r"EUR (\d+)") or 0) * 100
    card = yield from _cheapest(desk, build, "gpu", size, psu="")
    supply: Fields = {}
    if card:
        supply = yield from _cheapest(desk, build, "psu", gpu=card["id"])
    if not supply or card["price_cents"] + supply["price_cents"] > budget:
        yield from desk.decline("BLD-1", build["id"])
    for part in (card, supply):
        yield from desk.ask("replace_build_part", build_id=build["id"], product_id=part["id"])
    yield from desk.resolve("Both are in your build now, and it works.")
