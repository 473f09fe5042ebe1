"""Sites, where arms are trained and measured: the families of the demo, long families, and ALFWorld.

A site with the suffix `-dev` has the same training tasks but is measured on `dev`, where settings are selected.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType

import gymnasium as gym

from palaestra.benchmarks.demo import demo_material
from palaestra.benchmarks.learning import HeldoutGroup, LearningMaterial
from palaestra.envs import ToolEnv
from palaestra.envs.target import find_world
from palaestra.errors import ConfigError
from palaestra.trainers import PlayConfig, WorldConfig, demonstrations_of, tasks_of
from palaestra.trainers.choice import InstanceKind

LONG = (
    "duplicate-tickets",
    "least-approver",
    "partial-refund",
    "redirect-orders",
    "refund-damaged-item",
    "refund-over-limit",
    "warranty-claim",
    "wrong-item",
)
"""Families of the Storefront whose reference solutions have 12 to 15 turns."""
ALFWORLD = "palaestra/ALFWorld-v0"


@dataclass(frozen=True, slots=True, kw_only=True)
class AblationSite:
    """Training tasks and test tasks."""

    what: str
    """A description for a table's note."""
    material: Callable[[str | None, int], LearningMaterial]
    """Makes the material of a world (id, folder, or `None` for the default) with so many demonstrations per family."""
    steps: int | None = None
    """Number of steps of the warm start, instead of the usual number."""
    demonstration_factor: float = 1.0
    """Number of demonstrations of each family, relative to the usual number."""
    play: PlayConfig | None = None
    """The limits of an episode, instead of the usual ones; a fresh model reads as many tokens."""
    format: str = "compact"
    """The chat format of the policies."""
    samples: int | None = None
    """Maximum number of episodes of each held-out task at each temperature, where an episode takes long."""
    cpu_seconds: float | None = None
    """Maximum processor seconds of training, where the world takes much time in a process of its own."""
    groups: int | None = None
    """Number of groups of a policy gradient's step, instead of the usual number, where an episode takes long."""
    instances: InstanceKind = "endless"
    """The tasks that a policy gradient draws; "listed" where the world makes no others."""


def _demo(world: str | None, demonstrations: int) -> LearningMaterial:
    env_id = find_world(world)
    env = gym.make(env_id)
    tool_env = env.unwrapped
    assert isinstance(tool_env, ToolEnv), f"{env_id} is Palaestra's own"
    return demo_material(env, tool_env, demonstrations=demonstrations)


def _long(split: str) -> Callable[[str | None, int], LearningMaterial]:
    def material(world: str | None, demonstrations: int) -> LearningMaterial:
        if find_world(world) != find_world(None):
            raise ConfigError(f"world {world!r}: the long families are those of the default world; leave --world out")
        trained = WorldConfig(families=LONG)
        return _material(trained, replace(trained, split=split), "new records", demonstrations)

    return material


def _alfworld(split: str) -> Callable[[str | None, int], LearningMaterial]:
    def material(world: str | None, demonstrations: int) -> LearningMaterial:
        del world  # these arms are trained in ALFWorld, whatever the world of other arms
        trained = WorldConfig(env_id=ALFWORLD, split="generated-train")
        return _material(trained, replace(trained, split=split), "new rooms", demonstrations)

    return material


def _material(trained: WorldConfig, measured: WorldConfig, name: str, most: int) -> LearningMaterial:
    by_family: dict[str, list[str]] = {}
    for task in tasks_of(trained):
        by_family.setdefault(task.rpartition("/")[0], []).append(task)
    shown = [task for tasks in by_family.values() for task in islice(tasks, most)]
    return LearningMaterial(
        world=trained,
        demonstrations=demonstrations_of(trained, tasks=shown),
        heldout=(HeldoutGroup(name=name, tasks=tuple(tasks_of(measured))),),
    )


_LONG_PLAY = PlayConfig(context=2048, turn=96)

SITES: Mapping[str, AblationSite] = MappingProxyType(
    {
        "demo": AblationSite(what="the families of the demo", material=_demo),
        **{
            f"long{suffix}": AblationSite(
                what=f"{len(LONG)} families of 12 to 15 turns",
                material=_long(split),
                steps=300,
                play=_LONG_PLAY,
                format="planner",
            )
            for suffix, split in (("", "heldout-records"), ("-dev", "dev"))
        },
        **{
            f"alfworld{suffix}": AblationSite(
                what="ALFWorld's games made here",
                material=_alfworld(split),
                # With 50 games of each type, and names as words, none of 120 games in other rooms was solved.
                steps=600,
                demonstration_factor=12.5,
                play=PlayConfig(context=4096, turn=96),
                format="planner",
                samples=1,
                cpu_seconds=200,
                groups=4,
                instances="listed",
            )
            for suffix, split in (("", "generated-test"), ("-dev", "generated-dev"))
        },
    }
)
"""All sites by name."""


def site_materials(world: str | None, sites: Collection[str], demonstrations: int) -> dict[str, LearningMaterial]:
    """The material of each site, by name.

    Args:
        world: The world, by id or by the folder of its pack; `None` for the default world.
        sites: Names of `SITES`.
        demonstrations: Maximum number of demonstrations of each family, times the site's factor.

    Raises:
        UnknownNameError: no such world is registered.
        PackError: the world's pack cannot be read or loaded.
        ConfigError: a site needs another world.
        InfrastructureError: a site's benchmark is not installed; the message names the command that installs it.
    """
    return {
        name: site.material(world, round(site.demonstration_factor * demonstrations))
        for name, site in SITES.items()
        if name in sites
    }
