"""What a filler is given of a batch. Axes: T tokens, U turns, R trajectories."""

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
"""What a filler may need: passes through the policy; a demonstration of each task; a demonstration beside the rollouts
of each group, trained on as one of them; a further rollout of each group, with the likeliest token everywhere, or
without any turn; a further rollout of each group by a policy that reads a demonstration, which joins the group."""
SHOWN: frozenset[Need] = frozenset({"demonstrations", "experts", "rephrase"})
"""What cannot be had without demonstrations."""
DEMONSTRATION = "demonstration_R"
"""A column that a batch with demonstrations in it has: whether the trajectory is one."""
REPHRASAL = "rephrasal_R"
"""And one with rephrased demonstrations in it."""
V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class FillerInput:
    """A batch, and what it was made from. A filler that reads what it did not declare to need gets an error."""

    batch: TokenBatch
    """The trajectories that are trained on; rewards are as the world paid them."""
    episodes: tuple[Episode, ...]
    """Of each trajectory."""
    seed: int
    """Of this step; for models that take one."""
    codec: Codec
    """Text to tokens, as the policy has it."""
    temperature: float = 1.0
    """At which the policy's tokens are drawn."""
    trained: TrainableModel | None = None
    demonstration_of: Mapping[str, Episode] | None = None
    """By the group's name."""
    compared: Mapping[tuple[str, Purpose], Episode] | None = None
    """By the group's name and the purpose."""

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
        """Which trajectories are demonstrations beside the rollouts of their group, [R], booleans."""
        return self._is(DEMONSTRATION)

    @property
    def is_rephrased_R(self) -> Tensor:
        """Which are demonstrations in the policy's words beside the rollouts of their group, [R], booleans."""
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
