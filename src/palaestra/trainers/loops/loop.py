"""A stage of training: steps that are saved as they go, so that a killed run goes on as if it had not been killed.

Nothing random is saved, because nothing random has a state: every draw of step `n` comes from a stream that is named by
the run's seed, the stage and `n`. The learner works in a thread of its own, so that whatever else the event loop does,
such as drawing tokens, goes on meanwhile.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar

import orjson
import torch
from pydantic import TypeAdapter, ValidationError

from palaestra.durable import saving, sweep, verified
from palaestra.errors import CheckpointError, RecordError
from palaestra.trainers.learner import Learner, LearnerConfig
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.monitors import Tracker
from palaestra.trainers.objectives import Metrics
from palaestra.trainers.policy import Policy
from palaestra.trainers.progress import OpenProgressBar, silent

P = ParamSpec("P")
T = TypeVar("T")
CHECKPOINT = "checkpoint"
_PROGRESS, _OPTIMISER, _KEPT, _HELD, _ADAPTERS = "progress.json", "optimiser.pt", "kept.json", "held.pt", "adapters"


@dataclass(kw_only=True)
class StageProgress:
    """How far a stage is."""

    config: str
    """A hash of what the stage was asked to do."""
    step: int = 0
    """Steps that are done."""
    seconds: float = 0.0
    """Spent on them, over all runs of the stage."""
    history: list[Metrics] = field(default_factory=list[Metrics])
    """A row for each step."""


_READER = TypeAdapter(StageProgress)


def read_progress(saved: Path) -> StageProgress:
    """How far the stage is whose checkpoint stands at `saved`.

    Raises:
        RecordError: there is no whole one.
    """
    whole = verified(saved)
    try:
        return _READER.validate_json((whole / _PROGRESS).read_bytes())
    except (OSError, ValidationError) as error:
        raise RecordError(f"{whole}: {_PROGRESS} cannot be read ({error})") from error


MakeLearner: TypeAlias = Callable[[Decoder, LearnerConfig], Learner]
"""Makes a learner of a model's weights."""


class LearnerThread:
    """The one thread that the learner works in.

    Args:
        threads: Of the arithmetic; the setting belongs to the thread that works.
    """

    def __init__(self, threads: int) -> None:
        self._executor = ThreadPoolExecutor(1, "learner", torch.set_num_threads, (threads,))

    async def do(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do `work` there and wait for it."""
        return await asyncio.wrap_future(self._executor.submit(work, *args, **kwargs))

    def close(self) -> None:
        """End it, when what it is doing is done."""
        self._executor.shutdown()


class Loop(ABC):
    """What a stage does at each step."""

    name: str
    learner: LearnerConfig
    save_every: int

    @abstractmethod
    def fingerprint(self) -> str:
        """A hash of everything that decides the result."""

    @abstractmethod
    def start(self) -> Policy:
        """The policy that the stage begins with; the stage may change it."""

    @abstractmethod
    def done(self, progress: StageProgress) -> float:
        """How much of the stage is done, 0 to 1; it ends at 1."""

    @abstractmethod
    async def open(
        self, policy: Policy, learner: Learner, directory: Path, *, step: int, kept: bytes, held: Mapping[str, Any]
    ) -> None:
        """Make ready for step number `step`.

        Args:
            policy: Whose weights `learner` trains.
            learner: As it was after the step before.
            directory: Where the stage may keep logs.
            step: The first that will be taken.
            kept: What `keep` gave when that step was next; empty at the beginning.
            held: And what `hold` gave.
        """

    @abstractmethod
    async def step(self, thread: LearnerThread, step: int, done: float) -> Metrics:
        """Take step number `step`, with `done` of the stage behind it."""

    def keep(self) -> bytes:
        """What has to be saved beside model and optimiser, as one JSON document; empty where nothing has."""
        return b""

    def hold(self) -> dict[str, Any]:
        """Tensors that have to be saved beside the learner's; none where nothing has."""
        return {}

    async def close(self) -> None:  # noqa: B027  most have nothing to free
        """Free what `open` took; called once, also after an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageResult:
    """A stage that has come to its end."""

    policy: Policy
    progress: StageProgress
    directory: Path
    """Its last save: a checkpoint in Hugging Face's layout."""


def run_loop(
    loop: Loop,
    directory: Path,
    *,
    threads: int,
    trackers: Sequence[Callable[[Path, int], Tracker]] = (),
    learners: MakeLearner = Learner,
    bar: OpenProgressBar = silent,
    say: Callable[[str], None] = print,
) -> StageResult:
    """Run a stage to its end, from its last save if there is one.

    Args:
        loop: What to do.
        directory: Its folder: `checkpoint` and `checkpoint.previous` inside it, and what the loop and trackers log.
        threads: Of the arithmetic, for the learner and for what else there is.
        trackers: Each opens a tracker in a folder, for steps from a number on.
        learners: Makes the learner; a crew's where it is spread over processes.
        bar: Opens a progress bar.
        say: Told, in a sentence, where the stage goes on from.

    Raises:
        CheckpointError: the save there is of other settings, or no save of it is whole.
        StorageError: the disk refuses; the last save stands.
        DivergedError: the loss is no number; the last save stands.
        InfrastructureError: worlds or engine failed more than can be borne; the last save stands.
    """
    torch.set_num_threads(threads)
    return asyncio.run(_run(loop, directory, threads, trackers, learners, bar, say))


async def _run(
    loop: Loop,
    directory: Path,
    threads: int,
    trackers: Sequence[Callable[[Path, int], Tracker]],
    learners: MakeLearner,
    bar: OpenProgressBar,
    say: Callable[[str], None],
) -> StageResult:
    directory.mkdir(parents=True, exist_ok=True)
    saved = directory / CHECKPOINT
    sweep(saved)
    policy, learner, progress, kept, held = _resumed(loop, saved, learners, say)
    if loop.done(progress) >= 1:
        return StageResult(policy=_trained(policy, learner), progress=progress, directory=saved)
    thread = LearnerThread(threads)
    opened = [make(directory, progress.step) for make in trackers]
    try:
        await loop.open(policy, learner, directory, step=progress.step, kept=kept, held=held)
        with bar(loop.name, 100) as shown:
            ticks = 0
            while (done := loop.done(progress)) < 1:
                metrics = await _timed(loop, thread, progress, done)
                for tracker in opened:
                    tracker.log(progress.step, metrics)
                done = min(1.0, loop.done(progress))
                if progress.step % loop.save_every == 0 or done == 1:
                    await thread.do(_save, policy, learner, progress, loop.keep(), loop.hold(), saved)
                for _ in range(ticks, int(done * 100)):
                    shown.step(f"step {progress.step}")
                ticks = int(done * 100)
    finally:
        await loop.close()
        thread.close()
        for tracker in opened:
            tracker.close()
    return StageResult(policy=_trained(policy, learner), progress=progress, directory=saved)


async def _timed(loop: Loop, thread: LearnerThread, progress: StageProgress, done: float) -> Metrics:
    begun = time.monotonic()
    metrics = await loop.step(thread, progress.step, done)
    progress.step += 1
    progress.seconds += time.monotonic() - begun
    metrics = {**metrics, "step": progress.step, "seconds": round(progress.seconds, 3)}
    progress.history.append(metrics)
    return metrics


def _resumed(
    loop: Loop, saved: Path, learners: MakeLearner, say: Callable[[str], None]
) -> tuple[Policy, Learner, StageProgress, bytes, Mapping[str, Any]]:
    fingerprint = loop.fingerprint()
    if not saved.exists() and not saved.with_name(saved.name + ".previous").exists():
        policy = loop.start()
        return policy, learners(policy.model, loop.learner), StageProgress(config=fingerprint), b"", {}
    try:
        whole = verified(saved)
        progress = read_progress(saved)
        kept = (whole / _KEPT).read_bytes()
    except (RecordError, OSError, ValidationError) as error:
        raise CheckpointError(f"{error}; or remove {saved.parent} to begin {loop.name} anew") from error
    if progress.config != fingerprint:
        raise CheckpointError(
            f"{saved.parent} is a {loop.name} of other settings; give another folder, or remove it to begin anew"
        )
    policy = loop.start()  # what adapters are added to; the learner's state holds all weights that it trains
    learner = learners(policy.model, loop.learner)
    state: Any = torch.load(whole / _OPTIMISER, weights_only=True)
    learner.restore(state)
    broken = "" if whole == saved else f" ({saved} is damaged, the save before it is whole)"
    where = f"done before, {progress.step} steps" if loop.done(progress) >= 1 else f"goes on from step {progress.step}"
    say(f"{loop.name}: {where}{broken}")
    held: Any = torch.load(whole / _HELD, weights_only=True) if (whole / _HELD).exists() else {}
    return policy, learner, progress, kept, held


def _trained(policy: Policy, learner: Learner) -> Policy:
    """The policy as it is now, adapters worked in and shares put together."""
    if learner.in_place:
        return policy
    merged = policy.copy()
    merged.model.load_state_dict(dict(learner.weights()), strict=False)  # a tied output layer is left out
    return merged


def _save(
    policy: Policy, learner: Learner, progress: StageProgress, kept: bytes, held: Mapping[str, Any], saved: Path
) -> None:
    with saving(saved) as temporary:
        _trained(policy, learner).save(temporary)
        if learner.adapters is not None:
            learner.adapters.save(temporary / _ADAPTERS)
        (temporary / _OPTIMISER).write_bytes(_dumped(learner.state()))
        if held:
            (temporary / _HELD).write_bytes(_dumped(held))
        (temporary / _PROGRESS).write_bytes(orjson.dumps(asdict(progress)))
        (temporary / _KEPT).write_bytes(kept)


def _dumped(state: Mapping[str, Any]) -> bytes:
    into = BytesIO()  # torch hides what the disk says of a file of its own
    torch.save(state, into)
    return into.getvalue()
