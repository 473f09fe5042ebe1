"""The user that needs no model: decisions of the agenda in words of templates, the same in every process."""

from dataclasses import replace

from palaestra.envs.user.agenda import UserState, decide
from palaestra.envs.user.persona import Persona
from palaestra.envs.user.user import UserAnswer
from palaestra.envs.user.wording import put_in_words
from palaestra.seeding import Stream


class ScriptedUser:
    """A deterministic user. Its words are drawn from the stream named by the episode's seed and "user".

    Args:
        persona: Who they are.
    """

    def __init__(self, persona: Persona) -> None:
        self.persona = persona

    def hear(self, state: UserState, message: str, acts: tuple[str, ...]) -> UserAnswer:
        """Answer a message; only its acts matter."""
        del message
        decision = decide(self.persona, state, acts)
        stream = user_stream(state)
        text = put_in_words(decision, self.persona.temper, stream)
        return UserAnswer(
            text=text,
            said=tuple(point.said for point in decision.points),
            state=replace(decision.state, drawn=stream.save()[1]),
        )


def user_stream(state: UserState) -> Stream:
    """The user's own randomness, as far as it has been drawn."""
    key, _ = Stream.root("user", state.seed).save()
    return Stream.restore((key, state.drawn))
