"""Ways to act on the rows of a world beside its own tools: today the generic surface, worked out for any world."""

from palaestra.envs.surfaces.generic import generic_surface

__all__ = ["generic_surface"]
