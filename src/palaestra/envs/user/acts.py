"""Dialogue acts: what an agent does with a message, as the user understands it.

An act is a kind and what it is about, written "ask:order"; a kind alone, "close", is about nothing in particular. An
agent may say which act its message is (the fields `act` and `about` of `reply`); those fields win over the text.
"""

from collections.abc import Mapping
from typing import get_args

from palaestra.envs.user.recogniser import recognise_acts, topics_in
from palaestra.records import Json
from palaestra.tools import ActKind

KINDS: tuple[ActKind, ...] = get_args(ActKind)


def parse_acts(arguments: Mapping[str, Json], topics: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The acts of one `reply`, in the order in which they were made.

    Args:
        arguments: Those of the call: `message`, and where the agent gave them `act` and `about`.
        topics: What can be talked about, each with the words that name it.
    """
    message, act, about = (_text(arguments.get(name)) for name in ("message", "act", "about"))
    if not act and not about:
        return recognise_acts(message, topics)
    named = _about(about, topics) if about else _topics_for(act, message, topics)
    kinds = [act] if act else list(dict.fromkeys(kind_of(one) for one in recognise_acts(message, topics)))[:1]
    return tuple(f"{kind}:{topic}" if topic else kind for kind in kinds for topic in named or ("",))


def kind_of(act: str) -> str:
    """The kind of an act: "ask" of "ask:order"."""
    return act.partition(":")[0]


def topic_of(act: str) -> str:
    """What an act is about: "order" of "ask:order"; empty where it is about nothing in particular."""
    return act.partition(":")[2]


def _about(about: str, topics: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The topic that `about` names: by its name, or else by the words that name one; itself where there is none."""
    plain = " ".join(about.casefold().replace("_", " ").replace("-", " ").split())
    if plain in topics:
        return (plain,)
    return topics_in(plain, topics)[:1] or (plain[:40],)


def _topics_for(kind: str, message: str, topics: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """What a message of the stated kind is about: the topics of its acts of that kind, or else those it names."""
    same = tuple(topic_of(act) for act in recognise_acts(message, topics) if kind_of(act) == kind)
    return tuple(filter(None, same)) or topics_in(message, topics)[:2]


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
