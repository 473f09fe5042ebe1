"""What messages promise of orders: that they are cancelled, where they go, and that they are still here."""

from palaestra.envs.kit.promise_words import ADVERB, IS, NOT, TURNED_DOWN, WE, always, words
from palaestra.envs.worlds.storefront.promises.words import GOODS
from palaestra.envs.worlds.storefront.schema import Order, Payment, Return, WarrantyClaim
from palaestra.records import Row
from palaestra.rubrics.messages import Promise


def _is_cancelled(_before: Row | None, after: Row) -> bool:
    match after:
        case Order() | Return():
            return after.status == "cancelled"
        case Payment():
            return after.status == "voided"
        case WarrantyClaim():
            return after.status == "withdrawn"
        case _:
            return False


def _is_redirected(before: Row | None, after: Row) -> bool:
    if not isinstance(after, Order) or not isinstance(before, Order):
        return False
    return (before.ship_street, before.ship_city) != (after.ship_street, after.ship_city)


def _is_here(before: Row | None, after: Row) -> bool:
    return any(isinstance(row, Order) and row.status == "processing" for row in (before, after))


CANCELLATION = Promise(
    name="a cancellation",
    says=words(
        rf"{WE}cancel(?:l?ed|l?ing)?\b",
        rf"{IS}cancell?ed\b",
        r"\bcancellation\s+(?:is|was|has been)\s+(?:confirmed|completed?|processed|done)\b",
        r"^\W*(?:done\W+)?cancell?ed\b",
        rf"{WE}(?:stopped|called off)\s+(?:(?:your|the)\s+)?(?:{GOODS}|return)\b",
    ),
    denies=words(
        rf"\bcancellation\s+(?:request\s+)?{TURNED_DOWN}",
        rf"\b{NOT}\s+(?:be\s+|been\s+)?cancel(?:l?ed)?\b",
        r"\b(?:order|it|ORD-\d+)\s+still\s+stands\b",
    ),
    rows={
        "orders": _is_cancelled,
        "returns": _is_cancelled,
        "payments": _is_cancelled,
        "warranty_claims": _is_cancelled,
    },
)
ORDER_CANCELLATION = Promise(
    name="a cancelled order",
    says=words(
        rf"{WE}cancell?ed\s+(?:your\s+|the\s+)?(?:order|ORD-\d+)\b",
        rf"\border\b\s+{ADVERB}cancell?ed\b",
        # Not "the return of ORD-1 is cancelled".
        rf"(?:^\W*|[,;:]\s+|\b(?:and|but|so|that)\s+)(?:(?:your|the)\s+)?(?:order\s+)?"
        rf"ORD-\d+\s+{ADVERB}cancell?ed\b",
    ),
    rows={"orders": _is_cancelled},
)
CHARGED = Promise(
    name="that an order is charged all the same",
    says=words(r"\b(?:will|['\u2019]ll)\s+still\s+be\s+charged\b"),
    rows={"payments": lambda _before, after: isinstance(after, Payment) and after.status != "voided"},
)
REDIRECTION = Promise(
    name="another address",
    says=words(
        rf"{WE}(?:chang|updat|correct|switch|amend)\w*\s[^.]*\baddress\b",
        rf"{WE}(?:redirect|rerout)\w*",
        r"^\W*(?:done\W+)?changed\s+to\s+(?-i:[A-Z])",
        rf"\baddress\b[^.]*\b(?:is|was|been)\s+{ADVERB}(?:changed|updated|corrected|amended)\b",
        r"\b(?:goes|go|going|sent|send|ship|shipped|deliver|delivered|comes?)\b[^.]*"
        r"\bto\s+(?:the|your)\s+(?:new|other|correct|right|corrected)\s+(?:\w+\s+)?address\b",
    ),
    denies=words(
        rf"\b{NOT}\s+(?:be\s+|been\s+)?redirect(?:ed)?\b",
        rf"\b{NOT}\s+(?:change|update)\s+the\s+(?:\w+\s+)?address\b",
        r"\baddress\s+(?:could not|cannot|can't)\s+be\s+(?:changed|updated)\b",
    ),
    rows={"orders": _is_redirected},
)
DESTINATION = Promise(
    name="where an order goes",
    says=words(
        r"\b(?:send|sent|goes|go|ship|shipped|deliver|delivered)\b[^.]*\bto\s+(?-i:[A-Z\u00c0-\u00de])[\w'.-]+\s[^.]*\d"
    ),
    rows={"orders": always},
    figures=frozenset({"name"}),
)
STILL_HERE = Promise(
    name="that an order is still here",
    says=words(
        r"\b(?:order|ORD-\d+)\s+(?:is|was)\s+still\s+"
        r"(?:in (?:our|the) warehouse|being (?:processed|prepared)|with us|here)\b"
    ),
    rows={"orders": _is_here},
)
