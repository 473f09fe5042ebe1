"""Potential for amplification by training: groups in which some members solve their task, and pass@k.

A group without a solution contains no successful episode to learn from. A group whose members all solve their task
contains no difference to learn from.
"""

from collections.abc import Sequence

from palaestra.benchmarks.diagnosis.episodes import DiagnosedGroup
from palaestra.benchmarks.evaluation.passes import Passes, passes
from palaestra.record import record


@record
class GroupSolutions:
    """Numbers of groups by how many of their members solved the task."""

    groups: int
    none: int
    """Groups in which no member solved the task."""
    some: int
    every: int


def group_solutions(groups: Sequence[DiagnosedGroup]) -> GroupSolutions:
    """Count groups by how many members solved the task; groups that lost all members are left out."""
    whole = [group for group in groups if group.episodes]
    none = sum(group.solved == 0 for group in whole)
    every = sum(group.solved == len(group.episodes) for group in whole)
    return GroupSolutions(groups=len(whole), none=none, some=len(whole) - none - every, every=every)


def group_passes(groups: Sequence[DiagnosedGroup]) -> tuple[Passes, ...]:
    """Estimate pass@k for k = 1, 2, 4, ... up to the group size: unbiased in each group, then the mean over tasks.

    Each group is a separate set of samples, because other groups of the same task were sampled with other weights.
    """
    attempts: dict[str, list[list[bool]]] = {}
    for group in groups:
        if group.episodes:
            attempts.setdefault(group.task, []).append([episode.solved for episode in group.episodes])
    families = {group.task: group.family for group in groups}
    return passes(attempts, families)
