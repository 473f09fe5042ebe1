"""Finds what can be imported from folders: evaluations, training runs, files of episodes and proofs."""

from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import cast

import orjson

from palaestra.benchmarks.evaluation.results import JOURNAL, OUTCOMES, SETTINGS, TRAJECTORIES
from palaestra.errors import RecordError
from palaestra.record import record
from palaestra.records import JsonObject
from palaestra.trainers.run_folder import SETTINGS as CONFIG
from palaestra.trainers.stage_kinds import kind_of, stage_names

BATCHES, METRICS = "batches.jsonl", "metrics.jsonl"
PROGRESS = "checkpoint/progress.json"
_FORMER_PROGRESS = "checkpoint.previous/progress.json"
_PROOF_KEYS = frozenset({"verdict", "faults", "by_task"})


class RunKind(StrEnum):
    """The kind of a run."""

    EVALUATION = "evaluation"
    """The output folder of `palaestra eval`."""
    TRAINING = "training"
    """The output folder of `palaestra train`."""
    EPISODES = "episodes"
    """A file of trajectories, one per line."""
    PROOF = "proof"
    """A proof of tasks as JSON."""


class FileRole(StrEnum):
    """The role of a file in a run."""

    SETTINGS = "settings"
    """The settings of an evaluation. A document."""
    OUTCOMES = "outcomes"
    JOURNAL = "journal"
    """Outcomes and episodes of an unfinished evaluation."""
    TRAJECTORIES = "trajectories"
    """Episodes of an evaluation whose outcomes are in another file."""
    CONFIG = "config"
    """The settings of a training run. A document."""
    METRICS = "metrics"
    PROGRESS = "progress"
    """The last save of a stage that has no metrics. A document."""
    BATCHES = "batches"
    EPISODES = "episodes"
    PROOF = "proof"
    """The result of a proof. A document."""

    @property
    def is_document(self) -> bool:
        """Whether the file is one JSON value, which is replaced as a whole."""
        return self in _DOCUMENTS


_DOCUMENTS = frozenset({FileRole.SETTINGS, FileRole.CONFIG, FileRole.PROGRESS, FileRole.PROOF})


@record
class SourceFile:
    """A file that can be imported."""

    path: Path
    name: str
    """The name of the file within its run, with "/" between folders."""
    role: FileRole

    @property
    def stage(self) -> str:
        """The training stage that the file belongs to; "" for files of a whole run."""
        return stage_of(self.name)


def stage_of(name: str) -> str:
    """The training stage that a file belongs to, by its name within the run."""
    return name.partition("/")[0] if "/" in name else ""


@record
class SourceRun:
    """A run that can be imported."""

    name: str
    """The name of the run in the record."""
    kind: RunKind
    path: Path
    files: tuple[SourceFile, ...]
    """The files in the order in which they are read."""


def find_sources(path: Path, *, name: str | None = None) -> list[SourceRun]:
    """Find the runs at a path or in the folders below it.

    Args:
        path: A folder or a file.
        name: The name of the run in the record; by default its path.

    Raises:
        RecordError: there is nothing to import, or there are several runs for one name.
    """
    if not path.exists():
        raise RecordError(f"{path}: there is no such file or folder; give the folder of a run")
    found = list(_walk(path))
    if not found:
        raise RecordError(
            f"{path}: holds nothing to import; give a folder of `palaestra eval` or `palaestra train`, a file of "
            "trajectories (.jsonl), or a proof (.json)"
        )
    if name is not None and len(found) > 1:
        raise RecordError(f"{path}: holds {len(found)} runs, and --name is for one; leave it out, or give one folder")
    return [_source(one, name or _name_of(one)) for one in found]


def _name_of(path: Path) -> str:
    absolute = path.resolve()
    here = Path.cwd().resolve()
    return str(absolute.relative_to(here) if absolute.is_relative_to(here) and absolute != here else absolute)


def _walk(path: Path) -> Iterator[Path]:
    """Paths of the runs at a path and below it, sorted by name. Files inside a run belong to that run."""
    if path.is_file() or _kind_of_folder(path) is not None:
        if path.is_dir() or _kind_of_file(path) is not None:
            yield path
        return
    for inner in sorted(path.iterdir()):
        if inner.name.startswith("."):
            continue
        if inner.is_dir() or (inner.is_file() and inner.name == TRAJECTORIES) or _is_proof(inner):
            yield from _walk(inner)


def _kind_of_folder(path: Path) -> RunKind | None:
    if (path / SETTINGS).is_file() and "suite" in _document(path / SETTINGS):
        return RunKind.EVALUATION
    if (path / CONFIG).is_file() and any(inner.is_dir() and kind_of(inner.name) for inner in path.iterdir()):
        return RunKind.TRAINING
    return None


def _kind_of_file(path: Path) -> RunKind | None:
    if path.suffix == ".jsonl":
        return RunKind.EPISODES
    return RunKind.PROOF if _is_proof(path) else None


def _is_proof(path: Path) -> bool:
    if path.suffix != ".json" or not path.is_file():
        return False
    status = path.stat()
    return _holds_proof(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4_096)
def _holds_proof(path: Path, changed: int, size: int) -> bool:
    """Whether a document is a proof. The result is cached: following a folder asks again every few seconds."""
    del changed, size
    return _document(path).keys() >= _PROOF_KEYS


def _document(path: Path) -> JsonObject:
    """Read a JSON document; an empty one where it cannot be read."""
    try:
        read: object = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return cast("JsonObject", read) if isinstance(read, dict) else {}


def _source(path: Path, name: str) -> SourceRun:
    if path.is_file():
        kind = _kind_of_file(path)
        assert kind is not None, "others are not found"
        role = FileRole.PROOF if kind is RunKind.PROOF else FileRole.EPISODES
        return SourceRun(name=name, kind=kind, path=path, files=(SourceFile(path=path, name=path.name, role=role),))
    if _kind_of_folder(path) is RunKind.TRAINING:
        return SourceRun(name=name, kind=RunKind.TRAINING, path=path, files=tuple(_of_training(path)))
    roles = {SETTINGS: FileRole.SETTINGS}
    if (path / JOURNAL).exists():  # while the journal exists, it takes precedence over the final files
        roles |= {JOURNAL: FileRole.JOURNAL}
    else:
        roles |= {OUTCOMES: FileRole.OUTCOMES, TRAJECTORIES: FileRole.TRAJECTORIES}
    files = tuple(_existing(path, roles))
    return SourceRun(name=name, kind=RunKind.EVALUATION, path=path, files=files)


def _of_training(path: Path) -> Iterator[SourceFile]:
    yield from _existing(path, {CONFIG: FileRole.CONFIG})
    settings = _document(path / CONFIG)
    begun = [inner.name for inner in sorted(path.iterdir()) if inner.is_dir() and kind_of(inner.name)]
    names = [*(name for name in stage_names(settings) if name in begun)]
    for stage in [*names, *(name for name in begun if name not in names)]:
        if (path / stage / METRICS).is_file():
            yield from _existing(path, {f"{stage}/{METRICS}": FileRole.METRICS})
        else:
            saves = [path / stage / name for name in (PROGRESS, _FORMER_PROGRESS)]
            for save in [one for one in saves if one.is_file()][:1]:
                yield SourceFile(path=save, name=f"{stage}/{PROGRESS}", role=FileRole.PROGRESS)
        yield from _existing(path, {f"{stage}/{BATCHES}": FileRole.BATCHES})


def _existing(folder: Path, roles: dict[str, FileRole]) -> Iterator[SourceFile]:
    for name, role in roles.items():
        if (folder / name).is_file():
            yield SourceFile(path=folder / name, name=name, role=role)
