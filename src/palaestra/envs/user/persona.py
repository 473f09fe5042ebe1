"""A persona: who the user is, what they know and keep back, and how they take what they are told.

It is data that a task states. Nothing here acts; `agenda` decides what a persona says, and a `User` puts it in words.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from palaestra.errors import TaskError

Temper: TypeAlias = Literal["calm", "terse", "heated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserFact:
    """Something that the user knows and does not say until they are asked about its topic."""

    topic: str
    says: str
    """The sentence that tells it, with the ids and values in it."""
    mistaken: str = ""
    """What they say in its place as long as nobody asks them to check; empty where they are right."""
    stated: bool = False
    """Whether the request itself holds the mistake already, so that any question about it makes them look again."""
    stubborn: bool = False
    """Whether they keep to the mistake when asked to check."""
    evident: bool = True
    """Whether the records show the mistake; where they do not, a stubborn one is the user's fault."""
    sender: str = ""
    """The address from which they tell it, and write from then on; empty for that of the persona."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """What the user answers to one thing that the agent may do: take an offer, turn it down, change their mind."""

    to: str
    """The act, such as "offer:replacement" or "inform:fee"; a kind alone, such as "offer", is met by any topic."""
    says: str
    said: str
    """What the log calls it, such as "accept:replacement" or "change:keep"."""
    settles: bool = False
    """Whether they have then got what they settle for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Persona:
    """One user, as a task states them.

    Raises:
        TaskError: a part does not fit the others; the message says which.
    """

    goal: str
    """What they want, in a sentence; read by people and by an LLM user."""
    topics: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """What can be talked about in their world: each topic with the words by which a message is known to be about it."""
    facts: tuple[UserFact, ...] = ()
    reactions: tuple[Reaction, ...] = ()
    """The first that fits an act answers it; each answers once."""
    temper: Temper = "calm"
    """How they put things; a heated one minds irritations twice as much."""
    patience: int = 4
    """How much irritation they put up with before they leave."""
    questions: int | None = None
    """How many questions they answer gladly; each further one irritates. `None` for any number."""
    contests: tuple[str, ...] = ("refuse",)
    """The acts that they push against."""
    pushes: int = 0
    """How often they push before they yield."""
    pleas: tuple[str, ...] = ()
    """What they bring forward when they push, in this order; then words of their temper."""
    yields: Literal["accepts", "sulks"] = "accepts"
    """What they do when they have pushed in vain: accept it, or say no more. Neither ends the episode."""
    owed: bool = False
    """Whether the policy gives them what they want, so that a refusal is the agent's fault."""
    sender: str = ""
    """The address that they write from, which then heads each of their answers; empty for answers without a head."""

    def __post_init__(self) -> None:
        named = [fact.topic for fact in self.facts]
        if repeated := sorted({topic for topic in named if named.count(topic) > 1}):
            raise TaskError(f"persona: two facts about {repeated[0]!r}; say both in one")
        if unknown := sorted(set(named) - set(self.topics)):
            raise TaskError(f"persona: a fact about {unknown[0]!r}, which is no topic; add it to `topics`")
        if self.patience < 1 or self.pushes < 0 or (self.questions is not None and self.questions < 0):
            raise TaskError(
                f"persona: patience {self.patience}, pushes {self.pushes}, questions {self.questions}; "
                "patience is at least 1, the others are not negative"
            )
        if right := [fact.topic for fact in self.facts if (fact.stated or fact.stubborn) and not fact.mistaken]:
            raise TaskError(f"persona: the fact about {right[0]!r} is no mistake; give it `mistaken=`")
        if not self.sender and (sent := [fact.topic for fact in self.facts if fact.sender]):
            raise TaskError(f"persona: the fact about {sent[0]!r} has a sender; give the persona one too")

    def fact(self, topic: str) -> UserFact | None:
        """What they know about a topic, if anything."""
        return next((fact for fact in self.facts if fact.topic == topic), None)
