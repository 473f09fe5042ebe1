"""Words that the promises of worlds share.

Verbs stand directly behind their subject: "you asked us to cancel" promises nothing.
"""

import re

ADVERB = (
    r"(?:(?:have|has|had|will|shall|are|am|is|was|were|be|been|being|going to|now|already|just|hereby|also|gladly|"
    r"therefore|immediately|successfully|today|both|all|then)\s+)*"
)
WE = rf"\b(?:we|i)(?:['\u2019](?:ve|ll|re|m))?\s+{ADVERB}"
IS = rf"\b(?:is|are|was|were|been|be|being|gets?|got)\s+{ADVERB}"
IS_NOW = r"(?:is|are|was|were|has been|have been)\s+(?:now\s+|both\s+|all\s+)?"
TURNED_DOWN = r"(?:is|was|has been|have been)\s+(?:declined|refused|rejected|denied)\b"
NOT = r"(?:cannot|can't|could not|couldn't|will not|won't|did not|didn't|have not|haven't|was not|were not|not be)"


def words(*patterns: str) -> re.Pattern[str]:
    """Any of these patterns, in upper or lower case."""
    return re.compile("|".join(patterns), re.IGNORECASE)


def always(_before: object, _after: object) -> bool:
    """Any row of the table bears the promise out."""
    return True
