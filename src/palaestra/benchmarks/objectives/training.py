"""Trains a table on a toy with an objective, with the same passes and updates as the training of a model."""

from collections.abc import Sequence
from dataclasses import dataclass

from palaestra.benchmarks.objectives.batches import batch_of
from palaestra.benchmarks.objectives.critic import ValueTable
from palaestra.benchmarks.objectives.given import fill_given_columns, needs_demonstration
from palaestra.benchmarks.objectives.table import ActionSampler, Greedy, OptimiserName, PolicyTable
from palaestra.benchmarks.objectives.toy import Toy, ToyEpisode
from palaestra.seeding import Stream
from palaestra.trainers.critic import value_reading
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import BuiltObjective, ObjectiveConfig, Recipe, build
from palaestra.trainers.objectives.rates import effective_share
from palaestra.trainers.objectives.segments import sum_over
from palaestra.trainers.updates import (
    fill_columns,
    filter_trajectories,
    initial_columns,
    reshape_rewards,
    train_minibatches,
    train_turn_by_turn,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyTraining:
    """The settings of a training on a toy.

    Raises:
        ValueError: a number is out of range; the message names it.
    """

    groups: int = 4
    """Number of groups per batch; tasks take turns."""
    group_size: int = 8
    updates: int = 1
    """Number of steps on each batch; each step uses a share of it."""
    lr: float = 0.2
    optimiser: OptimiserName = "adam"
    staleness: int = 1
    """Number of batches for which the behaviour policy stays unchanged; with 1, every batch is on policy."""
    measure_every: int = 1
    """Number of batches between the points of the curve."""
    measured: int = 64
    """Episodes of each task per point of the curve."""

    def __post_init__(self) -> None:
        for name in ("groups", "group_size", "updates", "staleness", "measure_every", "measured"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: give 1 or more")
        if self.lr <= 0:
            raise ValueError(f"lr={self.lr}: a learning rate is above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyResult:
    """The result of a training."""

    success: tuple[float, ...]
    """The share of successes before the first batch, and after every `measure_every` batches."""
    ess: float
    """The effective share of a batch's trajectories (Kish), from the behaviour policy to the trained policy; the mean
    over batches. 1 where every batch is on policy."""
    table: PolicyTable
    """The trained policy."""

    @property
    def final(self) -> float:
        """The last point of the curve."""
        return self.success[-1]

    @property
    def area(self) -> float:
        """The mean of the curve: earlier learning counts more."""
        return sum(self.success) / len(self.success)


def train_toy(
    toy: Toy,
    objective: str | Recipe | BuiltObjective,
    *,
    steps: int,
    seed: int,
    training: ToyTraining | None = None,
    start: PolicyTable | None = None,
) -> ToyResult:
    """Train a table on a toy.

    Args:
        toy: The toy.
        objective: The name of a preset, a recipe, or a built objective, whose state is kept.
        steps: Number of batches.
        seed: Random seed of all random choices.
        training: The settings of the training.
        start: The initial policy, which is also the reference; by default the uniform policy.
    """
    training = training or ToyTraining()
    built = _build(objective)
    root = Stream.root("toy", toy.name, seed)
    table = start.copy() if start is not None else PolicyTable(toy.sizes, lr=training.lr, optimiser=training.optimiser)
    run = _Run(toy, built, training, root, table)
    curve = [run.measure_success(0)]
    shares: list[float] = []
    for step in range(steps):
        shares.append(run.step(step))
        if (step + 1) % training.measure_every == 0:
            curve.append(run.measure_success(step + 1))
    return ToyResult(success=tuple(curve), ess=sum(shares) / max(1, len(shares)), table=table)


def _build(objective: str | Recipe | BuiltObjective) -> BuiltObjective:
    if isinstance(objective, BuiltObjective):
        return objective
    return ObjectiveConfig(preset=objective).build() if isinstance(objective, str) else build(objective)


class _Run:
    """A training in progress."""

    def __init__(
        self, toy: Toy, built: BuiltObjective, training: ToyTraining, root: Stream, table: PolicyTable
    ) -> None:
        self._toy, self._build, self._training, self._root = toy, built, training, root
        self._table, self._reference, self._behaviour = table, table.copy(), table.copy()
        critic = built.critic
        self._critic = None if critic is None else ValueTable(toy.sizes, heads=critic.heads)

    def step(self, step: int) -> float:
        """Sample one batch and update on it; return the effective share of its trajectories."""
        training, built = self._training, self._build
        if step % training.staleness == 0:
            self._behaviour = self._table.copy()
        batch = self._draw(step)
        share = self._effective(batch)
        batch = filter_trajectories(batch, built)
        if not batch.trajectories:
            return share
        batch = reshape_rewards(
            fill_columns(batch, initial_columns(built), self._table, reference=self._reference), built
        )
        if self._critic is not None:
            batch = self._value(self._critic, batch)
        stream = self._root.split("shares", step)
        if built.recipe.schedule.name == "turns":
            train_turn_by_turn(
                batch,
                built.objective,
                self._table,
                requires=built.requires,
                schedule=built.recipe.schedule,
                stream=stream,
            )
        else:
            train_minibatches(
                batch,
                built.objective,
                self._table,
                requires=built.requires,
                updates=training.updates,
                stream=stream,
            )
        return share

    def measure_success(self, step: int) -> float:
        """Measure the success rate of the current policy."""
        stream = self._root.split("measured", step)
        dice, luck = ActionSampler(self._table, stream.split("dice")), stream.split("luck")
        played = [
            self._toy.play(task, dice, luck) for task in range(self._toy.tasks) for _ in range(self._training.measured)
        ]
        return sum(one.success for one in played) / len(played)

    def _draw(self, step: int) -> TokenBatch:
        toy, training, requires = self._toy, self._training, self._build.requires
        stream = self._root.split("drawn", step)
        dice, luck = ActionSampler(self._behaviour, stream.split("dice")), stream.split("luck")
        shows = needs_demonstration(requires)
        episodes: list[ToyEpisode] = []
        groups: list[int] = []
        shown: list[bool] = []
        for group in range(training.groups):
            task = (step * training.groups + group) % toy.tasks
            own = training.group_size - shows
            episodes += [toy.play(task, dice, luck) for _ in range(own)]
            episodes += [toy.play(task, toy.best, luck)] * shows
            groups += [group] * training.group_size
            shown += [False] * own + [True] * shows
        batch = batch_of(episodes, groups, self._behaviour, version=step - step % training.staleness)
        return fill_given_columns(
            batch, requires, episodes, toy, greedy=self._greedy(requires, episodes, luck), shown=shown
        )

    def _greedy(self, requires: frozenset[str], episodes: Sequence[ToyEpisode], luck: Stream) -> dict[int, float]:
        if "greedy_R" not in requires:
            return {}
        greedy = Greedy(self._behaviour)
        return {
            task: self._toy.play(task, greedy, luck).total_reward for task in {episode.task for episode in episodes}
        }

    def _effective(self, batch: TokenBatch) -> float:
        if self._training.staleness == 1:
            return 1.0
        own_T = batch.trained_T
        off_N = self._table.logprobs().view(-1)[batch.ids_T[own_T]] - batch.logprob_T[own_T]
        return effective_share(sum_over(off_N, batch.trajectory_T[own_T], batch.trajectories))

    def _value(self, critic: ValueTable, batch: TokenBatch) -> TokenBatch:
        valued = self._build.critic
        assert valued is not None, "there is a critic where something reads its values"
        read = value_reading(batch, valued.column)
        batch = batch.with_columns({read.column: read.to_column(critic.values(batch))})
        critic.learn(batch, read, valued.targets(batch))
        return batch
