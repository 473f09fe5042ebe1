"""Trains and measures several policies of a measurement concurrently, each in a process of its own, on one thread.

Processes store their parts where `learn` finds them, so the result is read afterwards as after a sequential run.
"""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from multiprocessing.managers import SyncManager
from pathlib import Path
from time import monotonic
from typing import Protocol

import torch

from palaestra import register_world
from palaestra.benchmarks.learning.material import LearningMaterial, place_of
from palaestra.benchmarks.learning.run import (
    BASE,
    CONTROLS,
    STAGES,
    LearningConfig,
    LearningResult,
    Training,
    learn,
)
from palaestra.process_pool import end_with_parent, process_pool
from palaestra.trainers import OpenProgressBar, ProgressBar, env_id_of

_STAGES = "stages"
"""The part of a seed that trains the stages."""
_EVERY = 5.0
"""Seconds between two checks of the processes."""


def learn_at_once(
    material: LearningMaterial,
    config: LearningConfig,
    *,
    seeds: int,
    directory: Path,
    jobs: int,
    bar: OpenProgressBar,
    say: Callable[[str], None],
) -> list[LearningResult]:
    """Train and evaluate with the seeds 0, 1, ..., resuming from the files in `directory`.

    A seed's stages are trained before its controls, because the controls get the processor time that the stages took. A
    policy is measured as soon as its stage is over; each temperature is a separate job.

    Args:
        material: The training and test material.
        config: The settings of each seed.
        seeds: Number of seeds.
        directory: The folder that holds a folder for each seed.
        jobs: Number of policies that are trained or measured at once; with 1, everything happens in this process.
        bar: Opens a progress bar.
        say: Receives a message where a part resumes.

    Raises:
        PalaestraError: see `learn`.
    """
    if jobs > 1:
        _train_ahead(material, config, seeds=seeds, directory=directory, jobs=jobs, bar=bar, say=say)
    return [
        learn(material, config, seed=seed, directory=_folder(directory, seed), bar=bar, say=say)
        for seed in range(seeds)
    ]


def _folder(directory: Path, seed: int) -> Path:
    return directory / f"seed-{seed}"


@dataclass(frozen=True, slots=True)
class _Job:
    """The work of one process: it trains the stages or a control, or measures a policy at a temperature."""

    seed: int
    part: str
    """`_STAGES`, or the name of a control or of a policy."""
    temperature: float | None = None
    """`None` for training."""

    def __str__(self) -> str:
        at = "" if self.temperature is None else f", temperature {self.temperature:g}"
        return f"seed {self.seed}, {self.part}{at}"


class _News(Protocol):
    """A queue of progress messages from processes."""

    def put(self, item: tuple[str, str]) -> None:
        """Send the name of a job and its progress."""
        ...

    def get(self) -> tuple[str, str]:
        """Return the first unread message."""
        ...

    def empty(self) -> bool:
        """Whether all messages were read."""
        ...


def _train_ahead(
    material: LearningMaterial,
    config: LearningConfig,
    *,
    seeds: int,
    directory: Path,
    jobs: int,
    bar: OpenProgressBar,
    say: Callable[[str], None],
) -> None:
    place = place_of(material)
    manager = SyncManager(ctx=multiprocessing.get_context("spawn"))
    manager.start(end_with_parent)
    waiting = [_Job(seed, _STAGES) for seed in range(seeds)]
    controls = CONTROLS if config.controls else ()
    parts = (*STAGES.values(), *controls, *([] if config.base is None else [BASE]))
    running: dict[Future[None], _Job] = {}
    under_way: dict[str, str] = {}
    asked: set[_Job] = set()
    failed: list[BaseException] = []

    def measure(seed: int, *policies: str) -> None:
        """Schedule measurements of policies before any further training."""
        jobs_of = [_Job(seed, policy, one) for policy in policies for one in config.temperatures]
        waiting[:0] = [job for job in jobs_of if job not in asked]
        asked.update(jobs_of)

    total = seeds * (1 + len(controls) + len(parts) * len(config.temperatures))
    with (
        bar("policies", total) as shown,
        manager,
        process_pool(jobs) as pool,
    ):
        news: _News = manager.Queue()
        while waiting or running:
            while waiting and len(running) < jobs:
                job = waiting.pop(0)
                running[pool.submit(_work, place, material, config, job, directory, news)] = job
            done, _ = wait(running, timeout=_EVERY, return_when=FIRST_COMPLETED)
            while not news.empty():
                name, text = news.get()
                under_way[name] = text
            for one in done:
                job = running.pop(one)
                under_way.pop(str(job), None)
                if (error := one.exception()) is not None:
                    say(f"{job}: {error}; what is under way is finished first")
                    failed.append(error)
                    waiting.clear()
                    continue
                shown.step(str(job))
                if failed or job.temperature is not None:
                    continue
                if job.part == _STAGES:
                    waiting += [_Job(job.seed, control) for control in controls]
                    measure(job.seed, *(name for name in parts if name not in controls))
                else:
                    measure(job.seed, job.part)
            for job in [] if failed else [one for one in running.values() if one.part == _STAGES]:
                folder = _folder(directory, job.seed)
                training = Training(material, config, seed=job.seed, directory=folder, bar=bar, say=say)
                measure(job.seed, *training.finished_policies())
            shown.step("; ".join(f"{name}: {text}" for name, text in sorted(under_way.items())), 0)
    if failed:
        raise failed[0]


def _work(
    place: str | None, material: LearningMaterial, config: LearningConfig, job: _Job, directory: Path, news: _News
) -> None:
    """Train or measure according to the job; the results stay in the folder of its seed."""
    torch.set_num_threads(config.threads)
    if place is not None:
        register_world(place, env_id=env_id_of(material.world))

    def bar(title: str, total: int) -> AbstractContextManager[ProgressBar]:
        return nullcontext(_Reporter(str(job), title, total, news))

    folder = _folder(directory, job.seed)
    training = Training(material, config, seed=job.seed, directory=folder, bar=bar, say=_say_nothing)
    if job.temperature is not None:
        training.measure_at(job.part, job.temperature)
    elif job.part == _STAGES:
        training.train_stages()
    else:
        training.train_control(job.part)


class _Reporter:
    """A progress bar whose state another process shows."""

    def __init__(self, job: str, title: str, total: int, news: _News) -> None:
        self._job = job
        self._title = title
        self._total = total
        self._news = news
        self._done = 0
        self._last = 0.0

    def step(self, at: str, count: int = 1) -> None:
        """Add finished steps, and report them from time to time."""
        del at
        self._done += count
        if (now := monotonic()) - self._last >= _EVERY:
            self._last = now
            self._news.put((self._job, f"{self._title} {self._done}/{self._total}"))


def _say_nothing(_: str) -> None:
    """Discard messages: several parts run at once, and messages about resumption are not useful then."""
