"""What is for sale and what people ask for, read from the files of WebShop's checkout.

`items_shuffle.json` lists the products, `items_ins_v2.json` their attributes by id, and `items_human_ins.json` the
instructions that people wrote, by id; where the first two are lacking, their small kinds `..._1000.json` are read.
"""

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

NO_LIMIT = 1_000_000.0
"""The limit of a goal whose price nobody limits."""
_BELOW = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"
"""Stands between a kind of products and a narrower one."""
_SHUFFLE = 233
"""Upstream's seed for the order of goals, by which its splits are numbered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebShopProduct:
    """Something that is for sale."""

    asin: str
    name: str
    category: str
    query: str
    """The search that it was found with when the data were gathered."""
    kinds: tuple[str, ...]
    """Its place among the kinds of products, from the widest to the narrowest."""
    description: str
    features: tuple[str, ...]
    attributes: tuple[str, ...]
    options: Mapping[str, tuple[str, ...]]
    """Values by name, in lower case."""
    price: float
    price_tag: str

    @property
    def words(self) -> str:
        """What a search looks through."""
        options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in self.options.items())
        return " ".join([self.name, self.description, *self.features[:1], options]).lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What somebody wants to buy."""

    asin: str
    """The product that they described."""
    instruction: str
    attributes: tuple[str, ...]
    options: tuple[str, ...]
    price_limit: float


class Catalogue:
    """Products and goals.

    Args:
        folder: With the data files.
        most: Products that are read, if not all.

    Raises:
        ValueError: a file is lacking; the message says how one gets it.
    """

    def __init__(self, folder: Path, most: int | None = None) -> None:
        attributes: Mapping[str, Any] = _read(folder, "items_ins_v2")
        wishes: Mapping[str, Any] = _read(folder, "items_human_ins")
        self.products: dict[str, WebShopProduct] = {}
        for raw in _read(folder, "items_shuffle")[:most]:
            asin = str(raw["asin"])
            if asin != "nan" and len(asin) <= 10 and asin not in self.products:
                self.products[asin] = _product(raw, attributes.get(asin, {}))
        self.goals: list[Goal] = [
            _goal(product, wish, number)
            for product in self.products.values()
            for number, wish in enumerate(wishes.get(product.asin, ()))
            if wish["instruction_attributes"]
        ]
        random.Random(_SHUFFLE).shuffle(self.goals)  # noqa: S311  the order that upstream's splits are numbered by


def _read(folder: Path, name: str) -> Any:
    for file in (folder / f"{name}.json", folder / f"{name}_1000.json"):
        if file.is_file():
            return json.loads(file.read_text())
    raise ValueError(f"{folder} holds no {name}.json; get it with the checkout's `./setup.sh -d all` (or `-d small`)")


def _product(raw: Mapping[str, Any], known: Mapping[str, Any]) -> WebShopProduct:
    prices = [float(re.sub(r"[^\d.]", "", part)) for part in str(raw.get("pricing") or "").split("$")[1:]][:2] or [
        100.0
    ]
    told: Any = raw["small_description"]
    features: Sequence[Any] = told if _is_list(told) else [told]
    offered: Mapping[str, Any] = raw["customization_options"] or {}
    options = {
        str(name).lower(): tuple(str(value["value"]).strip().replace("/", " | ").lower() for value in values)
        for name, values in offered.items()
        if values is not None
    }
    return WebShopProduct(
        asin=str(raw["asin"]),
        name=str(raw["name"]),
        category=str(raw["category"]),
        query=str(raw["query"]).lower().strip(),
        kinds=tuple(kind.strip() for kind in str(raw["product_category"]).split(_BELOW)),
        description=str(raw["full_description"]),
        features=tuple(map(str, features)),
        attributes=tuple(known.get("attributes", ("DUMMY_ATTR",))),
        options=options,
        price=prices[0] if len(prices) == 1 else _make_random(raw["asin"]).uniform(*prices),
        price_tag=" to ".join(f"${price}" for price in prices),
    )


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _goal(product: WebShopProduct, wish: Mapping[str, Any], number: int) -> Goal:
    """A wish, with a limit for the price drawn from the next four tens above it."""
    above = [10.0 * ten for ten in range(1, 100) if 10.0 * ten > product.price][:4]
    limit, said = NO_LIMIT, ""
    if len(above) >= 2:
        limit = max(_make_random(product.asin, number).sample(above, 2))
        said = f", and price lower than {limit:.2f} dollars"
    options: Mapping[str, str] | Sequence[str] = wish["instruction_options"]
    return Goal(
        asin=product.asin,
        instruction=str(wish["instruction"]).strip(".") + said,
        attributes=tuple(wish["instruction_attributes"]),
        options=tuple(options.values() if isinstance(options, Mapping) else options),
        price_limit=limit,
    )


def _make_random(asin: str, number: int = -1) -> random.Random:
    return random.Random(f"webshop/{asin}/{number}")  # noqa: S311  a product's own draws, the same in each process
