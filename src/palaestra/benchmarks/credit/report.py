"""What a comparison found, as tables."""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import TypeAlias

from palaestra.benchmarks.credit.run import CreditResult
from palaestra.benchmarks.learning.evaluation import Evaluation, pooled
from palaestra.benchmarks.statistics import clustered_mean, paired_difference
from palaestra.table import Table

_Figure: TypeAlias = Callable[..., dict[str, list[float]]]
_GROUPS = {False: "families trained on", True: "families never seen"}
_WHAT: Mapping[str, _Figure] = {
    "Mean score": Evaluation.points,
    "Share solved, in percent": Evaluation.solved,
    "Share that does harm, in percent": Evaluation.harmed,
}


def credit_tables(before: Evaluation, found: Sequence[CreditResult]) -> list[Table]:
    """Scores, shares that solve and that harm, each over all seeds, and what it took."""
    methods = list(dict.fromkeys(one.method for one in found))
    seeds = len({one.seed for one in found})
    tables = [
        Table(
            title=f"{title} on held-out tasks",
            columns=("held-out tasks of", "method", "after", "difference from the warm start", "by seed"),
            rows=tuple(
                row
                for unseen in _GROUPS
                if before.points(unseen=unseen)
                for row in _rows(what, before, found, methods, unseen=unseen)
            ),
            note=f"{seeds} seeds together; in brackets 95 % intervals, by a bootstrap that resamples tasks; "
            "differences are paired by task. All methods begin with the same warm start.",
        )
        for title, what in _WHAT.items()
    ]
    return [*tables, _cost_table(found, methods)]


def _rows(
    what: _Figure, before: Evaluation, found: Sequence[CreditResult], methods: Sequence[str], *, unseen: bool
) -> list[tuple[str, ...]]:
    warm = what(before, unseen=unseen)
    rows: list[tuple[str, ...]] = [(_GROUPS[unseen], "warm start", clustered_mean(warm).text(), "", "")]
    for method in methods:
        own = [what(one.evaluation, unseen=unseen) for one in found if one.method == method]
        after = pooled(own)
        shared = after.keys() & warm.keys()  # a task whose world always failed on one side has no partner
        pairs = ({task: side[task] for task in sorted(shared)} for side in (warm, after))
        rows.append(
            (
                _GROUPS[unseen],
                method,
                clustered_mean(after).text(),
                paired_difference(*pairs).text(signed=True),
                ", ".join(f"{clustered_mean(one).mean:.1f}" for one in own),
            )
        )
    return rows


def _cost_table(found: Sequence[CreditResult], methods: Sequence[str]) -> Table:
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


def credit_markdown(before: Evaluation, found: Sequence[CreditResult]) -> str:
    """The tables as GitHub's Markdown."""
    parts = [f"### {table.title}\n\n{table.markdown()}\n\n{table.note}" for table in credit_tables(before, found)]
    return "\n\n".join(parts) + "\n"
