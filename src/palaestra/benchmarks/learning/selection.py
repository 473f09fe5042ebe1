"""Selects fewer families and fewer held-out tasks, for policies whose episodes are expensive."""

from collections.abc import Collection, Mapping, Sequence

from palaestra.trajectory import Episode, dump_episode


def choose_families(examples: Mapping[str, Episode], paired: Collection[str], most: int) -> tuple[str, ...]:
    """Choose families with short reference solutions, half of them from families with a refusal twin, if there are any.

    The shortest families of all are often refusals. A policy that learns only from refusals declines every request.

    Args:
        examples: A solved episode of each family.
        paired: The families that have a refusal twin.
        most: Maximum number of families.

    Returns:
        The families in the order of `examples`.
    """
    order = sorted(examples, key=lambda family: (len(dump_episode(examples[family])), family))
    with_twin = [family for family in order if family in paired]
    others = [family for family in order if family not in paired]
    few = max(most // 2, most - len(others))
    chosen = {*with_twin[:few], *others[: most - min(few, len(with_twin))]}
    return tuple(family for family in examples if family in chosen)


def limit_tasks(tasks: Sequence[str], each: int) -> tuple[str, ...]:
    """The first `each` tasks of every family, in order."""
    counts: dict[str, int] = {}
    chosen: list[str] = []
    for task in tasks:
        family = task.rpartition("/")[0]
        counts[family] = counts.get(family, 0) + 1
        if counts[family] <= each:
            chosen.append(task)
    return tuple(chosen)
