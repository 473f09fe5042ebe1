"""Runs a stage step by step, saves it, and ends it when it is complete or a stop is requested."""

import asyncio
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from palaestra.durable import sweep
from palaestra.errors import CheckpointError, RecordError, StoppedError
from palaestra.trainers.folder import BASE
from palaestra.trainers.learner import Learner
from palaestra.trainers.loops.changes import check_changes, compare_settings
from palaestra.trainers.loops.loop import LearnerThread, Loop, MakeLearner
from palaestra.trainers.loops.saves import (
    CHECKPOINT,
    Saver,
    StageProgress,
    StageSnapshot,
    restore,
    save_base,
    take_snapshot,
)
from palaestra.trainers.loops.stopping import StopRequest
from palaestra.trainers.monitors import StageReporter, Tracker
from palaestra.trainers.monitors.rollouts import DRAWN
from palaestra.trainers.objectives import Metrics
from palaestra.trainers.policy import Policy
from palaestra.trainers.progress import OpenProgressBar, silent

_BEAT_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StageResult:
    """The result of a completed stage."""

    policy: Policy
    progress: StageProgress
    directory: Path
    """The last save: a checkpoint in Hugging Face's layout."""


def run_loop(
    loop: Loop,
    directory: Path,
    *,
    threads: int,
    trackers: Sequence[Callable[[Path, int], Tracker]] = (),
    learners: MakeLearner = Learner,
    amend: bool = False,
    bar: OpenProgressBar = silent,
    say: Callable[[str], None] = print,
) -> StageResult:
    """Run a stage to its end, from its last save if there is one.

    Args:
        loop: What the stage does at each step.
        directory: The stage's folder: `checkpoint`, `checkpoint.previous`, and logs of the loop and the trackers.
        threads: Threads for arithmetic, in the learner and elsewhere.
        trackers: Each opens a tracker in a folder, given the number of steps already done.
        learners: Makes the learner, in this process or spread over several.
        amend: Whether settings that change what later steps learn may differ from those of the save.
        bar: Opens a progress bar.
        say: Called with a message about the step from which the stage resumes.

    Raises:
        CheckpointError: the save has other settings, or there is no complete save.
        StorageError: writing to disk fails; the last save is intact.
        DivergedError: the loss is not a number; the last save is intact.
        InfrastructureError: worlds or engine failed more often than allowed; the last save is intact.
        StoppedError: the process was asked to stop; the stage is saved as it was after its last complete step.
    """
    torch.set_num_threads(threads)
    return asyncio.run(_run(loop, directory, threads, trackers, learners, amend, bar, say))


async def _run(
    loop: Loop,
    directory: Path,
    threads: int,
    trackers: Sequence[Callable[[Path, int], Tracker]],
    learners: MakeLearner,
    amend: bool,  # noqa: FBT001
    bar: OpenProgressBar,
    say: Callable[[str], None],
) -> StageResult:
    directory.mkdir(parents=True, exist_ok=True)
    saved = directory / CHECKPOINT
    for name in (CHECKPOINT, BASE):
        sweep(directory / name)
    policy, learner, progress, kept, held = _resume(loop, saved, learners, say, amend=amend)
    if loop.share_done(progress) >= 1:
        return StageResult(policy=_merge_trained(policy, learner), progress=progress, directory=saved)
    if learner.adapters is not None:
        save_base(policy, directory)
    stage = _Stage(loop, policy, learner, progress, LearnerThread(threads), Saver(saved))
    opened = [make(directory, progress.step) for make in trackers]
    try:
        await loop.open(policy, learner, directory, step=progress.step, kept=kept, held=held)
        reporter = StageReporter(loop.name, say, done=loop.share_done(progress))
        with bar(loop.name, 100) as shown, stage.stop.listening(), stage.beating(reporter):
            ticks = 0
            while (done := loop.share_done(progress)) < 1 and stage.stop.signal is None:
                if (metrics := await stage.step(done)) is None:
                    break
                events = loop.events()
                for tracker in opened:
                    tracker.log(progress.step, metrics)
                    for event in events:
                        tracker.event(progress.step, event.name, event.text)
                done = min(1.0, loop.share_done(progress))
                await stage.save_if_due(last=done == 1)
                reporter.step(progress.step, metrics, done=done, saved=stage.saved)
                if more := int(done * 100) - ticks:
                    shown.step(f"step {progress.step}", more)
                ticks += more
            if done < 1:
                await stage.save(whole=False)
                raise _make_stop(loop, stage, saved)
    finally:
        await loop.close()
        stage.close()
        for tracker in opened:
            tracker.close()
    return StageResult(policy=_merge_trained(policy, learner), progress=progress, directory=saved)


class _Stage:
    """A running stage: its steps, in order, and its saves."""

    def __init__(
        self,
        loop: Loop,
        policy: Policy,
        learner: Learner,
        progress: StageProgress,
        thread: LearnerThread,
        saver: Saver,
    ) -> None:
        self.progress = progress
        self.stop = StopRequest()
        self._loop = loop
        self._policy = policy
        self._learner = learner
        self._thread = thread
        self._saver = saver
        self._meter = loop.meter
        self._due = False
        self.saved = progress.step
        """The step of the last complete save."""
        self._writing = progress.step
        self._saved_at = time.monotonic()

    async def step(self, done: float) -> Metrics | None:
        """Take the next step; `None` if a stop was requested before its training began."""
        begun, idle = time.monotonic(), self._thread.begun
        self._meter.begin(self.progress.cpu_seconds)
        taken = asyncio.ensure_future(self._loop.step(self._thread, self.progress.step, done))
        asked = asyncio.ensure_future(self.stop.wait())
        try:
            await asyncio.wait({taken, asked}, return_when=asyncio.FIRST_COMPLETED)
            if not taken.done() and self._thread.begun == idle:  # later, the weights are in the middle of a step
                taken.cancel()
            metrics = await taken
        except asyncio.CancelledError:
            if self.stop.signal is None:
                raise
            return None
        finally:
            taken.cancel()
            asked.cancel()
        self.progress.step += 1
        seconds = time.monotonic() - begun
        self.progress.seconds += seconds
        self.progress.cpu_seconds = self._meter.read()
        if (tokens := metrics.get(DRAWN, metrics.get("tokens"))) is not None:  # without rollouts: trained tokens
            metrics["speed/tokens"] = tokens / seconds
        row = {**metrics, "step": self.progress.step, "seconds": round(self.progress.seconds, 3)}
        self.progress.history.append(row)
        return row

    async def save_if_due(self, *, last: bool) -> None:
        """Start a save if one is due and none is in progress; the last save is awaited.

        Raises:
            StorageError: writing this save or the one before failed.
        """
        config = self._loop.save
        minutes = (time.monotonic() - self._saved_at) / 60
        self._due = self._due or self.progress.step % config.every == 0
        self._due = self._due or (config.minutes is not None and minutes >= config.minutes)
        if self._saver.is_free():
            self.saved = self._writing
        if last:
            await self.save(whole=True)
        elif self._saver.is_free() and self._due:
            self._saver.begin(await self._snapshot(copy=config.background, whole=False))
            if not config.background:
                await self._saver.finish()
                self.saved = self._writing

    async def save(self, *, whole: bool) -> None:
        """Save now, and wait until the save is complete."""
        await self._saver.finish()
        self._saver.begin(await self._snapshot(copy=False, whole=whole))
        await self._saver.finish()
        self.saved = self._writing

    @contextmanager
    def beating(self, reporter: StageReporter) -> Generator[None]:
        """Report the stage's activity regularly while nothing else is reported."""

        async def beat() -> None:
            while True:
                await asyncio.sleep(_BEAT_SECONDS)
                reporter.beat(self.progress.step, self._loop.doing())

        beating = asyncio.ensure_future(beat())
        try:
            yield
        finally:
            beating.cancel()

    async def _snapshot(self, *, copy: bool, whole: bool) -> StageSnapshot:
        self._due, self._saved_at, self._writing = False, time.monotonic(), self.progress.step
        kept, held = self._loop.keep(), self._loop.hold()
        return await self._thread.do(
            take_snapshot,
            self._policy,
            self._learner,
            self.progress,
            kept=kept,
            held=held,
            copy=copy,
            whole=whole,
        )

    def close(self) -> None:
        """Stop both threads after their current work."""
        self._thread.close()
        self._saver.close()


def _make_stop(loop: Loop, stage: _Stage, saved: Path) -> StoppedError:
    assert stage.stop.signal is not None, "a stage that is not done was asked to stop"
    return StoppedError(
        f"{stage.stop.signal.name}: {loop.name} stopped after step {stage.progress.step} and is saved in {saved}; the "
        "same command goes on from there",
        stage.stop.signal,
    )


def _resume(
    loop: Loop, saved: Path, learners: MakeLearner, say: Callable[[str], None], *, amend: bool
) -> tuple[Policy, Learner, StageProgress, bytes, Mapping[str, Any]]:
    fingerprint = loop.fingerprint()
    if not saved.exists() and not saved.with_name(saved.name + ".previous").exists():
        policy = loop.start()
        return (
            policy,
            learners(policy.model, loop.learner),
            StageProgress(config=fingerprint, settings=loop.settings()),
            b"",
            {},
        )
    try:
        found = restore(saved)
    except (RecordError, OSError, SafetensorError) as error:
        raise CheckpointError(f"{error}; or remove {saved.parent} to begin {loop.name} anew") from error
    check_changes(compare_settings(found.progress.settings, loop.settings()), amend=amend, where=saved.parent)
    if found.progress.config != fingerprint:
        raise CheckpointError(
            f"{saved.parent} is a {loop.name} with another seed or beginning, other tasks, demonstrations or parts of "
            "an objective, or of an earlier version; give another folder, or remove it to begin anew"
        )
    found.progress.settings = loop.settings()
    policy = loop.start()  # adapters are added to it; the state holds all trained weights
    learner = learners(policy.model, loop.learner)
    learner.restore(found.state)
    progress = found.progress
    broken = "" if found.directory == saved else f" ({saved} is damaged, the save before it is whole)"
    where = (
        f"done before, {progress.step} steps"
        if loop.share_done(progress) >= 1
        else f"goes on from step {progress.step}"
    )
    say(f"{loop.name}: {where}{broken}")
    return policy, learner, progress, found.kept, found.held


def _merge_trained(policy: Policy, learner: Learner) -> Policy:
    """The current policy, with adapters merged and shards joined."""
    if learner.in_place:
        return policy
    merged = policy.copy()
    merged.model.load_state_dict(dict(learner.weights()), strict=False)  # a tied output layer is left out
    return merged
