"""Worlds without end: domains and mechanisms, joined by number into blueprints."""

from palaestra.envs.synthesis.domain import DomainLexicon, domains
from palaestra.envs.synthesis.env import make_synth
from palaestra.envs.synthesis.generator import (
    WORLD_SPLITS,
    WorldPlan,
    WorldSplit,
    draw_plan,
    generate_blueprint,
    join_parts,
    world_id,
)
from palaestra.envs.synthesis.listing import ListedWorld, listed_numbers, listed_worlds, save_listing
from palaestra.envs.synthesis.many import MANY_SPLITS, ManyWorldsEnv
from palaestra.envs.synthesis.part import Mechanism, MechanismPart, mechanisms

__all__ = [
    "MANY_SPLITS",
    "WORLD_SPLITS",
    "DomainLexicon",
    "ListedWorld",
    "ManyWorldsEnv",
    "Mechanism",
    "MechanismPart",
    "WorldPlan",
    "WorldSplit",
    "domains",
    "draw_plan",
    "generate_blueprint",
    "join_parts",
    "listed_numbers",
    "listed_worlds",
    "make_synth",
    "mechanisms",
    "save_listing",
    "world_id",
]
