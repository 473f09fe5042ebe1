"""Saves of a stage: their content, and how they are written during training.

A save is a folder: the policy in Hugging Face's layout, the optimiser's moments, the progress, and the state of the
stage's loop. With adapters it holds only those; the weights that they adapt never change and are stored once, in `base`
beside the saves. The last save of a stage always holds the whole policy.
"""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import torch
from pydantic import TypeAdapter, ValidationError
from safetensors.torch import load_file, save_file
from torch import Tensor

from palaestra.durable import find_whole_save, saving
from palaestra.errors import RecordError
from palaestra.trainers.codec import Codec
from palaestra.trainers.folder import ADAPTERS, BASE, convert_to_disk_errors, save_codec
from palaestra.trainers.learner import Learner
from palaestra.trainers.model.adapters import load_adapters
from palaestra.trainers.model.checkpoint import WEIGHTS, save_weights
from palaestra.trainers.model.shape import DecoderShape
from palaestra.trainers.objectives import Metrics
from palaestra.trainers.policy import Policy

if TYPE_CHECKING:
    from palaestra.trainers.learner.lora import Adapters

CHECKPOINT = "checkpoint"
_PROGRESS, _OPTIMISER, _KEPT, _HELD = "progress.json", "optimiser.safetensors", "kept.json", "held.pt"
_STEPS = "steps"


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveConfig:
    """When to save a stage. It is also saved at its end, and when it is asked to stop."""

    every: int = 1
    """Steps between saves; if the previous save is still being written, the next one waits for a later step."""
    minutes: float | None = 10.0
    """Minutes after which a save is due regardless of steps; `None` counts only steps."""
    background: bool = True
    """Whether training continues while a save is written; this takes a second copy of weights and moments in memory."""

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError(f"every={self.every}: at least 1 step")
        if self.minutes is not None and not self.minutes > 0:
            raise ValueError(f"minutes={self.minutes}: a number above 0; leave it out for steps alone")


@dataclass(kw_only=True)
class StageProgress:
    """The progress of a stage."""

    config: str
    """A hash of the stage's inputs; see `Loop.fingerprint`."""
    step: int = 0
    """The number of completed steps."""
    seconds: float = 0.0
    """Seconds of wall-clock time for these steps, over all runs of the stage."""
    cpu_seconds: float = 0.0
    """Processor seconds of the training process, over all its threads; worker processes are not counted."""
    history: list[Metrics] = field(default_factory=list[Metrics])
    """One row per step."""
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    """The stage's settings, by their full names. Any: plain JSON."""


_READER = TypeAdapter(StageProgress)


def read_progress(saved: Path) -> StageProgress:
    """The progress of the stage whose checkpoint is at `saved`.

    Raises:
        RecordError: there is no complete save.
    """
    whole = find_whole_save(saved)
    try:
        return _READER.validate_json((whole / _PROGRESS).read_bytes())
    except (OSError, ValidationError) as error:
        raise RecordError(f"{whole}: {_PROGRESS} cannot be read ({error})") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSnapshot:
    """The state of a stage between two steps, as a save stores it."""

    codec: Codec
    shape: DecoderShape
    weights: Mapping[str, Tensor] | None
    """The weights of the whole policy; `None` if only adapters are saved."""
    adapters: "Adapters | None"
    trained: Mapping[str, Tensor]
    """The trained tensors, by name."""
    moments: Mapping[str, Mapping[str, Tensor]]
    """The optimiser's moments, by the same names."""
    steps: int
    """The optimiser's step count."""
    progress: bytes
    kept: bytes
    held: Mapping[str, Any]
    """Any: dictionaries of tensors."""

    def write(self, directory: Path) -> None:
        """Write the files of a save into a folder.

        Raises:
            OSError: writing to disk fails.
        """
        if self.weights is not None:
            save_weights(self.shape, self.weights, directory)
        save_codec(self.codec, directory, based=self.weights is None)
        if self.adapters is not None:
            self.adapters.save(directory / ADAPTERS, self.trained)
        flat = {f"{name}/{key}": value for name, each in self.moments.items() for key, value in each.items()}
        with convert_to_disk_errors(directory):
            save_file({**flat, _STEPS: torch.tensor(self.steps)}, directory / _OPTIMISER)
        if self.held:
            into = BytesIO()  # torch hides the system's error for a file of its own
            torch.save(self.held, into)
            (directory / _HELD).write_bytes(into.getvalue())
        (directory / _PROGRESS).write_bytes(self.progress)
        (directory / _KEPT).write_bytes(self.kept)


def take_snapshot(
    policy: Policy,
    learner: Learner,
    progress: StageProgress,
    *,
    kept: bytes,
    held: Mapping[str, Any],
    copy: bool,
    whole: bool,
) -> StageSnapshot:
    """Take a snapshot of the stage's state.

    Args:
        policy: The policy whose weights `learner` trains.
        learner: The stage's learner.
        progress: The stage's progress.
        kept: The result of `Loop.keep`.
        held: The result of `Loop.hold`.
        copy: Whether the next step may begin before the snapshot is written. This takes a second copy of the weights
            and of both moments in memory.
        whole: Whether to include the whole policy if adapters are trained.
    """
    state = learner.state(copy=copy)
    weights: Mapping[str, Tensor] | None = state["weights"]
    if learner.adapters is not None:
        weights = learner.weights() if whole else None
    return StageSnapshot(
        codec=policy.codec,
        shape=policy.model.shape,
        weights=weights,
        adapters=learner.adapters,
        trained=state["weights"],
        moments=state["optimiser"],
        steps=learner.steps,
        progress=orjson.dumps(asdict(progress)),
        kept=kept,
        held=held,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedStage:
    """The state from which a stage resumes."""

    progress: StageProgress
    kept: bytes
    held: Mapping[str, Any]
    state: Mapping[str, Any]
    """The state for `Learner.restore`."""
    directory: Path
    """The complete save: the last one, or the one before it."""


def restore(saved: Path) -> SavedStage:
    """The newest complete save at `saved`.

    Raises:
        RecordError: there is none.
        OSError: a file of the save cannot be read.
    """
    whole = find_whole_save(saved)
    flat = load_file(whole / _OPTIMISER)
    steps = int(flat.pop(_STEPS))
    moments: dict[str, dict[str, Tensor]] = {}
    for place, value in flat.items():
        name, _, key = place.rpartition("/")
        moments.setdefault(name, {})[key] = value
    weights = load_adapters(whole / ADAPTERS) if (whole / ADAPTERS).is_dir() else load_file(whole / WEIGHTS)
    held: Any = torch.load(whole / _HELD, weights_only=True) if (whole / _HELD).exists() else {}
    return SavedStage(
        progress=read_progress(saved),
        kept=(whole / _KEPT).read_bytes(),
        held=held,
        state={"steps": steps, "weights": weights, "optimiser": moments},
        directory=whole,
    )


class Saver:
    """Writes the saves of a stage in its own thread, one at a time.

    Args:
        saved: The folder of the save; the previous one stays beside it.
    """

    def __init__(self, saved: Path) -> None:
        self._saved = saved
        self._executor = ThreadPoolExecutor(1, "saves")
        self._writing: asyncio.Future[None] | None = None

    def is_free(self) -> bool:
        """Whether a save can begin at once.

        Raises:
            StorageError: writing the last save failed; the save before it is intact.
        """
        if self._writing is not None and self._writing.done():
            self._writing.result()
            self._writing = None
        return self._writing is None

    def begin(self, snapshot: StageSnapshot) -> None:
        """Start to write a snapshot in the background; the previous one must be complete."""
        assert self._writing is None, "one save is written at a time"
        self._writing = asyncio.wrap_future(self._executor.submit(self._write, snapshot))

    async def finish(self) -> None:
        """Wait for the save in progress, if there is one.

        Raises:
            StorageError: writing failed; the save before it is intact.
        """
        if self._writing is not None:
            writing, self._writing = self._writing, None
            await asyncio.shield(writing)

    def _write(self, snapshot: StageSnapshot) -> None:
        with saving(self._saved) as temporary:
            snapshot.write(temporary)

    def close(self) -> None:
        """Wait for the save in progress and stop the thread. An error of that save is ignored."""
        self._executor.shutdown()
        if self._writing is not None and self._writing.done():
            self._writing.exception()


def save_base(policy: Policy, directory: Path) -> None:
    """Write the policy that adapters are trained on, once, beside the saves.

    Raises:
        StorageError: writing to disk fails.
    """
    if not (directory / BASE).is_dir():
        with saving(directory / BASE) as temporary:
            policy.save(temporary)
