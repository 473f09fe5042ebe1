"""What messages of the Storefront may not speak of (FRD-1)."""

import re

from palaestra.rubrics.messages import Confidential

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
