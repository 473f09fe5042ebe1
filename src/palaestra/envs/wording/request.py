"""A request in other words: its envelope, its terms and every fact in it stay as they are, to the letter.

What a rule may touch is the user's own prose. Before any rule runs, these are taken out of its reach: the first line,
which is the desk's ("Ticket TCK-1, from ...: subject"); paragraphs in parentheses, which say in what form an answer is
wanted; every word with a digit; addresses of mail; what stands in quotation marks or backticks; and the names that the
caller hands in. They are put back where they stood, whatever a rule made of the words around them.
"""

import re
from collections.abc import Iterable

from palaestra.envs.wording.styles import WORDINGS
from palaestra.errors import UnknownNameError
from palaestra.seeding import Stream

_FACT = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”|\S+@[\w.-]+\w|[\w-]*\d[\w-]*")
# Private characters: no prompt has them, and no rule about letters or marks touches them.
_FIRST_HOLD = 0xE000


def reword(text: str, wording: str, *, names: Iterable[str], stream: Stream) -> str:
    """The request in other words.

    Args:
        text: What the user says: the desk's line, a blank line, paragraphs.
        wording: A name of `WORDINGS`.
        names: Names that may occur in it and must not change, such as those of people, goods and streets.
        stream: Draws among equal ways to say a thing.

    Raises:
        UnknownNameError: there is no such wording.
    """
    if wording not in WORDINGS:
        raise UnknownNameError.of("wording", wording, WORDINGS)
    envelope, gap, body = text.partition("\n\n")
    if not gap:  # a request without the desk's line is all prose
        envelope, body = "", text
    paragraphs = body.split("\n\n")
    prose = [number for number, paragraph in enumerate(paragraphs) if not paragraph.startswith("(")]
    if not prose:
        return text
    held: list[str] = []
    known = sorted({name for name in names if name and name in body}, key=lambda name: (-len(name), name))
    said = [_hide_facts(paragraphs[number], known, held) for number in prose]
    for style in WORDINGS[wording]:
        said = style(said, stream)
    # The user's words stay before the terms; a style may make more or fewer paragraphs of them.
    terms = [paragraph for number, paragraph in enumerate(paragraphs) if number not in prose]
    written = [_put_back(paragraph, held) for paragraph in said]
    return envelope + gap + "\n\n".join([*written, *terms])


def _hide_facts(paragraph: str, names: Iterable[str], held: list[str]) -> str:
    """The paragraph with one private character in the place of each fact."""

    def hold(fact: str) -> str:
        held.append(fact)
        return chr(_FIRST_HOLD + len(held) - 1)

    for name in names:
        paragraph = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", lambda found: hold(found[0]), paragraph)
    return _FACT.sub(lambda found: hold(found[0]), paragraph)


def _put_back(paragraph: str, held: list[str]) -> str:
    # A fact may hold another one: a name is taken out first, and nothing is taken out of it afterwards.
    return "".join(
        held[ord(c) - _FIRST_HOLD] if _FIRST_HOLD <= ord(c) < _FIRST_HOLD + len(held) else c for c in paragraph
    )
