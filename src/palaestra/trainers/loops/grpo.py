"""Training on groups of rollouts: episodes that score better than their group become more likely.

Synchronous and asynchronous training use this loop. Rollouts of later steps continue during training, as far as the
staleness limit allows; with a limit of 0 they wait.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
from pydantic import TypeAdapter
from torch import Tensor

from palaestra.contamination import Guard
from palaestra.digest import digest
from palaestra.errors import DivergedError
from palaestra.records import Json
from palaestra.seeding import Stream
from palaestra.trainers.branching import Brancher
from palaestra.trainers.choice import TaskChooser
from palaestra.trainers.critic import Critic, value_reading
from palaestra.trainers.data.batch import TokenBatch, concatenate
from palaestra.trainers.data.branches import add_branches
from palaestra.trainers.data.order import Share
from palaestra.trainers.device import FOUR_BITS
from palaestra.trainers.fillers import BatchFiller, FillerInput, comparisons_of
from palaestra.trainers.learner import Learner
from palaestra.trainers.loops.cpu_meter import CpuMeter
from palaestra.trainers.loops.loop import LearnerThread, Loop, starting_policy
from palaestra.trainers.loops.observed import ObservedStep
from palaestra.trainers.loops.record import RecordedRun, share_of_time
from palaestra.trainers.loops.rollout_config import GrpoConfig
from palaestra.trainers.loops.rollouts import StageRollouts
from palaestra.trainers.loops.saves import StageProgress
from palaestra.trainers.loops.setting_classes import flat_settings, setting_prefix
from palaestra.trainers.loops.temperatures import with_temperature_head
from palaestra.trainers.loops.weight_noise import WeightNoise
from palaestra.trainers.model_factory import LocalModels, ModelFactory
from palaestra.trainers.monitors import (
    Alarms,
    StageEvent,
    rollout_metrics,
    sampled_tokens,
    solve_rates,
    template_metrics,
)
from palaestra.trainers.monitors.difficulty import SOLVED
from palaestra.trainers.monitors.rollouts import DRAWN
from palaestra.trainers.objectives import Metrics, PreparedStep
from palaestra.trainers.policy import Policy
from palaestra.trainers.rollouts.groups import RolloutGroup, TaskPlan
from palaestra.trainers.rollouts.world import RolloutWorlds
from palaestra.trainers.updates import (
    TrainableModel,
    fill_columns,
    filter_trajectories,
    initial_columns,
    reshape_rewards,
    temperature_metrics,
    train_minibatches,
    train_temperature_head,
    train_turn_by_turn,
)
from palaestra.trajectory import Episode


class GrpoLoop(Loop):
    """Each step collects a batch of groups and trains on it.

    Args:
        config: The stage's settings.
        tasks: References of the tasks to train on; their order has no effect.
        worlds: Opens the worlds in which the tasks are played.
        seed: Random seed.
        start: The initial policy; it is copied.
        name: The stage's name; random streams and task order depend on it.
        world: Everything besides the tasks that decides the worlds' answers, for the fingerprint.
        say: Called with alarms, and with faults of worlds and engine.
        replay: A run to replay: this run must produce the same tokens, or it raises an error at the first difference.
        guard: Refuses to train on tasks that policies are measured on.
        shares: The number of tasks of each world, and its weight. Default: all tasks are of one world.
        chooser: Chooses tasks by the results of earlier groups, if the settings ask for it.
        demonstrations: Demonstrations by the reference of their task, for fillers of columns that read them.
        models: Makes the reference policy and the critic. Default: in this process.

    Raises:
        TaskError: there are no tasks, or a filler needs a demonstration of a task that has none.
        ContaminationError: a demonstration is of a task that policies are measured on.
    """

    def __init__(
        self,
        config: GrpoConfig,
        *,
        tasks: Sequence[str],
        worlds: Callable[[], RolloutWorlds],
        seed: int,
        start: Policy,
        name: str = "grpo",
        world: object = None,
        say: Callable[[str], None] = print,
        replay: RecordedRun | None = None,
        guard: Guard | None = None,
        shares: Sequence[Share] = (),
        chooser: TaskChooser | None = None,
        demonstrations: Mapping[str, Episode] | None = None,
        models: ModelFactory | None = None,
    ) -> None:
        self.name = name
        self.learner = config.learner
        self.save = config.save
        self._config = config
        self._built = config.objective.build()
        self._chosen = config.fillers(self._built)
        plan = TaskPlan(
            tasks,
            size=config.group_size,
            seed=seed,
            name=name,
            shares=shares,
            comparisons=comparisons_of(self._chosen),
            choice=chooser,
        )
        self._rollouts = StageRollouts(
            config,
            plan,
            worlds=worlds,
            chooser=chooser,
            brancher=None if config.branching is None else Brancher(config.branching, names=(name, seed)),
            noise=None if config.weight_noise is None else WeightNoise(config.weight_noise, name, seed),
            replay=replay,
            say=say,
        )
        self._filler = BatchFiller(
            self._chosen,
            codec=start.codec,
            demonstrations=demonstrations or {},
            tasks=tasks,
            names=(name, seed),
            temperature=config.play.temperature,
        )
        self._tasks = sorted(tasks)
        self._shares = tuple(shares)
        self._seed = seed
        self._start = starting_policy(start, config.learner)
        self._world = world
        self._replay = replay
        self._guard = guard or Guard()
        self._guard.check_episodes(self._filler.demonstrations)
        self._alarms = Alarms(config.alarms)
        self._models = models or LocalModels()
        self._reference: TrainableModel | None = None
        self._critic: Critic | None = None

    def fingerprint(self) -> str:
        """A hash of the tasks, the world, the seed, the initial policy, and the source of the user's own parts."""
        return digest(
            [
                self._config.objective.sources(),
                self._tasks,
                self._world,
                self._seed,
                self._start.digest(),
                *([self.name] if self.name != "grpo" else []),
                *([self._shares] if self._shares else []),
                *([self._filler.describe()] if self._chosen else []),
            ]
        )

    def settings(self) -> dict[str, Json]:
        """See `Loop`."""
        dumped = TypeAdapter(GrpoConfig).dump_python(self._config, mode="json")
        return flat_settings(dumped, GrpoConfig, setting_prefix(self.name, "grpo"))

    def start(self) -> Policy:
        """The initial policy: a copy, unless it is frozen and adapters are trained."""
        policy = self._start if self.learner.lora is not None else self._start.copy()
        return with_temperature_head(policy, self._built.temperature, seed=self._seed)

    def share_done(self, progress: StageProgress) -> float:
        """The completed share of the steps, or of the tokens or the time if those end the stage."""
        if self._config.cpu_seconds is not None:
            return share_of_time(progress, self._config.cpu_seconds, self._replay)
        if self._config.tokens is not None:
            return sum(row[DRAWN] for row in progress.history) / self._config.tokens
        return progress.step / self._config.steps

    @property
    def meter(self) -> CpuMeter:
        """See `Loop`; recorded rollouts count with the time that they took when they were played."""
        return self._rollouts.meter

    async def open(
        self, policy: Policy, learner: Learner, directory: Path, *, step: int, kept: bytes, held: Mapping[str, Any]
    ) -> None:
        """Create engine and worlds; rollouts start when a step first needs some that are not recorded."""
        config = self._config
        if self._replay is not None:
            self._replay.check(self.fingerprint(), self.settings())
        self._learning = learner
        if "norm_R" in self._built.requires:
            learner.check_norms()
        if self._built.temperature is not None:
            learner.check_head()
        if "ref_T" in self._built.requires:
            frozen = config.learner.precision == FOUR_BITS  # adapters that are not trained add nothing to its weights
            self._reference = self._models.reference(
                self._start.model, config.learner if frozen else replace(config.learner, lora=None)
            )
        if self._built.critic is not None:
            device = config.critic.learner.device or config.learner.device
            unit = config.critic.unit or self._built.returns
            how = replace(config.critic, learner=replace(config.critic.learner, device=device), unit=unit)
            self._critic = self._models.critic(self._start.model, how, heads=self._built.critic.heads)
            if held:
                self._critic.restore(held)
        self._rollouts.recall(directory, step)
        await self._rollouts.open(
            policy,
            learner.rollout_weights(),
            directory,
            step=step,
            wanted=self._is_wanted,
            refill=self._built.recipe.refill,
            solutions=self._filler.solutions,
        )
        if kept:
            state = orjson.loads(kept)
            self._alarms.restore(state["alarms"])
            self._built.restore({**self._built.state(), **state["objective"]})  # parts may have been changed
            self._rollouts.restore(state)
        self._rollouts.settle(self._further)

    async def step(self, thread: LearnerThread, step: int, done: float) -> Metrics:
        """Collect one batch of groups and train on it."""
        del done
        rollouts = self._rollouts
        came = await rollouts.batch(step, asked=self._filler.one_time_columns, ask=self._ask)
        groups, columns, branches = came.groups, came.columns, came.branches or ()
        continued = [episode for branch in branches for episode in branch.episodes]
        self._guard.check_episodes(group.episodes[0] for group in groups if group.episodes)
        episodes = [episode for group in groups for episode in group.episodes]
        rollouts.phase = f"training on {len(episodes) + len(continued)} episodes"
        try:
            trained = await thread.do(self._train, groups, branches, columns, step)
        except DivergedError as error:
            raise DivergedError(rollouts.quarantine(step, groups, str(error))) from error
        await rollouts.advance(self._learning.rollout_weights(), step + 1)
        drawn = {DRAWN: float(sum(map(sampled_tokens, (*episodes, *continued))))}
        metrics = {**rollout_metrics(episodes), **drawn, **trained, **rollouts.metrics()}
        alarms = self._alarms.check(metrics, step)
        metrics["alarms"] = float(len(alarms))
        rollouts.report_alarms(alarms, self.name)
        if any(alarm.action == "refresh" for alarm in alarms):
            rollouts.drop_older(step + 1)
        rollouts.settle(self._further)
        return metrics

    def _ask(self, groups: list[RolloutGroup], step: int) -> dict[str, Tensor]:
        return self._filler.ask(self._assemble(groups, step))

    def _assemble(self, groups: Sequence[RolloutGroup], step: int) -> FillerInput:
        return self._filler.assemble(groups, [group.task for group in groups], step)

    def events(self) -> list[StageEvent]:
        """Alarms, faults of worlds, and groups that were dropped or left out."""
        return self._rollouts.events()

    def doing(self) -> str:
        """The current activity: training, or the progress of the rollouts."""
        return self._rollouts.doing()

    def _is_wanted(self, group: RolloutGroup) -> bool:
        """Whether at least one filter keeps some of the group."""
        return self._built.is_wanted(group.batch())

    def _train(
        self,
        groups: Sequence[RolloutGroup],
        branches: Sequence[RolloutGroup],
        columns: Mapping[str, Tensor],
        step: int,
    ) -> Metrics:
        """Train on the batch with the optimiser steps of the objective's schedule.

        The metrics are those of the first optimiser step, before the weights change.
        """
        config, built = self._config, self._built
        temperature = config.play.temperature
        given = self._filler.fill(self._assemble(groups, step), columns)
        probed = self._probe(given.batch, step)
        batch = self._filter_batch(given.batch)
        continued = self._continuation_batch(branches)
        if config.branching is not None and continued is not None:
            # No filler goes with branching, so the columns of whole trajectories are complete.
            batch = self._filler.fill_from_policy(batch, given, self._learning)
            batch = add_branches(batch, continued, weight=config.branching.weight)
        if not batch.trajectories:
            return probed
        batch = fill_columns(
            batch, initial_columns(built), self._learning, reference=self._reference, temperature=temperature
        )
        if continued is None:
            batch = self._filler.fill_from_policy(batch, given, self._learning)
        batch = reshape_rewards(batch, built)
        observed: list[ObservedStep] = []

        def look(prepared: PreparedStep) -> PreparedStep:
            observed.append(ObservedStep(prepared))
            return observed[0].prepared

        stream = Stream.root(self.name, self._seed, step, "shares")
        expected: Metrics = {}
        if self._critic is not None:
            batch, expected = self._value(self._critic, batch, stream)
            if step < config.critic.lead:
                return {**probed, **expected}
        chosen = temperature_metrics(batch)
        if built.temperature is not None and built.temperature.trains_head(step):
            chosen |= train_temperature_head(
                batch,
                built.objective,
                self._learning,
                built.temperature,
                requires=built.requires,
                updates=config.updates,
                stream=stream.split("temperature"),
            )
        if built.temperature is not None and not built.temperature.trains_policy(step):
            return {**probed, **expected, **chosen}
        if built.recipe.schedule.name == "turns":
            metrics = train_turn_by_turn(
                batch,
                built.objective,
                self._learning,
                requires=built.requires,
                schedule=built.recipe.schedule,
                stream=stream,
                temperature=temperature,
                look=look,
            )
        else:
            metrics = train_minibatches(
                batch,
                built.objective,
                self._learning,
                requires=built.requires,
                updates=config.updates,
                stream=stream,
                temperature=temperature,
                look=look,
            )
        # The learner's metrics have priority: with several processes they cover all of them.
        seen = observed[0].metrics(version=step) if observed else {}
        return {**probed, **seen, **expected, **chosen, **metrics}

    def _filter_batch(self, batch: TokenBatch) -> TokenBatch:
        """The trajectories of whole groups to train on, each with the solve rate of its group."""
        return filter_trajectories(batch.with_columns({SOLVED: solve_rates(batch)}), self._built)

    def _continuation_batch(self, branches: Sequence[RolloutGroup]) -> TokenBatch | None:
        """The continuations to train on, those of each fork as a group; `None` without any."""
        batches = [branch.batch() for branch in branches if branch.episodes]
        continued = self._filter_batch(concatenate(batches)) if batches else None
        return continued if continued is not None and continued.trajectories else None

    def _probe(self, batch: TokenBatch, step: int) -> Metrics:
        """Whether texts still depend on their tasks, measured at the steps that the settings choose."""
        config = self._config
        if not config.probe or step % config.probe:
            return {}

        def score(crossed: TokenBatch) -> Tensor:
            return self._learning.columns(crossed, ["logp"], temperature=config.play.temperature)["logp"]

        return template_metrics(batch, score, prompts=config.probe_prompts)

    def _value(self, critic: Critic, batch: TokenBatch, stream: Stream) -> tuple[TokenBatch, Metrics]:
        """Add the critic's values to the batch, then train the critic on the returns."""
        assert self._built.critic is not None
        read = value_reading(batch, self._built.critic.column)
        value_TH = critic.values(batch)
        batch = batch.with_columns({read.column: read.to_column(value_TH)})
        target = self._built.critic.targets(batch)
        return batch, critic.learn(batch, read, target, before_TH=value_TH, stream=stream.split("critic"))

    def keep(self) -> bytes:
        """The state of the alarms and of the rollouts: complete groups, and trajectories in progress."""
        return self._rollouts.keep(self._further)

    def _further(self) -> dict[str, Any]:
        return {"alarms": self._alarms.state(), "objective": self._built.state()}

    def hold(self) -> dict[str, Any]:
        """The critic's state, if there is one."""
        return {} if self._critic is None else self._critic.state()

    async def close(self) -> None:
        """Stop the rollouts, and close the engine and the worlds."""
        await self._rollouts.close()
