"""What messages promise of goods: that they are sent again, changed, repaired, claimed under warranty or taken back."""

from palaestra.envs.kit.promise_words import ADVERB, IS, NOT, TURNED_DOWN, WE, words
from palaestra.envs.worlds.storefront.schema import Build, Return, Shipment, Ticket, WarrantyClaim
from palaestra.records import Row
from palaestra.rubrics.messages import Promise


def _is_sent_again(before: Row | None, after: Row) -> bool:
    match after:
        case Shipment():
            return after.replaces is not None
        case WarrantyClaim():
            return after.remedy == "replace" and after.status == "open"
        case Build():
            return before != after
        case _:
            return False


def _is_repaired(_before: Row | None, after: Row) -> bool:
    return isinstance(after, WarrantyClaim) and after.remedy == "repair" and after.status != "withdrawn"


def _is_back_from_repair(_before: Row | None, after: Row) -> bool:
    return isinstance(after, WarrantyClaim) and after.remedy == "repair" and after.status == "closed"


def _is_too_late(_before: Row | None, after: Row) -> bool:
    """A request that was declined since the window has closed; the record is no return or refund."""
    return (
        isinstance(after, Ticket)
        and (after.status, after.policy_id) == ("declined", "RET-1")
        and not str(after.evidence_id).startswith(("RMA-", "RFD-"))
    )


def _is_claimed(_before: Row | None, after: Row) -> bool:
    return isinstance(after, WarrantyClaim) and after.status == "open"


def _is_taken_back(_before: Row | None, after: Row) -> bool:
    return isinstance(after, Return) and after.status != "cancelled"


SENT_AGAIN = Promise(
    name="a replacement",
    says=words(
        rf"{WE}(?:re)?(?:send|sent|ship|shipped|sending)\b[^.]*"
        r"\b(?:again|a replacement|a new (?:one|piece|\w+)|another (?:one|parcel)|a second (?:one|parcel))\b",
        rf"{WE}replac(?:e|ed|ing)\b",
        rf"\b(?:replacement|new one|new piece)s?(?:\s+[\w-]+){{0,6}}?\s+{ADVERB}"
        r"(?:sent|shipped|on (?:its|the) way|under way|dispatched)\b",
        rf"\ba new\s+(?:[\w-]+\s+){{1,6}}?{ADVERB}(?:sent|shipped|on (?:its|the) way|under way|dispatched)\b",
        rf"{IS}(?:sent|shipped)\s+(?:\w+\s+)?again\b",
        rf"{IS}replaced\b",
        r"\byou(?:['\u2019]ll| will)?\s+(?:get|receive)\s+(?:a new one|a replacement|another one)\b",
    ),
    denies=words(
        rf"\b{NOT}\s+(?:be\s+)?(?:replaced?|sen[dt] (?:it |them )?again|send (?:you )?a (?:new|replacement))\b",
        rf"\b(?:replacement|exchange)\s+(?:request\s+)?{TURNED_DOWN}",
    ),
    rows={"shipments": _is_sent_again, "warranty_claims": _is_sent_again, "builds": _is_sent_again},
)
_PART = (
    r"(?:card|case|supply|psu|gpu|cpu|processor|memory|board|motherboard|cooler|drive|ssd|part|one|build|"
    r"(?-i:[A-Z]{3}-\d+))"
)
BUILD = Promise(
    name="a changed build",
    says=words(
        rf"{WE}put\s+in\b",
        rf"{WE}put\b[^.;!?]*\binto\s+(?:your|the)\s+build\b",
        rf"{WE}updated\s+(?:your|the)\s+build\b",
        # Not "we swapped the claim for your board".
        rf"{WE}(?:fitted|installed|built|swapped|exchanged)\b(?![^.;!?]*\b(?:claim|repair)\b)[^.;!?]*\b{_PART}\b",
        r"\b(?:card|case|supply|(?-i:[A-Z]{3}-\d+)|\d+ GB|[AI]TX)\s+(?:is|are)\s+(?:now\s+)?"
        r"in\s+(?:your\s+build|now)\b",
    ),
    denies=words(
        r"\bno\s+(?:case|card|graphics card|power supply|part)\s+(?:fits|works)\b",
        r"\b(?:your|the)\s+build\s+(?:is|was|stays?|remains?)\s+unchanged\b",
        r"\b(?:could not|couldn't|cannot|can't)\s+put\s+in\b",
        rf"\b{NOT}\s+chang(?:e|ed)\s+(?:your|the)\s+build\b",
        r"\bnothing\s+(?:was|has been)\s+changed\s+in\s+(?:your|the)\s+build\b",
        r"\bleft\s+(?:your|the)\s+build\s+(?:as it (?:is|was)|unchanged)\b",
    ),
    rows={"builds": _is_sent_again, "shipments": _is_sent_again, "warranty_claims": _is_sent_again},
)
ORDERED = Promise(
    name="goods that were ordered or reserved",
    says=words(rf"(?!\bi\s+was\b){WE}(?:ordered|reserved)\b"),  # not "the Boreas Puck I was ordered on"
    # No tool does either.
    rows={},
)
REPAIR = Promise(
    name="a repair",
    says=words(rf"{WE}(?:repair(?:ed|ing)?|mend(?:ed)?)\b", rf"{IS}(?:repaired|mended)\b"),
    denies=words(rf"\b{NOT}\s+(?:be\s+)?(?:repair(?:ed)?|mend(?:ed)?)\b"),
    rows={"warranty_claims": _is_repaired},
)
REPAIRED = Promise(
    name="a repair that is over",
    says=words(r"\b(?:was|has been|have been|['\u2019]ve|we have)\s+(?:already\s+|now\s+)?(?:repaired|mended)\b"),
    rows={"warranty_claims": _is_back_from_repair},
)
CLAIM = Promise(
    name="a warranty claim",
    says=words(
        rf"{WE}(?:open|file|register|start|log|creat)\w*\s+(?:\w+\s+){{0,3}}?claim\b",
        rf"\bclaim\s+{ADVERB}(?:open|opened|filed|registered|accepted|started|created)\b(?!\s+on\b)",
    ),
    denies=words(
        r"\bwarranty\s+(?:has\s+)?(?:already\s+|unfortunately\s+)?(?:expired|ended|run out)\b",
        r"\bwarranty\s+is\s+over\b",
        rf"\bclaim\s+{TURNED_DOWN}",
    ),
    rows={"warranty_claims": _is_claimed},
)
CLAIM_OPEN = Promise(
    name="a claim that is open",
    says=words(r"\bclaim\s+(?:[A-Z]+-\d+\s+)?(?:is|remains|stays)\s+still\s+open\b"),
    rows={"warranty_claims": _is_claimed},
)
CLAIM_OVER = Promise(
    name="a claim that is closed or withdrawn",
    says=words(
        rf"{WE}(?:withdrawn|withdrew|withdraw)\s+(?:the|your|this)\s+(?:\w+\s+)?claim\b",
        r"\bclaim\s+(?:[A-Z]+-\d+\s+)?(?:is|was|has been)\s+(?:already\s+|now\s+)?(?:closed|withdrawn)\b",
    ),
    rows={"warranty_claims": lambda _before, after: isinstance(after, WarrantyClaim) and after.status != "open"},
)
RETURN = Promise(
    name="a return",
    says=words(
        rf"{WE}(?:authori[sz]|arrang|set up|approv|open|accept|creat|register)\w*\s+(?:\w+\s+){{0,3}}?return\b",
        rf"\breturn\s+{ADVERB}(?:authori[sz]ed|arranged|set up|open|opened|accepted|created|registered)\b",
    ),
    denies=words(
        r"\breturn\s+(?:is|was|has been)\s+"
        r"(?:declined|refused|rejected|not (?:been )?(?:possible|authori[sz]ed|accepted))\b",
        r"\b(?:cannot|can't|could not|will not|won't)\s+(?:take|accept)\s+(?:it|them|this|that)\s+back\b",
        rf"\b{NOT}\s+(?:authori[sz]e|accept|approve|set up|create|open)\s+(?:a|the|your|this)\s+return\b",
        r"\byour\s+return\s+(?:window|period)\s+(?:has|is)\s+(?:already\s+|unfortunately\s+)?"
        r"(?:closed|passed|ended|expired|over)\b",
    ),
    rows={"returns": _is_taken_back},
)
SENDING_BACK = Promise(
    name="that goods come back",
    says=words(
        r"\bplease\s+(?:now\s+)?(?:send|return|ship)\s+(?:it|them|both|this|that|"
        r"(?:the|your)(?:\s+[\w-]+){1,6}?)\s+back\b",
        r"\bplease\s+(?:now\s+)?return\s+(?:it|them|both|(?:the|your)(?:\s+[\w-]+){1,6}?)\s+to\s+us\b",
    ),
    rows={"returns": _is_taken_back, "warranty_claims": _is_claimed},
)
WINDOW = Promise(
    name="that the return window has closed",
    denies=words(
        r"\b(?:you are|you're|it is|it's|this is)\s+(?:still\s+|well\s+)*(?:within|inside|in)\s+(?:the|your)\s+"
        r"(?:[\w-]+\s+)?return\s+(?:window|period)\b",
        r"\breturn\s+(?:window|period)\s+is\s+still\s+open\b",
    ),
    rows={"tickets": _is_too_late},
)
