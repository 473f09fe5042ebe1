"""A world through a browser: its generated site, the browser's session, and the renderer in process."""

from palaestra.envs.surfaces.pages.surface import pages_surface

__all__ = ["pages_surface"]
