"""The surfaces that follow from a world's schema and tools."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from palaestra.envs.state import Schema
from palaestra.envs.surfaces.generic import generic_surface
from palaestra.envs.surfaces.pages import pages_surface
from palaestra.envs.world import Surface
from palaestra.tools import Toolbox


class GeneratedSurfaces(Mapping[str, Surface]):
    """Surfaces by name, each made when it is first asked for: making them takes longer than the rest of a small world.

    Args:
        makers: What makes each.
    """

    def __init__(self, makers: Mapping[str, Callable[[], Surface]]) -> None:
        self._makers = makers
        self._made: dict[str, Surface] = {}

    def __getitem__(self, name: str) -> Surface:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __contains__(self, name: object) -> bool:
        return name in self._makers


def generated_surfaces(schema: Schema, toolbox: Toolbox, *, role: str) -> GeneratedSurfaces:
    """The surfaces `generic` and `pages` of a world, by name.

    Args:
        schema: The world's tables.
        toolbox: Its conventional tools.
        role: The role in which the agent acts.
    """
    return GeneratedSurfaces(
        {
            "generic": partial(generic_surface, schema, toolbox, role=role),
            "pages": partial(pages_surface, schema, toolbox, role=role),
        }
    )
