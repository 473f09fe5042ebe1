"""What messages promise of money: refunds, store credit, what waits for approval, and fees."""

from palaestra.envs.kit.promise_words import ADVERB, TURNED_DOWN, WE, always, words
from palaestra.envs.worlds.storefront.policy import percent_of
from palaestra.envs.worlds.storefront.schema import Payment, Refund, Return
from palaestra.records import Row
from palaestra.rubrics.messages import Promise

_OF_AMOUNT = r"(?:\s+\(?(?:of\s+)?(?:(?:EUR|\u20ac)\s*)?\d[\d.,]*(?:\s*(?:EUR|\u20ac|euros?)(?!\w))?\)?)?"


def _is_made(before: Row | None, _after: Row) -> bool:
    return before is None


def _is_paid(_before: Row | None, after: Row) -> bool:
    return isinstance(after, Refund) and after.status == "paid"


def _is_waiting(_before: Row | None, after: Row) -> bool:
    return isinstance(after, Refund) and after.status == "pending_approval"


def _is_given_back(_before: Row | None, after: Row) -> bool:
    return isinstance(after, Payment) and after.refunded_cents > 0


def _has_fee(before: Row | None, after: Row) -> bool:
    return isinstance(after, Return) and before is None and after.fee_cents > 0


def _has_restocking_fee(before: Row | None, after: Row) -> bool:
    """A fee that is a usual percentage of the price paid; what a lost discount takes off hardly is."""
    if not isinstance(after, Return) or not _has_fee(before, after):
        return False
    paid = after.fee_cents + after.refund_due_cents
    return any(percent_of(paid, percent) == after.fee_cents for percent in range(1, 31))


_PAYING = r"(?:(?:refund|reimburse|credit|transfer|compensat)\w*|pay|pays|paying|paid|return(?:ed)? your money)"
_MONEY = r"(?:refund|reimbursement|compensation|credit|money|payment)"
_COMES = (
    r"(?:approved|granted|accepted|issued|processed|confirmed|booked|sent|made|transferred|returned|on its way|"
    r"under way|reach|arrive|come|land|in your account|back with you)"
)
_PAID_ROWS = {"refunds": _is_paid, "credits": always, "payments": _is_given_back}
PAYMENT = Promise(
    name="a payment",
    says=words(
        rf"\b(?:we|i)\b(?:'ve|'ll)?(?:\s+\w+){{0,4}}?\s+{_PAYING}\b",
        r"\b(?:we|i)\b(?:'ve|'ll)?(?:\s+\w+){0,3}?\s+(?:give|gave|given)\s+you\b[^.]*"
        r"\b(?:credit|money|cents?|EUR|euros?)\b",
        r"\b(?:is|are|was|were|been|be|it|this)(?:\s+\w+){0,2}?\s+"
        r"(?:refunded|reimbursed|credited|paid back|compensated)\b",
        r"\byou(?:'ll| will)?\s+(?:get|receive)\b[^.]*\b(?:refund|money|credit|cents?|EUR|euros?|compensation)\b",
        r"\b(?:get|have|receive|see)\s+(?:all\s+)?(?:of\s+)?your\s+money\b",
        # Not the balance: "you have EUR 5 of store credit in your account".
        rf"\b(?<!of store ){_MONEY}{_OF_AMOUNT}"
        rf"(?:\s+(?:is|was|has|been|will|shall|be|now|already|hereby|shortly|soon))*\s+{_COMES}\w*",
        r"\byou(?:['\u2019]ve| have| were)\s+(?:been\s+)?(?:given|received)\b[^;!?]*\b(?:credit|refund|compensation)\b",
        r"\b(?:have|has)\s+(?:been\s+given|received)\s+(?:a|an|the|their|your)\s+(?:\w+\s+)?"
        r"(?:credit|refund|compensation)\b",
    ),
    denies=words(
        r"\b(?:did not|didn't|have not|haven't|will not|won't)\s+(?:refund|pay|credit|reimburse)(?:ed)?\s+"
        r"(?:you|anything)\b",
        r"\bno\s+(?:compensation|money|payment)\s+(?:was|has been|will be|is)\s+(?:made|issued|paid|given|due)\b",
        rf"\byour\s+(?:compensation|money)\s+{TURNED_DOWN}",
    ),
    # The goods of a return that this episode has authorised are paid once they are here.
    rows={**_PAID_ROWS, "refunds": always, "returns": _is_made},
    figures=frozenset({"money"}),
)
PAID = Promise(
    name="that money was paid",
    says=words(
        rf"\b(?:we|i)(?:['\u2019]ve|\s+have)\s+{ADVERB}(?:refunded|reimbursed|credited|paid|transferred|compensated)\b",
        r"\b(?:has|have|was|were)\s+(?:already\s+)?(?:been\s+)?(?:refunded|reimbursed|credited|paid back)\b",
        rf"\b{_MONEY}{_OF_AMOUNT}\s+(?:is|are)\s+(?:now\s+|already\s+)?(?:on (?:its|the) way|in your account)\b",
        rf"\b(?:refund|reimbursement|compensation|credit){_OF_AMOUNT}\s+(?:has|have|was|were)\s+{ADVERB}"
        r"(?:paid|issued|processed|transferred|made|completed)\b",
    ),
    rows=_PAID_ROWS,
    figures=frozenset({"money"}),
)


def _is_new(before: Row | None, after: Row) -> bool:
    return before != after


_ON = r"(?:[^.;!?]|\.(?=\d))*"
"""The rest of a clause, an amount with its decimals included."""
_MORE = r"(?:another|again|once more|additional(?:ly)?|extra|in addition|on top|further|a second)"
_PAYING_NOW = r"(?:refund|reimburse|credit|pay|transfer|give)"
NEW_PAYMENT = Promise(
    name="a new payment",
    says=words(
        rf"\b(?:we|i)(?:['\u2019](?:ve|ll)|\s+have|\s+will)?\s+now\s+{_PAYING_NOW}\w*\b",
        r"\b(?:we|i)(?:\s+have|['\u2019]ve)\s+now\s+(?:paid|given)\b",
        rf"\b(?:we|i)(?:['\u2019]ll|\s+will)\s+(?:\w+\s+){{0,2}}?{_PAYING_NOW}\b"
        rf"(?={_ON}(?:EUR|\u20ac|euros?|\byou\b))",
        rf"\b(?:we|i)(?:['\u2019](?:ve|ll)|\s+have|\s+will)?\s+(?:\w+\s+){{0,2}}?"
        rf"(?:refund|reimburs|credit|pay|paid|transfer|giv)\w*\b{_ON}\b{_MORE}\b",
        rf"\b(?:we|i)(?:['\u2019]ve|\s+have)\s+(?:added|booked|credited|refunded|paid)\b{_ON}\btoday\b",
        rf"\b(?:EUR|\u20ac|euros?)\b{_ON}\bwill be (?:paid|credited|refunded|transferred)\b",
    ),
    rows={"refunds": _is_new, "credits": _is_new, "payments": _is_new, "returns": _is_new},
)
_SOON = r"(?:today|tomorrow|next week|(?:on|next|by)\s+(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
PAID_SOON = Promise(
    name="a payment on a certain day",
    says=words(
        rf"\byou(?:['\u2019]ll|\s+will)\s+(?:have|get|receive)\s+(?:the|your)\s+(?:money|refund)\b"
        rf"{_ON}\b{_SOON}\b",
        rf"\b{_MONEY}{_OF_AMOUNT}\s+will\s+(?:be\s+)?(?:paid|transferred|arrive|reach|in your account)\b"
        rf"{_ON}\b{_SOON}\b",
    ),
    rows=_PAID_ROWS,
)
REFUND = Promise(
    name="a refund that was paid",
    says=words(
        rf"\b(?:we|i)(?:['\u2019]ve|\s+have)\s+{ADVERB}(?:refunded|reimbursed)\b(?![^;!?]*\bcredit)",
        r"\b(?:has|have|was|were)\s+(?:already\s+)?(?:been\s+)?(?:refunded|reimbursed)\b(?![^;!?]*\bcredit)",
        rf"{WE}(?:paid|transferred|sent|refunded)\b[^;!?]*\b"
        r"to\s+your\s+(?:bank|card|credit card|paypal|original payment)\b",
    ),
    denies=words(
        r"\bno\s+(?:refund|reimbursement)\s+(?:was|has been|will be|is)\s+(?:made|issued|paid|given|due)\b",
        rf"\byour\s+(?:refund|reimbursement)\s+{TURNED_DOWN}",
        r"\bnothing\s+(?:was|has been|will be|is)\s+(?:refunded|reimbursed|paid(?: back| out)?)\b"
        r"(?!\s+(?:for|yet|so far|until))",
        r"\byour\s+refund\s+(?:is|was)\s+(?:still\s+)?(?:waiting|awaiting|pending)\b",
        r"\b(?:could not|couldn't|cannot|can't)\s+refund\s+(?:you|it)\s*(?:[.,;!]|$)",
        r"\byour\s+refund\s+has\s+not\s+(?:yet\s+)?been\s+(?:paid|issued|made)\b",
    ),
    rows={"refunds": _is_paid, "payments": _is_given_back},
    figures=frozenset({"money"}),
)
CREDIT = Promise(
    name="store credit",
    says=words(
        r"\b(?:given|added|booked|granted|issued)\b[^;!?]*\bstore credit\b",
        rf"{WE}matched\b",
        r"\bprice match\s+(?:request\s+)?(?:is|was|has been)\s+(?:approved|granted|accepted)\b",
    ),
    denies=words(
        r"\bno\s+(?:store\s+)?credit\s+(?:was|has been|will be|is)\s+(?:made|issued|paid|given|due)\b",
        rf"\b(?:credit|price match)\s+(?:request\s+)?{TURNED_DOWN}",
        r"\bnothing\s+(?:was|has been|will be|is)\s+credited\b(?!\s+(?:for|yet|so far|until))",
    ),
    rows={"credits": always},
    figures=frozenset({"money"}),
)
APPROVAL = Promise(
    name="that a refund waits for approval",
    denies=words(
        rf"\b(?:refund|reimbursement){_OF_AMOUNT}\s+(?:is|was|has been|have been)\s+{ADVERB}approved\b",
        rf"\byour\s+(?:refund|reimbursement)\s+(?:request\s+)?{TURNED_DOWN}",
    ),
    rows={"refunds": _is_waiting},
)
_POSTAGE = r"\s+for\s+(?:(?:the|a|your)\s+)?(?:return\s+)?(?:labels?|postage|shipping|sending|collection|transport)\b"
RESTOCKING_FEE = Promise(
    name="a restocking fee",
    denies=words(r"\bno\s+restocking\s+fee\b"),
    rows={"returns": _has_restocking_fee},
)
FEE_KEPT = Promise(
    name="a fee that was kept",
    says=words(rf"{WE}(?:kept|deducted|charged|withheld|retained|subtracted)\b[^.]*\bfee\b"),
    rows={"returns": lambda _before, after: isinstance(after, Return) and after.fee_cents > 0},
)
FEE = Promise(
    name="a fee",
    denies=words(
        rf"\bno\s+(?:fees?|charges?|deductions?)\b(?!{_POSTAGE})",
        r"\bwithout\s+(?:a|any)\s+(?:\w+\s+)?(?:fee|deduction)\b",
        # Not "sending it back is free of charge".
        r"\b(?:returns?|it|they|both|everything|this|that|ORD-\d+|RMA-\d+)\s+(?:is|are|was|comes?|will be)\s+"
        r"(?:\w+\s+){0,2}?free of charge\b",
        r"\b(?:take|accept)\w*\s+[\w-]+\s+back\s+free of charge\b",
        r"\b(?:is|was|been|be|have|has|['\u2019]ve|will)\s+waived?\b",
        r"^(?!.*\b(?:fee|less|deduct|minus|keep|kept|off)\b).*\b(?:full|whole|entire)\s+(?:price|amount|refund|money)\b",
    ),
    rows={"returns": _has_fee},
)
