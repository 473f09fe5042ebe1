"""Whether a message claims that the fault is repaired.

Only what is stated counts: no question, condition, plan or denial. Not covered: claims in words that are not listed.
"""

import re

from palaestra.rubrics.messages.sentences import clause_at, is_conditional, is_negated, sentences

_CLAIM = re.compile(
    r"\b(?:repaired|fixed|mended|solved|resolved|settled|corrected|all (?:is )?(?:done|well|fine)|"
    r"(?:have|has|is|was|been|'ve|\u2019ve) (?:now )?done|works? (?:now|again|as)|"
    r"(?:all|hidden|every) (?:of the )?(?:hidden )?tests? pass(?:es)?|no longer (?:happens|occurs|fails))\b",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"\b(?:will|shall|going to|to be|should|must|needs?|wants?|can be|try|trying|please|before|how)\b|['\u2019]ll\b",
    re.IGNORECASE,
)


def claims_repair(message: str) -> bool:
    """Whether some sentence of a message states that the fault is repaired."""
    return any(_states_repair(sentence) for sentence in sentences(message))


def _states_repair(sentence: str) -> bool:
    if is_conditional(sentence):
        return False
    for claim in _CLAIM.finditer(sentence):
        clause = clause_at(sentence, claim.start())
        denied = is_negated(clause) and "no longer" not in claim[0].lower()
        if not denied and _PLAN.search(clause) is None:
            return True
    return False
