"""The worlds of a run: the tasks to train on, and where they are played."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym

from palaestra.contamination import Guard
from palaestra.errors import ConfigError
from palaestra.records import TaskSpec
from palaestra.steps import ResetRecord
from palaestra.trainers.choice import TaskFamily, group_families
from palaestra.trainers.data.order import Share
from palaestra.trainers.loops.config import WorldConfig
from palaestra.trainers.loops.instances import EndlessInstances
from palaestra.trainers.loops.material import (
    comes_with_palaestra,
    demonstrations_of,
    env_id_of,
    openings_of,
    resets_of,
    tasks_of,
    total_of,
    worlds_of,
)
from palaestra.trainers.progress import OpenProgressBar, silent
from palaestra.trainers.rollouts.world import RolloutWorlds
from palaestra.trainers.rollouts.worlds.routed import RoutedWorlds, split_reference
from palaestra.trajectory import Episode


class RunWorlds:
    """The worlds that a run trains in, one or several.

    A task's reference is its id, which begins with the world's id. If the world's settings have a `name`, it comes
    first, as in "noisy:storefront/refund/0001".

    Args:
        configs: The worlds' settings.

    Attributes:
        tasks: The references of all training tasks, world by world.
        shares: The number of tasks of each world, and its weight.

    Raises:
        ConfigError: two worlds of the run have the same tasks and no distinct names.
        PalaestraError: a world, split or family is unknown, or lists no task.
    """

    def __init__(self, configs: Sequence[WorldConfig]) -> None:
        self._worlds: dict[str, tuple[WorldConfig, list[str]]] = {}
        for config in configs:
            tasks = tasks_of(config)
            name = config.name or split_reference(tasks[0])[0]
            if name in self._worlds:
                raise ConfigError(
                    f'two worlds of the run are called {name!r}; name one of them: [[world]] name = "{name}-2"'
                )
            self._worlds[name] = config, tasks
        self.tasks = [
            task if config.name is None else f"{config.name}:{task}"
            for config, tasks in self._worlds.values()
            for task in tasks
        ]
        self.shares = tuple(Share(count=len(tasks), weight=config.weight) for config, tasks in self._worlds.values())

    @property
    def configs(self) -> list[WorldConfig]:
        """The worlds' settings."""
        return [config for config, _ in self._worlds.values()]

    @property
    def identity(self) -> list[Any]:
        """Everything besides the tasks that decides the worlds' answers. Any: switches of `gymnasium.make`."""
        each = [[env_id_of(config), dict(config.switches)] for config in self.configs]
        return each[0] if len(each) == 1 else each

    @property
    def bundled(self) -> bool:
        """Whether all worlds come with Palaestra."""
        return all(map(comes_with_palaestra, self.configs))

    def demonstrations(
        self, *, file: Path | None = None, bar: OpenProgressBar = silent
    ) -> tuple[list[Episode], list[Share]]:
        """Episodes to learn from, world by world, and the share of each: those of `file`, or the oracles' own."""
        if file is not None:
            episodes = demonstrations_of(self.configs[0], file=file)
            return episodes, [Share(count=len(episodes), weight=1.0)]
        each = [demonstrations_of(config, bar=bar) for config in self.configs]
        shares = [Share(count=len(own), weight=config.weight) for own, config in zip(each, self.configs, strict=True)]
        return [episode for own in each for episode in own], shares

    def by_reference(self, demonstrations: Sequence[Episode], *, file: Path | None = None) -> dict[str, Episode]:
        """The demonstrations by the reference of their task.

        Args:
            demonstrations: The result of `demonstrations`.
            file: The file that they were read from; the first episode of a task counts.
        """
        if file is None:
            return dict(zip(self.tasks, demonstrations, strict=True))
        first: dict[str, Episode] = {}
        for episode in demonstrations:
            first.setdefault(episode.task.id, episode)
        return {task: first[id] for task in self.tasks if (id := split_reference(task)[1]) in first}

    def first_openings(self) -> Iterator[tuple[TaskSpec, list[str]]]:
        """The spec of the first task of each world, which has the split of all."""
        for config, tasks in self._worlds.values():
            yield from openings_of(config, tasks[:1])

    def sample_openings(self, *, most: int = 8) -> Iterator[ResetRecord]:
        """The openings of tasks of each world: the first of each family, spread over the families.

        Args:
            most: Maximum tasks per world.
        """
        for config, tasks in self._worlds.values():
            firsts = list({task.rpartition("/")[0]: task for task in reversed(tasks)}.values())
            chosen = [firsts[place * len(firsts) // most] for place in range(most)]
            yield from resets_of(config, list(dict.fromkeys(chosen)))

    @property
    def totals(self) -> dict[str, float]:
        """Each world's reward for a solved task, by the world's name, from the rubric of its first task."""
        return {name: total_of(config, tasks[0]) for name, (config, tasks) in self._worlds.items()}

    def openings(self) -> Iterator[tuple[TaskSpec, list[str]]]:
        """The spec of each task, and what its user says at the beginning."""
        for config, tasks in self._worlds.values():
            yield from openings_of(config, tasks)

    def families(self, *, levels: bool) -> tuple[TaskFamily, ...]:
        """The families that tasks are drawn from.

        Args:
            levels: Whether to look up the difficulty of each, which takes a reset.
        """
        found: dict[str, int] = {}
        if levels:
            for config, tasks in self._worlds.values():
                first = {task.rpartition("/")[0]: task for task in reversed(tasks)}
                specs = (spec for spec, _ in openings_of(config, list(first.values())))
                before = "" if config.name is None else f"{config.name}:"
                found |= {before + family: spec.level for family, spec in zip(first, specs, strict=True)}
        return group_families(self.tasks, self.shares, found)

    def check_restorable(self, stage: str) -> None:
        """Refuse worlds whose answers do not repeat.

        Args:
            stage: The name of the stage that continues from recorded turns.

        Raises:
            ConfigError: a world is registered as nondeterministic.
        """
        for config in self.configs:
            env_id = env_id_of(config)
            if gym.spec(env_id).nondeterministic:
                raise ConfigError(
                    f"{stage}.branching: {env_id} is registered as nondeterministic, and continuations go through the "
                    "shared turns again; leave the section out, or take a world that answers equal turns equally"
                )

    def endless(self, guard: Guard) -> "EndlessInstances":
        """Draws from all instances that the families can make in their splits.

        Args:
            guard: Refuses instances with an opening that policies are measured on.

        Raises:
            ConfigError: a world makes no instances besides those that it lists.
        """
        return EndlessInstances({name: config for name, (config, _) in self._worlds.items()}, guard)

    def open(self, action_format: str) -> RolloutWorlds:
        """Open the worlds in which the tasks are played.

        Args:
            action_format: The format of the policy's text.
        """
        make = partial(worlds_of, action_format=action_format)
        if len(self.configs) == 1 and self.configs[0].name is None:
            return make(self.configs[0])
        return RoutedWorlds({name: make(config) for name, (config, _) in self._worlds.items()})
