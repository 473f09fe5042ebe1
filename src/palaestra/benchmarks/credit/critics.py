"""Critics for the methods that need one, trained on episodes of the policy whose turns are scored.

The training tasks are other tasks of the same families, so a critic has not seen the states that it values. Training
follows `train`: batch by batch, in several passes over the same episodes. Each pass computes targets from the critic's
current values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from safetensors.torch import load, save
from torch import Tensor

from palaestra.benchmarks.credit.sample import TaskSample
from palaestra.errors import CheckpointError
from palaestra.seeding import Stream
from palaestra.trainers import CriticConfig, LearnerConfig, Policy
from palaestra.trainers.critic import Critic, value_reading
from palaestra.trainers.data.batch import TokenBatch, concatenate
from palaestra.trainers.limits import check_at_least
from palaestra.trainers.objectives import BuiltObjective
from palaestra.trainers.progress import ProgressBar
from palaestra.trainers.updates.chosen import reshape_rewards


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticBudget:
    """The amount of training of a critic before it is scored.

    Raises:
        ValueError: a number is below 1.
    """

    tasks: int = 32
    """Number of training tasks, from the scored families; a group plays each."""
    passes: int = 3
    """Number of passes over all their episodes."""
    groups: int = 4
    """Number of groups in a batch; a batch is one optimiser step."""
    config: CriticConfig = field(
        default_factory=lambda: CriticConfig(learner=LearnerConfig(lr=2e-3, layout="shared"), updates=1)
    )

    def __post_init__(self) -> None:
        check_at_least(1, tasks=self.tasks, passes=self.passes, groups=self.groups)


def new_critic(policy: Policy, built: BuiltObjective, budget: CriticBudget) -> Critic:
    """Make an untrained critic in the unit of the method."""
    assert built.critic is not None, "the method reads values"
    unit = budget.config.unit or built.returns
    return Critic(policy.model, replace(budget.config, unit=unit), heads=built.critic.heads)


def train_critic(
    critic: Critic,
    built: BuiltObjective,
    groups: Sequence[TokenBatch],
    budget: CriticBudget,
    *,
    stream: Stream,
    progress: ProgressBar,
) -> int:
    """Train a critic on groups of episodes.

    Args:
        critic: The critic.
        built: The method that reads the critic.
        groups: Batches of one group each.
        budget: The amount of training.
        stream: Random stream of the order.
        progress: A progress bar that advances with each step.

    Returns:
        The number of steps.
    """
    steps = 0
    for number in range(budget.passes):
        shuffled = stream.split(number).permutation(range(len(groups)))
        for first in range(0, len(groups), budget.groups):
            chosen = [groups[place] for place in shuffled[first : first + budget.groups]]
            batch = reshape_rewards(concatenate(chosen), built)
            _learn(critic, built, batch, stream.split(number, first))
            steps += 1
            progress.step(f"step {steps}")
    return steps


def _learn(critic: Critic, built: BuiltObjective, batch: TokenBatch, stream: Stream) -> None:
    assert built.critic is not None, "the method reads values"
    reading = value_reading(batch, built.critic.column)
    value_TH = critic.values(batch)
    valued = batch.with_columns({reading.column: reading.to_column(value_TH)})
    critic.learn(valued, reading, built.critic.targets(valued), before_TH=value_TH, stream=stream)


def value_columns(
    batch: TokenBatch, critics: Mapping[str, Critic], methods: Mapping[str, BuiltObjective]
) -> dict[str, Tensor]:
    """The columns that critics fill in, each in the unit of its method."""
    found: dict[str, Tensor] = {}
    for name, critic in critics.items():
        reader = methods[name].critic
        assert reader is not None, "the method reads values"
        reading = value_reading(batch, reader.column)
        found[reading.column] = reading.to_column(critic.values(batch)).float()
    return found


def explained_share(sample_values: Sequence[float], exact: Sequence[float]) -> float:
    """The share of the variance of near-exact values that a critic's values explain; NaN where they do not vary."""
    value_N, exact_N = torch.tensor(sample_values).double(), torch.tensor(exact).double()
    spread = float(exact_N.var(correction=0))
    return 1 - float((value_N - exact_N).square().mean()) / spread if spread else float("nan")


def reference_values(
    samples: Sequence[TaskSample], column: str, *, first: Sequence[int], unit: float
) -> tuple[list[float], list[float]]:
    """A critic's values of the states of all references, and their near-exact values, both in rewards.

    `values_UH` is read at the low head: the value of the state before each turn. `promise_U` is the value of the turn:
    its near-exact value is that of the state plus the turn's advantage.

    Args:
        samples: The samples, with the critic's column.
        column: The name of the column.
        first: The place of the reference in each sample's batch.
        unit: The reward of a solved task in the world, divided by its reward in the column.
    """
    said: list[float] = []
    exact: list[float] = []
    for sample, place in zip(samples, first, strict=True):
        values = sample.batch.column(column)[sample.batch.trajectory_U == place]
        said += ((values[:, 1] if column == "values_UH" else values) * unit).tolist()
        both = zip(sample.exact.values, sample.exact.advantages, strict=True)
        exact += [value if column == "values_UH" else value + advantage for value, advantage in both]
    return said, exact


def dump_critic(critic: Critic) -> bytes:
    """The weights of a critic as bytes."""
    return save({name: weight.contiguous() for name, weight in critic.state()["weights"].items()})


def restore_critic(critic: Critic, data: bytes) -> None:
    """Restore the weights that `dump_critic` wrote.

    Raises:
        CheckpointError: the weights are of another model, or damaged.
    """
    try:
        weights = load(data)
    except Exception as error:
        raise CheckpointError(
            f"a critic's weights cannot be read ({error}); delete the file to train it anew"
        ) from error
    critic.restore({**critic.state(), "weights": weights})
