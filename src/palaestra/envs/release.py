"""A release of a world: which of its families were proved, and as which tasks.

The splits of a bundled world list only what its release lists, so a family that has not been through the gate is found
by its id and is drawn by nobody. A user's own folder has no release; everything in it is listed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
from pydantic import TypeAdapter, ValidationError

from palaestra.digest import digest
from palaestra.durable import write_file
from palaestra.envs.task import SPLITS, Split
from palaestra.errors import RecordError

if TYPE_CHECKING:
    from palaestra.envs.taskset import TaskSet
    from palaestra.envs.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Proved:
    """The tasks of one family in one split, as they were proved."""

    count: int
    digest: str
    """One digest over what each of them is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What a world's splits list."""

    world: str
    proof: str
    """A digest of the proof's own code, as it was."""
    families: Mapping[str, Mapping[Split, Proved]]

    def lists(self, family_id: str, split: Split) -> bool:
        """Whether a family's tasks of a split were proved."""
        return split in self.families.get(family_id, {})

    def check(self, task_set: "TaskSet") -> list[str]:
        """Which families are no longer what was proved, a sentence each."""
        found: list[str] = []
        for family_id, splits in sorted(self.families.items()):
            if family_id not in task_set.families:
                found.append(f"{family_id} is in the release, and the world has no such family")
                continue
            found += [
                f"{family_id}: its tasks in {split} are not those that were proved"
                for split, proved in splits.items()
                if as_it_is(task_set, family_id, split) != proved
            ]
        return found

    def save(self, path: Path) -> None:
        """Write the release where a world reads it."""
        write_file(path, orjson.dumps(self, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n")


_RELEASE = TypeAdapter(Release)


def load(world: "World") -> Release | None:
    """The release of a world; `None` where it has none, or none yet.

    Raises:
        RecordError: the file cannot be read as one, or is another world's.
    """
    if world.release is None or not world.release.exists():
        return None
    try:
        release = _RELEASE.validate_json(world.release.read_bytes())
    except ValidationError as error:
        raise RecordError(
            f"{world.release}: not a release: {error.errors()[0]['msg']}; prove the world again"
        ) from error
    if release.world != world.name:
        raise RecordError(f"{world.release}: the release of {release.world!r}, not of {world.name!r}")
    return release


def released(task_set: "TaskSet", *, proof: str) -> Release:
    """The release of all that a world's splits could list: to be saved once all of it is proved.

    Args:
        task_set: The world's tasks.
        proof: A digest of the proof's code.
    """
    families: dict[str, Mapping[Split, Proved]] = {
        family_id: {split: as_it_is(task_set, family_id, split) for split in _splits(task_set, family_id)}
        for family_id in task_set.families
    }
    return Release(world=task_set.world.name, proof=proof, families=families)


def as_it_is(task_set: "TaskSet", family_id: str, split: Split) -> Proved:
    """The tasks of a family in a split, as the code makes them now."""
    ids = _ids(task_set, family_id, split)
    return Proved(count=len(ids), digest=digest([task_set.instance(task_id).print() for task_id in ids]))


def _splits(task_set: "TaskSet", family_id: str) -> Iterator[Split]:
    return (split for split in SPLITS if _ids(task_set, family_id, split))


def _ids(task_set: "TaskSet", family_id: str, split: Split) -> list[str]:
    return [task_id for task_id in task_set.candidates(split) if task_id.rpartition("/")[0] == family_id]
