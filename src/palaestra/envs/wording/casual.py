"""A message typed to a friend: contractions, short words, hardly a capital, no full stop at the end."""

import re

from palaestra.seeding import Stream

_GREETINGS = ("hey,", "hi there,", "heya,", "hi!")
_CLOSES = ("thx!", "cheers", "ta :)", "thanks a bunch")
_WORDS = (
    (r"\bI would\b", "I'd"),
    (r"\bI have (?=moved|written|been|decided|ordered)", "I've "),
    (r"\bI am\b", "I'm"),
    (r"\bI will\b", "I'll"),
    (r"\b([Dd])o not\b", r"\1on't"),
    (r"\b([Dd])oes not\b", r"\1oesn't"),
    (r"\b([Dd])id not\b", r"\1idn't"),
    (r"\b([Ww])ill not\b", r"\1on't"),
    (r"\b([Cc])annot\b", r"\1an't"),
    (r"\b([Ii])s not\b", r"\1sn't"),
    (r"\b([Ii])t is (?=[a-z])", r"\1t's "),
    (r"\b([Hh])as not\b", r"\1asn't"),
    (r"\bwant to\b", "wanna"),
    (r"\b[Pp]lease\b", "pls"),
    (r"\b[Yy]ou\b", "u"),
    (r"\b[Yy]our\b", "ur"),
    (r"\bfor ever\b", "forever"),
    (r"\bsomething\b", "smth"),
    (r"\bCould\b", "can"),
)
# Words that open a sentence and are nobody's name.
_OPENERS = frozenset({
    "A", "After", "Again", "All", "An", "And", "Another", "Any", "As", "At", "Before", "Both", "But", "By", "Can",
    "Could", "Do", "Find", "For", "From", "Give", "Go", "Has", "Have", "Here", "How", "I", "I'd", "I'm", "I'll",
    "I've", "If", "In", "Is", "It", "It's", "Let", "May", "Might", "Money", "My", "Nearly", "No", "Now", "Of", "On",
    "One", "Or", "Order", "Our", "Please", "Send", "So", "Some", "Something", "That", "The", "Then", "There", "These",
    "They", "This", "Those", "Until", "We", "What", "Whatever", "When", "Where", "Which", "Why", "Will", "With",
    "You", "Your",
})  # fmt: skip


def casual(paragraphs: list[str], stream: Stream) -> list[str]:
    """The paragraphs as they would be typed in passing."""
    first, *rest = map(_loose, paragraphs)
    return [f"{stream.choice(_GREETINGS)} {first}", *rest, stream.choice(_CLOSES)]


def _loose(paragraph: str) -> str:
    for pattern, words in _WORDS:
        paragraph = re.sub(pattern, words, paragraph)
    paragraph = re.sub(r"[A-Z][A-Za-z']*", lambda word: word[0].lower() if word[0] in _OPENERS else word[0], paragraph)
    return paragraph.removesuffix(".")
