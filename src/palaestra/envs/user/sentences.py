"""The text of a message as it is read: one case, no contractions, cut into sentences."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

MAX_READ = 2_000
"""Characters of a message that are read; people do not read more either."""
SHORTEST_MENDED = 5
"""Letters from which on a misspelt word is mended; shorter words are too close to each other."""

_QUOTES = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "`": "'", "\u00b4": "'", "\u201c": '"', "\u201d": '"', "\u20ac": " eur "}
)
_DASH = re.compile(r"\s+(?:-{1,3}|[\u2013\u2014])\s+|[\u2013\u2014]|(?<=\w)--(?=\w)")
_ABBREVIATION = re.compile(r"\b(mr|ms|mrs|dr|no|nr|e\.g|i\.e|approx|incl|st|resp|vs)\.(?=\s)")
_DOT_IN_WORD = re.compile(r"(?<=\w)[.](?=\w)")
_NUMBER_COMMA = re.compile(r"(?<=\d),(?=\d)")
_PLAIN = {
    "can't": "can not", "cant": "can not", "cannot": "can not", "won't": "will not", "wont": "will not",
    "shan't": "shall not", "ain't": "is not", "im": "i am", "i'm": "i am", "pls": "please",
    "plz": "please", "plse": "please", "thx": "thanks", "tks": "thanks", "cheers": "thanks",
    "ta": "thanks", "u": "you", "ur": "your", "gonna": "going to", "wanna": "want to",
    "ok": "okay", "okey": "okay", "alright": "okay", "wich": "which", "wat": "what",
    "wots": "what is", "wot": "what", "whats": "what is", "whereabouts": "where",
    **{f"{verb}nt": f"{verb} not" for verb in ("do", "does", "did", "is", "are", "was", "were")},
    **{f"{verb}nt": f"{verb} not" for verb in ("has", "have", "had", "could", "would", "should")},
    **{f"{word}s": f"{word} is" for word in ["what", "where", "who", "how", "that", "there", "here"]},
}  # fmt: skip
"""Words as they are written in haste, and as they are read."""
_WRITTEN_WORD = re.compile(r"(?<![\w'-])[a-z']+(?![\w'-])")
_THINGS_IS = (
    r"\b(order|parcel|package|item|box|fee|refund|money|repair|return|window|warranty)'s "
    r"(?=\w+(?:ed|ing|en)\b|on\b|over\b|gone\b|back\b|not\b|no\b)"
)
"""A thing and a contracted "is": "the parcel's on its way"."""
_SHORT = tuple(
    (re.compile(pattern), long)
    for pattern, long in (
        (r"n't\b", " not"),
        (r"\b(\w+)'re\b", r"\1 are"),
        (r"\b(\w+)'ll\b", r"\1 will"),
        (r"\b(\w+)'ve\b", r"\1 have"),
        (r"\b(\w+)'d\b", r"\1 would"),
        (r"\b(that|it|what|which|where|who|when|here|there|how|all|everything|one|he|she)'s\b", r"\1 is"),
        (_THINGS_IS, r"\1 is "),
    )
)
"""Contractions written out."""
_NO_PROBLEM = re.compile(r"\bno (?:problem|issue|trouble)s?(?: at all)?\b")
_EMAIL = re.compile(r"\be[- ]mail")
_SENTENCE = re.compile(r"([^.!?;\n]+)([.!?;\n]*)")
_BULLET = re.compile(r"^\s*(?:[-*\u2022>]+|\(?\d{1,2}[.)]|\(?[a-e]\)|\d\.)\s+")
_GREETING = re.compile(
    r"^(?:hi|hello|hey|dear|greetings|good (?:morning|afternoon|evening|day)(?! to you))\b"
    r"(?:,? (?:mr|mrs|ms|miss|dr) [a-z'\u00e0-\u00ff-]+$|(?:,? (?:mr|mrs|ms|miss|dr|all|there|sir|or|again"
    r"|madam|customer|and|[a-z'\u00e0-\u00ff-]+)){0,3}?\s*[,!:]\s*|,?\s+(?=which|what|"
    r"could|can|would|please|may|i |we |how|where)|(?:,? [a-z'\u00e0-\u00ff-]+){0,2}$)"
)
_SIGNATURE = re.compile(
    r"^(?:(?:with )?(?:kind(?:est)?|best|warm(?:est)?|many)? ?(?:regards|wishes|greetings)|yours(?: \w+)?"
    r"|sincerely|all the best|"
    r"(?:many )?thanks(?: again)?|thank you|best|cheers|your \w+ team)(?: from \w+)?,?$"
)
_WORD = re.compile(r"[a-z0-9\u00df-\u00ff][a-z0-9\u00df-\u00ff@+'-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence of a message, in lower case, without its mark."""

    text: str
    asks: bool
    """Whether it ends in a question mark."""
    lists: bool = False
    """Whether it ends in a colon, so that a list follows."""
    signs: bool = False
    """Whether it is a greeting alone, or stands above a signature, so that it ends a letter and not a talk."""


@lru_cache(maxsize=1_024)
def normalise_message(message: str) -> str:
    """A message as it is read: one case, plain quotes, no contractions, single spaces; line ends stay."""
    text = unicodedata.normalize("NFKC", message[:MAX_READ]).casefold().translate(_QUOTES)
    text = "\n".join(_BULLET.sub("", line) for line in text.splitlines())
    text = _DASH.sub(" ; ", text)
    text = "\n".join(" ".join(line.split()) for line in text.splitlines())
    text = _ABBREVIATION.sub(r"\1", text)
    text = _NUMBER_COMMA.sub("", _DOT_IN_WORD.sub("", text))
    text = _WRITTEN_WORD.sub(lambda word: _PLAIN.get(word.group(), word.group()), text)
    if "'" in text:
        for pattern, long in _SHORT:
            text = pattern.sub(long, text)
    return _EMAIL.sub("email", _NO_PROBLEM.sub("all right", text))


def sentences(text: str) -> list[Sentence]:
    """The sentences of a normalised text; greetings and the lines of a signature are left out."""
    found: list[Sentence] = []
    parts = [(part, marks) for part, marks in _SENTENCE.findall(text) if _WORD.search(part)]
    for position, (part, marks) in enumerate(parts):
        asks = "?" in marks
        stripped = part.strip(" ,:\"()'")
        if "\n" in marks and _SIGNATURE.match(stripped) and position >= len(parts) - 3 and position:
            found.append(Sentence(text=stripped, asks=False, signs=True))
            break
        if not asks or "," in stripped or " " in stripped:
            stripped = _GREETING.sub("", stripped) if not asks or len(stripped) > 12 else stripped
        if (
            not asks
            and len(stripped) < len(part.strip(" ,:\"()'"))
            and re.fullmatch(r"(?:mr |ms |mrs )?[a-z]+", stripped)
        ):
            stripped = ""
        if not stripped:
            found.append(Sentence(text="", asks=False, signs=True))
        else:
            found.append(Sentence(text=stripped, asks=asks, lists=part.rstrip().endswith(":")))
    return found


def words_in(text: str) -> list[str]:
    """The words of a normalised text."""
    return _WORD.findall(text)
