"""The distance that the weights moved in each stage, between existing saves."""

from collections.abc import Iterator
from pathlib import Path

from palaestra.benchmarks.diagnosis.reading import RunRecords, StageRecords
from palaestra.errors import CheckpointError
from palaestra.record import record
from palaestra.trainers.model.distance import WeightDistance, weight_distance


@record
class WeightChange:
    """The change of the weights from one save to another."""

    stage: str
    before: str
    """The name of the first save, such as "expert, step 3"."""
    after: str
    distance: WeightDistance | None
    """`None` where one of the two saves is not recorded."""
    missing: str = ""
    """The reason why the distance is unknown; empty where it is known."""

    @property
    def is_whole_stage(self) -> bool:
        """Whether the change covers the stage from its beginning to its last save."""
        return not self.before.startswith(f"{self.stage}, step")


def weight_changes(run: RunRecords) -> list[WeightChange]:
    """The changes of each stage: from its beginning to its last save, and between its last two saves."""
    found: list[WeightChange] = []
    start, label = _initial(run)
    for stage in run.stages:
        found += _stage_changes(stage, start, label)
        if stage.saves:
            start = list(stage.saves)[-1]
            label = f"{stage.name}, end"
    return found


def _initial(run: RunRecords) -> tuple[Path | None, str]:
    policy = run.settings.get("policy")
    checkpoint = policy.get("checkpoint") if isinstance(policy, dict) else None
    if isinstance(checkpoint, str) and run.stages[:1] and run.stages[0].directory.parent == run.directory:
        return Path(checkpoint), checkpoint
    return None, "its beginning"


def _stage_changes(stage: StageRecords, start: Path | None, label: str) -> Iterator[WeightChange]:
    saves = list(stage.saves.items())
    if not saves:
        yield WeightChange(
            stage=stage.name, before=label, after="-", distance=None, missing="the stage has no save yet"
        )
        return
    last, step = saves[-1]
    after = f"{stage.name}, step {step}"
    if start is None:
        missing = "the weights at its beginning were not saved"
        yield WeightChange(stage=stage.name, before=label, after=after, distance=None, missing=missing)
    else:
        yield _change(stage.name, start, label, last, after)
    if len(saves) == 2 and saves[0][1] != step:
        yield _change(stage.name, saves[0][0], f"{stage.name}, step {saves[0][1]}", last, after)


def _change(stage: str, start: Path, before: str, last: Path, after: str) -> WeightChange:
    try:
        return WeightChange(stage=stage, before=before, after=after, distance=weight_distance(start, last))
    except CheckpointError as error:
        adapters = (last / "adapters").is_dir()
        missing = "saves hold adapters alone until the stage ends" if adapters else str(error)
        return WeightChange(stage=stage, before=before, after=after, distance=None, missing=missing)
