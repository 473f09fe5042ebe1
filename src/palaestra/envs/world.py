"""A world: its schema, its population, its tools and its desk, as one record that environments are made from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from palaestra.envs.noise.material import NoiseMaterial
from palaestra.envs.state import Base, Schema
from palaestra.envs.task import Draft, Split
from palaestra.errors import UnknownNameError
from palaestra.protocols import StateView
from palaestra.records import ToolCall
from palaestra.registry import Registry
from palaestra.tools import Toolbox

Translate: TypeAlias = Callable[[Sequence[ToolCall], StateView], tuple[ToolCall, ...]]
"""Turns calls of the conventional surface into calls of another one that do the same, given the rows they begin at."""

CONVENTIONAL = "conventional"
"""The surface that every world has, in which authors write their oracles."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Surface:
    """A set of tools over a world: one of several ways to act on the same rows under the same rubrics."""

    toolbox: Toolbox
    translate: Translate = lambda calls, _: tuple(calls)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class World:
    """Everything about a world that its tasks share."""

    name: str
    """What the ids of its tasks begin with."""
    schema: Schema
    populate: Callable[[int, Any], Base]
    """The rows of a world seed under its rules; a pure function."""
    start: Callable[[int], datetime]
    """When episodes begin in the world of a seed."""
    toolbox: Toolbox
    """The tools of the conventional surface."""
    role: str
    """The role in which the agent acts."""
    actor: str
    """The id under which it acts."""
    briefing: Callable[[datetime], str]
    """The system message, for the moment at which the episode begins."""
    talking: Callable[[datetime], str] | None = None
    """The system message of tasks whose user answers; `None`: the same."""
    rules: Callable[[int, int], Any] = lambda _seed, _handbook: None
    """What a world goes by, of a type of its own, such as a company's policy: for a world seed and the number of a
    handbook, where 0 is the seed's own and every other number changes some of it. A pure function."""
    surfaces: Mapping[str, Surface] = field(default_factory=dict[str, Surface])
    """Further surfaces, by name."""
    guards: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """Groups of tables, the gravest first: a change that nothing permits breaks the first that it touches."""
    draft: type[Draft]
    families: str
    """The package that holds its task files."""
    seeds: Mapping[Split, tuple[int, ...]]
    """The world seeds of each split; no seed is in two."""
    instances: Mapping[Split, int]
    """How many instances of a family each split lists."""
    unseen_instances: int
    """How many instances "heldout" lists of a family that occurs nowhere else."""
    twin_instances: Mapping[Split, int] = field(default_factory=dict[Split, int])
    """How many instances of a family's impossible twin each split lists."""
    noise: NoiseMaterial | None = None
    """What kinds of noise that need to know the world are made of."""
    release: Path | None = None
    """The record of which of its families are proved; the splits list only those. `None`: they list all."""
    _bases: dict[tuple[int, int], Base] = field(default_factory=dict[tuple[int, int], Base], repr=False)

    def base(self, seed: int, handbook: int = 0) -> Base:
        """The rows of a world seed under a handbook, populated once in a process and shared."""
        if (seed, handbook) not in self._bases:
            self._bases[seed, handbook] = self.populate(seed, self.rules(seed, handbook))
        return self._bases[seed, handbook]

    def surface(self, name: str) -> Surface:
        """The surface of that name.

        Raises:
            UnknownNameError: the world has none such.
        """
        if name == CONVENTIONAL:
            return Surface(toolbox=self.toolbox)
        if name not in self.surfaces:
            raise UnknownNameError.of("surface", name, [CONVENTIONAL, *self.surfaces])
        return self.surfaces[name]


WORLDS: Registry[World] = Registry("environment")
"""Environment ids to worlds."""
WORLDS.register("palaestra/Storefront-v0", "palaestra.envs.worlds.storefront.world:STOREFRONT")


def env_id_of(name: str) -> str:
    """The environment id of the world of that name.

    Raises:
        UnknownNameError: no registered world has it.
    """
    names = {WORLDS.get(env_id).name: env_id for env_id in WORLDS}
    if name not in names:
        raise UnknownNameError.of("world", name, names)
    return names[name]
