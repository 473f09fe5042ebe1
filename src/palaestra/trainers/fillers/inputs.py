"""The input of a filler: a batch and its sources. Axes: T tokens, U turns, R trajectories."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

import torch
from torch import Tensor

from palaestra.errors import DefinitionError
from palaestra.trainers.codec import Codec
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.rollouts.job import Purpose
from palaestra.trainers.updates.trained import TrainableModel
from palaestra.trajectory import Episode

Need: TypeAlias = Literal["policy", "demonstrations", "experts", "greedy", "idle", "rephrase"]
"""The possible needs of a filler: passes through the policy; a demonstration of each task; a demonstration beside the
rollouts of each group, trained on as one of them; a further rollout of each group, greedy or without any turn; a
further rollout of each group by a policy that reads a demonstration, which joins the group."""
SHOWN: frozenset[Need] = frozenset({"demonstrations", "experts", "rephrase"})
"""The needs that require demonstrations."""
DEMONSTRATION = "demonstration_R"
"""A column of a batch that contains demonstrations: whether the trajectory is a demonstration."""
REPHRASAL = "rephrasal_R"
"""A column of a batch that contains rephrased demonstrations: whether the trajectory is one."""
V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class FillerInput:
    """A batch and its sources. A filler that reads an input which it did not declare as a need gets an error."""

    batch: TokenBatch
    """The trajectories that are trained on, with the world's rewards."""
    episodes: tuple[Episode, ...]
    """The episode of each trajectory."""
    seed: int
    """The seed of this step, for models that take one."""
    codec: Codec
    """The policy's codec."""
    temperature: float = 1.0
    """The temperature at which the policy's tokens are sampled."""
    trained: TrainableModel | None = None
    demonstration_of: Mapping[str, Episode] | None = None
    """Demonstrations by the group's name."""
    compared: Mapping[tuple[str, Purpose], Episode] | None = None
    """Further rollouts by the group's name and the purpose."""

    @property
    def policy(self) -> TrainableModel:
        """The policy before the batch's first step (needs "policy")."""
        return _declare(self.trained, "policy")

    @property
    def demonstrations(self) -> tuple[Episode, ...]:
        """A demonstration of each trajectory's task (needs "demonstrations" or "experts")."""
        known = _declare(self.demonstration_of, "demonstrations")
        return tuple(known[episode.group] for episode in self.episodes)

    @property
    def is_demonstration_R(self) -> Tensor:
        """Whether each trajectory is a demonstration beside the rollouts of its group, [R], booleans."""
        return self._is(DEMONSTRATION)

    @property
    def is_rephrased_R(self) -> Tensor:
        """Whether each is a demonstration in the policy's own words beside the rollouts of its group, [R], booleans."""
        return self._is(REPHRASAL)

    def _is(self, mark: str) -> Tensor:
        there = self.batch.columns.get(mark)
        return torch.zeros(self.batch.trajectories, dtype=torch.bool) if there is None else there

    def comparisons(self, purpose: Purpose) -> tuple[Episode, ...]:
        """The further rollout of each trajectory's group (needs `purpose`)."""
        known = _declare(self.compared, purpose)
        try:
            return tuple(known[episode.group, purpose] for episode in self.episodes)
        except KeyError:
            raise _describe_undeclared(purpose) from None


def _declare(there: V | None, need: str) -> V:
    if there is None:
        raise _describe_undeclared(need)
    return there


def _describe_undeclared(need: str) -> DefinitionError:
    return DefinitionError(f"a filler reads {need!r} and did not declare it; write @column(..., needs=({need!r},))")
