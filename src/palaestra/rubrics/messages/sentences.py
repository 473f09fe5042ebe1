"""Sentences of a message, and whether one commits whoever writes it or only speaks of what might be."""

import re
from functools import lru_cache

_END = re.compile(r"(?<=[.!?;\n])\s+|\n+")
_HEDGE = re.compile(
    r"\b(?:not|no|never|cannot|nothing|neither|nor|unable|without|unless|if|whether|once|until|when|as soon as|would|"
    r"could|may|might|can only|only if|instead of|approval|approve[sd]?|decide[sd]?|decision|"
    r"after(?! all))\b|n't\b|n\u2019t\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=2_048)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, a part before a semicolon a sentence of its own."""
    return tuple(part.strip() for part in _END.split(text) if part.strip())


def is_commitment(sentence: str) -> bool:
    """Whether a sentence states something without a negation, a condition or a question."""
    return not sentence.endswith("?") and _HEDGE.search(sentence) is None
