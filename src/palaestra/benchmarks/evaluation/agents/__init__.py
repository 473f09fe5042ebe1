"""Evaluated agents: scripted agents and floors, models behind servers, and Palaestra's policies.

`policy` needs torch and `endpoint` needs the extra `remote`; neither is imported here.
"""

from palaestra.benchmarks.evaluation.agents.agent import (
    AgentSession,
    Attempt,
    EpisodeCost,
    EvaluatedAgent,
    EvaluatedBlockAgent,
    EvaluatedEpisodeAgent,
)
from palaestra.benchmarks.evaluation.agents.choice import AgentOptions, evaluated_agent_of
from palaestra.benchmarks.evaluation.agents.scripted import AGENT_NAMES, EvaluatedScript

__all__ = [
    "AGENT_NAMES",
    "AgentOptions",
    "AgentSession",
    "Attempt",
    "EpisodeCost",
    "EvaluatedAgent",
    "EvaluatedBlockAgent",
    "EvaluatedEpisodeAgent",
    "EvaluatedScript",
    "evaluated_agent_of",
]
