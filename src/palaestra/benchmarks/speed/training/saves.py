"""`palaestra bench saves`: time, memory and disk space of a save and a resumption, for all weights and for adapters.

Each learner and each resumption runs in a process of its own; memory is the system's figure for the whole process.
"""

import asyncio
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, TypeVar

import torch

from palaestra.benchmarks.speed.training.learners import LearnerStep
from palaestra.benchmarks.speed.training.machine import machine
from palaestra.benchmarks.speed.training.scale import QWEN3_06B, SMALL, TrainScale
from palaestra.process_pool import process_pool
from palaestra.records import JsonObject
from palaestra.table import Table
from palaestra.tools import CHAT_FORMATS
from palaestra.trainers.codec import Codec, train_tokenizer
from palaestra.trainers.learner import Learner, LearnerConfig, LoraConfig
from palaestra.trainers.loops.saves import (
    CHECKPOINT,
    Saver,
    StageProgress,
    StageSnapshot,
    restore,
    save_base,
    take_snapshot,
)
from palaestra.trainers.model.checkpoint import fresh
from palaestra.trainers.objectives import ComposedObjective
from palaestra.trainers.policy import Policy
from palaestra.trainers.progress import OpenProgressBar, silent
from palaestra.trainers.run_folder import size_of

T = TypeVar("T")
SAVES_FULL = TrainScale(shape=QWEN3_06B, groups=1, group_size=2, longest=256, micro_tokens=1024)
SAVES_QUICK = TrainScale(shape=SMALL, groups=1, group_size=2, longest=64, micro_tokens=1024)
_WHO = {"all weights": None, "adapters of rank 16": LoraConfig(rank=16)}
_FORMAT = "compact"


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveCosts:
    """The costs of a learner. Memory is in bytes of the whole process, and 0 where the system does not report it."""

    who: str
    parameters: int
    trained: int
    rest_bytes: int
    """Memory between two steps."""
    step_bytes: int
    """Peak memory in a step."""
    save_bytes: int
    """Peak memory while a save is written in the background."""
    resume_bytes: int
    """Peak memory while the learner is restored."""
    disk_bytes: int
    """Disk space of one save; the policy under adapters is not counted."""
    step_seconds: float
    wait_seconds: float
    """Seconds for which training waits for a save: the copy."""
    save_seconds: float
    """Seconds from the copy until the save is on the disk."""
    resume_seconds: float
    """Seconds until the learner of a new process is restored; making the policy is not counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavesReport:
    """The results of one run."""

    machine: JsonObject
    setting: JsonObject
    costs: tuple[SaveCosts, ...]

    def as_json(self) -> JsonObject:
        """The report as plain JSON."""
        return asdict(self)


def bench_saves(*, scale: TrainScale, bar: OpenProgressBar = silent) -> SavesReport:
    """Take steps, save and resume, with all weights and with adapters.

    Args:
        scale: The shape, and the work of a step.
        bar: Opens a progress bar.
    """
    found = machine(torch.device("cpu"))
    costs: list[SaveCosts] = []
    with bar("measuring", 2 * len(_WHO)) as shown:
        for who in _WHO:
            with TemporaryDirectory() as folder:
                saved = _in_a_process(_save, who, scale, Path(folder), torch.get_num_threads())
                shown.step(f"{who}: save")
                resumed = _in_a_process(_resume, who, scale, Path(folder), torch.get_num_threads())
                shown.step(f"{who}: resume")
            costs.append(SaveCosts(who=who, **saved, **resumed))
    return SavesReport(machine=found, setting=asdict(scale), costs=tuple(costs))


def _in_a_process(
    work: Callable[[str, TrainScale, Path, int], T], who: str, scale: TrainScale, folder: Path, threads: int
) -> T:
    with process_pool(1) as pool:
        return pool.submit(work, who, scale, folder, threads).result()


def _save(
    who: str, scale: TrainScale, folder: Path, threads: int
) -> dict[str, Any]:  # Any: figures of whole bytes, and seconds
    torch.set_num_threads(threads)
    policy = _policy(scale)
    learner = _learner(who, policy, scale)
    step = ComposedObjective().prepare(LearnerStep(scale).batch)
    learner.step(step)  # the first step makes the moments
    _forget_peak()
    begun = perf_counter()
    learner.step(step)
    step_seconds, step_bytes = perf_counter() - begun, _peak()
    learner.optimiser.zero_grad()
    rest_bytes = _resident()
    if learner.adapters is not None:
        save_base(policy, folder)
    _forget_peak()
    begun = perf_counter()
    snapshot = take_snapshot(
        policy, learner, StageProgress(config="bench", step=2), kept=b"", held={}, copy=True, whole=False
    )
    copied = perf_counter()
    asyncio.run(_write(snapshot, folder / CHECKPOINT))
    return {
        "parameters": scale.shape.parameters,
        "trained": sum(weight.numel() for weight in snapshot.trained.values()),
        "rest_bytes": rest_bytes,
        "step_bytes": step_bytes,
        "save_bytes": _peak(),
        "disk_bytes": size_of(folder / CHECKPOINT),
        "step_seconds": step_seconds,
        "wait_seconds": copied - begun,
        "save_seconds": perf_counter() - copied,
    }


async def _write(snapshot: StageSnapshot, saved: Path) -> None:
    saver = Saver(saved)
    try:
        saver.begin(snapshot)
        await saver.finish()
    finally:
        saver.close()


def _resume(
    who: str, scale: TrainScale, folder: Path, threads: int
) -> dict[str, Any]:  # Any: figures of whole bytes, and seconds
    torch.set_num_threads(threads)
    policy = _policy(scale)
    _forget_peak()
    begun = perf_counter()
    found = restore(folder / CHECKPOINT)
    learner = _learner(who, policy, scale)
    learner.restore(found.state)
    assert learner.steps == 2, "it goes on from where it was saved"
    return {"resume_seconds": perf_counter() - begun, "resume_bytes": _peak()}


def _policy(scale: TrainScale) -> Policy:
    form = CHAT_FORMATS.get(_FORMAT)
    return Policy(model=fresh(scale.shape, seed=0), codec=Codec(train_tokenizer([[form.end]], form, size=512), form))


def _learner(who: str, policy: Policy, scale: TrainScale) -> Learner:
    config = LearnerConfig(lr=1e-6, layout="shared", micro_tokens=scale.micro_tokens, lora=_WHO[who])
    return Learner(policy.model, config)


def _status(name: str) -> int:
    """A memory figure of this process in bytes, as Linux reports it; 0 on other systems."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)


def _resident() -> int:
    return _status("VmRSS")


def _peak() -> int:
    return _status("VmHWM")


def _forget_peak() -> None:
    """Reset the system's record of peak memory."""
    counter = Path("/proc/self/clear_refs")
    if counter.exists():
        counter.write_text("5")


def saves_table(report: SavesReport) -> Table:
    """The table of the costs of each learner."""
    shape = f"{report.costs[0].parameters:,} weights"
    rows: list[tuple[str, ...]] = [
        ("trained", *(f"{one.trained:,}" for one in report.costs)),
        ("memory at rest", *(_gib(one.rest_bytes) for one in report.costs)),
        ("memory in a step, at most", *(_gib(one.step_bytes) for one in report.costs)),
        ("memory while a save is written, at most", *(_gib(one.save_bytes) for one in report.costs)),
        ("memory while it is resumed, at most", *(_gib(one.resume_bytes) for one in report.costs)),
        ("a save on the disk", *(_gib(one.disk_bytes) for one in report.costs)),
        ("a step", *(f"{one.step_seconds:.1f} s" for one in report.costs)),
        ("training waits for a save", *(f"{one.wait_seconds:.2f} s" for one in report.costs)),
        ("until the save stands", *(f"{one.save_seconds:.1f} s" for one in report.costs)),
        ("resumption", *(f"{one.resume_seconds:.1f} s" for one in report.costs)),
    ]
    note = (
        "Random weights in single precision. Each learner and each resumption has a process of its own, whose memory "
        "the system counts, libraries included. A save stands once its files are hashed and the disk holds them. "
        "Adapters are saved beside one copy of the policy, which is written once and not counted."
    )
    return Table(
        title=f"Saves and resumption, {shape}",
        columns=("what", *(one.who for one in report.costs)),
        rows=tuple(rows),
        note=note,
    )


def saves_markdown(report: SavesReport) -> str:
    """The report as a Markdown document."""
    facts = tuple((key, str(value)) for key, value in report.machine.items() if value != "")
    table = saves_table(report)
    machine_table = Table(title="Machine", columns=("machine", "value"), rows=facts)
    lines = ["Measured by `palaestra bench saves` on one machine:", machine_table.markdown()]
    return "\n\n".join([*lines, f"**{table.title}**", table.markdown(), table.note]) + "\n"


def _gib(count: int) -> str:
    return f"{count / 2**30:.2f} GiB" if count else "-"
