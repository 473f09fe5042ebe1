"""Worlds without end: domains and mechanisms, joined by number into blueprints."""

from palaestra.envs.synthesis.domain import DomainLexicon, domains
from palaestra.envs.synthesis.env import make_numbered
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
from palaestra.envs.synthesis.part import Mechanism, MechanismPart, mechanisms

__all__ = [
    "WORLD_SPLITS",
    "DomainLexicon",
    "ListedWorld",
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
    "make_numbered",
    "mechanisms",
    "save_listing",
    "world_id",
]
