"""What false rewards do to learning: whether a simulation pays right work more than wrong work.

A policy gradient on a task follows the difference of rewards between its samples. Here the two samples are the task's
solution, and the solution of its sibling: the same request where it must be refused, or must not. The true world always
pays the first more. Where the simulation pays the second more, learning there moves the policy to the wrong answer.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from palaestra.envs.instance import Instance
from palaestra.envs.simulation.error_simulator import ErrorSimulator
from palaestra.envs.simulation.measurement import fixed_calls, play_simulation
from palaestra.envs.taskset import TaskSet
from palaestra.records import ToolCall
from palaestra.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkPair:
    """A task and calls that do not solve it."""

    instance: Instance
    wrong: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceReport:
    """Which work simulations paid more, under one error rate."""

    percent: int
    right: int
    tied: int
    wrong: int
    void: int
    """Pairs of which one has no verdict."""
    gap: float
    """How many points right work was paid more, on average over pairs with a verdict; at rate 0, the true gap."""


def sibling_pairs(tasks: TaskSet, instances: Iterable[Instance]) -> list[WorkPair]:
    """The tasks that have a sibling in the same set, each with the sibling's solution."""
    pairs: list[WorkPair] = []
    for instance in instances:
        family, _, index = instance.spec.id.rpartition("/")
        other = family.removesuffix("-twin") if instance.family.twin_of is not None else f"{family}-twin"
        if other in tasks.families:
            pairs.append(WorkPair(instance=instance, wrong=tasks.instance(f"{other}/{index}").oracle))
    return pairs


def measure_preferences(
    pairs: Sequence[WorkPair],
    *,
    percent: int,
    seeds: Sequence[int] = (0,),
    progress: Callable[[str], None] = lambda _: None,
) -> PreferenceReport:
    """Play right and wrong work in simulations with the same errors, and compare what they are paid.

    Args:
        pairs: Tasks with wrong work.
        percent: Answers in a hundred with an error.
        seeds: Of the errors; each pair is played once under each.
        progress: Told of each pair.
    """
    gaps: list[int] = []
    for seed in seeds:
        for pair in pairs:
            paid = [
                play_simulation(
                    pair.instance,
                    ErrorSimulator(pair.instance, percent=percent, seed=seed),
                    fixed_calls(calls),
                    seed=seed,
                ).simulated_points
                for calls in (pair.instance.oracle, pair.wrong)
            ]
            if paid[0] is not None and paid[1] is not None:
                gaps.append(paid[0] - paid[1])
            progress(pair.instance.spec.id)
    return PreferenceReport(
        percent=percent,
        right=sum(gap > 0 for gap in gaps),
        tied=gaps.count(0),
        wrong=sum(gap < 0 for gap in gaps),
        void=len(pairs) * len(seeds) - len(gaps),
        gap=sum(gaps) / max(1, len(gaps)),
    )


def preference_table(reports: Iterable[PreferenceReport], *, title: str) -> Table:
    """Error rates against the direction of learning."""
    return Table(
        title=title,
        columns=(
            "error rate",
            "pairs",
            "right work paid more",
            "the same",
            "wrong work paid more",
            "gap",
            "no verdict",
        ),
        rows=tuple(
            (
                f"{one.percent} %",
                str(one.right + one.tied + one.wrong + one.void),
                str(one.right),
                str(one.tied),
                str(one.wrong),
                f"{one.gap:.1f}",
                str(one.void),
            )
            for one in reports
        ),
        note="A pair is a task's solution and that of its sibling, under the same errors. Gap: mean points apart.",
    )
