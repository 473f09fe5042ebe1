"""Cells of the comparison: a number of worlds with a seed, trained, measured and kept as a small file.

A cell holds its settings and the digest of the listed worlds that it needs. A cell with other settings, or with worlds
that were proved again, does not count as finished. Runs stay in a working folder, where a killed cell resumes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import orjson
import torch
from pydantic import TypeAdapter, ValidationError

from palaestra.benchmarks.cell_pool import hold_lock
from palaestra.benchmarks.cell_settings import KeptSettings, agree_with_kept, keep_settings
from palaestra.benchmarks.learning import HeldoutGroup, LearningMaterial, evaluate_policy
from palaestra.benchmarks.transfer.config import TransferConfig
from palaestra.benchmarks.transfer.demonstrations import as_tokens, draw_demonstrations, first_policy
from palaestra.benchmarks.transfer.figures import TaskFigures, figures_of
from palaestra.benchmarks.transfer.groups import TransferGroup, training_world, transfer_groups
from palaestra.benchmarks.transfer.likelihood import score_solutions
from palaestra.digest import digest
from palaestra.durable import saving, write_file
from palaestra.envs.synthesis.listing import listed_worlds
from palaestra.errors import InfrastructureError, RecordError
from palaestra.record import record
from palaestra.trainers import (
    ExpertConfig,
    Policy,
    PolicyConfig,
    StageConfig,
    StageProgress,
    TrainConfig,
    WorldConfig,
    demonstrations_of,
    load_policy,
    plan_run,
    read_progress,
    run,
)
from palaestra.trainers.monitors.rollouts import DRAWN
from palaestra.trainers.progress import silent
from palaestra.trajectory import Episode, dump_episode, read_episodes
from palaestra.validation import plain_rule

STAGES = ("sft", "expert")
"""The stages of a run; policies are measured after each."""


@dataclass(frozen=True, slots=True, order=True)
class TransferKey:
    """A number of worlds and a seed."""

    worlds: int
    seed: int

    def __str__(self) -> str:
        return f"worlds-{self.worlds}-{self.seed}"


@record
class StageFigures:
    """The costs of a stage."""

    steps: int
    """Optimiser steps of the supervised stage, or rounds of expert iteration."""
    trained_tokens: int
    """Number of tokens that the loss counted, over all optimiser steps."""
    rollouts: int
    drawn_tokens: int
    """Number of tokens that the policy sampled in rollouts."""
    cpu_seconds: float


Results = Mapping[str, Mapping[str, Mapping[str, TaskFigures]]]
"""Figures by stage, group and task."""


@record
class TransferCell:
    """The results of training in a number of worlds with one seed."""

    worlds: int
    seed: int
    settings: KeptSettings
    """The settings of the arm (`TransferSettings`)."""
    demonstrations: int
    demonstration_tokens: int
    """Number of tokens in the oracle's own turns of the demonstrations."""
    read_tokens: int
    """Number of all tokens of the demonstrations."""
    stages: Mapping[str, StageFigures]
    results: Results


_CELL = TypeAdapter(TransferCell)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferSettings:
    """The settings that must be equal for a cell to count as finished."""

    config: TransferConfig
    worlds: int
    tasks: str
    """The digest of the tasks on which policies are measured."""
    listed: str
    """The digest of the listed worlds that the arm needs."""


def transfer_settings(config: TransferConfig, worlds: int) -> TransferSettings:
    """The settings of an arm.

    Raises:
        CapabilityError: fewer worlds are listed.
    """
    training_world(worlds)
    listed = listed_worlds()
    trained = [number for number, one in listed.items() if one.split == "train"]
    needed = {*trained[: max(worlds, config.codec_worlds)], *(set(listed) - set(trained))}
    tasks = [[group.name, group.tasks] for group in transfer_groups(worlds, config.tasks)]
    return TransferSettings(
        config=config,
        worlds=worlds,
        tasks=digest(tasks),
        listed=digest([[number, listed[number].blueprint] for number in sorted(needed)]),
    )


def read_cells(folder: Path, config: TransferConfig, worlds: Sequence[int]) -> dict[TransferKey, TransferCell]:
    """Read the finished cells in `folder`; cells with other settings are left out.

    Args:
        folder: The folder of cells.
        config: The settings of the cells.
        worlds: The numbers of worlds of the arms, at most the number of listed worlds.

    Raises:
        RecordError: a file cannot be read.
    """
    wanted = {number: transfer_settings(config, number) for number in worlds}
    found: dict[TransferKey, TransferCell] = {}
    for file in sorted(folder.glob("worlds-*.json")):
        try:
            cell = _CELL.validate_json(file.read_bytes())
        except ValidationError as error:
            raise RecordError(
                f"{file}: {plain_rule(error.errors()[0]['msg'])}; remove it to run the cell anew"
            ) from error
        if cell.worlds in wanted and agree_with_kept(wanted[cell.worlds], cell.settings):
            found[TransferKey(cell.worlds, cell.seed)] = cell
    return dict(sorted(found.items()))


def run_cell(key: TransferKey, config: TransferConfig, cells: Path, work: Path) -> None:
    """Train in a number of worlds with one seed, on one thread; measure, and write the cell's file.

    Raises:
        CapabilityError: fewer worlds are listed.
        CheckpointError: files in `work` have other settings, or are damaged.
        InfrastructureError: a world failed in an episode of an evaluation; no file is written.
    """
    torch.set_num_threads(1)
    settings = transfer_settings(config, key.worlds)
    folder = work / str(key) / digest(settings)[:12]
    start = folder / "start"
    if not start.exists():
        with saving(start) as temporary:
            first_policy(config, key.seed).save(temporary)
    shown, file = _demonstrations(key.worlds, config, load_policy(start), work)
    own, read = _count_tokens(shown, load_policy(start))
    stages = _stages(config, file, len(shown), own)
    train = TrainConfig(
        seed=key.seed,
        threads=1,
        device="cpu",
        world=(training_world(key.worlds),),
        policy=PolicyConfig(checkpoint=start),
        stages=stages,
        trackers=("jsonl",),
    )
    run(plan_run(train, bar=silent), folder / "run", bar=silent, say=_say_nothing)
    checkpoints = {stage: folder / "run" / stage / "checkpoint" for stage in STAGES}
    groups = transfer_groups(key.worlds, config.tasks)
    solutions = {group.name: demonstrations_of(_world(group), tasks=group.tasks) for group in groups}
    results = {
        stage: {
            group.name: _measure(load_policy(at), group, solutions[group.name], config, folder / f"{stage}-{place}")
            for place, group in enumerate(groups)
        }
        for stage, at in checkpoints.items()
    }
    cell = TransferCell(
        worlds=key.worlds,
        seed=key.seed,
        settings=keep_settings(settings),
        demonstrations=len(shown),
        demonstration_tokens=own,
        read_tokens=read,
        stages={stage: _stage_figures(read_progress(at), stages[stage]) for stage, at in checkpoints.items()},
        results=results,
    )
    write_file(cells / f"{key}.json", orjson.dumps(cell))


def _demonstrations(worlds: int, config: TransferConfig, start: Policy, work: Path) -> tuple[list[Episode], Path]:
    """The demonstrations of an arm, and their file; the seeds of an arm share them."""
    file = work / f"demonstrations-{worlds}-{digest(transfer_settings(config, worlds))[:12]}.jsonl"
    with hold_lock(file.with_suffix(".lock")):
        if not file.exists():
            shown = draw_demonstrations(worlds, config.tokens, start.codec, start.model.shape.context)
            write_file(file, b"".join(dump_episode(episode) + b"\n" for episode in shown))
    return list(read_episodes(file)), file


def _count_tokens(shown: Sequence[Episode], policy: Policy) -> tuple[int, int]:
    """Count the tokens of the oracle's turns, and all tokens."""
    each = [as_tokens(episode, policy.codec) for episode in shown]
    return sum(sum(one.sampled) for one in each), sum(len(one.ids) for one in each)


def _stages(config: TransferConfig, file: Path, count: int, own: int) -> dict[str, StageConfig]:
    """The stages, with the numbers of steps that give equal tokens.

    Args:
        config: The settings that all arms share.
        file: The file of the demonstrations.
        count: Number of demonstrations.
        own: Number of tokens in the oracle's own turns.
    """
    sft, expert = config.sft, config.expert
    updates = max(1, round(config.imitated_tokens * count / (own * expert.batch)))
    steps = max(1, round(config.epochs * count * config.tokens / (own * sft.batch)))
    return {
        "sft": replace(sft, steps=steps, demonstrations=file),
        "expert": replace(expert, updates=updates, demonstrations=file),
    }


def _world(group: TransferGroup) -> WorldConfig:
    return WorldConfig(env_id=group.env_id)


def _measure(
    policy: Policy, group: TransferGroup, solutions: Sequence[Episode], config: TransferConfig, folder: Path
) -> dict[str, TaskFigures]:
    """Measure the figures of each task of a group."""
    evaluation, episodes = evaluate_policy(
        policy,
        LearningMaterial(
            world=_world(group), demonstrations=(), heldout=(HeldoutGroup(name=group.name, tasks=group.tasks),)
        ),
        config.expert,
        folder,
        samples=config.samples,
        name=group.name,
        temperature=config.temperature,
        bar=silent,
        say=_say_nothing,
    )
    if evaluation.faults:
        raise InfrastructureError(
            f"{group.name}: the world failed in {evaluation.faults} episodes; remove {folder} and start the command "
            "again"
        )
    likelihoods = score_solutions(policy, solutions)
    played = {episode.task.id: episode for episode in episodes}
    return {task: figures_of(evaluation.tasks[task], played[task], likelihoods.get(task)) for task in group.tasks}


def _stage_figures(progress: StageProgress, stage: StageConfig) -> StageFigures:
    history = progress.history
    return StageFigures(
        steps=progress.step,
        trained_tokens=int(sum(row.get("tokens", 0.0) for row in history)),
        rollouts=_count_rollouts(progress.step, stage),
        drawn_tokens=int(sum(row.get(DRAWN, 0.0) for row in history)),
        cpu_seconds=round(progress.cpu_seconds, 1),
    )


def _count_rollouts(rounds: int, stage: StageConfig) -> int:
    return rounds * stage.limits.per_step * stage.group_size if isinstance(stage, ExpertConfig) else 0


def _say_nothing(_: str) -> None:
    """Discard messages: cells run concurrently, and the folder of each run holds its messages."""
