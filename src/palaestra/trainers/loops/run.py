"""A run from its settings: builds the parts, runs the stages in order, and says what it comes to."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import orjson

from palaestra.contamination import Guard
from palaestra.errors import ConfigError
from palaestra.records import JsonObject
from palaestra.trainers.data.order import Share
from palaestra.trainers.fillers import SHOWN, needs_of
from palaestra.trainers.learner import Learner
from palaestra.trainers.loops.changes import accept_settings, check_replay
from palaestra.trainers.loops.config import TrainConfig
from palaestra.trainers.loops.grpo import GrpoLoop
from palaestra.trainers.loops.loop import MakeLearner
from palaestra.trainers.loops.material import initial_policy
from palaestra.trainers.loops.placement import place
from palaestra.trainers.loops.reading import config_document
from palaestra.trainers.loops.record import RecordedRun
from palaestra.trainers.loops.room import check_context, check_demonstrations, check_prompts
from palaestra.trainers.loops.sft import SftLoop
from palaestra.trainers.loops.stage import StageResult, run_loop
from palaestra.trainers.loops.worlds import RunWorlds
from palaestra.trainers.monitors import OpenTracker, Tracker, tracker_named
from palaestra.trainers.policy import Policy
from palaestra.trainers.progress import OpenProgressBar, silent
from palaestra.trajectory import Episode


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What a run is about to do: everything that can be known before its first step."""

    config: TrainConfig
    worlds: RunWorlds
    demonstrations: list[Episode]
    shares: list[Share]
    """How many of the demonstrations are each world's, and its weight."""
    policy: Policy
    """That it begins with."""


def plan_run(config: TrainConfig, *, bar: OpenProgressBar = silent) -> RunPlan:
    """Find the devices, open the world, collect the demonstrations and load or make the policy; nothing is written.

    Raises:
        PalaestraError: a name, a file, a device or a checkpoint is not what the settings say, or a task is one that
            policies are measured on.
    """
    config = place(config)
    _check_installed(config)
    guard = Guard(config.contamination_lists)
    worlds = RunWorlds(config.world)
    for spec, said in worlds.first_openings():
        guard.check(spec, said)
    needed = config.sft is not None or config.policy.checkpoint is None or _fillers_need_them(config)
    file = config.sft.demonstrations if config.sft is not None else None
    demonstrations, shares = worlds.demonstrations(file=file, bar=bar) if needed else ([], [])
    guard.check_episodes(demonstrations)
    if (not needed or file is not None) and (config.contamination_lists or not worlds.bundled):
        _check_openings(guard, worlds, bar=bar)  # no list of ours has a task of ours to learn from
    policy = initial_policy(config.policy, demonstrations, seed=config.seed)
    if config.grpo is not None:
        check_context(config.grpo, policy.model.shape)
        check_prompts(config.grpo, policy, worlds)
    if config.sft is not None:
        check_demonstrations(demonstrations, policy)
    return RunPlan(config=config, worlds=worlds, demonstrations=demonstrations, shares=shares, policy=policy)


def _fillers_need_them(config: TrainConfig) -> bool:
    """Whether fillers of columns read demonstrations."""
    if config.grpo is None:
        return False
    return bool(needs_of(config.grpo.fillers(config.grpo.objective.built())) & SHOWN)


def _check_installed(config: TrainConfig) -> None:
    """Refuse settings that need what is not installed."""
    for name, stage in (("sft", config.sft), ("grpo", config.grpo)):
        if stage is not None and stage.learner.lora is not None and find_spec("peft") is None:
            raise ConfigError(f"{name}.learner.lora: adapters need peft; install palaestra[lora], or leave lora out")
    vllm = None if config.grpo is None else config.grpo.vllm
    if vllm is not None and which(vllm.python) is None:
        raise ConfigError(f"grpo.vllm.python={str(vllm.python)!r}: no program; give the interpreter that has vLLM")


def _open_tracker(opened: OpenTracker, settings: JsonObject, directory: Path, done: int) -> Tracker:
    return opened(directory, done, settings)


def _check_openings(guard: Guard, worlds: RunWorlds, *, bar: OpenProgressBar) -> None:
    """Look at every task before the first step, lest a run be refused when it is half done."""
    with bar("openings", len(worlds.tasks)) as shown:
        for task, said in worlds.openings():
            guard.check(task, said)
            shown.step(task.id)


def run(
    plan: RunPlan,
    out: Path,
    *,
    replay: Path | None = None,
    amend: bool = False,
    learners: MakeLearner = Learner,
    bar: OpenProgressBar = silent,
    say: Callable[[str], None] = print,
) -> StageResult:
    """Run every stage that the settings ask for, each from its last save if there is one.

    Args:
        plan: What to do.
        out: The run's folder: `config.json`, and a folder for each stage.
        replay: The folder of a run to go through again.
        amend: Whether settings may differ from those that the run in `out` has, where they change what later steps
            learn. The changes are written into the run's lineage.
        learners: Makes the learner of each stage.
        bar: Opens a progress bar.
        say: Told where a stage goes on from, and of alarms.

    Raises:
        CheckpointError: a change of settings is refused; nothing was written.
        PalaestraError: see `run_loop`.
    """
    config = plan.config
    recorded = _recorded(replay, config, say) if replay is not None else None
    for entry in accept_settings(out, config, amend=amend):
        say(f"changed from {entry.sentence()}")
    settings: JsonObject = orjson.loads(config_document(config))
    trackers = [partial(_open_tracker, tracker_named(name), settings) for name in config.trackers]
    guard = Guard(config.contamination_lists)
    # Settings were compared above, with those of the last start: a save may be of an earlier one.
    carry = partial(
        run_loop, threads=config.threads, trackers=trackers, learners=learners, amend=True, bar=bar, say=say
    )

    result: StageResult | None = None
    if config.sft is not None:
        sft = SftLoop(
            config.sft, plan.demonstrations, seed=config.seed, start=plan.policy, guard=guard, shares=plan.shares
        )
        result = carry(sft, out / "sft")
    if config.grpo is not None:
        policy = result.policy if result else plan.policy
        file = config.sft.demonstrations if config.sft is not None else None
        loop = GrpoLoop(
            config.grpo,
            tasks=plan.worlds.tasks,
            worlds=partial(plan.worlds.open, policy.codec.format.name),
            seed=config.seed,
            start=policy,
            world=plan.worlds.identity,
            say=say,
            replay=recorded,
            guard=guard,
            shares=plan.worlds.shares if len(plan.worlds.shares) > 1 else (),
            demonstrations=plan.worlds.by_reference(plan.demonstrations, file=file) if plan.demonstrations else {},
        )
        result = carry(loop, out / "grpo")
    assert result is not None, "settings without a stage are refused when they are read"
    return result


def _recorded(replay: Path, config: TrainConfig, say: Callable[[str], None]) -> RecordedRun:
    """The record of a run to go through again, held to the settings of this one."""
    if config.grpo is None:
        raise ConfigError("a replay goes through rollouts again, and there is no section [grpo]; add it")
    for entry in check_replay(replay, config):
        say(f"the replay follows a change of {replay}: {entry.sentence()}")
    return RecordedRun.of(replay / "grpo")
