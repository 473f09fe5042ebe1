"""Unlimited training instances: tasks that families can make beyond those that a split lists."""

from collections.abc import Mapping
from typing import Any

from palaestra.contamination import Guard
from palaestra.errors import ConfigError, ContaminationError, PalaestraError, TaskError
from palaestra.seeding import Stream
from palaestra.trainers.choice import TaskFamily
from palaestra.trainers.loops.config import WorldConfig
from palaestra.trainers.loops.material import env_id_of, open_world, openings_of
from palaestra.trainers.rollouts.worlds.routed import split_reference

_TRIES = 50


class EndlessInstances:
    """Draws an instance of a family from all that it can make in the training split.

    Skips instances that the family fails to make, and those whose opening is one that policies are measured on.

    Args:
        configs: The worlds' settings, by the names that references use.
        guard: Knows the tasks that policies are measured on.

    Raises:
        ConfigError: a world makes no tasks besides those that it lists.
    """

    def __init__(self, configs: Mapping[str, WorldConfig], guard: Guard) -> None:
        self._configs = configs
        self._guard = guard
        self._listings = {name: getattr(open_world(config), "task_set", None) for name, config in configs.items()}
        for name, listing in self._listings.items():
            if not hasattr(listing, "indices"):
                raise ConfigError(
                    f'choice.instances="endless": {env_id_of(configs[name])} makes no tasks beyond those that it lists;'
                    ' take "listed"'
                )

    def __call__(self, family: TaskFamily, stream: Stream) -> str:
        """The reference of a random task.

        Raises:
            TaskError: none of many instances can be played.
        """
        name, id = split_reference(family.reference)
        if len(self._configs) == 1:  # one environment may play many worlds, each with its own id
            (name,) = self._configs
        config = self._configs[name]
        listing: Any = self._listings[name]  # Any: a world's own set of tasks, which trainers do not import
        indices: range = listing.indices(id, config.split)
        for _ in range(_TRIES):
            task = f"{id}/{indices[stream.below(len(indices))]:04d}"
            if self._is_playable(config, task):
                return task if config.name is None else f"{config.name}:{task}"
        raise TaskError(
            f"{family.reference}: none of {_TRIES} instances of split {config.split!r} can be played; take "
            'choice.instances = "listed"'
        )

    def _is_playable(self, config: WorldConfig, task: str) -> bool:
        try:
            for spec, said in openings_of(config, [task]):
                self._guard.check(spec, said)
        except ContaminationError:
            return False
        except PalaestraError:  # the family fails to make it
            return False
        return True
