"""A stage of training: steps with regular saves, so that a killed run resumes as if it had not been killed.

No random state is saved, since there is none: every draw of step `n` comes from a stream that is named by the run's
seed, the stage and `n`.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import orjson
import torch
from pydantic import TypeAdapter, ValidationError

from palaestra.durable import find_whole_save, saving, sweep
from palaestra.errors import CheckpointError, RecordError
from palaestra.trainers.progress import OpenProgressBar, silent
from palaestra.trainers.reference.learner import OptimiserConfig, ReferenceLearner
from palaestra.trainers.reference.policy import ReferencePolicy, load_policy

StageMetrics: TypeAlias = dict[str, float]
_PROGRESS, _OPTIMISER = "progress.json", "optimiser.pt"


@dataclass(kw_only=True)
class ReferenceProgress:
    """The progress of a stage."""

    config: str
    """A hash of the stage's settings and inputs."""
    step: int = 0
    """The number of completed steps."""
    seconds: float = 0.0
    """Seconds spent on these steps, over all runs of the stage."""
    history: list[StageMetrics] = field(default_factory=list[StageMetrics])
    """The figures of each step."""


_READER = TypeAdapter(ReferenceProgress)


class ReferenceStage(Protocol):
    """The interface of a stage for `run_stage`."""

    name: str
    optimiser: OptimiserConfig
    save_every: int
    """The number of steps between two saves."""

    def fingerprint(self) -> str:
        """A hash of everything that determines the result."""
        ...

    def start(self) -> ReferencePolicy:
        """Create the stage's initial policy."""
        ...

    def share_done(self, progress: ReferenceProgress) -> float:
        """The completed share of the stage, 0 to 1; the stage ends at 1."""
        ...

    def step(self, learner: ReferenceLearner, step: int, done: float) -> StageMetrics:
        """Take step number `step`, with the share `done` of the stage completed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceStageResult:
    """The result of a completed stage."""

    policy: ReferencePolicy
    progress: ReferenceProgress
    directory: Path
    """The last save: a checkpoint in Hugging Face's layout."""


def run_stage(
    stage: ReferenceStage, directory: Path, *, bar: OpenProgressBar = silent, say: Callable[[str], None] = print
) -> ReferenceStageResult:
    """Run a stage to its end, from its last save if there is one.

    Args:
        stage: The stage.
        directory: The folder of the saves.
        bar: Opens a progress bar.
        say: Called with a sentence that states from which step the stage resumes.

    Raises:
        CheckpointError: the existing save has other settings, or no save is whole.
        StorageError: writing to disk fails; the last save stays valid.
    """
    sweep(directory)
    learner, progress = _resume(stage, directory, say)
    if stage.share_done(progress) >= 1:
        return ReferenceStageResult(policy=learner.policy, progress=progress, directory=directory)
    total = 100
    with bar(stage.name, total) as shown:
        ticks = 0
        while (done := stage.share_done(progress)) < 1:
            begun = time.monotonic()
            metrics = stage.step(learner, progress.step, done)
            progress.step += 1
            progress.seconds += time.monotonic() - begun
            progress.history.append({"step": progress.step, "seconds": round(progress.seconds, 3), **metrics})
            done = min(1.0, stage.share_done(progress))
            if progress.step % stage.save_every == 0 or done == 1:
                _save(learner, progress, directory)
            for _ in range(ticks, int(done * total)):
                shown.step(f"step {progress.step}")
            ticks = int(done * total)
    return ReferenceStageResult(policy=learner.policy, progress=progress, directory=directory)


def _resume(
    stage: ReferenceStage, directory: Path, say: Callable[[str], None]
) -> tuple[ReferenceLearner, ReferenceProgress]:
    fingerprint = stage.fingerprint()
    if not directory.exists() and not directory.with_name(directory.name + ".previous").exists():
        return ReferenceLearner(stage.start(), stage.optimiser), ReferenceProgress(config=fingerprint)
    try:
        whole = find_whole_save(directory)
        progress = _READER.validate_json((whole / _PROGRESS).read_bytes())
    except (RecordError, OSError, ValidationError) as error:
        raise CheckpointError(f"{error}; or remove {directory} to begin {stage.name} anew") from error
    if progress.config != fingerprint:
        raise CheckpointError(
            f"{directory} is a {stage.name} of other settings; give another folder, or remove it to begin anew"
        )
    learner = ReferenceLearner(load_policy(whole), stage.optimiser)
    state: Any = torch.load(whole / _OPTIMISER, weights_only=True)
    learner.optimiser.load_state_dict(state)
    broken = "" if whole == directory else f" ({directory.name} is damaged, the save before it is whole)"
    where = (
        f"done before, {progress.step} steps"
        if stage.share_done(progress) >= 1
        else f"goes on from step {progress.step}"
    )
    say(f"{stage.name}: {where}{broken}")
    return learner, progress


def _save(learner: ReferenceLearner, progress: ReferenceProgress, directory: Path) -> None:
    with saving(directory) as temporary:
        learner.policy.save(temporary)
        state = BytesIO()  # if torch opens the file itself, it hides disk errors
        torch.save(learner.optimiser.state_dict(), state)
        (temporary / _OPTIMISER).write_bytes(state.getvalue())
        (temporary / _PROGRESS).write_bytes(orjson.dumps(asdict(progress)))
