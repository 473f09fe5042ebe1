"""The surfaces that follow from a world's schema and tools."""

from palaestra.envs.state import Schema
from palaestra.envs.surfaces.generic import generic_surface
from palaestra.envs.surfaces.pages import pages_surface
from palaestra.envs.world import Surface
from palaestra.tools import Toolbox


def generated_surfaces(schema: Schema, toolbox: Toolbox, *, role: str) -> dict[str, Surface]:
    """The surfaces `generic` and `pages` of a world, by name.

    Args:
        schema: The world's tables.
        toolbox: Its conventional tools.
        role: The role in which the agent acts.

    Raises:
        DefinitionError: as `generic_surface` and `pages_surface` have it.
    """
    return {
        "generic": generic_surface(schema, toolbox, role=role),
        "pages": pages_surface(schema, toolbox, role=role),
    }
