"""The simulated user: a customer with hidden facts, a goal, a temper and a budget of patience."""

if __name__ != "palaestra.envs.user":
    raise ImportError(f"this folder is palaestra.envs.user, not {__name__}; write `import palaestra.envs.user`")

from palaestra.envs.user.persona import Fact, Persona, Reaction, Temper

__all__ = ["Fact", "Persona", "Reaction", "Temper"]
