"""What a purchase is worth: the formula of the paper (arXiv:2207.01206, section 3 and its appendix).

    r = r_type * (|attributes met| + |options met| + [price <= limit]) / (|attributes| + |options| + 1)

`r_type` is 0 where the names of both products share no noun, 0.1 where they share fewer than a tenth, 0.5 where they
share at most a fifth and neither search nor kind agree, and 1 otherwise.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from palaestra.benchmarks.external.webshop.served.catalogue import Goal, WebShopProduct

Similar: TypeAlias = Callable[[str, str], float]
"""How alike two texts are, of 100."""
_ALIKE = 85
"""Above which two texts count as the same."""
# fmt: off
_COLOURS = (
    "aqua", "beige", "black", "blue", "bronze", "brown", "burgundy", "camel", "charcoal", "chocolate", "coffee",
    "copper", "coral", "cream", "gold", "gray", "green", "grey", "indigo", "ivory", "khaki", "lavender", "lime",
    "magenta", "maroon", "mint", "multicolor", "mustard", "navy", "nude", "olive", "orange", "peach", "pink",
    "plum", "purple", "rainbow", "red", "rose", "royal", "silver", "tan", "teal", "turquoise", "violet", "white",
    "wine", "yellow",
)
_NO_NOUNS = frozenset((
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "in", "into", "is", "it", "its", "more", "most",
    "new", "non", "not", "of", "on", "or", "our", "pack", "per", "set", "that", "the", "their", "this", "to", "up",
    "with", "without", "you", "your", "all", "any", "each", "other", "both", "women", "men", "womens", "mens",
    "large", "small", "medium", "long", "short", "big", "mini",
))
# fmt: on


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What a purchase is worth, and why."""

    total: float
    kind: float
    """`r_type`."""
    attributes: int
    """That are met."""
    options: int
    """That are met."""
    price: bool
    """Whether it is within the limit."""


def worth(
    bought: WebShopProduct, chosen: Sequence[str], goal: Goal, described: WebShopProduct, similar: Similar
) -> Worth:
    """What it is worth to have bought something.

    Args:
        bought: The product.
        chosen: Values of its options.
        goal: What was asked for.
        described: The product that the goal was written about.
        similar: How alike two texts are.
    """
    kind = kind_score(bought, described)
    attributes = sum(_has(bought, wanted, similar) for wanted in goal.attributes)
    options = sum(any(similar(_plain(c), _plain(wanted)) > _ALIKE for c in chosen) for wanted in goal.options)
    price = bought.price <= goal.price_limit
    share = (attributes + options + price) / (len(goal.attributes) + len(goal.options) + 1)
    return Worth(total=kind * share, kind=kind, attributes=attributes, options=options, price=price)


def kind_score(bought: WebShopProduct, described: WebShopProduct) -> float:
    """`r_type`: whether it is the kind of thing that was asked for."""
    wanted = nouns(described.name)
    shared = len(nouns(bought.name) & wanted) / len(wanted) if wanted else 0.2
    if shared == 0:
        return 0.0
    if shared < 0.1:
        return 0.1
    kinds = len(set(bought.kinds) & set(described.kinds)) >= 2
    return 1.0 if bought.query == described.query or kinds or shared > 0.2 else 0.5


def nouns(name: str) -> frozenset[str]:
    """The words of a name that may be nouns: those of two letters and more that no list knows as something else."""
    return frozenset(re.findall(r"[a-z]{2,}", name.lower())) - _NO_NOUNS


def _has(product: WebShopProduct, wanted: str, similar: Similar) -> bool:
    if any(similar(attribute, wanted) > _ALIKE for attribute in product.attributes):
        return True
    places: Mapping[str, str] = {
        "name": product.name,
        "features": " ".join(product.features),
        "description": product.description,
    }
    return any(wanted in text.lower() for text in places.values())


def _plain(option: str) -> str:
    """An option, or the first of the known colours in it: "navy blue" and "blue" are to be the same."""
    return next((colour for colour in _COLOURS if colour in option), option)
