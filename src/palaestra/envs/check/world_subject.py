"""What `check_world` looks at: a world's seeds, handbooks, populations and first tasks, each made once."""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from palaestra.envs.instance import Instance
from palaestra.envs.populated import PopulatedWorld
from palaestra.envs.state import Overlay, overlay_on
from palaestra.envs.task import SPLITS, Split
from palaestra.envs.taskset import TaskSet, bundled_tasks
from palaestra.envs.world import ALL_RULES_FROM, ONE_RULE_FROM, World
from palaestra.errors import TaskError

Place: TypeAlias = tuple[int, int]
"""A world seed and a handbook."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Population(PopulatedWorld):
    """A populated world whose state can be hashed."""

    state: Overlay


@dataclass(frozen=True, kw_only=True)
class WorldSubject:
    """The world under check."""

    world: World
    places: tuple[Place, ...]
    """The world seeds, each under every handbook."""
    handbooks: tuple[int, ...]
    """A world without handbooks has 0 alone."""

    @classmethod
    def of(cls, world: World, *, seeds_per_split: int) -> "WorldSubject":
        """The subject that a world is."""
        declared: list[Split] = [split for split in SPLITS if world.instances.get(split)]
        seeds = [seed for split in declared for seed in world.seeds[split][:seeds_per_split]]
        handbooks = (0, 1, ONE_RULE_FROM, ALL_RULES_FROM) if world.capabilities.handbooks else (0,)
        places = tuple((seed, handbook) for seed in seeds for handbook in handbooks)
        return cls(world=world, places=places, handbooks=handbooks)

    def name_of(self, place: Place) -> str:
        """A place, as messages name it."""
        seed, handbook = place
        return f"world seed {seed}" if handbook == 0 else f"world seed {seed}, handbook {handbook}"

    def populate(self, seed: int, handbook: int) -> Population:
        """A world seed under a handbook, populated anew."""
        rules = self.world.rules(seed, handbook)
        state = overlay_on(self.world.populate(seed, rules))
        return Population(state=state, start=self.world.start(seed), rules=rules)

    @cached_property
    def populations(self) -> dict[Place, Population]:
        """Every place, populated."""
        return {place: self.populate(*place) for place in self.places}

    @cached_property
    def tasks(self) -> TaskSet:
        """The tasks of the world."""
        return bundled_tasks(self.world)

    @cached_property
    def first_tasks(self) -> tuple[str, ...]:
        """The ids of the first listed task of each family in each declared split."""
        first: dict[tuple[str, str], str] = {}
        for split in SPLITS:
            for task in self.tasks.ids(split) if self.world.instances.get(split) else ():
                first.setdefault((task.rpartition("/")[0], split), task)
        return tuple(first.values())

    @cached_property
    def _first_instances(self) -> tuple[dict[str, Instance], dict[str, str]]:
        """The first tasks under the world's own handbook, and the errors of those that cannot be made."""
        made: dict[str, Instance] = {}
        failures: dict[str, str] = {}
        for handbook in self.handbooks:
            for task in self.first_tasks:
                try:
                    instance = self.tasks.rebuild(task, handbook)
                except TaskError as error:
                    failures[f"{task} under handbook {handbook}" if handbook else task] = str(error)
                else:
                    made.setdefault(task, instance)
        return made, failures

    @property
    def instances(self) -> dict[str, Instance]:
        """The first tasks that can be made."""
        return self._first_instances[0]

    @property
    def failures(self) -> dict[str, str]:
        """Why others cannot, by task."""
        return self._first_instances[1]
