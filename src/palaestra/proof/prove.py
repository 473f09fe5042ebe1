"""Proving many tasks."""

from collections.abc import Callable, Iterable, Sequence

from palaestra.envs import TaskSet, ToolEnv
from palaestra.proof.each_task import each_task
from palaestra.proof.idle_parts import find_idle_parts
from palaestra.proof.proof import Proof
from palaestra.proof.task import TaskProof, prove_task


def prove(
    env: ToolEnv, task_ids: Iterable[str], *, jobs: int = 1, progress: Callable[[str], None] = lambda _: None
) -> Proof:
    """Prove tasks, and call `progress` with each finished id, in order.

    If these are all listed tasks of a world from a blueprint, each of its rules, tools and refusals must also decide
    one.

    Args:
        env: An environment of the tasks' world; its state changes.
        task_ids: The tasks.
        jobs: The number of processes; see `each_task`.
        progress: Called with the id of each finished task.
    """
    proofs: list[TaskProof] = []
    for proof in each_task(env, list(task_ids), prove_task, jobs=jobs):
        proofs.append(proof)
        progress(proof.spec.id)
    return Proof(
        tasks=proofs,
        missing=_missing_families(env.task_set, proofs),
        idle=find_idle_parts(env) if _is_whole(env.task_set, proofs) else (),
    )


def _is_whole(task_set: TaskSet, proofs: Sequence[TaskProof]) -> bool:
    """Whether the proofs cover all tasks of the splits, each solved by its oracle."""
    solved = {proof.spec.id for proof in proofs if proof.solved}
    return all(task in solved for split in task_set.splits for task in task_set.candidates(split))


def _missing_families(task_set: TaskSet, proofs: Sequence[TaskProof]) -> tuple[str, ...]:
    """The families in the splits of the proved tasks without a proved task."""
    proved = {proof.spec.family for proof in proofs}
    splits = {proof.spec.split for proof in proofs}
    listed = {task_set.family_of(task).id for s in task_set.splits if s in splits for task in task_set.ids(s)}
    return tuple(sorted(listed - proved))
