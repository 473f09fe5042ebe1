"""A letter: a salutation, a close, and stiffer words for what is asked."""

import re

from palaestra.seeding import Stream

_SALUTATIONS = ("Dear Sir or Madam,", "Dear Ladies and Gentlemen,", "To whom it may concern:")
_CLOSES = ("Yours faithfully", "With kind regards", "I remain, yours sincerely")
_OPENINGS = (
    "I am writing to you with regard to the matter named above.",
    "Kindly permit me to bring the following to your attention.",
    "I should be obliged if you would give the following your attention.",
)
_WORDS = (
    (r"(?<![,;:] )\bPlease (?=[a-z])", "I would kindly ask you to "),
    (r"\bI would like\b", "I should like"),
    (r"\bI want to\b", "I wish to"),
    (r"\bI want\b", "I request"),
    (r"\bMay I\b", "Might I"),
    (r"\bCan I\b", "May I"),
    (r"\bDo I get\b", "Am I to receive"),
    (r"\bIs there any\b", "Might there be any"),
    (r"\bCould you tell me\b", "Would you kindly inform me of"),
    (r"\bI have moved\b", "I beg to inform you that I have moved"),
    (r"\bI need\b", "I require"),
    (r"\bHow do I\b", "In what manner may I"),
    (r"\bgot\b", "received"),
    (r"\bbroken\b", "broken, to my regret"),
    (r"\bput that right\b", "set that right"),
)


def formal(paragraphs: list[str], stream: Stream) -> list[str]:
    """The paragraphs as a letter would have them."""
    said = [_stiff(paragraph) for paragraph in paragraphs]
    return [stream.choice(_SALUTATIONS), stream.choice(_OPENINGS), *said, stream.choice(_CLOSES)]


def _stiff(paragraph: str) -> str:
    for pattern, words in _WORDS:
        paragraph = re.sub(pattern, words, paragraph)
    return paragraph
