"""Sentences of a message, their clauses, and whether one commits its writer or only speaks of what might be."""

import re
from functools import lru_cache

_END = re.compile(r"(?<=[.!?;\n])(?<!str\.)(?<!Str\.)\s+|\n+")
_HEDGE = re.compile(
    r"\b(?:not|no|none|never|cannot|nothing|neither|nor|unable|without|unless|if|whether|once|until|"
    r"when|as soon as|would|could|may|might|can (?:be \w+ )?only|only (?:if|while|for|before|within)|instead of|"
    r"approval|approve[sd]?|decide[sd]?|decision|"
    r"after(?! all))\b|n't\b|n\u2019t\b",
    re.IGNORECASE,
)

_CONDITION = re.compile(
    r"\b(?:if|whether|unless|would|could have|might|when|until|once|as soon as|had it|not because)\b", re.IGNORECASE
)
_JOINT = re.compile(
    r"\b(?:so|because|which|but|while|since|whereas|although|though)\b|[;:]|"
    # An id with a verb in the singular is the subject of a clause: "ORD-1 has arrived, and ORD-2 is on its way".
    r"(?:,|\band\b)(?=\s+[a-z]+-\d+\s+(?:is|was|has|goes|isn|wasn|hasn)\b)",
    re.IGNORECASE,
)


@lru_cache(maxsize=2_048)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, a part before a semicolon a sentence of its own."""
    return tuple(part.strip() for part in _END.split(text) if part.strip())


def is_commitment(sentence: str) -> bool:
    """Whether a sentence states something without a negation, a condition or a question."""
    return not sentence.endswith("?") and _HEDGE.search(sentence) is None


def is_conditional(sentence: str) -> bool:
    """Whether a sentence asks, or says what holds under a condition."""
    return sentence.endswith("?") or _CONDITION.search(sentence) is not None


def clause_at(sentence: str, position: int) -> str:
    """The clause of a sentence that holds a position: what stands between two conjunctions."""
    joints = [found.start() for found in _JOINT.finditer(sentence)]
    start = max((joint for joint in joints if joint <= position), default=0)
    return sentence[start : min((joint for joint in joints if joint > position), default=len(sentence))]
