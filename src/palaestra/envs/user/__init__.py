"""The simulated user: a customer with hidden facts, a goal, a temper and a budget of patience."""

if __name__ != "palaestra.envs.user":
    raise ImportError(f"this folder is palaestra.envs.user, not {__name__}; write `import palaestra.envs.user`")

from palaestra.envs.user.acts import parse_acts
from palaestra.envs.user.agenda import Decision, Point, UserState, decide, opening_state
from palaestra.envs.user.conversation import Conversation
from palaestra.envs.user.fees import FeeTalk
from palaestra.envs.user.llm import LlmUser, LoggedUser
from palaestra.envs.user.money import stated_amounts
from palaestra.envs.user.persona import Persona, Reaction, Temper, UserFact
from palaestra.envs.user.recogniser import Reading, read_message, recognise_acts
from palaestra.envs.user.scripted import ScriptedUser
from palaestra.envs.user.user import User, UserAnswer, UserFactory

__all__ = [
    "Conversation",
    "Decision",
    "FeeTalk",
    "LlmUser",
    "LoggedUser",
    "Persona",
    "Point",
    "Reaction",
    "Reading",
    "ScriptedUser",
    "Temper",
    "User",
    "UserAnswer",
    "UserFact",
    "UserFactory",
    "UserState",
    "decide",
    "opening_state",
    "parse_acts",
    "read_message",
    "recognise_acts",
    "stated_amounts",
]
