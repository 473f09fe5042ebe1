"""What a proof releases: the world's families, as the tasks that were proved."""

from pathlib import Path

from palaestra.digest import digest, digest_bytes
from palaestra.envs import TaskSet
from palaestra.envs.release import Release, released
from palaestra.envs.task import SPLITS
from palaestra.errors import TaskError
from palaestra.proof.proof import Proof


def release_of(task_set: TaskSet, proof: Proof) -> Release:
    """The release of a world's tasks, all of which `proof` has proved.

    Raises:
        TaskError: some task was not proved, or something was found wrong.
    """
    if faults := proof.faults:
        raise TaskError(f"{len(faults)} fault(s), such as {str(faults[0])!r}; only what is proved is released")
    missing = {task for split in SPLITS for task in task_set.candidates(split)} - {p.spec.id for p in proof.tasks}
    if missing:
        raise TaskError(f"{len(missing)} task(s) were not tried, such as {min(missing)}; prove the whole world")
    return released(task_set, proof=proof_version())


def proof_version() -> str:
    """A digest of the proof's own code."""
    here = Path(__file__).parent
    sources = sorted(here.rglob("*.py"), key=lambda path: path.relative_to(here).as_posix())
    return digest([(path.relative_to(here).as_posix(), digest_bytes(path.read_bytes())) for path in sources])
