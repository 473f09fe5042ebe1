"""Worlds without end: domains and mechanisms, joined by number into blueprints."""

from palaestra.envs.synthesis.domain import Domain, domains
from palaestra.envs.synthesis.generator import generate_blueprint, join_parts, world_id
from palaestra.envs.synthesis.part import Mechanism, Part, mechanisms

__all__ = ["Domain", "Mechanism", "Part", "domains", "generate_blueprint", "join_parts", "mechanisms", "world_id"]
