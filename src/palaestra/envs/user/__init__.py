"""The simulated user: a customer with hidden facts, a goal, a temper and a budget of patience."""

if __name__ != "palaestra.envs.user":
    raise ImportError(f"this folder is palaestra.envs.user, not {__name__}; write `import palaestra.envs.user`")

from palaestra.envs.user.acts import understood
from palaestra.envs.user.agenda import Decision, Point, UserState, decide, opening
from palaestra.envs.user.conversation import Conversation
from palaestra.envs.user.llm import LlmUser, LoggedUser
from palaestra.envs.user.persona import Fact, Persona, Reaction, Temper
from palaestra.envs.user.recogniser import recognised
from palaestra.envs.user.scripted import ScriptedUser
from palaestra.envs.user.user import Answer, User, UserFactory

__all__ = [
    "Answer",
    "Conversation",
    "Decision",
    "Fact",
    "LlmUser",
    "LoggedUser",
    "Persona",
    "Point",
    "Reaction",
    "ScriptedUser",
    "Temper",
    "User",
    "UserFactory",
    "UserState",
    "decide",
    "opening",
    "recognised",
    "understood",
]
