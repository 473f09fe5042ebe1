"""Runs on disk: stages, figures, sizes, and the files that can be deleted. Reading them needs no torch."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import cast

import orjson

from palaestra.errors import RecordError
from palaestra.records import Json, JsonObject
from palaestra.trainers.stage_kinds import kind_of, stage_names

SETTINGS, LINEAGE, QUARANTINE = "config.json", "lineage.jsonl", "quarantine.jsonl"
_CHECKPOINT, _PREVIOUS, _PROGRESS = "checkpoint", "checkpoint.previous", "progress.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFolder:
    """A stage of a run, at its last save."""

    name: str
    directory: Path
    steps: int
    seconds: float
    """Seconds spent on its steps, over all starts of the run."""
    history: Sequence[Mapping[str, float]]
    """The figures of each step."""
    quarantined: int
    """The number of batches on which training diverged."""

    def recent(self, figure: str, *, steps: int = 10) -> float | None:
        """The mean of a figure over the last steps that have it; `None` if no step has it."""
        values = [row[figure] for row in self.history[-steps:] if figure in row]
        return fmean(values) if values else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFolder:
    """A run on disk."""

    directory: Path
    settings: JsonObject
    stages: tuple[StageFolder, ...]
    size: int
    """Size in bytes."""

    @property
    def spare(self) -> list[Path]:
        """Files that a run no longer needs: each stage's save before the last, and copies that a server read."""
        names = (_PREVIOUS, "served")
        return [path for stage in self.stages for name in names if (path := stage.directory / name).exists()]

    def prune(self) -> int:
        """Delete the spare files; return the freed bytes."""
        freed = sum(map(size_of, self.spare))
        for path in self.spare:
            shutil.rmtree(path)
        return freed


def find_runs(root: Path) -> Iterator[RunFolder]:
    """The runs in a folder and in the folders below it, by name."""
    for settings in sorted(root.rglob(SETTINGS)):
        directory = settings.parent
        if any(path.is_dir() and kind_of(path.name) for path in directory.iterdir()):
            yield read_run(directory)


def read_run(directory: Path) -> RunFolder:
    """The run in a folder.

    Raises:
        RecordError: the folder does not hold a run, or one of its files cannot be read.
    """
    settings = _read_object(directory / SETTINGS, "give the folder of a run, with config.json and its stages")
    names = stage_names(settings)
    stages = tuple(_stage(directory / name) for name in names if _save_of(directory / name) is not None)
    return RunFolder(directory=directory, settings=settings, stages=stages, size=size_of(directory))


def size_of(path: Path) -> int:
    """The bytes of a file, or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files if file.is_file())


def differing_settings(runs: Sequence[RunFolder]) -> list[tuple[str, list[Json]]]:
    """The settings that differ between runs, by their full names, each with its value in every run."""
    flat = [dict(_flat(run.settings)) for run in runs]
    names = sorted({name for each in flat for name in each})
    rows = [(name, [each.get(name) for each in flat]) for name in names]
    return [(name, values) for name, values in rows if any(value != values[0] for value in values)]


def _flat(settings: Mapping[str, Json], before: str = "") -> Iterator[tuple[str, Json]]:
    for name, value in settings.items():
        place = f"{before}{name}"
        if isinstance(value, Mapping):
            yield from _flat(cast("Mapping[str, Json]", value), f"{place}.")
        else:
            yield place, value


def _stage(directory: Path) -> StageFolder:
    save = _save_of(directory)
    assert save is not None, "a stage without a save is none yet"
    progress = _read_object(save / _PROGRESS, "it is written with every save; resume the run to write another")
    quarantine = directory / QUARANTINE
    return StageFolder(
        name=directory.name,
        directory=directory,
        steps=cast("int", progress["step"]),
        seconds=cast("float", progress["seconds"]),
        history=cast("Sequence[Mapping[str, float]]", progress["history"]),
        quarantined=len(quarantine.read_bytes().splitlines()) if quarantine.exists() else 0,
    )


def _save_of(stage: Path) -> Path | None:
    saves = (stage / _CHECKPOINT, stage / _PREVIOUS)
    return next((save for save in saves if (save / _PROGRESS).is_file()), None)


def _read_object(path: Path, way_out: str) -> JsonObject:
    try:
        found: object = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise RecordError(f"{path}: cannot be read ({error}); {way_out}") from error
    if not isinstance(found, dict):
        raise RecordError(f"{path}: no table of values; {way_out}")
    return cast("JsonObject", found)
