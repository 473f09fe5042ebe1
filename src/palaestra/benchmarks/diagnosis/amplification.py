"""What there is to amplify: groups in which some members solve their task, and pass@k.

A group without a solution shows nothing that solves, and one that is solved throughout shows no difference.
"""

from collections.abc import Sequence

from palaestra.benchmarks.diagnosis.episodes import DiagnosedGroup
from palaestra.benchmarks.evaluation.passes import Passes, passes
from palaestra.record import record


@record
class GroupSolutions:
    """How many groups solved their task, by how many of their members."""

    groups: int
    none: int
    """Groups in which no member solved the task."""
    some: int
    every: int


def group_solutions(groups: Sequence[DiagnosedGroup]) -> GroupSolutions:
    """Count groups by what their members solved; groups that lost all members are left out."""
    whole = [group for group in groups if group.episodes]
    none = sum(group.solved == 0 for group in whole)
    every = sum(group.solved == len(group.episodes) for group in whole)
    return GroupSolutions(groups=len(whole), none=none, some=len(whole) - none - every, every=every)


def group_passes(groups: Sequence[DiagnosedGroup]) -> tuple[Passes, ...]:
    """pass@k of k = 1, 2, 4, ... as far as groups go: the unbiased estimate in each group, the mean over tasks.

    A group is a set of samples of its own, since the weights of another group of the same task were others.
    """
    attempts: dict[str, list[list[bool]]] = {}
    for group in groups:
        if group.episodes:
            attempts.setdefault(group.task, []).append([episode.solved for episode in group.episodes])
    families = {group.task: group.family for group in groups}
    return passes(attempts, families)
