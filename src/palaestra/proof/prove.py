"""Proving many tasks."""

from collections.abc import Callable, Iterable

from palaestra.envs import ToolEnv
from palaestra.proof.each_task import each_task
from palaestra.proof.proof import Proof
from palaestra.proof.task import TaskProof, prove_task


def prove(
    env: ToolEnv, task_ids: Iterable[str], *, jobs: int = 1, progress: Callable[[str], None] = lambda _: None
) -> Proof:
    """Prove tasks, and tell `progress` each id when it is done, in order.

    Args:
        env: An environment of the tasks' world; it is moved.
        task_ids: The tasks.
        jobs: In how many processes; see `each_task`.
        progress: What to tell.
    """
    proofs: list[TaskProof] = []
    for proof in each_task(env, list(task_ids), prove_task, jobs=jobs):
        proofs.append(proof)
        progress(proof.spec.id)
    return Proof(tasks=proofs)
