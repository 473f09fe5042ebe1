"""Releases: the proved tasks of a world's families."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from palaestra.digest import digest, digest_bytes
from palaestra.envs import TaskSet
from palaestra.envs.release import ProvedTasks, Release
from palaestra.envs.task import SPLITS, Split
from palaestra.errors import TaskError
from palaestra.proof.proof import Proof


def release_of(task_set: TaskSet, proof: Proof) -> Release:
    """The release of a world's tasks, which must all be proved in `proof`.

    Raises:
        TaskError: a task was not tried, or the proof has faults.
    """
    if faults := proof.faults:
        raise TaskError(f"{len(faults)} fault(s), such as {str(faults[0])!r}; only what is proved is released")
    missing = {task for split in SPLITS for task in task_set.candidates(split)} - {p.spec.id for p in proof.tasks}
    if missing:
        raise TaskError(f"{len(missing)} task(s) were not tried, such as {min(missing)}; prove the whole world")
    return make_release(task_set, proof=proof_version())


def proof_version() -> str:
    """A digest of the proof's own code."""
    here = Path(__file__).parent
    sources = sorted(here.rglob("*.py"), key=lambda path: path.relative_to(here).as_posix())
    return digest([(path.relative_to(here).as_posix(), digest_bytes(path.read_bytes())) for path in sources])


def changed_families(release: Release, task_set: TaskSet) -> list[str]:
    """A sentence for each family that differs from what was proved."""
    found: list[str] = []
    for family_id, splits in sorted(release.families.items()):
        if family_id not in task_set.families:
            found.append(f"{family_id} is in the release, and the world has no such family")
            continue
        found += [
            f"{family_id}: its tasks in {split} are not those that were proved"
            for split, proved in splits.items()
            if as_it_is(task_set, family_id, split) != proved
        ]
    return found


def make_release(task_set: TaskSet, *, proof: str) -> Release:
    """The release of everything that a world's splits could list; save it once all of it is proved.

    Args:
        task_set: The world's tasks.
        proof: A digest of the proof's code.
    """
    families: dict[str, Mapping[Split, ProvedTasks]] = {
        family_id: {split: as_it_is(task_set, family_id, split) for split in _splits(task_set, family_id)}
        for family_id in task_set.families
    }
    return Release(world=task_set.world.name, proof=proof, families=families)


def as_it_is(task_set: TaskSet, family_id: str, split: Split) -> ProvedTasks:
    """The tasks of a family in a split, as the code makes them now."""
    ids = _ids(task_set, family_id, split)
    return ProvedTasks(count=len(ids), digest=digest([task_set.instance(task_id).fingerprint() for task_id in ids]))


def _splits(task_set: TaskSet, family_id: str) -> Iterator[Split]:
    return (split for split in SPLITS if _ids(task_set, family_id, split))


def _ids(task_set: TaskSet, family_id: str, split: Split) -> list[str]:
    return [task_id for task_id in task_set.candidates(split) if task_id.rpartition("/")[0] == family_id]
