"""Who acts: scripted agents, random ones, and the loop that lets an agent play an episode."""

if __name__ != "palaestra.agents":
    raise ImportError(f"this folder is palaestra.agents, not {__name__}; write `import palaestra.agents`")

from palaestra.agents.patient import Patient
from palaestra.agents.rollout import Env, Recording, rollout
from palaestra.agents.scripted import (
    AlwaysRefuse,
    JunkText,
    LegalRandom,
    Reader,
    SchemaRandom,
    Scripted,
    as_action,
    finish_at_once,
    no_op,
    oracle,
)

__all__ = [
    "AlwaysRefuse",
    "Env",
    "JunkText",
    "LegalRandom",
    "Patient",
    "Reader",
    "Recording",
    "SchemaRandom",
    "Scripted",
    "as_action",
    "finish_at_once",
    "no_op",
    "oracle",
    "rollout",
]
