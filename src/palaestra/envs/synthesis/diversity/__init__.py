"""How different worlds are: features of a blueprint, distances, near-duplicates."""

from palaestra.envs.synthesis.diversity.diversity_tables import diversity_tables
from palaestra.envs.synthesis.diversity.request_distance import RequestPair, near_duplicate_requests, request_distance
from palaestra.envs.synthesis.diversity.world_distance import (
    NEAREST,
    Neighbour,
    WorldDistance,
    WorldPair,
    find_near_duplicate,
    jaccard_distance,
    nearest_neighbours,
    quantiles,
    world_distance,
    world_pairs,
)
from palaestra.envs.synthesis.diversity.world_profile import WorldProfile, WorldSize, profile_world

__all__ = [
    "NEAREST",
    "Neighbour",
    "RequestPair",
    "WorldDistance",
    "WorldPair",
    "WorldProfile",
    "WorldSize",
    "diversity_tables",
    "find_near_duplicate",
    "jaccard_distance",
    "near_duplicate_requests",
    "nearest_neighbours",
    "profile_world",
    "quantiles",
    "request_distance",
    "world_distance",
    "world_pairs",
]
