"""Ways to act on the rows of a world beside its own tools, worked out for any world: generic tools, and pages."""

from palaestra.envs.surfaces.generated import generated_surfaces
from palaestra.envs.surfaces.generic import generic_surface
from palaestra.envs.surfaces.pages import pages_surface

__all__ = ["generated_surfaces", "generic_surface", "pages_surface"]
