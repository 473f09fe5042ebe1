"""Reading a message for its dialogue acts: the fallback for agents that say what they mean in words alone.

Plain rules over English: sentence by sentence, clause by clause, what kind of clause it is, then which topics it
names. `questions`, `statements` and `asked_topics` read a clause by its form and by classes of words (`vocabulary`);
`requests`, `proposals`, `refusals` and `courtesies` list further phrases; `fees` reads what is said about a fee. A
clause that names no topic is about what its neighbours or the sentence before it spoke of. It never fails, and case,
white space, doubled marks and typographic quotes do not matter. Rather than guess it says that it did not understand:
a list of keywords is no question, a question of no known form is not answered, and acts that clash were misheard.
What it does not do: other languages, irony.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from palaestra.envs.user.fees import FeeTalk, read_fee
from palaestra.envs.user.listener import DEEDS, DONE, THINGS, Listener, is_stuffed, tells_deeds
from palaestra.envs.user.sentences import normalise_message, sentences
from palaestra.envs.user.topics import Lexicon, lexicon_of

_REFUSED_THINGS = frozenset(f"refuse:{topic}" for topic in THINGS)
_REFUSED_ALSO = frozenset({"refuse:address", "refuse:account"})
_WORD_TO_MEND = re.compile(r"[a-z]{4,}")
_TELLS = re.compile(
    r"\w (?:\w+ ){0,3}?(?:have|has|had|is|are|am|was|were|will|been|would|can|could|did|does|do|needs?|takes?|goes)\b"
    r"|\b(?:done|noted|sorted|settled|checking|looking)\b|\b(?:i|we|you|they|colleague|team) \w+(?:ed|t|s)\b"
)
"""Tells something in a sentence with a verb, and not in a word or two of no known meaning."""
_ASKS = re.compile(
    r"^(?:where|what|which|how|who|when|why|is|are|was|were|do|does|did|could|can|would|should|shall) \w+ \w+"
)
"""Begins as a question of several words does."""
_UNREAD = re.compile(
    r"\b(?:not|no|never|nobody|neither|nor|unable|impossible|beyond|need|must|require|missing|lack|please|kindly"
    r"|which|what(?! you)|how|you (?:could|might|would|like|want|prefer))\b"
)
"""Words of requests, offers and refusals: a message with one that was heard only to tell things is not understood."""
_FRAGMENT = re.compile(r"^(?:(?:and|the|your|an?|new|full|please) )*[a-z'-]+ [a-z'-]+\?$")
"""Two words and a question mark: "Order number?"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a message was understood to do."""

    acts: tuple[str, ...]
    """Such as ("apologise", "ask:order"), each once, in order; none where it is small talk, or was not understood."""
    understood: bool
    """Whether there is something to it; a reader who did not understand says so, and answers nothing."""
    fee: FeeTalk
    """What it says about a fee to come. A "yes" in answer is consent to a fee only where this is "stated"."""


def recognise_acts(message: str, topics: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The acts of a message, such as ("apologise", "ask:order"), each once, in order; none where nothing is said.

    Args:
        message: Any text.
        topics: What can be talked about, each with the words that name it.
    """
    return read_message(message, topics).acts


def read_message(message: str, topics: Mapping[str, tuple[str, ...]]) -> Reading:
    """What a message does, whether it is understood at all, and what it says about a fee.

    Args:
        message: Any text.
        topics: What can be talked about, each with the words that name it.
    """
    return _read(message, lexicon_of(topics))


def topics_in(text: str, topics: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The topics that a text names, in the order in which it does; of words that overlap, the longest counts."""
    return tuple(dict.fromkeys(spot.topic for spot in lexicon_of(topics).spots(text)))


@lru_cache(maxsize=4_096)
def _read(message: str, lexicon: Lexicon) -> Reading:
    text = _WORD_TO_MEND.sub(lambda word: lexicon.mend(word.group()), normalise_message(message))
    if (
        is_stuffed(text, lexicon.spots(text))
        and not DONE.match(text)
        and not _ASKS.match(text)
        and not tells_deeds(text)
        and not _FRAGMENT.match(text)
    ):
        return Reading(acts=(), understood=False, fee="unspoken")
    found = Listener(lexicon)
    lines = sentences(text)
    for sentence in lines:
        found.hear(sentence)
    fee = read_fee(lines)
    acts = _clean(found.acts, found.leads, found.weak)
    clear = acts != ("inform",) or _TELLS.search(text) is not None
    clear = clear and not (_is_news(acts) and _UNREAD.search(text))
    clear = clear and not _conflicts(acts)
    understood = bool(lines) and not found.puzzled and clear and (bool(acts) or found.small_talk)
    return Reading(acts=acts, understood=understood, fee=fee)


def _is_news(acts: tuple[str, ...]) -> bool:
    """Whether a message only tells things, and nothing of a fee."""
    return bool(acts) and all(act.startswith("inform") and act != "inform:fee" for act in acts)


def _conflicts(acts: tuple[str, ...]) -> bool:
    """Whether a message was heard to do things that seldom go together: one of them is then likely misheard."""
    about = {kind: {act.partition(":")[2] for act in acts if act.partition(":")[0] == kind} for kind in DEEDS}
    if about["offer"] and about["refuse"]:
        return bool(about["offer"] & about["refuse"]) or "" in about["refuse"]
    return bool(about["ask"] and about["offer"]) or bool((about["ask"] or about["confirm"]) and about["refuse"])


def _clean(found: list[str], leads: list[str], weak: list[str]) -> tuple[str, ...]:
    """The acts without those that only lead to another: news before a question, an offer that is a condition."""
    kinds = {act.partition(":")[0] for act in found}
    if {"ask", "confirm"} & kinds:
        found = [act for act in found if act != "refuse" and act not in _REFUSED_THINGS]
    else:
        found = [*found, *(act for act in leads if act not in found)]
        if not leads and not kinds & {"refuse", "offer"}:
            found = [*found, *weak]
    if any(act.partition(":")[0] == "refuse" and act.partition(":")[2] not in {"", *THINGS} for act in found):
        found = [act for act in found if act not in _REFUSED_THINGS or act in _REFUSED_ALSO]
    if any(act.partition(":")[0] in DEEDS for act in found):
        found = [act for act in found if not act.startswith("inform") or act == "inform:fee"]
    kept = [act for act in dict.fromkeys(found) if ":" in act or not any(a.startswith(f"{act}:") for a in found)]
    return tuple(kept)
