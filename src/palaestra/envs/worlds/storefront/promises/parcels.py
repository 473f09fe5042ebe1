"""What messages promise of parcels: that they travel, have arrived or are lost."""

from palaestra.envs.kit.promise_words import ADVERB, IS_NOW, WE, words
from palaestra.envs.worlds.storefront.promises.words import GOODS
from palaestra.envs.worlds.storefront.schema import Order, Return, Shipment
from palaestra.records import Row
from palaestra.rubrics.messages import Promise


def _is_arrived(_before: Row | None, after: Row) -> bool:
    match after:
        case Order() | Shipment():
            return after.status == "delivered"
        case Return():
            return after.status == "received"
        case _:
            return False


def _is_travelling(_before: Row | None, after: Row) -> bool:
    match after:
        case Order():
            return after.status in ("shipped", "delivered")
        case Shipment():
            return after.status in ("preparing", "in_transit")
        case Return():
            return after.status == "authorised"
        case _:
            return False


def _has_left(_before: Row | None, after: Row) -> bool:
    return isinstance(after, Shipment) and after.status != "preparing"


def _is_lost(_before: Row | None, after: Row) -> bool:
    return isinstance(after, Shipment) and after.status == "lost"


ARRIVAL = Promise(
    name="an arrival",
    says=words(
        rf"\b(?:has|have|['\u2019]ve)\s+{ADVERB}arrived\b",
        rf"\b(?:was|were|been)\s+{ADVERB}delivered\b",
        rf"\b{GOODS}\s+(?:\w+\s+){{0,3}}?arrived\b",
    ),
    rows={"orders": _is_arrived, "shipments": _is_arrived, "returns": _is_arrived},
)
UNDER_WAY = Promise(
    name="that a parcel is on its way",
    says=words(rf"\b{GOODS}\s+{ADVERB}(?:still\s+)?on\s+(?:its|the|their)\s+way\b(?!\s+back)"),
    rows={"orders": _is_travelling, "shipments": _is_travelling, "returns": _is_travelling},
)
LEFT = Promise(
    name="that goods have left",
    says=words(
        rf"\b{GOODS}\s+(?:has|have)\s+(?:already\s+)?left"
        r"(?:\s+(?:already|us|our warehouse|the warehouse))?\s*(?:[.,;!]|$)",
    ),
    rows={"orders": _is_travelling, "shipments": _has_left, "returns": _is_travelling},
)
BOXES = Promise(
    name="that goods have come back",
    says=words(
        r"\bbox(?:es)?\s+(?:[\w-]+\s+){0,4}?(?:have|has|is|are|were)\s+(?:all\s+|now\s+)?(?:arrived|been received)\b"
    ),
    rows={"returns": _is_arrived},
)
LOSS = Promise(
    name="a lost parcel",
    says=words(
        rf"\b{GOODS}\s+{ADVERB}(?:officially\s+)?(?:declared\s+)?lost\b",
        rf"\b(?:it|they|both|all(?:\s+\w+)?)\s+{IS_NOW}(?:officially\s+)?(?:declared\s+)?lost\b",
        rf"{WE}declared?\s+(?:it|them|(?:the|your|this)\s+(?:parcel|package|shipment))\s+(?:as\s+)?lost\b",
    ),
    denies=words(r"\b(?:is not|isn't|was not|wasn't|are not|aren't)\s+lost\b"),
    rows={"shipments": _is_lost},
)
