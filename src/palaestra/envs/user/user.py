"""What an environment asks of a user, whoever words what they say."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from palaestra.envs.user.agenda import UserState
from palaestra.envs.user.persona import Persona


@dataclass(frozen=True, slots=True, kw_only=True)
class UserAnswer:
    """What a user says to one message."""

    text: str
    """Their words; empty where they say nothing."""
    said: tuple[str, ...]
    """What they said, as the log calls it, such as ("reveal:order",)."""
    state: UserState
    """Where the talk then stands."""


class User(Protocol):
    """Who answers. A user holds no state of an episode: one may answer in any number of forks."""

    def hear(self, state: UserState, message: str, acts: tuple[str, ...]) -> UserAnswer:
        """Answer a message.

        Args:
            state: Where the talk stands.
            message: What the agent wrote.
            acts: What the user understands by it.

        Raises:
            InfrastructureError: the user failed; that is never the agent's doing.
        """
        ...


UserFactory: TypeAlias = Callable[[Persona], User]
"""Makes the user of a task; `ScriptedUser` is one."""
