"""A world: its schema, its population, its tools and its desk, as one record that environments are made from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from palaestra.envs.state import Base, Schema
from palaestra.envs.task import Draft, Split
from palaestra.errors import UnknownNameError
from palaestra.registry import Registry
from palaestra.tools import Toolbox


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class World:
    """Everything about a world that its tasks share."""

    name: str
    """What the ids of its tasks begin with."""
    schema: Schema
    populate: Callable[[int], Base]
    """The rows of a world seed; a pure function."""
    start: Callable[[int], datetime]
    """When episodes begin in the world of a seed."""
    toolbox: Toolbox
    role: str
    """The role in which the agent acts."""
    actor: str
    """The id under which it acts."""
    briefing: Callable[[datetime], str]
    """The system message, for the moment at which the episode begins."""
    draft: type[Draft]
    families: str
    """The package that holds its task files."""
    seeds: Mapping[Split, tuple[int, ...]]
    """The world seeds of each split; no seed is in two."""
    instances: Mapping[Split, int]
    """How many instances of a family each split lists."""
    unseen_instances: int
    """How many instances "heldout" lists of a family that occurs nowhere else."""
    _bases: dict[int, Base] = field(default_factory=dict[int, Base], repr=False)

    def base(self, seed: int) -> Base:
        """The rows of a world seed, populated once in a process and shared."""
        if seed not in self._bases:
            self._bases[seed] = self.populate(seed)
        return self._bases[seed]


WORLDS: Registry[World] = Registry("environment")
"""Environment ids to worlds."""
WORLDS.register("palaestra/Storefront-v0", "palaestra.envs.storefront.world:STOREFRONT")


def env_id_of(name: str) -> str:
    """The environment id of the world of that name.

    Raises:
        UnknownNameError: no registered world has it.
    """
    names = {WORLDS.get(env_id).name: env_id for env_id in WORLDS}
    if name not in names:
        raise UnknownNameError.of("world", name, names)
    return names[name]
