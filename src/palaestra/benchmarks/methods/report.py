"""What a comparison found, as tables."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from palaestra.benchmarks.learning import HeldoutGroup
from palaestra.benchmarks.learning.evaluation import FEW_UNITS, Evaluation, Measure, difference, estimate
from palaestra.benchmarks.methods.run import MethodResult
from palaestra.benchmarks.statistics import Unit
from palaestra.table import Table

_TITLES: Mapping[Measure, str] = {
    "points": "Mean score",
    "solved": "Share solved, in percent",
    "harmed": "Share that does harm, in percent",
}


def methods_tables(before: Evaluation, found: Sequence[MethodResult], groups: Sequence[HeldoutGroup]) -> list[Table]:
    """Scores, shares that solve and that harm, each over all seeds, and what it took.

    Args:
        before: How the warm start does.
        found: What each method came to, seed by seed.
        groups: The held-out tasks.
    """
    methods = list(dict.fromkeys(one.method for one in found))
    seeds = len({one.seed for one in found})
    tables = [
        Table(
            title=f"{title} on held-out tasks",
            columns=("held-out tasks of", "method", "after", "difference from the warm start"),
            rows=tuple(row for group in groups for row in _rows(measure, before, found, methods, group)),
            note=f"Claims about a method are about training, so their unit is the training seed; there are {seeds}. "
            f"{FEW_UNITS} The warm start is one policy: its unit is the task of families trained on, and the family of "
            "those never seen. All methods begin with it.",
        )
        for measure, title in _TITLES.items()
    ]
    return [*tables, _cost_table(found, methods)]


def _rows(
    measure: Measure, before: Evaluation, found: Sequence[MethodResult], methods: Sequence[str], group: HeldoutGroup
) -> list[tuple[str, ...]]:
    tasks = frozenset(group.tasks)
    warm = before.observations(measure, tasks=tasks)
    rows: list[tuple[str, ...]] = [(group.name, "warm start", estimate(warm, measure, group.unit).text(), "")]
    for method in methods:
        own = [one for one in found if one.method == method]
        starts = [one for run in own for one in before.observations(measure, tasks=tasks, seed=run.seed)]
        after = [one for run in own for one in run.evaluation.observations(measure, tasks=tasks, seed=run.seed)]
        rows.append(
            (
                group.name,
                method,
                estimate(after, measure, Unit.TRAINING_SEED).text(),
                difference(starts, after, measure, Unit.TRAINING_SEED).text(signed=True),
            )
        )
    return rows


def _cost_table(found: Sequence[MethodResult], methods: Sequence[str]) -> Table:
    rows: list[tuple[str, ...]] = []
    for method in methods:
        own = [one.progress for one in found if one.method == method]
        drawn = fmean(sum(row["tokens/drawn"] for row in one.history) for one in own)
        rewards = [[row["reward/mean"] for row in one.history] for one in own]
        rows.append(
            (
                method,
                f"{fmean(one.step for one in own):.1f}",
                f"{drawn:,.0f}",
                f"{fmean(one.seconds for one in own):,.0f}",
                f"{fmean(one[0] for one in rewards):.1f}",
                f"{fmean(one[-1] for one in rewards):.1f}",
            )
        )
    return Table(
        title="What it took, in the mean over seeds",
        columns=("method", "batches", "tokens trained on", "seconds", "first batch's score", "last batch's score"),
        rows=tuple(rows),
        note="Tokens are the policy's own, of trajectories that were trained on; a method ends with the batch that "
        "reaches the budget.",
    )


def methods_markdown(before: Evaluation, found: Sequence[MethodResult], groups: Sequence[HeldoutGroup]) -> str:
    """The tables as GitHub's Markdown; the arguments are those of `methods_tables`."""
    parts = [
        f"### {table.title}\n\n{table.markdown()}\n\n{table.note}" for table in methods_tables(before, found, groups)
    ]
    return "\n\n".join(parts) + "\n"
