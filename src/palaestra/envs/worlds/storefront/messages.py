"""What messages of the Storefront can promise, and what they may not speak of (FRD-1)."""

import re

from palaestra.rubrics.messages import Confidential, Promise

_PAYING = r"(?:refund|reimburse|credit|pay|paid|transfer|compensat|return(?:ed)? your money)\w*"
_MONEY = r"(?:refund|reimbursement|compensation|credit|money|payment)"
_COMES = (
    r"(?:approved|granted|accepted|issued|processed|confirmed|booked|sent|made|transferred|returned|on its way|"
    r"under way|reach|arrive|come|land|in your account|back with you)"
)
PAYMENT = Promise(
    name="a payment",
    says=re.compile(
        rf"\b(?:we|i)\b(?:'ve|'ll)?(?:\s+\w+){{0,4}}?\s+{_PAYING}\b"
        r"|\b(?:we|i)\b(?:'ve|'ll)?(?:\s+\w+){0,3}?\s+(?:give|gave|given)\s+you\b[^.]*"
        r"\b(?:credit|money|cents?|EUR|euros?)\b"
        r"|\b(?:is|are|was|were|been|be|it|this)(?:\s+\w+){0,2}?\s+"
        r"(?:refunded|reimbursed|credited|paid back|compensated)\b"
        r"|\byou(?:'ll| will)?\s+(?:get|receive)\b[^.]*\b(?:refund|money|credit|cents?|EUR|euros?|compensation)\b"
        r"|\b(?:get|have|receive|see)\s+(?:all\s+)?(?:of\s+)?your\s+money\b"
        rf"|\b{_MONEY}(?:\s+(?:is|was|has|been|will|shall|be|now|already|hereby|shortly|soon))*\s+{_COMES}\w*",
        re.IGNORECASE,
    ),
    denies=re.compile(
        r"\b(?:did not|didn't|have not|haven't|will not|won't)\s+(?:refund|pay|credit|reimburse)(?:ed)?\s+"
        r"(?:you|anything)\b"
        rf"|\bno\s+{_MONEY}\s+(?:was|has been|will be|is)\s+(?:made|issued|paid|given|due)\b"
        rf"|\byour\s+{_MONEY}\s+(?:was|has been|is)\s+(?:refused|declined|rejected|denied)\b",
        re.IGNORECASE,
    ),
    tables=frozenset({"refunds", "credits", "payments"}),
)
"""Money that goes to the customer."""

HOLD = Confidential(
    name="a fraud hold",
    says=re.compile(
        r"\bfraud\w*|\bcriminals?\b|\bcrimes?\b|\bdubious\b|\bsuspici\w*|\bsuspected\b|\bchargebacks?\b"
        r"|\bstolen\b|\bsecurity (?:hold|reasons?|flag)"
        r"|\b(?:account|order) (?:is|was|has been)(?: \w+)? "
        r"(?:on hold|held|blocked|frozen|flagged|under (?:review|investigation))",
        re.IGNORECASE,
    ),
    table="customers",
    column="fraud_hold",
    value=True,
)
"""Nobody outside the fraud team may discuss the reasons of a hold."""
