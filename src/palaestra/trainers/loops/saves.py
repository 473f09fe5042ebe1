"""Saves of a stage: what they hold, and how they are written while training goes on.

A save is a folder: the policy in Hugging Face's layout, the moments of the optimiser, how far the stage is, and what
the stage keeps besides. With adapters it holds those alone; the weights that they adapt never change and stand once
beside the saves, in `base`. The last save of a stage holds the whole policy with adapters too.
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
    """When a stage is saved. It is saved at its end too, and when it is asked to stop."""

    every: int = 1
    """Steps from one save to the next; where the one before is still being written, the next waits for a later step."""
    minutes: float | None = 10.0
    """Minutes after which it is saved however many steps were taken; `None` counts steps alone."""
    background: bool = True
    """Whether training goes on while a save is written, which takes the memory of weights and moments once more."""

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError(f"every={self.every}: at least 1 step")
        if self.minutes is not None and not self.minutes > 0:
            raise ValueError(f"minutes={self.minutes}: a number above 0; leave it out for steps alone")


@dataclass(kw_only=True)
class StageProgress:
    """How far a stage is."""

    config: str
    """A hash of what the stage works on; see `Loop.fingerprint`."""
    step: int = 0
    """Steps that are done."""
    seconds: float = 0.0
    """Spent on them, over all runs of the stage."""
    cpu_seconds: float = 0.0
    """The same in processor time of the training process, all of its threads; worker processes are not counted."""
    history: list[Metrics] = field(default_factory=list[Metrics])
    """A row for each step."""
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    """Of the stage, by their full names. Any: plain JSON."""


_READER = TypeAdapter(StageProgress)


def read_progress(saved: Path) -> StageProgress:
    """How far the stage is whose checkpoint stands at `saved`.

    Raises:
        RecordError: there is no whole one.
    """
    whole = find_whole_save(saved)
    try:
        return _READER.validate_json((whole / _PROGRESS).read_bytes())
    except (OSError, ValidationError) as error:
        raise RecordError(f"{whole}: {_PROGRESS} cannot be read ({error})") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSnapshot:
    """A stage between two steps, as a save holds it."""

    codec: Codec
    shape: DecoderShape
    weights: Mapping[str, Tensor] | None
    """The whole policy's; `None` where adapters alone are saved."""
    adapters: "Adapters | None"
    trained: Mapping[str, Tensor]
    """What the optimiser moves, by name."""
    moments: Mapping[str, Mapping[str, Tensor]]
    """Of the optimiser, by the same names."""
    steps: int
    """Of the optimiser."""
    progress: bytes
    kept: bytes
    held: Mapping[str, Any]
    """Any: dictionaries of tensors."""

    def write(self, directory: Path) -> None:
        """Write the files of a save into a folder.

        Raises:
            OSError: the disk refuses.
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
            into = BytesIO()  # torch hides what the disk says of a file of its own
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
    """The stage as it is.

    Args:
        policy: Whose weights `learner` trains.
        learner: What is trained.
        progress: How far the stage is.
        kept: What `Loop.keep` gave.
        held: What `Loop.hold` gave.
        copy: Whether the next step may begin before the snapshot is written. A copy takes the memory of the weights and
            of both moments once more.
        whole: Whether to hold the whole policy where adapters are trained.
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
    """What a stage goes on from."""

    progress: StageProgress
    kept: bytes
    held: Mapping[str, Any]
    state: Mapping[str, Any]
    """For `Learner.restore`."""
    directory: Path
    """The save that is whole: the last, or the one before it."""


def restore(saved: Path) -> SavedStage:
    """The newest whole save at `saved`.

    Raises:
        RecordError: there is none.
        OSError: a file of it cannot be read.
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
    """Writes the saves of a stage, one at a time, in a thread of its own.

    Args:
        saved: Where saves go; the one before stays beside it.
    """

    def __init__(self, saved: Path) -> None:
        self._saved = saved
        self._executor = ThreadPoolExecutor(1, "saves")
        self._writing: asyncio.Future[None] | None = None

    def is_free(self) -> bool:
        """Whether a save can be begun at once.

        Raises:
            StorageError: the disk refused the last one; the save before it stands.
        """
        if self._writing is not None and self._writing.done():
            self._writing.result()
            self._writing = None
        return self._writing is None

    def begin(self, snapshot: StageSnapshot) -> None:
        """Write a snapshot beside whatever else is done; the one before must be written."""
        assert self._writing is None, "one save is written at a time"
        self._writing = asyncio.wrap_future(self._executor.submit(self._write, snapshot))

    async def finish(self) -> None:
        """Wait for the save that is being written, if one is.

        Raises:
            StorageError: the disk refused it; the save before it stands.
        """
        if self._writing is not None:
            writing, self._writing = self._writing, None
            await asyncio.shield(writing)

    def _write(self, snapshot: StageSnapshot) -> None:
        with saving(self._saved) as temporary:
            snapshot.write(temporary)

    def close(self) -> None:
        """Wait for what is being written, and write nothing more. What became of it is nobody's any more."""
        self._executor.shutdown()
        if self._writing is not None and self._writing.done():
            self._writing.exception()


def save_base(policy: Policy, directory: Path) -> None:
    """Write the policy that adapters are trained on, once, beside the saves.

    Raises:
        StorageError: the disk refuses.
    """
    if not (directory / BASE).is_dir():
        with saving(directory / BASE) as temporary:
            policy.save(temporary)
