"""The words that decide what a clause says about a fee, each with a code of one letter.

`encode_clause` turns a clause into a string with one code per word, on which the rules of `fees` are short patterns.
"We keep EUR 12 as a fee" is "dTAddF".
"""

import re
from functools import lru_cache

from palaestra.envs.user.money import AMOUNT

_PHRASES = (
    (r"(?:hand\w*|process\w*|return|restock\w*)(?: costs?)", "fee"),
    (
        (
            r"(?:a|the|any|no|this|that|our|of|extra|without|additional|further|return|handling|restocking)"
            r" (?:\w+ )??(?<!double )(?<!wrong )(?<!duplicate )(?:charges?|costs?)(?! of (?:the|your) (?:order|item))"
            r"(?= (?:of|for|is|are|on|applies|apply|that|which|to|when|would|will|stay\w*|at|in)\b|$)"
        ),
        "\\g<0>#fee",
    ),
    (r"(?:hold|holding|keep|keeping) back", "keep"),
    (r"(?:held|kept) back", "kept"),
    (r"(?:come|comes|coming|go|goes|take|taking|knock|knocking) off", "deduct"),
    (r"(?:taken|knocked|docked) off", "deducted"),
    (r"(?:stay|stays|staying|remain|remains|remaining) with us", "stays-with-us"),
    (r"(?:lower|reduced|short|shrinks?|reduce (?:\w+ ){0,2}) ?by", "minus"),
    (r"(?:that |what )?you(?: have)?(?: actually| really| originally)? paid", "price"),
    (r"of (?:the|your) (?:\w+ )?(?:refund|price|amount|total|payment|money)", "thereof"),
    (r"you (?:can |could |may |get to |will )?keep", "you"),
    (r"costs? (?:us|me|them|nobody)", "spend"),
    (r"less than|more than|no more than", "about"),
    (r"(?:comes?|amounts?|adds up|works out|runs|stands|lies|sits) (?:to|at)", "is"),
    (
        (
            r"(?:free of (?:any |all )?(?:charges?|cost|costs|fees?)|free for you|for free|(?:is|are|be|comes?) free"
            r"|(?:at|with) no (?:\w+ )?(?:cost|charge|expense|fee|deduction)|at our (?:own )?(?:expense|cost)"
            r"|on the house|on us"
            r"|free returns?|without (?:any )?(?:charge|cost|costs)|no strings|(?:whole|full|entire|complete|total)"
            r" (?:\w+ )?(?:amount|price|sum|money)|every (?:cent|penny)|in full|(?:100 ?%|all) of (?:your|the) money"
            r"|free)(?! to\b)"
        ),
        "gratis",
    ),
    (r"zero|nil|nought", "zero"),
    (r"(?:eur|euros?) 0+\b|\b0+ ?(?:eur|euros?|cents?|%)", "zero"),
    (r"(?:i|we|you) (?:can|could|may|would|will) not do (?:anything|much|a thing)", "stand"),
    (
        (
            r"(?:nothing|not anything)(?: \w+){0,2} (?:i|we|anybody|anyone|nobody)(?: else)? (?:can|could|may"
            r"|(?:am|are) able to) (?:do|change)"
        ),
        "stand",
    ),
    (r"no (?:can do|way|room|choice|exceptions?|doubt|surprises|discretion|matter|problem|option|leeway)", "stand"),
    (r"no (?:further|other|additional|extra|hidden|more)(?= (?:fees?|deductions?|charges?|costs?|surcharges?))",
     "besides"),
    (r"not (?:only|just|merely|optional|negotiable|refundable|small|large|up to|my|mine|possible to (?:waive|drop))",
     "stand"),
    (
        (
            r"(?:not|never|unable to|no authority to|no right to|no power to|nobody (?:\w+ ){0,6}to|not able to"
            r"|impossible to|decline to|refuse to)(?: \w+){0,3}? (?:waive|drop|remove|lift|cancel|reduce|lower"
            r"|change|alter|spare|skip|forgo|scrap|take (?:the|this|that|your) (?:\w+ )?(?:fee|deduction"
            r"|charge) off|be"
            r" (?:waived|dropped|removed|lifted|cancelled|reduced|lowered|changed|spared|taken away))"
        ),
        "stand",
    ),
    (
        (
            r"(?:waiving|dropping|removing|lifting|cancelling|reducing)(?: \w+){1,3} (?:is|are|was|would be)"
            r"(?: \w+)? (?:not|impossible|out of|beyond|outside|against|off the)"
        ),
        "stand",
    ),
    (r"no waiver", "stand"),
)  # fmt: skip
"""Phrases that count as one word, and the word that they count as; "#" keeps the words before it."""
_LEXICON: dict[str, str] = {
    "F": "fee fees deduction deductions surcharge surcharges restocking retention",
    "T": "keep keeps keeping stays-with-us dock docks lose loses bear",
    "M": "minus less",
    "t": "kept docked",
    "D": "deduct deducts deducting withhold withholds withholding subtract subtracts subtracting retain"
    " retains retaining owe owes",
    "E": "deducted withheld subtracted retained",
    "K": "charge charges charging bill bills billing cost costs costing levy levies",
    "k": "charged billed levied",
    "X": "take takes taking pay pays paying",
    "x": "taken took paid held removed cut",
    "G": "refund refunds refunded refunding get gets receive receives received reimburse reimbursed back"
    " credit credited voucher transfer transferred price worth leaves leaving balance total rest remainder"
    " yours discount coupon compensation goodwill next bonus purchase remaining"
    " order item product parcel device invoice payment deposit shipping postage",
    "C": "is are be being : = makes equals totals remains means",
    "P": "was were been had did",
    "N": "not no never nothing none neither nor without nobody zero hardly refrain refrains stop stops stopped"
    " avoid avoids far ceased instead refuse refuses decline declines",
    "W": "waive waives waived waiving drop drops dropped dropping remove removes lift lifts lifted lifting"
    " cancel cancels cancelled spare spares spared exempt exempted scrap scrapped abolish abolished forget"
    " forgo skip skipped void gone excuse excused absorb absorbs delete deleted ended history vanishes"
    " disappears abandoned save saves ignore disregard struck strike erase"
    " erased reverse reversed wipe wiped voided annulled revoked undone nullified",
    "g": "gratis",
    "a": "as for in under",
    "o": "of",
    "i": "a an any the our your this that such kind sort single small one-off will would there further to have"
    " has you it for ever here anything apply applies applied due payable required require need needed"
    " necessary arise arises added add ask asked collect collected impose imposed face incur subject"
    " longer only just simply then also even come comes comes-up must shall money",
    "S": "stand stands besides",
}  # fmt: skip
"""Each code and its words. Capitals take or give now, small letters are past forms and small words.

F names a fee; M is minus; T keeps, D deducts, K charges, X takes (t, E, k, x are their past forms); G gives or prices;
C is; P was; N negates; W waives; g is gratis; S denies a waiver; a, o, i are words that may stand between.
"""
_CODE = {word: code for code, words in _LEXICON.items() for word in words.split()}
_REPLACED = tuple((re.compile(rf"\b(?:{pattern})(?!\w)"), word) for pattern, word in _PHRASES)
_NEEDED = (
    "paid", "cost", "charge", "back", "off", "with us", "keep", "of ", " by", "than", "to", "at", "free",
    "price", "sum", "amount", "penny", "cent", "full", "money", "house", "on us", "strings", "zero", "nil",
    "nought", "no", "impossible", "unable", "decline", "refuse", " 0",
)  # fmt: skip
_MARK = re.compile(r"AMOUNT|#?[a-z0-9'-]+|[:=]")


@lru_cache(maxsize=2_048)
def encode_clause(clause: str) -> str:
    """One code for each word of a normalised clause; "A" is an amount and "d" any other word."""
    if any(part in clause for part in _NEEDED):
        for pattern, word in _REPLACED:
            clause = pattern.sub(word.replace("#", " #"), clause)
    clause = AMOUNT.sub("AMOUNT", clause)
    return "".join(
        "A" if word == "AMOUNT" else "F" if word == "#fee" else _CODE.get(word, "d") for word in _MARK.findall(clause)
    )
