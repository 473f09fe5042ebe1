"""Expert iteration and rejection sampling: the policy is trained on its own episodes that solved their tasks.

Expert iteration (Anthony et al. 2017, arXiv:1705.08439) does so in rounds, each sampled with the policy of the round
before. Rejection sampling samples all rounds with the initial policy, and imitates afterwards. Both add demonstrations.
The imitated sequences follow from the recorded batches, so a save does not hold them.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import orjson
from pydantic import TypeAdapter

from palaestra.contamination import Guard
from palaestra.digest import digest
from palaestra.errors import DivergedError, TaskError
from palaestra.records import Json
from palaestra.seeding import Stream
from palaestra.trainers.branching import Brancher, with_branches
from palaestra.trainers.choice import TaskChooser
from palaestra.trainers.data.demonstration import demonstration
from palaestra.trainers.data.flatten import flatten_tokens
from palaestra.trainers.data.order import Share
from palaestra.trainers.learner import Learner
from palaestra.trainers.loops.cpu_meter import CpuMeter
from palaestra.trainers.loops.examples import BalancedDraw, ExampleStore, draw_of_demonstrations
from palaestra.trainers.loops.imitation_config import ExpertConfig, RejectionConfig
from palaestra.trainers.loops.loop import LearnerThread, Loop, starting_policy
from palaestra.trainers.loops.record import RecordedRun, recorded_batches, share_of_time
from palaestra.trainers.loops.rollouts import StageRollouts
from palaestra.trainers.loops.saves import StageProgress
from palaestra.trainers.loops.setting_classes import flat_settings, setting_prefix
from palaestra.trainers.monitors import Alarms, StageEvent, rollout_metrics, sampled_tokens
from palaestra.trainers.monitors.rollouts import DRAWN
from palaestra.trainers.objectives import Metrics, SupervisedObjective
from palaestra.trainers.policy import Policy
from palaestra.trainers.rollouts.groups import RolloutGroup, TaskPlan
from palaestra.trainers.rollouts.world import RolloutWorlds
from palaestra.trajectory import Episode, Tokens
from palaestra.transcript import transcript_of


class SelfImitationLoop(Loop):
    """Rounds of rollouts, and imitation of the episodes that solved their tasks.

    A step of expert iteration is a round: rollouts and the optimiser steps after them. A step of rejection sampling is
    a round of rollouts or, after the last round, one optimiser step.

    Args:
        config: The settings of either kind of stage.
        tasks: References of the tasks to train on; their order has no effect.
        worlds: Opens the worlds in which the tasks are played.
        seed: Random seed.
        start: The initial policy; it is copied.
        demonstrations: Demonstration episodes; required unless the settings use none.
        name: The stage's name; random streams and task order depend on it. Default: the name of the kind.
        world: Everything besides the tasks that decides the worlds' answers, for the fingerprint.
        say: Called with faults of worlds and engine.
        replay: A run to replay.
        guard: Refuses to train on tasks that policies are measured on.
        shares: The number of tasks of each world, and its weight. Default: all tasks are of one world.
        chooser: Chooses tasks by the results of earlier groups, if the settings ask for it.

    Raises:
        TaskError: there are no tasks, or demonstrations are required and missing.
        ContaminationError: a demonstration is of a task that policies are measured on.
    """

    def __init__(
        self,
        config: ExpertConfig | RejectionConfig,
        *,
        tasks: Sequence[str],
        worlds: Callable[[], RolloutWorlds],
        seed: int,
        start: Policy,
        demonstrations: Sequence[Episode] = (),
        name: str | None = None,
        world: object = None,
        say: Callable[[str], None] = print,
        replay: RecordedRun | None = None,
        guard: Guard | None = None,
        shares: Sequence[Share] = (),
        chooser: TaskChooser | None = None,
    ) -> None:
        self._kind = "expert" if isinstance(config, ExpertConfig) else "rejection"
        self.name = name or self._kind
        self.learner = config.learner
        self.save = config.save
        self._config = config
        if config.demonstration_share and not demonstrations:
            raise TaskError(
                f"{self.name} has no demonstrations; give a split that lists tasks, or a file of episodes, or "
                f"{self.name}.demonstration_share=0"
            )
        self._guard = guard or Guard()
        self._guard.check_episodes(demonstrations)
        plan = TaskPlan(tasks, size=config.group_size, seed=seed, name=self.name, shares=shares, choice=chooser)
        self._rollouts = StageRollouts(
            config,
            plan,
            worlds=worlds,
            chooser=chooser,
            brancher=None if config.branching is None else Brancher(config.branching, names=(self.name, seed)),
            replay=replay,
            say=say,
        )
        self._tasks = sorted(tasks)
        self._shares = tuple(shares)
        self._demonstrations = tuple(demonstrations) if config.demonstration_share else ()
        self._seed = seed
        self._start = starting_policy(start, config.learner)
        self._world = world
        self._replay = replay
        self._objective = SupervisedObjective()
        surprising = chooser if config.keep.order == "surprising" else None
        self._examples = ExampleStore(config.keep, expected=None if surprising is None else surprising.estimate)
        self._sampling = False
        self._alarms = Alarms(config.alarms) if isinstance(config, ExpertConfig) else None

    def fingerprint(self) -> str:
        """A hash of the tasks, the world, the demonstrations, the seed and the initial policy."""
        shown = [episode.digest() for episode in self._demonstrations]
        parts = [self.name, self._tasks, self._world, self._seed, self._start.digest(), shown]
        return digest([*parts, *([self._shares] if self._shares else [])])

    def settings(self) -> dict[str, Json]:
        """See `Loop`."""
        kind = type(self._config)
        dumped = TypeAdapter(kind).dump_python(self._config, mode="json")
        return flat_settings(dumped, kind, setting_prefix(self.name, self._kind))

    def start(self) -> Policy:
        """The initial policy: a copy, unless it is frozen and adapters are trained."""
        return self._start if self.learner.lora is not None else self._start.copy()

    @property
    def _rounds(self) -> int | None:
        """The rounds of rollouts before imitation; `None` if imitation follows each round."""
        return self._config.rounds if isinstance(self._config, RejectionConfig) else None

    def share_done(self, progress: StageProgress) -> float:
        """The completed share of the steps, rounds included, or of the time if that ends the stage."""
        if isinstance(self._config, ExpertConfig) and self._config.cpu_seconds is not None:
            return share_of_time(progress, self._config.cpu_seconds, self._replay)
        return progress.step / (self._config.steps + (self._rounds or 0))

    @property
    def meter(self) -> CpuMeter:
        """See `Loop`; recorded rollouts count with the time that they took when they were played."""
        return self._rollouts.meter

    async def open(
        self, policy: Policy, learner: Learner, directory: Path, *, step: int, kept: bytes, held: Mapping[str, Any]
    ) -> None:
        """Restore the examples of earlier steps, tokenise the demonstrations, and create engine and worlds."""
        del held
        if self._replay is not None:
            self._replay.check(self.fingerprint(), self.settings())
        self._learning = learner
        self._rollouts.recall(directory, step if self._rounds is None else min(step, self._rounds))
        if step:
            before = {batch.step: batch for batch in recorded_batches(directory) if batch.step < step}
            for _, batch in sorted(before.items()):  # a quarantined step has a later batch as well
                self._examples.add(batch.whole)
        tokens = [demonstration(transcript_of(episode), policy.codec) for episode in self._demonstrations]
        self._shown = draw_of_demonstrations(self._demonstrations, tokens)
        self._sampling = self._rounds is None or step < self._rounds
        if self._sampling:
            await self._rollouts.open(policy, learner.rollout_weights(), directory, step=step)
            if kept:
                state = orjson.loads(kept)
                self._rollouts.restore(state)
                if self._alarms is not None and "alarms" in state:  # earlier versions had none
                    self._alarms.restore(state["alarms"])
            self._rollouts.settle(self._further)

    async def step(self, thread: LearnerThread, step: int, done: float) -> Metrics:
        """Take a round, or an optimiser step."""
        if self._rounds is not None and step >= self._rounds:
            self._sampling = False
            return {**self._examples.metrics(), **await thread.do(self._imitate, step, [done])}
        rollouts = self._rollouts
        came = await rollouts.batch(step)
        groups = came.groups
        self._guard.check_episodes(group.episodes[0] for group in groups if group.episodes)
        branches = came.branches or ()
        drawn = sum(sampled_tokens(episode) for group in (*groups, *branches) for episode in group.episodes)
        new = self._examples.add(with_branches(groups, branches))
        metrics = {**self._measure(groups), DRAWN: float(drawn), "kept/new": float(new), **self._examples.metrics()}
        if self._rounds is None:
            rollouts.phase = f"imitating {len(self._examples)} sequences of its own"
            try:
                metrics |= await thread.do(self._imitate, step, self._decay)
            except DivergedError as error:
                raise DivergedError(rollouts.quarantine(step, groups, str(error))) from error
            await rollouts.advance(self._learning.rollout_weights(), step + 1)
        else:
            await rollouts.advance(None, step + 1)
        metrics |= rollouts.metrics()
        if self._alarms is not None:
            alarms = self._alarms.check(metrics, step)
            metrics["alarms"] = float(len(alarms))
            rollouts.report_alarms(alarms, self.name)
        rollouts.settle(self._further)
        return metrics

    def _further(self) -> dict[str, Any]:
        return {} if self._alarms is None else {"alarms": self._alarms.state()}

    @property
    def _decay(self) -> list[float]:
        """The share of a round's imitation that is done before each of its optimiser steps, 0 to 1."""
        updates = self._config.updates if isinstance(self._config, ExpertConfig) else 1
        return [update / updates for update in range(updates)]

    @staticmethod
    def _measure(groups: Sequence[RolloutGroup]) -> Metrics:
        """The metrics of a round's episodes, and `groups/solved`, the share of groups that solved their task."""
        whole = [group for group in groups if group.episodes]
        episodes = [episode for group in whole for episode in group.episodes]
        metrics = rollout_metrics(episodes)
        if whole:
            metrics["groups/solved"] = fmean(any(e.score.passed for e in group.episodes) for group in whole)
        return metrics

    def _imitate(self, step: int, shares: Sequence[float]) -> Metrics:
        """Train on batches of kept examples and demonstrations.

        `loss` and `gradient_norm` are means over the optimiser steps, and `tokens` is their sum. Without any example or
        demonstration nothing is trained.

        Args:
            step: The number of the stage's step.
            shares: For each optimiser step, how far the learning rate has fallen towards a tenth, 0 to 1.
        """
        own = BalancedDraw({name: [one.tokens for one in kept] for name, kept in self._examples.families.items()})
        found: list[Metrics] = []
        for update, share in enumerate(shares):
            batch = self._batch(own, Stream.root(self.name, self._seed, step, "imitation", update))
            if batch:
                lr = self.learner.lr * (1 - 0.9 * share)
                found.append(self._learning.step(self._objective.prepare(flatten_tokens(batch)), lr=lr))
        if not found:
            return {}
        return {
            **found[-1],
            "loss": fmean(one["loss"] for one in found),
            "gradient_norm": fmean(one["gradient_norm"] for one in found),
            "tokens": sum(one["tokens"] for one in found),
        }

    def _batch(self, own: BalancedDraw, stream: Stream) -> list[Tokens]:
        """The sequences of an optimiser step: only demonstrations until examples are kept; empty without both."""
        shown = self._config.demonstrations_per_batch if len(own) else self._config.batch
        shown = shown if len(self._shown) else 0
        return [
            *self._shown.draw(shown, stream.split("shown")),
            *own.draw(self._config.batch - shown, stream.split("own")),
        ]

    def doing(self) -> str:
        """The current activity: imitation, or the progress of the rollouts."""
        return self._rollouts.doing() if self._sampling else "imitating what was kept"

    def events(self) -> list[StageEvent]:
        """Alarms, faults of worlds, and groups that were dropped or left out."""
        return self._rollouts.events()

    def keep(self) -> bytes:
        """The state of the alarms and of the rollouts, while there are any."""
        return self._rollouts.keep(self._further) if self._sampling else b""

    async def close(self) -> None:
        """Stop the rollouts, and close the engine and the worlds."""
        await self._rollouts.close()
