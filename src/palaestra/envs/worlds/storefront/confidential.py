"""What messages of the Storefront may not speak of: why an account is on hold, and an account to a stranger."""

import re

from palaestra.rubrics.messages import Confidential

HOLD = Confidential(
    name="a fraud hold",
    says=re.compile(
        r"\bfraud\w*|\bcriminals?\b|\bcrimes?\b|\bdubious\b|\bsuspici\w*|\bsuspected\b|\bchargebacks?\b"
        r"|\bstolen\b|\bsecurity (?:hold|reasons?|flag)"
        r"|\b(?:account|order) (?:is|was|has been)(?: \w+)? "
        r"(?:on hold|held|blocked|frozen|flagged|locked|suspended|restricted|limited|under (?:review|investigation))"
        r"|\b(?:block|hold|restriction|flag|lock|irregularit(?:y|ies)|(?:security|identity) check)\b"
        r"[^.;!?]{0,20}\b(?:on|with|to|in) (?:your|the|this) (?:account|order|profile|name)\b"
        r"|\brestricted your\b|\brisk (?:department|team|unit|check|review|assessment)\b"
        r"|\bsecurity (?:team|department|check|questions?)\b"
        r"|\bdoubts? (?:about|as to|over|regarding) (?:your|you)\b|\birregularit(?:y|ies)\b|\byou are lying\b",
        re.IGNORECASE,
    ),
    table="customers",
    column="fraud_hold",
    value=True,
)
"""Nobody outside the fraud team may discuss the reasons of a hold."""

_GOODS = r"(?:order|parcel|package|shipment|return|goods|refund|delivery|ORD-\d+|RMA-\d+)"
ACCOUNT = Confidential(
    name="what an account holds",
    says=re.compile(
        # What is on file.
        r"\b(?:name|city|street|phone|address)\b[^.;!?]{0,20}\b(?:match(?:es)?|agrees?|is right|is correct|fits)\b"
        r"|\byou are in our (?:files|records|system|database)\b"
        r"|\b(?:your|that|the|this) account\b[^.;!?]{0,30}"
        r"\b(?:is in|registered (?:under|with|to|in) (?!a different|another))"
        r"|\b(?:bronze|silver|gold|platinum)\b"
        r"|(?<![\w@.-])(?:a|an|your|the) [\w.-]+\.example\b|\byour \w+ address instead\b"
        # What became of the goods.
        rf"|\b{_GOODS} (?:contains?|includes?|consists? of|is for)\b"
        rf"|\b{_GOODS} (?:is|was|has been|has|have|are|were) (?:already |still |now |just )*"
        r"(?:in processing|processing|being (?:processed|prepared)|shipped|sent|delivered|received|arrived|left"
        r"|dispatched|authorised|cancelled|refunded|paid|on (?:its|the) way)\b"
        r"|\b(?:has|have) (?:already |just )*received (?:the|your) (?:goods|parcel|return|box)\b",
        re.IGNORECASE,
    ),
    to_strangers=True,
)
"""Who does not write from the address on file is told nothing of what is in it (PRV-1)."""
