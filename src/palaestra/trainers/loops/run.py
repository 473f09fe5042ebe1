"""A training run: builds the parts from the settings and runs the stages in order."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import orjson

from palaestra.contamination import Guard
from palaestra.errors import ConfigError
from palaestra.records import JsonObject
from palaestra.trainers.choice import ChoiceConfig, TaskChooser, draw_listed
from palaestra.trainers.data.order import Share
from palaestra.trainers.device import FOUR_BITS
from palaestra.trainers.fillers import SHOWN, needs_of
from palaestra.trainers.loops.changes import accept_settings, check_replay
from palaestra.trainers.loops.config import TrainConfig
from palaestra.trainers.loops.grpo import GrpoLoop
from palaestra.trainers.loops.imitation_config import SftConfig
from palaestra.trainers.loops.loop import Loop
from palaestra.trainers.loops.material import initial_policy
from palaestra.trainers.loops.placement import place
from palaestra.trainers.loops.reading import config_document
from palaestra.trainers.loops.record import RecordedRun
from palaestra.trainers.loops.rollout_config import GroupStageConfig, GrpoConfig
from palaestra.trainers.loops.room import check_context, check_demonstrations, check_prompts
from palaestra.trainers.loops.self_imitation import SelfImitationLoop
from palaestra.trainers.loops.sft import SftLoop
from palaestra.trainers.loops.stage import StageResult, run_loop
from palaestra.trainers.loops.worlds import RunWorlds
from palaestra.trainers.model_factory import LocalModels, ModelFactory
from palaestra.trainers.monitors import OpenTracker, Tracker, tracker_named
from palaestra.trainers.policy import Policy
from palaestra.trainers.products import Nvfp4Products
from palaestra.trainers.progress import OpenProgressBar, silent
from palaestra.trajectory import Episode


@dataclass(frozen=True, slots=True, kw_only=True)
class DemonstrationSource:
    """Demonstrations of one source."""

    file: Path | None
    """The file; `None` for the tasks' own oracle."""
    episodes: list[Episode]
    shares: list[Share]
    """The number of demonstrations of each world, and its weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """The plan of a run: everything that is known before its first step."""

    config: TrainConfig
    worlds: RunWorlds
    demonstrations: Mapping[str, DemonstrationSource]
    """The demonstrations by the name of the stage that reads them."""
    policy: Policy
    """The initial policy."""


def plan_run(config: TrainConfig, *, bar: OpenProgressBar = silent) -> RunPlan:
    """Find the devices, open the world, collect the demonstrations and load or make the policy; nothing is written.

    Raises:
        PalaestraError: a name, a file, a device or a checkpoint does not match the settings, or a task is one that
            policies are measured on.
    """
    config = place(config)
    _check_installed(config)
    guard = Guard(config.contamination_lists)
    worlds = RunWorlds(config.world)
    for spec, said in worlds.first_openings():
        guard.check(spec, said)
    files = _files(config)
    fresh = [None] if config.policy.checkpoint is None and not files else []
    shown = {file: _show(worlds, file, bar) for file in dict.fromkeys((*files.values(), *fresh))}
    for one in shown.values():
        guard.check_episodes(one.episodes)
    if None not in shown and (config.contamination_lists or not worlds.bundled):
        _check_openings(guard, worlds, bar=bar)  # Palaestra's lists have none of its own training tasks
    demonstrations = [episode for one in shown.values() for episode in one.episodes]
    policy = initial_policy(config.policy, demonstrations, seed=config.seed)
    for name, stage in config.stages.items():
        if isinstance(stage, GroupStageConfig):
            check_context(name, stage, policy.model.shape)
            check_prompts(name, stage, policy, worlds)
            if stage.choice.instances == "endless":
                worlds.endless(guard)
            if stage.branching is not None:
                worlds.check_restorable(name)
    imitated = {file for name, file in files.items() if not isinstance(config.stages[name], GrpoConfig)}
    for file, one in shown.items():
        if file in imitated:
            check_demonstrations(one.episodes, policy)
    by_stage = {name: shown[file] for name, file in files.items()}
    return RunPlan(config=config, worlds=worlds, demonstrations=by_stage, policy=policy)


def _files(config: TrainConfig) -> dict[str, Path | None]:
    """The source of each stage's demonstrations, by the names of stages that read some."""
    first = next((stage.demonstrations for stage in config.stages.values() if isinstance(stage, SftConfig)), None)
    found: dict[str, Path | None] = {}
    for name, stage in config.stages.items():
        if isinstance(stage, GrpoConfig):
            if needs_of(stage.fillers(stage.objective.build())) & SHOWN:
                found[name] = first
        elif isinstance(stage, SftConfig) or stage.demonstration_share:
            found[name] = stage.demonstrations
    return found


def _show(worlds: RunWorlds, file: Path | None, bar: OpenProgressBar) -> DemonstrationSource:
    episodes, shares = worlds.demonstrations(file=file, bar=bar)
    return DemonstrationSource(file=file, episodes=episodes, shares=shares)


def _check_installed(config: TrainConfig) -> None:
    """Refuse settings that need packages that are not installed."""
    for name, stage in config.stages.items():
        if stage.learner.lora is not None and find_spec("peft") is None:
            raise ConfigError(f"{name}.learner.lora: adapters need peft; install palaestra[lora], or leave lora out")
        vllm = stage.vllm if isinstance(stage, GroupStageConfig) else None
        if vllm is not None and which(vllm.python) is None:
            raise ConfigError(
                f"{name}.vllm.python={str(vllm.python)!r}: no program; give the interpreter that has vLLM"
            )


def _open_tracker(opened: OpenTracker, settings: JsonObject, directory: Path, done: int) -> Tracker:
    return opened(directory, done, settings)


def _check_openings(guard: Guard, worlds: RunWorlds, *, bar: OpenProgressBar) -> None:
    """Check every task before the first step, so that a run is not refused halfway."""
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
    models: ModelFactory | None = None,
    bar: OpenProgressBar = silent,
    say: Callable[[str], None] = print,
) -> StageResult:
    """Run every stage of the settings, each from its last save if there is one.

    Args:
        plan: The plan of the run.
        out: The run's folder: `config.json`, and a folder for each stage.
        replay: The folder of a run to replay.
        amend: Whether settings that change what later steps learn may differ from those of the run in `out`. The
            changes are written into the run's lineage.
        models: Makes the models of each stage. Default: in this process.
        bar: Opens a progress bar.
        say: Called with messages, such as the step that a stage resumes from, and alarms.

    Raises:
        CheckpointError: a change of settings is refused; nothing was written.
        PalaestraError: see `run_loop`.
    """
    config = plan.config
    models = models or LocalModels()
    recorded = _record(replay, config, say) if replay is not None else {}
    for entry in accept_settings(out, config, amend=amend):
        say(f"changed from {entry.sentence()}")
    settings: JsonObject = orjson.loads(config_document(config))
    trackers = [partial(_open_tracker, tracker_named(name), settings) for name in config.trackers]
    guard = Guard(config.contamination_lists)
    # Settings were compared above with those of the last start: a save may be from an earlier one.
    carry = partial(
        run_loop, threads=config.threads, trackers=trackers, learners=models.learner, amend=True, bar=bar, say=say
    )

    result: StageResult | None = None
    for name in config.stages:
        start = plan.policy if result is None else result.policy
        if config.stages[name].learner.precision == FOUR_BITS:
            start.model.freeze(Nvfp4Products())  # in place, so that nothing keeps the old weights
        loop = _make_loop(plan, name, start, models=models, guard=guard, replay=recorded.get(name), say=say)
        result = carry(loop, out / name)
    assert result is not None, "settings without a stage are refused when they are read"
    return result


def _make_loop(
    plan: RunPlan,
    name: str,
    start: Policy,
    *,
    models: ModelFactory,
    guard: Guard,
    replay: RecordedRun | None,
    say: Callable[[str], None],
) -> Loop:
    """The loop of a stage.

    Args:
        plan: The plan of the run.
        name: The stage's name.
        start: The initial policy.
        models: Makes the models.
        guard: Refuses tasks that policies are measured on.
        replay: The recorded stage to replay.
        say: Called with alarms and faults.
    """
    stage, seed, worlds = plan.config.stages[name], plan.config.seed, plan.worlds
    shown = plan.demonstrations.get(name)
    if isinstance(stage, SftConfig):
        assert shown is not None, "a supervised stage has demonstrations"
        return SftLoop(stage, shown.episodes, seed=seed, start=start, name=name, guard=guard, shares=shown.shares)
    shares = worlds.shares if len(worlds.shares) > 1 else ()
    opened = partial(worlds.open, start.codec.format.name)
    chooser = _make_chooser(plan, name, stage.choice, guard)
    if isinstance(stage, GrpoConfig):
        return GrpoLoop(
            stage,
            tasks=worlds.tasks,
            worlds=opened,
            seed=seed,
            start=start,
            name=name,
            world=worlds.identity,
            say=say,
            replay=replay,
            guard=guard,
            shares=shares,
            chooser=chooser,
            models=models,
            demonstrations={} if shown is None else worlds.by_reference(shown.episodes, file=shown.file),
        )
    return SelfImitationLoop(
        stage,
        tasks=worlds.tasks,
        worlds=opened,
        seed=seed,
        start=start,
        name=name,
        world=worlds.identity,
        say=say,
        replay=replay,
        guard=guard,
        shares=shares,
        chooser=chooser,
        demonstrations=[] if shown is None else shown.episodes,
    )


def _make_chooser(plan: RunPlan, name: str, choice: ChoiceConfig, guard: Guard) -> TaskChooser | None:
    """The chooser of a stage's tasks; `None` if they are dealt."""
    if choice.rule == "deal":
        return None
    families = plan.worlds.families(levels=choice.rule in ("goldilocks", "paced"))
    draw = plan.worlds.endless(guard) if choice.instances == "endless" else draw_listed
    return TaskChooser(choice, families, names=(name, plan.config.seed), draw=draw)


def _record(replay: Path, config: TrainConfig, say: Callable[[str], None]) -> dict[str, RecordedRun]:
    """The record of each stage with rollouts of a run to replay, checked against the settings of this run."""
    names = [name for name, stage in config.stages.items() if isinstance(stage, GroupStageConfig)]
    if not names:
        raise ConfigError(
            "a replay goes through rollouts again, and there is no stage with any; add a section [grpo], [expert] or "
            "[rejection]"
        )
    for entry in check_replay(replay, config):
        say(f"the replay follows a change of {replay}: {entry.sentence()}")
    return {name: RecordedRun.of(replay / name) for name in names}
