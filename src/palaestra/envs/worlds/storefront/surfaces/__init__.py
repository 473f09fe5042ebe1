"""Other ways to act on a Storefront world than the desk's own tools: today a generic one, of queries and workflows."""

from palaestra.envs.world import Surface
from palaestra.envs.worlds.storefront.surfaces.generic import GENERIC_TOOLBOX
from palaestra.envs.worlds.storefront.surfaces.translate import translate

SURFACES = {"generic": Surface(toolbox=GENERIC_TOOLBOX, translate=translate)}

__all__ = ["SURFACES"]
