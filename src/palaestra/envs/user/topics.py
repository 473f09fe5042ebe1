"""What a text is about: the topics of a world, found by the words that name them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from palaestra.envs.user.phrasing import REMEMBERED
from palaestra.envs.user.sentences import SHORTEST_MENDED

GAP = " * "
"""Stands in a topic's words for up to six words between two, as in "send * back"."""
ANY_NUMBER = "#"
"""Stands in a topic's words for digits, as in "ord-#"."""
_SEVERAL = frozenset(
    {"two", "three", "four", "five", "six", "several", "both", "many", "few", "some", "various", "multiple", "than"}
)
"""Words of which one of the last two before a thing tells that there is more than one of it."""
_TOKEN = re.compile(r"[\w-]+")
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Where a text names a topic."""

    start: int
    end: int
    topic: str
    several: bool
    """Whether it names more than one of them: "two orders"."""


class Lexicon:
    """The words of a world's topics, compiled once.

    Args:
        topics: What can be talked about, each with the words that name it.
    """

    __slots__ = ("_beginnings", "_mended", "spots")

    def __init__(self, topics: Mapping[str, tuple[str, ...]]) -> None:
        named = [(word.casefold(), topic) for topic, words in topics.items() for word in words]
        named.sort(key=lambda pair: len(pair[0]), reverse=True)
        self._beginnings: dict[str, list[tuple[re.Pattern[str], str]]] = {}
        for word, topic in named:
            first = word.split()[0]
            entry = (re.compile(rf"({_pattern(word)})(?:e?s)?(?![\w-])"), topic)
            for form in (first,) if " " in word else (first, f"{first}s", f"{first}es"):
                self._beginnings.setdefault(form, []).append(entry)
        self.spots = lru_cache(maxsize=REMEMBERED)(self._spots)
        """Where a normalised text names topics; of words that overlap, the longest at the first place counts."""
        self._mended = _slips({part for word, _ in named for part in word.split() if part.isalpha()})

    def _spots(self, text: str) -> tuple[Spot, ...]:
        found: list[Spot] = []
        end = 0
        for word in _TOKEN.finditer(text):
            start = word.start()
            if start < end:
                continue
            token = word.group()
            form = token if token.isalpha() else _DIGITS.sub(ANY_NUMBER, token)
            for pattern, topic in self._beginnings.get(form, ()):
                if match := pattern.match(text, start):
                    end = match.end()
                    several = end > match.end(1) or _is_several(text[max(0, start - 24) : start])
                    found.append(Spot(start=start, end=end, topic=topic, several=several))
                    break
        return tuple(found)

    def mend(self, word: str) -> str:
        """A word with one letter missing inside, doubled or exchanged with its neighbour, as it is meant to be."""
        return self._mended.get(word, word)


def _is_several(before: str) -> bool:
    """Whether the words before a thing tell that there is more than one of it."""
    return any(word in _SEVERAL or (word.isdigit() and word != "1") for word in before.split()[-2:])


def lexicon_of(topics: Mapping[str, tuple[str, ...]]) -> Lexicon:
    """The compiled words of these topics."""
    return _lexicon(tuple(topics.items()))


@lru_cache(maxsize=64)
def _lexicon(items: tuple[tuple[str, tuple[str, ...]], ...]) -> Lexicon:
    return Lexicon(dict(items))


def _pattern(word: str) -> str:
    escaped = r"(?: (?!money\b)[\w'-]+){0,6} ".join(re.escape(part) for part in word.casefold().split(GAP))
    return escaped.replace(re.escape(ANY_NUMBER), r"\d+")


COMMON = (
    "unfortunately", "apologise", "apologies", "apologize", "please", "which", "about", "number", "confirm", "correct",
    "possible", "cannot", "would", "should", "could", "address", "received", "window", "sorry", "believe", "describe",
    "deducted", "deduct", "product", "provide", "anything", "change", "warranty", "closed", "goodbye", "proceed",
    "afraid", "offer", "prefer", "double", "check", "verify", "specify", "exactly", "happened", "wrong", "restocking",
    "unable", "longer", "great", "thank", "thanks", "regret",
)  # fmt: skip
"""Words that tell what a sentence does, and that people misspell."""


def _slips(words: set[str]) -> dict[str, str]:
    """What a word becomes by one slip of the pen, to the word; no slip that is a word of the list itself."""
    known = words | set(COMMON)
    slips: dict[str, str] = {}
    for word in sorted(known):
        if len(word) < SHORTEST_MENDED:
            continue
        for i in range(1, len(word)):
            if i + 1 < len(word):
                slips.setdefault(word[:i] + word[i + 1 :], word)
            slips.setdefault(word[:i] + word[i] + word[i:], word)
            if i + 1 < len(word):
                slips.setdefault(word[:i] + word[i + 1] + word[i] + word[i + 2 :], word)
    return {slip: word for slip, word in slips.items() if slip not in known and slip not in _ENGLISH}


_ENGLISH = frozenset({
    "account", "accounts", "angel", "angle", "art", "artile", "arts", "begin", "being", "bing", "calle",
    "cancel", "canceled", "cancelled", "cancelling", "cancels", "cart", "case", "casual", "causal", "cause",
    "chang", "change", "charge", "check", "chek", "cit", "city", "clause", "close", "closed", "cold", "coul",
    "count", "dairy", "diary", "does", "done", "door", "doors", "dress", "edit", "emailed", "exchanged", "fall",
    "fault", "form", "found", "from", "grant", "great", "handing", "here", "hold", "ill", "items", "mail",
    "mailed", "mails", "mode", "oder", "off", "offer", "offers", "old", "older", "order", "over", "pace",
    "parcel", "part", "parts", "party", "pat", "peace", "pease", "persona", "pieces", "place", "plea", "pleas",
    "price", "products", "quiet", "quite", "receive", "refund", "refunds", "release", "repaired", "repairs",
    "repay", "replay", "rerun", "reset", "rest", "returns", "send", "sent", "serve", "sever", "several",
    "severe", "shoul", "should", "sort", "sorts", "spend", "star", "stat", "story", "street", "streets", "tank",
    "tanks", "ten", "than", "their", "then", "there", "thin", "though", "three", "through", "trace", "trail",
    "treat", "tree", "trial", "united", "untied", "were", "whole", "wold", "wring", "wrong",
})  # fmt: skip
"""English words that look like slips of others."""
