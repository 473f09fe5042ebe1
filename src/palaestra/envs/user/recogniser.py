"""Reading a message for its dialogue acts: the fallback for agents that say what they mean in words alone.

Plain rules over English phrases, sentence by sentence: what kind of sentence it is, then which topics it names. It
never fails, and case, white space, doubled marks and typographic quotes do not matter. It errs on the side of
understanding nothing: a list of keywords is no question, and a sentence without a phrase or a topic is no act.
What it does not do: other languages, irony, pronouns across sentences.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from palaestra.envs.user.phrases import (
    APOLOGISE,
    ASK,
    CLOSE,
    CONFIRM,
    OFFER,
    QUESTION_WORD,
    REFUSE,
    RHETORICAL,
)

MAX_READ = 2_000
"""Characters of a message that are read; people do not read more either."""
STUFFED_TOPICS = 3
"""From this many topics on, a sentence that holds little else is a list of keywords."""

_QUOTES = str.maketrans({"\u2019": "'", "\u2018": "'", "`": "'", "\u00b4": "'", "\u201c": '"', "\u201d": '"'})
_SHORT = (
    (re.compile(r"\bcan't\b|\bcannot\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"\bshan't\b"), "shall not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\b(\w+)'(re)\b"), r"\1 are"),
    (re.compile(r"\b(\w+)'(ll)\b"), r"\1 will"),
    (re.compile(r"\b(\w+)'(ve)\b"), r"\1 have"),
    (re.compile(r"\b(\w+)'(d)\b"), r"\1 would"),
    (re.compile(r"\bi'm\b"), "i am"),
    (re.compile(r"\bno (?:problem|issue|trouble)s?(?: at all)?\b"), "all right"),
    (re.compile(r"\b(that|it|what|which|where|who|when|here|there)'s\b"), r"\1 is"),
)
_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;\n]*|[.!?;\n]+")
_PART = re.compile(r",| and (?=the |your |which |what |how |where )")
"""What parts two questions in one sentence; of what one of them names, the first is what it is about."""
_INSTEAD_OF = re.compile(r"\b(?:instead of|rather than) (?:an? |the |your )?[\w-]+")
_ONE_AT_A_TIME = ("ask", "confirm")
_WORD = re.compile(r"[a-z0-9][a-z0-9@+'-]*")
_DOT_IN_WORD = re.compile(r"(?<=\w)\.(?=\w)")


def recognise_acts(message: str, topics: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The acts of a message, such as ("apologise", "ask:order"), each once, in order; none where nothing is said.

    Args:
        message: Any text.
        topics: What can be talked about, each with the words that name it.
    """
    text = normalised(message)
    if _stuffed(text, topics_in(text, topics), topics):
        return ()
    found: list[str] = []
    spoken_of = ""
    for sentence in _sentences(text):
        # A question about nothing, "Which one is it?", is about what the sentence before it spoke of.
        acts = [f"{a}:{spoken_of}" if a in _ONE_AT_A_TIME and spoken_of else a for a in _acts_of(sentence, topics)]
        spoken_of = _subject(acts) or spoken_of
        found += acts
    kept = [act for act in dict.fromkeys(found) if ":" in act or not any(a.startswith(f"{act}:") for a in found)]
    return tuple(kept)


def topics_in(text: str, topics: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The topics that a text names, in the order in which it does; of words that overlap, the longest counts."""
    spots = [
        (found.start(), found.end(), topic)
        for topic, words in topics.items()
        for found in _naming(words).finditer(text)
    ]
    spots.sort(key=lambda spot: (spot[0], -spot[1]))
    named: list[str] = []
    end = -1
    for start, stop, topic in spots:
        if start >= end:
            named.append(topic)
            end = stop
    return tuple(dict.fromkeys(named))


def normalised(message: str) -> str:
    """A message as it is read: one case, plain quotes, no contractions, single spaces; line ends stay."""
    text = unicodedata.normalize("NFKC", message[:MAX_READ]).casefold().translate(_QUOTES)
    text = "\n".join(" ".join(line.split()) for line in text.splitlines())
    text = _DOT_IN_WORD.sub("", text)
    for pattern, long in _SHORT:
        text = pattern.sub(long, text)
    return text


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE.findall(text) if _WORD.search(part)]


def _subject(acts: list[str]) -> str:
    """What a sentence is about first; empty where it is about nothing."""
    return next((act.partition(":")[2] for act in acts if ":" in act), "")


def _acts_of(sentence: str, topics: Mapping[str, tuple[str, ...]]) -> list[str]:
    named = topics_in(_INSTEAD_OF.sub("", sentence), topics)
    if _stuffed(sentence, named, topics):
        return []
    acts = ["apologise"] if APOLOGISE.search(sentence) else []
    if CLOSE.search(sentence) and not named:
        return [*acts, "close"]
    kind = _kind(sentence)
    if kind in _ONE_AT_A_TIME:
        named = tuple(dict.fromkeys(topic for part in _PART.split(sentence) for topic in topics_in(part, topics)[:1]))
    if kind is None:
        if acts and not named:
            return acts
        kind = "inform"
    return [*acts, *(f"{kind}:{topic}" for topic in named)] if named else [*acts, kind]


def _kind(sentence: str) -> str | None:
    """What kind of sentence it is, by the first phrase that tells; `None` where no phrase does."""
    if RHETORICAL.search(sentence):
        return "close"
    asks = bool(ASK.search(sentence) or QUESTION_WORD.search(sentence))
    for kind, pattern in (("confirm", CONFIRM), ("offer", OFFER)):
        if pattern.search(sentence) and not QUESTION_WORD.search(sentence):
            return kind
    if REFUSE.search(sentence) and not asks:
        return "refuse"
    return "ask" if asks or "?" in sentence else None


def _stuffed(sentence: str, named: tuple[str, ...], topics: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether a text is a list of keywords: many topics and little else, or one and nothing else."""
    words = len(_WORD.findall(sentence))
    naming = sum(len(_WORD.findall(m.group())) for t in named for m in _naming(topics[t]).finditer(sentence))
    return naming >= words if len(named) < STUFFED_TOPICS else 2 * naming > words


@lru_cache(maxsize=256)
def _naming(words: tuple[str, ...]) -> re.Pattern[str]:
    """Finds any of `words`, in the singular or the plural, as whole words."""
    longest = sorted(words, key=len, reverse=True)
    return re.compile(r"(?<![\w-])(?:" + "|".join(re.escape(w) for w in longest) + r")(?:e?s)?(?![\w-])")
