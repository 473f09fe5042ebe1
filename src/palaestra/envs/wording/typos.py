"""Typing errors: about one long word in four has two letters swapped, one left out, or one struck twice.

Only words of five and more small letters are hit, and never their first letter: numbers, "not", "all", "both" and "one"
stay readable, and so does whatever begins with a capital.
"""

import re

from palaestra.seeding import Stream

_PERCENT = 25
_LONG = re.compile(r"(?<![\w'])[a-z]{5,}(?![\w'])")
# One slip makes another word of these.
_SPARED = frozenset({"there", "three", "these", "those", "where", "which", "without", "least", "later"})


def typos(paragraphs: list[str], stream: Stream, *, percent: int = _PERCENT) -> list[str]:
    """The paragraphs as they would be typed in haste; at least one word is hit where there is one to hit.

    Args:
        paragraphs: Paragraphs in which private characters stand for facts.
        stream: Draws which words are hit, and how.
        percent: How many of a hundred long words are hit.
    """
    words = [(number, found) for number, text in enumerate(paragraphs) for found in _LONG.finditer(text)]
    able = [place for place in words if place[1][0] not in _SPARED]
    if not able:
        return paragraphs
    hit = [place for place in able if stream.chance(percent)] or [stream.choice(able)]
    said = list(paragraphs)
    for number, found in reversed(hit):
        text = said[number]
        said[number] = text[: found.start()] + _slip(found[0], stream) + text[found.end() :]
    return said


def _slip(word: str, stream: Stream) -> str:
    places = range(1, len(word) - 1)
    unlike = [place for place in places if word[place] != word[place + 1]]
    place = stream.choice(unlike or places)
    match stream.below(3) if unlike else 2:
        case 0:
            return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
        case 1:
            return word[:place] + word[place + 1 :]
        case _:
            return word[:place] + word[place] + word[place:]
