"""What a user says next: a pure function of the persona, of where the talk stands and of what they understood.

It decides and does not word. Whatever puts the decision in words, templates or a language model, the facts revealed,
the irritation and the leaving are decided here, so that every user of one persona plays by the same rules.
"""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from palaestra.envs.user.acts import kind_of, topic_of
from palaestra.envs.user.fees import FeeTalk
from palaestra.envs.user.persona import Persona, Reaction, UserFact

Mood: TypeAlias = Literal["open", "insisting", "settled", "silent", "gone"]

TOPICS_AT_ONCE = 2
"""Questions and offers on more topics than this in one message are too many; only the first is answered."""
HEATED_COST = 2
"""What an irritation takes of a heated user's patience; of another's it takes 1."""
FORGIVEN_UNCLEAR = 2
"""How many messages that a user does not understand cost them nothing: the agent may say it in other words."""
FEE_TOPIC = "fee"
"""The topic that only counts as heard once a fee has been stated."""
_CHECKABLE = ("ask", "confirm")
_PROPOSING = ("inform", "offer")
_HOLDING = ("inform", "apologise", "refuse", "close", "confirm")


@dataclass(frozen=True, slots=True, kw_only=True)
class UserState:
    """Where a talk stands: everything that decides how it goes on, beside the persona."""

    seed: int
    """The episode's; it words the answers."""
    patience: int
    """What is left of it."""
    pushes: int
    """How often they will still push."""
    mood: Mood = "open"
    drawn: int = 0
    """How far the user's stream has been drawn."""
    questions: int = 0
    """How many questions they were asked."""
    told: tuple[str, ...] = ()
    """The topics on which they told what is so."""
    misled: tuple[str, ...] = ()
    """The topics on which their mistake stands."""
    reacted: tuple[int, ...] = ()
    """The reactions that have been had, by position."""
    irritations: tuple[str, ...] = ()
    """What irritated them, in order: "overload", "repeat:order", "questions", "unclear", "repeat:fee"."""
    fee: FeeTalk = "unspoken"
    """What they were last told about a fee; it is theirs to agree to only where it is "stated"."""
    yielded: str = ""
    """The act that they pushed against and gave in to."""
    heard: tuple[str, ...] = ()
    """Every act that they understood."""
    said: tuple[str, ...] = ()
    """Everything that they said, as the log calls it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One thing to say."""

    said: str
    """What the log calls it: a kind and a topic, such as "reveal:order"."""
    says: str = ""
    """The sentence that says it; empty where the words are free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a user says, not yet in words, and where the talk then stands."""

    points: tuple[Point, ...]
    """Empty where they say nothing."""
    state: UserState

    @property
    def leaves(self) -> bool:
        """Whether they leave with it."""
        return self.state.mood == "gone"


def opening_state(persona: Persona, seed: int) -> UserState:
    """Where a talk begins."""
    misled = tuple(fact.topic for fact in persona.facts if fact.stated)
    return UserState(seed=seed, patience=persona.patience, pushes=persona.pushes, misled=misled)


def decide(persona: Persona, state: UserState, acts: tuple[str, ...]) -> Decision:
    """What the user says on hearing a message that does `acts`."""
    talk = _Talk(persona, state)
    if state.mood != "silent":
        for act in talk.acts_to_answer(acts):
            talk.hear(act)
        talk.close(acts)
    return talk.decision(acts)


class _Talk:
    """One answer in the making."""

    def __init__(self, persona: Persona, state: UserState) -> None:
        self._persona = persona
        self._state = state
        self._points: list[Point] = []

    def acts_to_answer(self, acts: tuple[str, ...]) -> tuple[str, ...]:
        """The acts that get an answer: all of them, unless they are too much at once, or nothing at all."""
        topics = {topic_of(act) for act in acts if kind_of(act) in (*_CHECKABLE, "offer")}
        if len(topics) > TOPICS_AT_ONCE:
            self._irritate("overload")
            return tuple(act for act in acts if kind_of(act) in (*_CHECKABLE, "offer"))[:1]
        if not acts and self._state.mood == "open" and not self._needs_no_answer():
            if self._state.said.count("unclear") >= FORGIVEN_UNCLEAR:
                self._irritate("unclear")
            self._say("unclear")
        # Whoever insists takes every word that is no answer for a refusal.
        return acts or (("inform",) if self._state.mood == "insisting" else ())

    def hear(self, act: str) -> None:
        """Answer one act."""
        if topic_of(act) == FEE_TOPIC and kind_of(act) in _PROPOSING and self._state.fee != "stated":
            self._doubt_fee(act)
            return
        reaction = self._reaction(act)
        if self._is_contested(act) and (self._state.pushes or reaction is None):
            self._push(act)
        elif reaction is not None:
            self._react(*reaction)
        elif kind_of(act) in _CHECKABLE:
            self._answer(act)
        elif kind_of(act) == "offer" and not self._has_settled():
            self._say(f"decline:{topic_of(act)}")

    def close(self, acts: tuple[str, ...]) -> None:
        """Say something where nothing was said, as far as there is something to say; leave where it was too much."""
        if self._state.patience <= 0:
            self._state = replace(self._state, mood="gone")
            self._points = [Point(said="leave")]
        elif not self._points and (acts or self._needs_no_answer()):
            polite = (
                "thanks" if self._has_told_all() or self._state.mood == "settled" or "close" in acts else "acknowledge"
            )
            if polite not in self._state.said[-1:]:
                self._say(polite)

    def _has_told_all(self) -> bool:
        return bool(self._persona.facts) and len(self._state.told) == len(self._persona.facts)

    def _needs_no_answer(self) -> bool:
        """Whether a message that does nothing in particular can only say how the case ends.

        The user has told everything, and no offer is still to come that they would react to.
        """
        return self._has_told_all() and len(self._state.reacted) == len(self._persona.reactions)

    def decision(self, acts: tuple[str, ...]) -> Decision:
        """The answer as it stands."""
        said = (*self._state.said, *(point.said for point in self._points))
        state = replace(self._state, said=said, heard=(*self._state.heard, *acts))
        return Decision(points=tuple(self._points), state=state)

    def _say(self, said: str, says: str = "") -> None:
        self._points.append(Point(said=said.rstrip(":"), says=says))

    def _irritate(self, cause: str) -> None:
        cost = HEATED_COST if self._persona.temper == "heated" else 1
        self._state = replace(
            self._state, patience=self._state.patience - cost, irritations=(*self._state.irritations, cause)
        )

    # Offers and news

    def _reaction(self, act: str) -> tuple[int, Reaction] | None:
        """The first reaction to an act that has not been had."""
        for position, reaction in enumerate(self._persona.reactions):
            had = position in self._state.reacted or reaction.said in self._state.said
            binding = reaction.said != f"accept:{FEE_TOPIC}" or self._state.fee == "stated"
            if reaction.to in (act, kind_of(act)) and not had and binding:
                return position, reaction
        return None

    def _react(self, position: int, reaction: Reaction) -> None:
        mood: Mood = "settled" if reaction.settles else self._state.mood
        self._state = replace(self._state, reacted=(*self._state.reacted, position), mood=mood)
        self._say(reaction.said, reaction.says)

    def _has_settled(self) -> bool:
        """Whether what is offered now was settled before, or in this very message: it needs no second answer."""
        return self._state.mood == "settled" or any(kind_of(p.said) in ("accept", "change") for p in self._points)

    def _doubt_fee(self, act: str) -> None:
        """Ask what the fee is where one is named without its amount; take no fee that was not stated or was denied."""
        if self._state.fee == "open":
            asked = f"query:{FEE_TOPIC}"
            if asked not in (point.said for point in self._points):
                if asked in self._state.said:
                    self._irritate(f"repeat:{FEE_TOPIC}")
                self._say(asked)
        elif kind_of(act) == "offer":
            self._say(f"decline:{FEE_TOPIC}")

    # Refusals

    def _is_contested(self, act: str) -> bool:
        if self._state.mood == "settled" or any(kind_of(p.said) in ("push", "accept", "sulk") for p in self._points):
            return False
        if self._state.mood == "insisting" and kind_of(act) in _HOLDING:
            return True
        return act in self._persona.contests or kind_of(act) in self._persona.contests

    def _push(self, act: str) -> None:
        if self._state.pushes:
            number = self._persona.pushes - self._state.pushes
            plea = self._persona.pleas[number] if number < len(self._persona.pleas) else ""
            self._state = replace(self._state, pushes=self._state.pushes - 1, mood="insisting")
            self._say("push", plea)
            return
        accepts = self._persona.yields == "accepts"
        self._state = replace(self._state, mood="settled" if accepts else "silent", yielded=act)
        self._say("accept" if accepts else "sulk")

    # Questions

    def _answer(self, act: str) -> None:
        fact = self._find_fact(act)
        self._state = replace(self._state, questions=self._state.questions + 1)
        if self._persona.questions is not None and self._state.questions > self._persona.questions:
            self._irritate("questions")
        if fact is None:
            self._unknown(topic_of(act))
        elif fact.topic in self._state.told:
            self._again(fact, checking=kind_of(act) == "confirm")
        elif fact.mistaken and (fact.stubborn or not self._looks_again(fact, act)):
            self._mislead(fact)
        else:
            self._say("correct:" + fact.topic if fact.mistaken else "reveal:" + fact.topic, fact.says)
            misled = tuple(topic for topic in self._state.misled if topic != fact.topic)
            self._state = replace(self._state, told=(*self._state.told, fact.topic), misled=misled)

    def _find_fact(self, act: str) -> UserFact | None:
        """The fact that a question is about; a question about nothing in particular is about what is still untold."""
        if topic_of(act):
            return self._persona.fact(topic_of(act))
        untold = (fact for fact in self._persona.facts if fact.topic not in self._state.told)
        return next(untold, None)

    def _looks_again(self, fact: UserFact, act: str) -> bool:
        return kind_of(act) == "confirm" or fact.stated or fact.topic in self._state.misled

    def _mislead(self, fact: UserFact) -> None:
        if fact.topic in self._state.misled and fact.stubborn and f"mistake:{fact.topic}" in self._state.said:
            self._irritate(f"repeat:{fact.topic}")
        self._say(f"mistake:{fact.topic}", fact.mistaken)
        if fact.topic not in self._state.misled:
            self._state = replace(self._state, misled=(*self._state.misled, fact.topic))

    def _again(self, fact: UserFact, *, checking: bool) -> None:
        if not checking or f"affirm:{fact.topic}" in self._state.said:
            self._irritate(f"repeat:{fact.topic}")
        self._say(f"{'affirm' if checking else 'repeat'}:{fact.topic}", fact.says)

    def _unknown(self, topic: str) -> None:
        if f"unknown:{topic}".rstrip(":") in self._state.said:
            self._irritate(f"repeat:{topic}".rstrip(":"))
        self._say(f"unknown:{topic}")
