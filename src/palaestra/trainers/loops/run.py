"""A run from its settings: builds the parts, runs the stages in order, and says what it comes to."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from palaestra.contamination import Guard
from palaestra.durable import write_file
from palaestra.trainers.learner import Learner
from palaestra.trainers.loops.config import TrainConfig, config_document
from palaestra.trainers.loops.grpo import GrpoLoop
from palaestra.trainers.loops.loop import MakeLearner, StageResult, run_loop
from palaestra.trainers.loops.material import (
    comes_with_palaestra,
    demonstrations_of,
    initial_policy,
    openings_of,
    tasks_of,
    worlds_of,
)
from palaestra.trainers.loops.record import RecordedRun
from palaestra.trainers.loops.sft import SftLoop
from palaestra.trainers.monitors import TRACKERS
from palaestra.trainers.policy import Policy
from palaestra.trainers.progress import OpenProgressBar, silent
from palaestra.trajectory import Episode


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What a run is about to do: everything that can be known before its first step."""

    config: TrainConfig
    tasks: list[str]
    demonstrations: list[Episode]
    policy: Policy
    """That it begins with."""


def plan_run(config: TrainConfig, *, bar: OpenProgressBar = silent) -> RunPlan:
    """Open the world, collect the demonstrations and load or make the policy; nothing is written.

    Raises:
        PalaestraError: a name, a file or a checkpoint is not what the settings say, or a task is one that policies are
            measured on.
    """
    guard = Guard(config.contaminated)
    tasks = tasks_of(config.world)
    guard.check(*next(openings_of(config.world, tasks[:1])))  # that of one tells the split of all
    needed = config.sft is not None or config.policy.start is None
    file = config.sft.demonstrations if config.sft is not None else None
    demonstrations = demonstrations_of(config.world, file=file, bar=bar) if needed else []
    guard.check_episodes(demonstrations)
    if (not needed or file is not None) and _may_be_listed(config):
        _check_openings(guard, config, tasks, bar=bar)
    policy = initial_policy(config.policy, demonstrations, seed=config.seed)
    return RunPlan(config=config, tasks=tasks, demonstrations=demonstrations, policy=policy)


def _may_be_listed(config: TrainConfig) -> bool:
    """Whether words of a task to learn from can be on a list: no list of ours has any of the worlds that are ours."""
    return bool(config.contaminated) or not comes_with_palaestra(config.world)


def _check_openings(guard: Guard, config: TrainConfig, tasks: list[str], *, bar: OpenProgressBar) -> None:
    """Look at every task before the first step, lest a run be refused when it is half done."""
    with bar("openings", len(tasks)) as shown:
        for task, said in openings_of(config.world, tasks):
            guard.check(task, said)
            shown.step(task.id)


def run(
    plan: RunPlan,
    out: Path,
    *,
    replay: Path | None = None,
    learners: MakeLearner = Learner,
    bar: OpenProgressBar = silent,
    say: Callable[[str], None] = print,
) -> StageResult:
    """Run every stage that the settings ask for, each from its last save if there is one.

    Args:
        plan: What to do.
        out: The run's folder: `config.json`, and a folder for each stage.
        replay: The folder of a run to go through again.
        learners: Makes the learner of each stage.
        bar: Opens a progress bar.
        say: Told where a stage goes on from, and of alarms.

    Raises:
        PalaestraError: see `run_loop`.
    """
    config = plan.config
    write_file(out / "config.json", config_document(config))
    trackers = [TRACKERS[name] for name in config.trackers]
    guard = Guard(config.contaminated)
    carry = partial(run_loop, threads=config.threads, trackers=trackers, learners=learners, bar=bar, say=say)

    result: StageResult | None = None
    if config.sft is not None:
        sft = SftLoop(config.sft, plan.demonstrations, seed=config.seed, start=plan.policy, guard=guard)
        result = carry(sft, out / "sft")
    if config.grpo is not None:
        policy = result.policy if result else plan.policy
        loop = GrpoLoop(
            config.grpo,
            tasks=plan.tasks,
            worlds=partial(worlds_of, config.world, policy.codec.format.name),
            seed=config.seed,
            start=policy,
            world=[config.world.env_id, dict(config.world.switches)],
            say=say,
            replay=RecordedRun.of(replay / "grpo") if replay else None,
            guard=guard,
        )
        result = carry(loop, out / "grpo")
    assert result is not None, "settings without a stage are refused when they are read"
    return result
