"""Sentences of a message, their clauses, and whether one is a commitment or only a possibility."""

import re
from functools import lru_cache

_END = re.compile(r"(?<=[.!?;\n])(?<!str\.)(?<!Str\.)\s+|\n+")
_NEGATION = re.compile(
    r"\b(?:not|no|none|never|cannot|nothing|neither|nor|unable|without)\b|n't\b|n\u2019t\b", re.IGNORECASE
)
_IF = r"if(?! (?:you (?:have|need|want|would|like|wish|still)|anything|there (?:is|are) any|in doubt|possible)\b)"
_AS_SOON = r"as soon as(?! (?:possible|we can|i can)\b)"
"""Neither "if you have questions" nor "as soon as possible" makes a promise depend on anything."""
_HEDGE = re.compile(
    rf"\b(?:unless|{_IF}|whether|once|until|when|{_AS_SOON}|would|could(?! not|n['\u2019]t)|may|might|"
    r"can (?:be \w+ )?only|only (?:if|while|for|before|within)|instead of|"
    r"approval|approve[sd]?|decide[sd]?|decision|after(?! all))\b|"
    # A plan for what is not known yet: "we will refund each box that has arrived by then".
    r"\bby then\b|\b(?:will|['\u2019]ll)\b.*\b(?:what(?:ever)?|each \w+ that|every \w+ that|any \w+ that)\b",
    re.IGNORECASE,
)

_CONDITION = re.compile(
    rf"\b(?:{_IF}|whether|unless|would|could have|might|when|until|once|{_AS_SOON}|had it|not because)\b", re.IGNORECASE
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|can|cannot|could|may|do|does|did|gets?|got|keep|kept|stays?|stayed|goes"
    r"|comes?|came|arrived|applies|apply|costs?|receives?)\b|['\u2019](?:s|re|ve|ll|d|t)\b",
    re.IGNORECASE,
)
_SUBJECT = (
    r"(?:(?:we|i|you|it|they|there|no|neither|nothing)\b|(?:for\s+)?[a-z]+-\d+\b"
    r"(?=\s+(?:is|was|has|goes|isn|wasn|hasn|there|we|you|it|no)\b)|"
    # "and ORD-2 and ORD-3 were": two subjects of one verb.
    r"[a-z]+-\d+\s+and\s+[a-z]+-\d+\s+(?:are|were|have|aren|weren|haven)\b|"
    r"for\s+(?:the|your)\b|"
    r"(?:the|your|its|their|our|another|both)\s+(?:[\w-]+\s+){1,8}?(?:is|are|was|were|has|have|will|goes|go|comes?)\b)"
)
_JOINT = re.compile(
    r"\b(?:so|because|which|but|while|since|whereas|although|though|without)\b|[;:]|\s-\s|,(?=\s+no\s)|"
    rf"(?P<soft>,|\band\b)(?=\s+{_SUBJECT})",
    re.IGNORECASE,
)
"""The beginning of a clause. At a comma or an "and" only before a subject and after a verb."""


@lru_cache(maxsize=2_048)
def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text; semicolons also separate sentences."""
    return tuple(part.strip() for part in _END.split(text) if part.strip())


def is_commitment(sentence: str) -> bool:
    """Whether a sentence states something without a negation, a condition or a question."""
    return is_plan(sentence) and not is_negated(sentence)


def is_plan(sentence: str) -> bool:
    """Whether at least one clause of a sentence states something without a condition or a question."""
    return not sentence.endswith("?") and _HEDGE.search(sentence) is None


def is_negated(clause: str) -> bool:
    """Whether a clause holds a negation."""
    return _NEGATION.search(clause) is not None


def is_conditional(sentence: str) -> bool:
    """Whether a sentence is a question or depends on a condition."""
    return sentence.endswith("?") or _CONDITION.search(sentence) is not None


def clause_at(sentence: str, position: int) -> str:
    """The clause around a position of a sentence, between two conjunctions."""
    joints = _joints(sentence)
    start = max((joint for joint in joints if joint <= position), default=0)
    return sentence[start : min((joint for joint in joints if joint > position), default=len(sentence))]


@lru_cache(maxsize=2_048)
def _joints(sentence: str) -> tuple[int, ...]:
    """The beginnings of the clauses of a sentence, except the first."""
    found: list[int] = []
    for joint in _JOINT.finditer(sentence):
        if joint["soft"] is None or _VERB.search(sentence, found[-1] if found else 0, joint.start()):
            found.append(joint.start())
    return tuple(found)
