"""The head of a user's answer, which shows the address that it came from.

The environment writes it, not the user: an address in the text of an answer proves nothing.
"""

from palaestra.envs.user.agenda import UserState
from palaestra.envs.user.persona import Persona


def sender_of(persona: Persona, state: UserState) -> str:
    """The address that the latest answer came from; empty where answers show none."""
    moved = (fact.sender for topic in reversed(state.told) if (fact := persona.fact(topic)) and fact.sender)
    return next(moved, persona.sender)


def head_answer(text: str, sender: str) -> str:
    """An answer under the line that names its sender; as it is where there is none."""
    return f"{_head(sender)}{text}" if sender else text


def unhead_answer(content: str, persona: Persona) -> str:
    """The text of an answer without the line that `head_answer` wrote."""
    for sender in (persona.sender, *(fact.sender for fact in persona.facts)):
        if sender and content.startswith(_head(sender)):
            return content.removeprefix(_head(sender))
    return content


def _head(sender: str) -> str:
    return f"From {sender}:\n\n"
