"""A talk under way in one episode: what the agent sends is understood, answered, and put down in the call's event."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from palaestra.envs.user.acts import parse_acts
from palaestra.envs.user.agenda import FEE_TOPIC, UserState, opening_state
from palaestra.envs.user.fees import FeeTalk
from palaestra.envs.user.money import stated_amounts
from palaestra.envs.user.persona import Persona
from palaestra.envs.user.recogniser import read_message
from palaestra.envs.user.report import make_report
from palaestra.envs.user.senders import head_answer, sender_of
from palaestra.envs.user.user import User
from palaestra.ids import ids_in, is_plain, words
from palaestra.records import Message, ToolEvent
from palaestra.steps import UserReport

FEE_ASKED = f"query:{FEE_TOPIC}"
FEE_TOLD = f"inform:{FEE_TOPIC}"


class Conversation:
    """One user in one episode.

    Args:
        persona: Who they are.
        user: Who words what they say; it may answer in other episodes as well.
        seed: The episode's.
        is_id: Whether there is a row of that id, so that ids of any form are known in what the user says.

    Attributes:
        state: Where the talk stands; to be stored and put back.
    """

    __slots__ = ("_is_id", "_persona", "_user", "state")

    def __init__(self, persona: Persona, user: User, *, seed: int, is_id: Callable[[str], bool]) -> None:
        self._persona = persona
        self._user = user
        self._is_id = is_id
        self.state: UserState = opening_state(persona, seed)

    def answer(self, event: ToolEvent) -> tuple[ToolEvent, Message | None]:
        """The event of a message with what came of it, and what the user says; `None` where they say nothing.

        Raises:
            InfrastructureError: the user failed.
        """
        message = str(event.arguments.get("message", ""))
        acts = parse_acts(event.arguments, self._persona.topics)
        fee = self._fee_after(message)
        if self._answers_fee(message):
            acts = (*(act for act in acts if act != "inform"), FEE_TOLD)
        self.state = replace(self.state, fee=fee)
        answer = self._user.hear(self.state, message, acts)
        self.state = answer.state
        heard = replace(
            event, acts=acts, said=answer.said, mentioned=event.mentioned | find_ids(answer.text, self._is_id)
        )
        content = head_answer(answer.text, sender_of(self._persona, self.state))
        return heard, {"role": "user", "content": content} if answer.text else None

    def _fee_after(self, message: str) -> FeeTalk:
        """What the user has been told about a fee after a message; a later word outweighs an earlier one."""
        told = read_message(message, self._persona.topics).fee
        if self._answers_fee(message):
            return "stated"
        return self.state.fee if told == "unspoken" or (told == "open" and self.state.fee == "stated") else told

    def _answers_fee(self, message: str) -> bool:
        """Whether a message gives the amount of the fee that the user has just asked for."""
        asked = FEE_ASKED in self.state.said[-1:] and self.state.fee == "open"
        told = read_message(message, self._persona.topics).fee
        return asked and told == "unspoken" and len(stated_amounts(message)) == 1

    @property
    def left(self) -> bool:
        """Whether the user has left."""
        return self.state.mood == "gone"

    @property
    def report(self) -> UserReport:
        """How the talk stands, and whose fault it is where it stands badly."""
        return make_report(self._persona, self.state)


def find_ids(text: str, is_id: Callable[[str], bool]) -> frozenset[str]:
    """The words of a text that may be ids: the ids that there are, and every plain word with a digit in it."""
    return _find_numbered_words(text).union(ids_in(text, is_id))


@lru_cache(maxsize=4_096)
def _find_numbered_words(text: str) -> frozenset[str]:
    return frozenset(word for word in words(text) if is_plain(word) and any(c.isdigit() for c in word))
