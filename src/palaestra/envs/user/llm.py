"""A user whose words a language model writes, and one whose words come from a log.

The agenda decides what is said, as it does for the scripted user; the model only words it. So a model cannot reveal
what nobody asked for, stop before the work is done, or go on without end: what it writes is checked by code against
the decision, tried again, and given up on with an `InfrastructureError`. Such an episode is void, never a reward.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from palaestra.envs.user.acts import kind_of
from palaestra.envs.user.agenda import Decision, UserState, decide
from palaestra.envs.user.persona import Persona
from palaestra.envs.user.scripted import user_stream
from palaestra.envs.user.senders import unhead_answer
from palaestra.envs.user.user import UserAnswer
from palaestra.envs.user.wording import put_in_words
from palaestra.errors import InfrastructureError, RecordError
from palaestra.protocols import ChatModel
from palaestra.records import Message
from palaestra.trajectory import Episode

TRIES = 3
"""How often a model is asked for one answer."""
LONGEST = 600
"""Characters of an answer; customers write short messages."""

_VALUE = re.compile(r"[\w@+-]*\d[\w@.+-]*\w|\d")
_OUT_OF_CHARACTER = re.compile(
    r"\b(?:as an ai|language model|i am an? (?:ai|assistant|support agent)|how (?:can|may) i (?:help|assist)|"
    r"(?:we|i) (?:have|will) (?:refund|cancel|process|issue)|assistant:|user:|system:|system prompt|role[- ]?play)",
    re.IGNORECASE,
)
_GOODBYE = re.compile(
    r"\b(?:good ?bye|that(?:'s| is) all|nothing else|all (?:done|set)|solved|we are done)\b", re.IGNORECASE
)
_LAST_WORDS = frozenset({"leave", "thanks", "accept", "sulk"})


class LlmUser:
    """A user in the words of a model.

    Args:
        persona: Who they are.
        model: Who writes.
        tries: How often it is asked for one answer before the episode is given up.
    """

    def __init__(self, persona: Persona, model: ChatModel, *, tries: int = TRIES) -> None:
        self.persona = persona
        self._model = model
        self._tries = tries

    def hear(self, state: UserState, message: str, acts: tuple[str, ...]) -> UserAnswer:
        """Answer a message.

        Raises:
            InfrastructureError: the model failed, or wrote nothing that a user of this persona may say.
        """
        decision = decide(self.persona, state, acts)
        text = self._ask_model(decision, message, state) if decision.points else ""
        return _answer(decision, text)

    def _ask_model(self, decision: Decision, message: str, state: UserState) -> str:
        prompt = make_prompt(self.persona, decision, message, _meant(self.persona, decision, state))
        complaint = ""
        for attempt in range(self._tries):
            try:
                text = _plain(self._model.complete(prompt, seed=_seed(state, attempt)))
            except Exception as error:  # whatever a client raises: the model is not the agent's
                complaint = f"the model failed: {error!r}"
                continue
            complaint = flaw(self.persona, decision, text)
            if not complaint:
                return text
        raise InfrastructureError(f"the user's model gave no fit answer in {self._tries} tries; the last: {complaint}")


class LoggedUser:
    """A user that says again what was said in a recorded episode, and needs no model.

    Args:
        persona: Who they are.
        words: What they said, answer by answer.
    """

    def __init__(self, persona: Persona, words: Sequence[str]) -> None:
        self.persona = persona
        self._words = tuple(words)

    @classmethod
    def of(cls, persona: Persona, episode: Episode) -> "LoggedUser":
        """The user of a recorded episode."""
        return cls(persona, [unhead_answer(content, persona) for content in _list_spoken(episode)])

    def hear(self, state: UserState, message: str, acts: tuple[str, ...]) -> UserAnswer:
        """Answer a message.

        Raises:
            RecordError: the episode goes another way than the recorded one.
        """
        del message
        decision = decide(self.persona, state, acts)
        if not decision.points:
            return _answer(decision, "")
        if state.drawn >= len(self._words):
            raise RecordError(
                f"the log holds {len(self._words)} answers of the user and one more is asked for; "
                "replay the calls that it holds"
            )
        return _answer(decision, self._words[state.drawn])


def flaw(persona: Persona, decision: Decision, text: str) -> str:
    """Why a text does not say what was decided, or says more; empty where it is fit."""
    if not text.strip():
        return "it is empty"
    if len(text) > LONGEST:
        return f"it has {len(text)} characters, more than {LONGEST}"
    if found := _OUT_OF_CHARACTER.search(text):
        return f"it is out of character: {found.group()!r}"
    given = " ".join(point.says for point in decision.points)
    if missing := sorted(values(given) - values(text)):
        return f"it leaves out {', '.join(missing)}"
    if leaked := sorted((values(text) & _secret(persona)) - values(given)):
        return f"it reveals {', '.join(leaked)}"
    if (found := _GOODBYE.search(text)) and not _LAST_WORDS & {kind_of(p.said) for p in decision.points}:
        return f"it ends the talk too early: {found.group()!r}"
    return ""


def make_prompt(persona: Persona, decision: Decision, message: str, meant: str) -> list[Message]:
    """What a model is asked: who it is, what was said to it, and what it has to say."""
    system = (
        f"You write as a customer of a company to its support desk. What you want: {persona.goal} You are "
        f"{persona.temper}. Write only the customer's next message: one to three short sentences, no greeting, no "
        "quotes. Say exactly what you are told to say, with every number and name in it as it stands, and nothing "
        "else. You are never the agent."
    )
    said = ", ".join(point.said for point in decision.points)
    task = f"The agent wrote:\n{message}\n\nSay this in your own words ({said}): {meant}"
    return [{"role": "system", "content": system}, {"role": "user", "content": task}]


def values(text: str) -> frozenset[str]:
    """The ids, numbers and addresses in a text."""
    return frozenset(_VALUE.findall(text))


def _plain(written: object) -> str:
    """What a model gave, as text: clients give `None` where a model wrote nothing."""
    return written.strip() if isinstance(written, str) else ""


def _secret(persona: Persona) -> frozenset[str]:
    """The values that this persona tells only when asked."""
    return frozenset[str]().union(*(values(fact.says) | values(fact.mistaken) for fact in persona.facts))


def _meant(persona: Persona, decision: Decision, state: UserState) -> str:
    return put_in_words(decision, persona.temper, user_stream(state))


def _seed(state: UserState, attempt: int) -> int:
    return user_stream(state).split("model", attempt).below(2**31)


def _answer(decision: Decision, text: str) -> UserAnswer:
    """An answer in words that were not drawn: `drawn` counts the answers."""
    state = replace(decision.state, drawn=decision.state.drawn + bool(decision.points))
    return UserAnswer(text=text, said=tuple(point.said for point in decision.points), state=state)


def _list_spoken(episode: Episode) -> Iterable[str]:
    return (message["content"] for turn in episode.turns for message in turn.observation if message["role"] == "user")
