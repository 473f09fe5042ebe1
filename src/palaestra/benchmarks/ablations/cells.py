"""Cells of the tables: one arm with one seed, trained, measured and kept as a small file that can be committed.

A cell holds the data behind its figures, its settings, and the digests of its tasks and demonstrations. A cell with
other settings does not count as finished. Runs and warm starts stay in a working folder, where a killed cell resumes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

import orjson
import torch
from pydantic import TypeAdapter, ValidationError

from palaestra import register_world
from palaestra.benchmarks.ablations.arm import AblationArm, AblationConfig
from palaestra.benchmarks.ablations.arms import ARMS
from palaestra.benchmarks.cell_pool import hold_lock, run_in_pool
from palaestra.benchmarks.cell_settings import KeptSettings, agree_with_kept, keep_settings
from palaestra.benchmarks.learning import (
    HeldoutGroup,
    LearningMaterial,
    evaluate_policy,
    place_of,
    write_demonstrations,
)
from palaestra.benchmarks.learning.evaluation import Evaluation, Measure
from palaestra.digest import digest
from palaestra.durable import write_file
from palaestra.errors import InfrastructureError, RecordError
from palaestra.record import record
from palaestra.trainers import (
    GrpoConfig,
    PlayConfig,
    PolicyConfig,
    SftConfig,
    TrainConfig,
    env_id_of,
    load_policy,
    plan_run,
    read_progress,
    run,
)
from palaestra.trainers.loops.config import StageConfig
from palaestra.trainers.objectives import Metrics
from palaestra.trainers.progress import OpenProgressBar, silent
from palaestra.validation import plain_rule


@dataclass(frozen=True, slots=True, order=True)
class CellKey:
    """An arm and a seed."""

    arm: str
    seed: int

    def __str__(self) -> str:
        return f"{self.arm}-{self.seed}"


@record
class AblationCell:
    """The results of one arm with one seed."""

    arm: str
    seed: int
    settings: KeptSettings
    """The settings of the arm (`CellSettings`)."""
    steps: Mapping[str, int]
    """Number of steps of each stage after the warm start."""
    cpu_seconds: Mapping[str, float]
    """Processor seconds of each stage, on one thread."""
    solved: Mapping[str, Mapping[str, Mapping[str, tuple[int, ...]]]]
    """For each temperature, group of held-out tasks and task: 1 per episode that solved the task, else 0."""
    harmed: Mapping[str, Mapping[str, float]]
    """For each temperature and group, the percentage of episodes that did something forbidden."""
    unfinished: Mapping[str, Mapping[str, float]]
    """For each temperature and group, the percentage of episodes that ended by a budget or an unreadable turn."""
    lag: Mapping[str, float] = field(default_factory=dict[str, float])
    """Staleness of the weights that sampled the tokens, in versions: the `mean` over steps with a gradient, and the
    `last` value. Empty where no stage records it."""
    mismatch: Mapping[str, float] = field(default_factory=dict[str, float])
    """Mismatch of the log-probabilities of rollouts and training under equal weights, in nats: the `mean` over steps
    with such tokens, and the maximum, `max`. Empty where no stage records it."""
    start: str = ""
    """The digest of the initial policy, where another arm trained it: arms are compared only where it is equal."""


_CELL = TypeAdapter(AblationCell)


Materials: TypeAlias = Mapping[str, LearningMaterial]
"""Materials by the name of their site."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSettings:
    """The settings that must be equal for a cell to count as finished."""

    config: AblationConfig
    chat_format: str
    warm_start: SftConfig
    play: PlayConfig
    stages: Mapping[str, tuple[str, StageConfig]]
    """The kind and the settings of each stage, by name."""
    tasks: str
    """The digest of the held-out tasks."""
    demonstrations: str
    """The digest of the demonstrations."""
    start: "CellSettings | None"
    """The settings of the arm whose policy is the start, where there is one."""


def cell_settings(config: AblationConfig, materials: Materials) -> dict[str, CellSettings]:
    """The settings of each arm whose site is in `materials`."""
    shown = {site: digest([episode.digest() for episode in one.demonstrations]) for site, one in materials.items()}
    tasks = {site: digest(one.tasks) for site, one in materials.items()}

    def settings_of(name: str) -> CellSettings:
        arm = ARMS[name]
        return CellSettings(
            config=arm.at_site(config),
            chat_format=arm.chat_format,
            warm_start=arm.warm_start(config),
            play=arm.play(config),
            stages={name: (type(stage).__name__, stage) for name, stage in arm.stages(arm.at_site(config)).items()},
            tasks=tasks[arm.site],
            demonstrations=shown[arm.site],
            start=None if arm.start is None else settings_of(arm.start),
        )

    return {name: settings_of(name) for name, arm in ARMS.items() if arm.site in materials}


def read_cells(folder: Path, config: AblationConfig, materials: Materials) -> dict[CellKey, AblationCell]:
    """Read the finished cells in `folder` of the given sites; cells with other settings are left out.

    Raises:
        RecordError: a file cannot be read.
    """
    found: dict[CellKey, AblationCell] = {}
    wanted = cell_settings(config, materials)
    for file in sorted(folder.glob("*.json")):
        try:
            cell = _CELL.validate_json(file.read_bytes())
        except ValidationError as error:
            raise RecordError(
                f"{file}: {plain_rule(error.errors()[0]['msg'])}; remove it to run the cell anew"
            ) from error
        if cell.arm in wanted and agree_with_kept(wanted[cell.arm], cell.settings):
            found[CellKey(cell.arm, cell.seed)] = cell
    return found


def run_cells(
    materials: Materials,
    keys: Sequence[CellKey],
    config: AblationConfig,
    *,
    cells: Path,
    work: Path,
    jobs: int,
    minutes: float | None = None,
    bar: OpenProgressBar,
    say: Callable[[str], None],
) -> None:
    """Run cells in order, each in a process of its own, and write each to `cells` when it is done.

    Args:
        materials: The training and test material of each site that the cells need.
        keys: The cells to run, even if `cells` already holds them.
        config: The settings that all arms share.
        cells: The folder of finished cells.
        work: The folder of runs, in which a killed cell resumes.
        jobs: Number of cells that run at once, on one thread each.
        minutes: The time after which no further cell starts.
        bar: Opens a progress bar.
        say: Receives messages about cells that start, and cells that do not fit into the time.

    Raises:
        CheckpointError: files in `work` have other settings, or are damaged.
    """
    run_in_pool(
        {str(key): _start_cell(materials[ARMS[key.arm].site], key, config, cells, work) for key in keys},
        work=work,
        jobs=jobs,
        minutes=minutes,
        bar=bar,
        say=say,
    )


def _start_cell(
    material: LearningMaterial, key: CellKey, config: AblationConfig, cells: Path, work: Path
) -> Callable[[], None]:
    return partial(_run_cell_in, place_of(material), material, key, config, cells, work)


def _run_cell_in(
    place: str | None, material: LearningMaterial, key: CellKey, config: AblationConfig, cells: Path, work: Path
) -> None:
    if place is not None:
        register_world(place, env_id=env_id_of(material.world))
    run_cell(material, key, config, cells, work)


def run_cell(material: LearningMaterial, key: CellKey, config: AblationConfig, cells: Path, work: Path) -> None:
    """Train and measure one arm with one seed, on one thread, and write its file.

    Raises:
        InfrastructureError: the world failed in an episode of an evaluation; no file is written.
    """
    torch.set_num_threads(1)
    arm = ARMS[key.arm]
    trained = _train(key, config, material, work)
    folder, checkpoint = work / str(key), trained.checkpoint
    policy = load_policy(checkpoint)
    evaluations = {
        f"{temperature:g}": evaluate_policy(
            policy,
            material,
            replace(config.expert, play=arm.play(config)),
            folder / f"evaluation-{temperature:g}",
            samples=arm.at_site(config).samples,
            name=f"{key} {temperature:g}",
            temperature=temperature,
            bar=silent,
            say=_say_nothing,
        )[0]
        for temperature in config.temperatures
    }
    if faults := sum(one.faults for one in evaluations.values()):
        raise InfrastructureError(
            f"{key}: the world failed in {faults} episodes of the evaluations; remove {folder}/evaluation-* and start "
            "the command again"
        )
    progress = {name: read_progress(folder / "run" / name / "checkpoint") for name in trained.stages}
    history = [row for one in progress.values() for row in one.history]
    cell = AblationCell(
        arm=key.arm,
        seed=key.seed,
        settings=keep_settings(cell_settings(config, {arm.site: material})[key.arm]),
        steps={name: one.step for name, one in progress.items()},
        cpu_seconds={name: round(one.cpu_seconds, 1) for name, one in progress.items()},
        solved={at: _read_solved(one, material.heldout) for at, one in evaluations.items()},
        harmed={at: _shares(one, "harmed", material.heldout) for at, one in evaluations.items()},
        unfinished={at: _shares(one, "unfinished", material.heldout) for at, one in evaluations.items()},
        lag=_lag(history),
        mismatch=_mismatch(history),
        start="" if arm.start is None else load_policy(trained.start).digest(),
    )
    write_file(cells / f"{key}.json", orjson.dumps(cell))


@dataclass(frozen=True, slots=True, kw_only=True)
class _TrainedArm:
    """An arm that was trained with a seed."""

    start: Path
    """The checkpoint of the initial policy."""
    checkpoint: Path
    """The checkpoint of the trained policy."""
    stages: tuple[str, ...]
    """The names of the stages, in order."""


def _train(key: CellKey, config: AblationConfig, material: LearningMaterial, work: Path) -> _TrainedArm:
    """Train an arm. The first cell that needs it trains it; cells that continue from it wait for the result."""
    arm = ARMS[key.arm]
    demonstrations = write_demonstrations(material, arm.demonstrations(config), work / _training_site(arm))
    if arm.start is None:
        start = _warm_start(arm, key.seed, config, material, demonstrations, work)
    else:
        start = _train(CellKey(arm.start, key.seed), config, material, work).checkpoint
    stages = {
        name: _with_demonstrations(stage, demonstrations) for name, stage in arm.stages(arm.at_site(config)).items()
    }
    checkpoint = start
    if stages:
        folder = work / str(key) / "run"
        with hold_lock(work / f"{key}.lock"):
            settings = _settings(key.seed, material, PolicyConfig(checkpoint=start), stages)
            run(plan_run(settings, bar=silent), folder, bar=silent, say=_say_nothing)
        checkpoint = folder / list(stages)[-1] / "checkpoint"
    return _TrainedArm(start=start, checkpoint=checkpoint, stages=tuple(stages))


def _training_site(arm: AblationArm) -> str:
    """The site without the suffix of its test tasks, which do not affect training."""
    return arm.site.removesuffix("-dev")


def _warm_start(
    arm: AblationArm,
    seed: int,
    config: AblationConfig,
    material: LearningMaterial,
    demonstrations: Path,
    work: Path,
) -> Path:
    """The checkpoint of the warm start that arms of this site, format and seed share; the first of them trains it."""
    folder = work / f"start-{_training_site(arm)}-{arm.chat_format}-{seed}"
    with hold_lock(folder.with_name(f"{folder.name}.lock")):
        settings = _settings(
            seed,
            material,
            PolicyConfig(format=arm.chat_format, model=arm.at_site(config).model),
            {"sft": _with_demonstrations(arm.warm_start(config), demonstrations)},
        )
        run(plan_run(settings, bar=silent), folder, bar=silent, say=_say_nothing)
    return folder / "sft" / "checkpoint"


def _settings(
    seed: int, material: LearningMaterial, policy: PolicyConfig, stages: Mapping[str, StageConfig]
) -> TrainConfig:
    return TrainConfig(
        seed=seed,
        threads=1,
        device="cpu",
        world=(material.world,),
        policy=policy,
        stages=stages,
        trackers=("jsonl",),
    )


def _with_demonstrations(stage: StageConfig, demonstrations: Path) -> StageConfig:
    """The stage with its demonstrations, if its kind uses any."""
    return stage if isinstance(stage, GrpoConfig) else replace(stage, demonstrations=demonstrations)


def _read_solved(evaluation: Evaluation, groups: Sequence[HeldoutGroup]) -> dict[str, dict[str, tuple[int, ...]]]:
    return {
        group.name: {
            task: tuple(map(int, evaluation.tasks[task].solved)) for task in group.tasks if task in evaluation.tasks
        }
        for group in groups
    }


def _shares(evaluation: Evaluation, measure: Measure, groups: Sequence[HeldoutGroup]) -> dict[str, float]:
    return {
        group.name: round(fmean(one.value for one in evaluation.observations(measure, tasks=frozenset(group.tasks))), 2)
        for group in groups
    }


def _lag(history: Sequence[Metrics]) -> dict[str, float]:
    lags = [row["staleness/mean"] for row in history if "staleness/mean" in row]
    return {"mean": round(fmean(lags), 2), "last": lags[-1]} if lags else {}


def _mismatch(history: Sequence[Metrics]) -> dict[str, float]:
    rows = [row for row in history if "mismatch/mean" in row]
    if not rows:
        return {}
    return {"mean": fmean(row["mismatch/mean"] for row in rows), "max": max(row["mismatch/max"] for row in rows)}


def _say_nothing(_: str) -> None:
    """Discard messages: cells run concurrently, and the folder of each run holds its messages."""
