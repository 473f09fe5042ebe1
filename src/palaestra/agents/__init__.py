"""Agents: scripted ones, random ones, and the loop in which an agent plays an episode."""

if __name__ != "palaestra.agents":
    raise ImportError(f"this folder is palaestra.agents, not {__name__}; write `import palaestra.agents`")

from palaestra.agents.patient import PatientAgent
from palaestra.agents.rollout import Env, EpisodeRecorder, rollout
from palaestra.agents.scripted import (
    AlwaysRefuse,
    JunkText,
    LegalRandom,
    ReadOnlyAgent,
    SchemaRandom,
    ScriptedAgent,
    as_action,
    finish_at_once,
    no_op,
    oracle,
)

__all__ = [
    "AlwaysRefuse",
    "Env",
    "EpisodeRecorder",
    "JunkText",
    "LegalRandom",
    "PatientAgent",
    "ReadOnlyAgent",
    "SchemaRandom",
    "ScriptedAgent",
    "as_action",
    "finish_at_once",
    "no_op",
    "oracle",
    "rollout",
]
