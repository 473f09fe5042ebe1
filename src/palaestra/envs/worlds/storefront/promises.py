"""What messages of the Storefront can promise or report as done, and the rows that bear it out.

Verbs stand directly behind their subject, so that "you asked us to cancel" promises nothing.
"""

import re

from palaestra.envs.worlds.storefront.policy import percent_of
from palaestra.envs.worlds.storefront.schema import (
    Build,
    Order,
    Payment,
    Refund,
    Return,
    Shipment,
    Ticket,
    WarrantyClaim,
)
from palaestra.records import Row
from palaestra.rubrics.messages import Promise

_ADVERB = (
    r"(?:(?:have|has|had|will|shall|are|am|is|was|were|be|been|being|going to|now|already|just|hereby|also|gladly|"
    r"therefore|immediately|successfully|today|both|all|then)\s+)*"
)
_WE = rf"\b(?:we|i)(?:['\u2019](?:ve|ll|re|m))?\s+{_ADVERB}"
_IS = rf"\b(?:is|are|was|were|been|be|being|gets?|got)\s+{_ADVERB}"
_OF_AMOUNT = r"(?:\s+\(?(?:of\s+)?(?:(?:EUR|\u20ac)\s*)?\d[\d.,]*(?:\s*(?:EUR|\u20ac|euros?)(?!\w))?\)?)?"
_TURNED_DOWN = r"(?:is|was|has been|have been)\s+(?:declined|refused|rejected|denied)\b"
_GOODS = r"(?:orders?|parcels?|packages?|shipments?|deliver(?:y|ies)|goods|items?|ORD-\d+|SHP-\d+)"
_NOT = r"(?:cannot|can't|could not|couldn't|will not|won't|did not|didn't|have not|haven't|was not|were not|not be)"


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


def _always(_before: object, _after: object) -> bool:
    return True


def _cancelled(_before: Row | None, after: Row) -> bool:
    match after:
        case Order() | Return():
            return after.status == "cancelled"
        case Payment():
            return after.status == "voided"
        case WarrantyClaim():
            return after.status == "withdrawn"
        case _:
            return False


def _arrived(_before: Row | None, after: Row) -> bool:
    match after:
        case Order() | Shipment():
            return after.status == "delivered"
        case Return():
            return after.status == "received"
        case _:
            return False


def _redirected(before: Row | None, after: Row) -> bool:
    if not isinstance(after, Order) or not isinstance(before, Order):
        return False
    return (before.ship_street, before.ship_city) != (after.ship_street, after.ship_city)


def _sent_again(before: Row | None, after: Row) -> bool:
    match after:
        case Shipment():
            return after.replaces is not None
        case WarrantyClaim():
            return after.remedy == "replace" and after.status == "open"
        case Build():
            return before != after
        case _:
            return False


def _repaired(_before: Row | None, after: Row) -> bool:
    return isinstance(after, WarrantyClaim) and after.remedy == "repair" and after.status != "withdrawn"


def _back_from_repair(_before: Row | None, after: Row) -> bool:
    return isinstance(after, WarrantyClaim) and after.remedy == "repair" and after.status == "closed"


def _here(before: Row | None, after: Row) -> bool:
    return any(isinstance(row, Order) and row.status == "processing" for row in (before, after))


def _travels(_before: Row | None, after: Row) -> bool:
    match after:
        case Order():
            return after.status in ("shipped", "delivered")
        case Shipment():
            return after.status in ("preparing", "in_transit")
        case Return():
            return after.status == "authorised"
        case _:
            return False


def _lost(_before: Row | None, after: Row) -> bool:
    return isinstance(after, Shipment) and after.status == "lost"


def _too_late(_before: Row | None, after: Row) -> bool:
    """A request that was declined since the window has closed; the record is no return or refund."""
    return (
        isinstance(after, Ticket)
        and (after.status, after.policy_id) == ("declined", "RET-1")
        and not str(after.evidence_id).startswith(("RMA-", "RFD-"))
    )


def _claimed(_before: Row | None, after: Row) -> bool:
    return isinstance(after, WarrantyClaim) and after.status == "open"


def _taken_back(_before: Row | None, after: Row) -> bool:
    return isinstance(after, Return) and after.status != "cancelled"


def _made(before: Row | None, _after: Row) -> bool:
    return before is None


def _paid(_before: Row | None, after: Row) -> bool:
    return isinstance(after, Refund) and after.status == "paid"


def _waits(_before: Row | None, after: Row) -> bool:
    return isinstance(after, Refund) and after.status == "pending_approval"


def _given_back(_before: Row | None, after: Row) -> bool:
    return isinstance(after, Payment) and after.refunded_cents > 0


def _with_fee(before: Row | None, after: Row) -> bool:
    return isinstance(after, Return) and before is None and after.fee_cents > 0


def _with_restocking_fee(before: Row | None, after: Row) -> bool:
    """A fee that is a usual percentage of the price paid; what a lost discount takes off hardly is."""
    if not isinstance(after, Return) or not _with_fee(before, after):
        return False
    paid = after.fee_cents + after.refund_due_cents
    return any(percent_of(paid, percent) == after.fee_cents for percent in range(1, 31))


def _handed_on(before: Row | None, after: Row) -> bool:
    match after:
        case Ticket():
            return after.status == "escalated"
        case Refund():
            return after.status == "pending_approval"
        case _:
            return before is None


_PAYING = r"(?:(?:refund|reimburse|credit|transfer|compensat)\w*|pay|pays|paying|paid|return(?:ed)? your money)"
_MONEY = r"(?:refund|reimbursement|compensation|credit|money|payment)"
_COMES = (
    r"(?:approved|granted|accepted|issued|processed|confirmed|booked|sent|made|transferred|returned|on its way|"
    r"under way|reach|arrive|come|land|in your account|back with you)"
)
_PAID_ROWS = {"refunds": _paid, "credits": _always, "payments": _given_back}

PAYMENT = Promise(
    name="a payment",
    says=_words(
        rf"\b(?:we|i)\b(?:'ve|'ll)?(?:\s+\w+){{0,4}}?\s+{_PAYING}\b",
        r"\b(?:we|i)\b(?:'ve|'ll)?(?:\s+\w+){0,3}?\s+(?:give|gave|given)\s+you\b[^.]*"
        r"\b(?:credit|money|cents?|EUR|euros?)\b",
        r"\b(?:is|are|was|were|been|be|it|this)(?:\s+\w+){0,2}?\s+"
        r"(?:refunded|reimbursed|credited|paid back|compensated)\b",
        r"\byou(?:'ll| will)?\s+(?:get|receive)\b[^.]*\b(?:refund|money|credit|cents?|EUR|euros?|compensation)\b",
        r"\b(?:get|have|receive|see)\s+(?:all\s+)?(?:of\s+)?your\s+money\b",
        rf"\b{_MONEY}{_OF_AMOUNT}(?:\s+(?:is|was|has|been|will|shall|be|now|already|hereby|shortly|soon))*\s+{_COMES}\w*",
        r"\byou(?:['\u2019]ve| have| were)\s+(?:been\s+)?(?:given|received)\b[^;!?]*\b(?:credit|refund|compensation)\b",
        r"\b(?:have|has)\s+(?:been\s+given|received)\s+(?:a|an|the|their|your)\s+(?:\w+\s+)?"
        r"(?:credit|refund|compensation)\b",
    ),
    denies=_words(
        r"\b(?:did not|didn't|have not|haven't|will not|won't)\s+(?:refund|pay|credit|reimburse)(?:ed)?\s+"
        r"(?:you|anything)\b",
        r"\bno\s+(?:compensation|money|payment)\s+(?:was|has been|will be|is)\s+(?:made|issued|paid|given|due)\b",
        rf"\byour\s+(?:compensation|money)\s+{_TURNED_DOWN}",
    ),
    # The goods of a return that this episode has authorised are paid once they are here.
    rows={**_PAID_ROWS, "refunds": _always, "returns": _made},
    figures=frozenset({"money"}),
)
PAID = Promise(
    name="that money was paid",
    says=_words(
        rf"\b(?:we|i)(?:['\u2019]ve|\s+have)\s+{_ADVERB}(?:refunded|reimbursed|credited|paid|transferred|compensated)\b",
        r"\b(?:has|have|was|were)\s+(?:already\s+)?(?:been\s+)?(?:refunded|reimbursed|credited|paid back)\b",
        rf"\b{_MONEY}{_OF_AMOUNT}\s+(?:is|are)\s+(?:now\s+|already\s+)?(?:on (?:its|the) way|in your account)\b",
        rf"\b(?:refund|reimbursement|compensation|credit){_OF_AMOUNT}\s+(?:has|have|was|were)\s+{_ADVERB}"
        r"(?:paid|issued|processed|transferred|made|completed)\b",
    ),
    rows=_PAID_ROWS,
    figures=frozenset({"money"}),
)
REFUND = Promise(
    name="a refund that was paid",
    says=_words(
        rf"\b(?:we|i)(?:['\u2019]ve|\s+have)\s+{_ADVERB}(?:refunded|reimbursed)\b(?![^;!?]*\bcredit)",
        r"\b(?:has|have|was|were)\s+(?:already\s+)?(?:been\s+)?(?:refunded|reimbursed)\b(?![^;!?]*\bcredit)",
        rf"{_WE}(?:paid|transferred|sent)\b[^;!?]*\bto\s+your\s+(?:bank|card|credit card|paypal|original payment)\b",
    ),
    denies=_words(
        r"\bno\s+(?:refund|reimbursement)\s+(?:was|has been|will be|is)\s+(?:made|issued|paid|given|due)\b",
        rf"\byour\s+(?:refund|reimbursement)\s+{_TURNED_DOWN}",
        r"\bnothing\s+(?:was|has been|will be|is)\s+(?:refunded|reimbursed|paid(?: back| out)?)\b"
        r"(?!\s+(?:for|yet|so far|until))",
        r"\byour\s+refund\s+(?:is|was)\s+(?:still\s+)?(?:waiting|awaiting|pending)\b",
        r"\b(?:could not|couldn't|cannot|can't)\s+refund\s+(?:you|it)\s*(?:[.,;!]|$)",
        r"\byour\s+refund\s+has\s+not\s+(?:yet\s+)?been\s+(?:paid|issued|made)\b",
    ),
    rows={"refunds": _paid, "payments": _given_back},
    figures=frozenset({"money"}),
)
CREDIT = Promise(
    name="store credit",
    says=_words(r"\b(?:given|added|booked|granted|issued)\b[^;!?]*\bstore credit\b"),
    denies=_words(
        r"\bno\s+(?:store\s+)?credit\s+(?:was|has been|will be|is)\s+(?:made|issued|paid|given|due)\b",
        rf"\b(?:credit|price match)\s+(?:request\s+)?{_TURNED_DOWN}",
        r"\bnothing\s+(?:was|has been|will be|is)\s+credited\b(?!\s+(?:for|yet|so far|until))",
    ),
    rows={"credits": _always},
    figures=frozenset({"money"}),
)
APPROVAL = Promise(
    name="that a refund waits for approval",
    denies=_words(
        rf"\b(?:refund|reimbursement){_OF_AMOUNT}\s+(?:is|was|has been|have been)\s+{_ADVERB}approved\b",
        rf"\byour\s+(?:refund|reimbursement)\s+(?:request\s+)?{_TURNED_DOWN}",
    ),
    rows={"refunds": _waits},
)
CANCELLATION = Promise(
    name="a cancellation",
    says=_words(
        rf"{_WE}cancel(?:l?ed|l?ing)?\b",
        rf"{_IS}cancell?ed\b",
        r"\bcancellation\s+(?:is|was|has been)\s+(?:confirmed|completed?|processed|done)\b",
        r"^\W*(?:done\W+)?cancell?ed\b",
        rf"{_WE}(?:stopped|called off)\s+(?:(?:your|the)\s+)?(?:{_GOODS}|return)\b",
    ),
    denies=_words(
        rf"\bcancellation\s+(?:request\s+)?{_TURNED_DOWN}",
        rf"\b{_NOT}\s+(?:be\s+|been\s+)?cancel(?:l?ed)?\b",
        r"\b(?:order|it|ORD-\d+)\s+still\s+stands\b",
    ),
    rows={"orders": _cancelled, "returns": _cancelled, "payments": _cancelled, "warranty_claims": _cancelled},
)
ORDER_CANCELLATION = Promise(
    name="a cancelled order",
    says=_words(
        rf"{_WE}cancell?ed\s+(?:your\s+|the\s+)?(?:order|ORD-\d+)\b",
        rf"\border\b\s+{_ADVERB}cancell?ed\b",
        # Not "the return of ORD-1 is cancelled".
        rf"(?:^\W*|[,;:]\s+|\b(?:and|but|so|that)\s+)(?:(?:your|the)\s+)?(?:order\s+)?"
        rf"ORD-\d+\s+{_ADVERB}cancell?ed\b",
    ),
    rows={"orders": _cancelled},
)
REDIRECTION = Promise(
    name="another address",
    says=_words(
        rf"{_WE}(?:chang|updat|correct|switch|amend)\w*\s[^.]*\baddress\b",
        rf"{_WE}(?:redirect|rerout)\w*",
        rf"\baddress\b[^.]*\b(?:is|was|been)\s+{_ADVERB}(?:changed|updated|corrected|amended)\b",
        r"\b(?:goes|go|going|sent|send|ship|shipped|deliver|delivered|comes?)\b[^.]*"
        r"\bto\s+(?:the|your)\s+(?:new|other|correct|right|corrected)\s+(?:\w+\s+)?address\b",
    ),
    denies=_words(
        rf"\b{_NOT}\s+(?:be\s+|been\s+)?redirect(?:ed)?\b",
        rf"\b{_NOT}\s+(?:change|update)\s+the\s+(?:\w+\s+)?address\b",
        r"\baddress\s+(?:could not|cannot|can't)\s+be\s+(?:changed|updated)\b",
    ),
    rows={"orders": _redirected},
)
DESTINATION = Promise(
    name="where an order goes",
    says=_words(
        r"\b(?:send|sent|goes|go|ship|shipped|deliver|delivered)\b[^.]*\bto\s+(?-i:[A-Z\u00c0-\u00de])[\w'.-]+\s[^.]*\d"
    ),
    rows={"orders": _always},
    figures=frozenset({"name"}),
)
ARRIVAL = Promise(
    name="an arrival",
    says=_words(
        rf"\b(?:has|have|['\u2019]ve)\s+{_ADVERB}arrived\b",
        rf"\b(?:was|were|been)\s+{_ADVERB}delivered\b",
        rf"\b{_GOODS}\s+(?:\w+\s+){{0,3}}?arrived\b",
    ),
    rows={"orders": _arrived, "shipments": _arrived, "returns": _arrived},
)
SENT_AGAIN = Promise(
    name="a replacement",
    says=_words(
        rf"{_WE}(?:re)?(?:send|sent|ship|shipped|sending)\b[^.]*"
        r"\b(?:again|a replacement|a new (?:one|piece|\w+)|another (?:one|parcel)|a second (?:one|parcel))\b",
        rf"{_WE}replac(?:e|ed|ing)\b",
        rf"\b(?:replacement|new one|new piece)s?(?:\s+[\w-]+){{0,6}}?\s+{_ADVERB}"
        r"(?:sent|shipped|on (?:its|the) way|under way|dispatched)\b",
        rf"\ba new\s+(?:[\w-]+\s+){{1,6}}?{_ADVERB}(?:sent|shipped|on (?:its|the) way|under way|dispatched)\b",
        rf"{_IS}(?:sent|shipped)\s+(?:\w+\s+)?again\b",
        rf"{_IS}replaced\b",
        r"\byou(?:['\u2019]ll| will)?\s+(?:get|receive)\s+(?:a new one|a replacement|another one)\b",
    ),
    denies=_words(
        rf"\b{_NOT}\s+(?:be\s+)?(?:replaced?|sen[dt] (?:it |them )?again|send (?:you )?a (?:new|replacement))\b",
        rf"\b(?:replacement|exchange)\s+(?:request\s+)?{_TURNED_DOWN}",
    ),
    rows={"shipments": _sent_again, "warranty_claims": _sent_again, "builds": _sent_again},
)
BUILD = Promise(
    name="a changed build",
    denies=_words(
        rf"\b{_NOT}\s+chang(?:e|ed)\s+(?:your|the)\s+build\b",
        r"\bnothing\s+(?:was|has been)\s+changed\s+in\s+(?:your|the)\s+build\b",
        r"\bleft\s+(?:your|the)\s+build\s+(?:as it (?:is|was)|unchanged)\b",
    ),
    rows={"builds": _sent_again},
)
REPAIR = Promise(
    name="a repair",
    says=_words(rf"{_WE}(?:repair(?:ed|ing)?|mend(?:ed)?)\b", rf"{_IS}(?:repaired|mended)\b"),
    denies=_words(rf"\b{_NOT}\s+(?:be\s+)?(?:repair(?:ed)?|mend(?:ed)?)\b"),
    rows={"warranty_claims": _repaired},
)
REPAIRED = Promise(
    name="a repair that is over",
    says=_words(r"\b(?:was|has been|have been|['\u2019]ve|we have)\s+(?:already\s+|now\s+)?(?:repaired|mended)\b"),
    rows={"warranty_claims": _back_from_repair},
)
CLAIM = Promise(
    name="a warranty claim",
    says=_words(
        rf"{_WE}(?:open|file|register|start|log|creat)\w*\s+(?:\w+\s+){{0,3}}?claim\b",
        rf"\bclaim\s+{_ADVERB}(?:open|opened|filed|registered|accepted|started|created)\b",
    ),
    denies=_words(
        r"\bwarranty\s+(?:has\s+)?(?:already\s+|unfortunately\s+)?(?:expired|ended|run out)\b",
        r"\bwarranty\s+is\s+over\b",
        rf"\bclaim\s+{_TURNED_DOWN}",
    ),
    rows={"warranty_claims": _claimed},
)
RETURN = Promise(
    name="a return",
    says=_words(
        rf"{_WE}(?:authori[sz]|arrang|set up|approv|open|accept|creat|register)\w*\s+(?:\w+\s+){{0,3}}?return\b",
        rf"\breturn\s+{_ADVERB}(?:authori[sz]ed|arranged|set up|open|opened|accepted|created|registered)\b",
    ),
    denies=_words(
        r"\breturn\s+(?:is|was|has been)\s+"
        r"(?:declined|refused|rejected|not (?:been )?(?:possible|authori[sz]ed|accepted))\b",
        r"\b(?:cannot|can't|could not|will not|won't)\s+(?:take|accept)\s+(?:it|them|this|that)\s+back\b",
        rf"\b{_NOT}\s+(?:authori[sz]e|accept|approve|set up|create|open)\s+(?:a|the|your|this)\s+return\b",
        r"\byour\s+return\s+(?:window|period)\s+(?:has|is)\s+(?:already\s+|unfortunately\s+)?"
        r"(?:closed|passed|ended|expired|over)\b",
    ),
    rows={"returns": _taken_back},
)
SENDING_BACK = Promise(
    name="that goods come back",
    says=_words(
        r"\bplease\s+(?:now\s+)?(?:send|return|ship)\s+(?:it|them|both|this|that|"
        r"(?:the|your)(?:\s+[\w-]+){1,6}?)\s+back\b",
        r"\bplease\s+(?:now\s+)?return\s+(?:it|them|both|(?:the|your)(?:\s+[\w-]+){1,6}?)\s+to\s+us\b",
    ),
    rows={"returns": _taken_back, "warranty_claims": _claimed},
)
WINDOW = Promise(
    name="that the return window has closed",
    denies=_words(
        r"\b(?:you are|you're|it is|it's|this is)\s+(?:still\s+|well\s+)*(?:within|inside|in)\s+(?:the|your)\s+"
        r"(?:[\w-]+\s+)?return\s+(?:window|period)\b",
        r"\breturn\s+(?:window|period)\s+is\s+still\s+open\b",
    ),
    rows={"tickets": _too_late},
)
RESTOCKING_FEE = Promise(
    name="a restocking fee",
    denies=_words(r"\bno\s+restocking\s+fee\b"),
    rows={"returns": _with_restocking_fee},
)
FEE_KEPT = Promise(
    name="a fee that was kept",
    says=_words(rf"{_WE}(?:kept|deducted|charged|withheld|retained|subtracted)\b[^.]*\bfee\b"),
    rows={"returns": lambda _before, after: isinstance(after, Return) and after.fee_cents > 0},
)
FEE = Promise(
    name="a fee",
    denies=_words(
        r"\bno\s+(?:fees?|charges?|deductions?)\b",
        r"\bwithout\s+(?:a|any)\s+(?:\w+\s+)?(?:fee|deduction)\b",
        r"\bfree of charge\b",
        r"\b(?:is|was|been|be|have|has|['\u2019]ve|will)\s+waived?\b",
        r"^(?!.*\b(?:fee|less|deduct|minus|keep|kept|off)\b).*\b(?:full|whole|entire)\s+(?:price|amount|refund|money)\b",
    ),
    rows={"returns": _with_fee},
)
STILL_HERE = Promise(
    name="that an order is still here",
    says=_words(
        r"\b(?:order|ORD-\d+)\s+(?:is|was)\s+still\s+"
        r"(?:in (?:our|the) warehouse|being (?:processed|prepared)|with us|here)\b"
    ),
    rows={"orders": _here},
)
UNDER_WAY = Promise(
    name="that a parcel is on its way",
    says=_words(rf"\b{_GOODS}\s+{_ADVERB}(?:still\s+)?on\s+(?:its|the|their)\s+way\b(?!\s+back)"),
    rows={"orders": _travels, "shipments": _travels, "returns": _travels},
)
LOSS = Promise(
    name="a lost parcel",
    says=_words(rf"\b{_GOODS}\s+{_ADVERB}(?:officially\s+)?(?:declared\s+)?lost\b"),
    denies=_words(r"\b(?:is not|isn't|was not|wasn't|are not|aren't)\s+lost\b"),
    rows={"shipments": _lost},
)
HANDING_ON = Promise(
    name="that somebody else takes over",
    says=_words(
        rf"{_WE}(?:forward|pass|hand|escalat|refer)\w*\s[^.]*\b(?:colleague|team|supervisor|manager|finance|specialist)\b",
        rf"{_WE}ask(?:ed|ing)?\s+(?:a|an|my|our|the)\s+(?:\w+\s+)?(?:colleague|team|supervisor|manager|specialist)\b",
        r"\b(?:colleague|supervisor|manager|specialist|(?:finance|fraud|warranty|warehouse) team)\b[^.]*"
        r"\b(?:will|is going to)\s+(?:\w+\s+)?"
        r"(?:look|write|call|contact|get back|be in touch|take over|check|handle)\b",
    ),
    rows={"tickets": _handed_on, "refunds": _handed_on, "internal_messages": _handed_on},
)

PROMISES = (
    PAYMENT, PAID, REFUND, CREDIT, APPROVAL, CANCELLATION, ORDER_CANCELLATION, REDIRECTION, DESTINATION, STILL_HERE,
    UNDER_WAY, ARRIVAL, LOSS, SENT_AGAIN, BUILD, REPAIR, REPAIRED, CLAIM, RETURN, SENDING_BACK, WINDOW, FEE,
    RESTOCKING_FEE, FEE_KEPT, HANDING_ON,
)  # fmt: skip
