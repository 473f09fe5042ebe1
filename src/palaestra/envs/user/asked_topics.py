"""What a question asks for by its form, whatever things it names by the way.

"How many chairs", "one lamp or the pair" and "the number of broken bowls" ask for a quantity; "which of the lamps" and
"what would you like to send back" ask for a product; "does the drone lift off" asks for a fault. A question of no such
form is about what it names, which the listener decides.
"""

import re
from collections.abc import Sequence

from palaestra.envs.user.topics import Spot

_QUANTITY = re.compile(
    r"\bhow many\b|\bcount of\b|\bwhat (?:number|quantity) of (?!the (?:order|purchase))"
    r"|\bnumber of (?!(?:the|your|this) (?:order|purchase|house))(?:[\w-]+ ){0,2}[\w-]+s\b"
    r"|\b(?:one|single|entire|whole|both|all(?: \w+)?|pair|two|three|only|just)\b[^?]{0,40}\bor\b"
    r" (?:just |only |for |is it |the )*(?:both|all|two|three|four|five|six|several|pair|a few|few|some|more"
    r"|entire|whole|set|a single|a pair|one)\b(?! of the (?:orders|purchases))(?! else)"
)
_SPLITS_ORDER = re.compile(r"\b(?:order|purchase|ord-\d+|deliver(?:y|ies))\b")
_ACTED_ON = (
    r"(?:send(?:ing)? back|return(?:ed|ing)?|exchang(?:e|ed|ing)|swap(?:ped)?|replac(?:e|ed|ing)|repair(?:ed)?"
    r"|mend(?:ed)?|refund(?:ed)?|broken|damaged)"
)
_PRODUCT = re.compile(
    rf"^(?:and |so |just )*(?:(?:for )?what) (?:exactly )?(?:(?:is|was) it (?:that )?)?(?:would|do|did"
    rf"|shall|should|are|got"
    rf"|were|you|we)\b"
    rf"(?! happen)(?:(?! when| with| if)[^?])*\b{_ACTED_ON}\b(?! to\b)(?:,? (?:the|a) .*)?$"
    r"|^(?:and |so )*(?:is|was) it the [\w-]+(?: [\w-]+)?(?:, the [\w-]+)* or (?:the|its) [\w-]+"
    r"|^(?:and |so |at )*which of the (?!(?:two|three|orders?|purchases?|four|five|options?|addresses)\b)"
    r"(?:(?:two|three|four|five) )?(?!orders|purchases|of|one)[\w-]+s\b"
)
_WHERE_TO = re.compile(
    r"^(?:and |so |then )*(?:where|(?:to|at) (?:which|what) \w+)\b(?! did| was| were| in| on)(?!.*\bback\b)"
    r".*\b(?:send|sending|ship|shipping|deliver\w*|bring|go|going|drop|live|moving|post|sent|brought|shipped)\b"
)
_BEHAVES = re.compile(
    r"\b(?:what (?:the|your) [\w-]+|what it|how (?:the|your) [\w-]+|how it) (?:does|do|is doing|did|is acting|behaves?"
    r"|acts?|fails?|shows?)\b|\bwhat is (?:not working|broken|wrong)\b|\bdoing wrong\b"
)
_RUNS = re.compile(r"^(?:and |so )*(?:do|does|did|can|has)(?: not)? (?:the|your) (?:[\w-]+ )?$")
"""Stands before the thing of which a question asks whether it does something."""


def topics_by_form(text: str, spots: Sequence[Spot], *, kind: str) -> list[str]:
    """The topics that a question asks for by its form; none where the form does not tell."""
    if _QUANTITY.search(text) and not _SPLITS_ORDER.search(text):
        others = [spot.topic for spot in spots if spot.topic in ("order", "account", "address")]
        named = [spot.topic for spot in spots if spot.topic == "product"]
        both = " and " in text and not text.startswith("how many")
        return list(dict.fromkeys([*others, *(named if both else []), "quantity"]))
    if kind != "ask":
        return []
    if _BEHAVES.search(text) and not any(spot.topic in ("order", "address") for spot in spots):
        return ["fault"]
    if _WHERE_TO.match(text):
        return ["address"]
    if _PRODUCT.search(text) and not any(spot.topic in ("order", "address", "quantity") for spot in spots):
        return ["product"]
    if {spot.topic for spot in spots} == {"product"} and _RUNS.match(text[: spots[0].start]):
        return ["fault"]
    return []
