"""Dialogue acts: what an agent does with a message, as the user understands it.

An act is a kind and what it is about, written "ask:order"; a kind alone, "close", is about nothing in particular. An
agent may say which act its message is (the fields `act` and `about` of `reply`). Those fields win over the text, as
long as the text does not contradict them: where it is understood to ask, check, offer or refuse, and does nothing
of the stated kind, the text counts. Asking and checking are one kind in this. What a message says about a fee is always
read from its text; an agent that denies a fee tells nobody of one, whatever it states.
"""

from collections.abc import Mapping
from typing import get_args

from palaestra.envs.user.recogniser import Reading, read_message, topics_in
from palaestra.records import Json
from palaestra.tools import ActKind

NO_FEE = "inform:no-fee"
"""The act of telling that there is no fee."""
_QUESTIONS = frozenset({"ask", "confirm"})
_DEEDS = frozenset({"ask", "confirm", "offer", "refuse"})
_OF_FEE = frozenset({"inform:fee", "offer:fee"})
KINDS: tuple[ActKind, ...] = get_args(ActKind)


def parse_acts(arguments: Mapping[str, Json], topics: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The acts of one `reply`, in the order in which they were made.

    Args:
        arguments: Those of the call: `message`, and where the agent gave them `act` and `about`.
        topics: What can be talked about, each with the words that name it.
    """
    message, act, about = (_text(arguments.get(name)) for name in ("message", "act", "about"))
    reading = read_message(message, topics)
    if (not act and not about) or (act and _contradicts(act, reading)):
        acts = reading.acts
        if not reading.understood:
            return ()
        return _without_denied_fee(acts, reading) or ("inform",)
    named = _about(about, topics) if about else _topics_for(act, message, topics)
    kinds = [act] if act else list(dict.fromkeys(kind_of(one) for one in reading.acts))[:1]
    acts = tuple(f"{kind}:{topic}" if topic else kind for kind in kinds for topic in named or ("",))
    return _without_denied_fee(acts, reading)


def kind_of(act: str) -> str:
    """The kind of an act: "ask" of "ask:order"."""
    return act.partition(":")[0]


def topic_of(act: str) -> str:
    """What an act is about: "order" of "ask:order"; empty where it is about nothing in particular."""
    return act.partition(":")[2]


def _contradicts(act: str, reading: Reading) -> bool:
    """Whether a text is understood to do something, and nothing of the stated kind."""
    heard = {kind_of(one) for one in reading.acts} if reading.understood else set[str]()
    alike = {*_QUESTIONS} if act in _QUESTIONS else {act}
    return bool(heard & _DEEDS) and not heard & alike


def _without_denied_fee(acts: tuple[str, ...], reading: Reading) -> tuple[str, ...]:
    """The acts of a message; one that denies a fee tells that there is none."""
    if reading.fee != "denied":
        return acts
    return tuple(dict.fromkeys(NO_FEE if act in _OF_FEE else act for act in acts))


def _about(about: str, topics: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The topic that `about` names: by its name, or else by the words that name one; itself where there is none."""
    plain = " ".join(about.casefold().replace("_", " ").replace("-", " ").split())
    if plain in topics:
        return (plain,)
    return topics_in(plain, topics)[:1] or (plain[:40],)


def _topics_for(kind: str, message: str, topics: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """What a message of the stated kind is about: the topics of its acts of that kind, or else those it names."""
    same = tuple(topic_of(act) for act in read_message(message, topics).acts if kind_of(act) == kind)
    return tuple(filter(None, same)) or topics_in(message, topics)[:2]


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
