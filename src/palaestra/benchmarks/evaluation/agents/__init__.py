"""Who is evaluated: scripted agents and floors, models behind servers, and policies of ours.

What needs torch stands in `policy`, what needs the extra `remote` in `endpoint`; neither is imported here.
"""

from palaestra.benchmarks.evaluation.agents.choice import AgentOptions, contender_of
from palaestra.benchmarks.evaluation.agents.contender import (
    BlockContender,
    Came,
    Contender,
    EpisodeContender,
    Seat,
    Spent,
)
from palaestra.benchmarks.evaluation.agents.scripted import WORDS, ScriptedContender

__all__ = [
    "WORDS",
    "AgentOptions",
    "BlockContender",
    "Came",
    "Contender",
    "EpisodeContender",
    "ScriptedContender",
    "Seat",
    "Spent",
    "contender_of",
]
