"""What training runs found, as tables, pictures and a document."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from palaestra.benchmarks.curves import Curve, Estimate, Panel
from palaestra.benchmarks.learning.evaluation import Evaluation, pooled
from palaestra.benchmarks.learning.run import LearningResult, MeasuredPolicy
from palaestra.benchmarks.statistics import clustered_mean, paired_difference
from palaestra.table import Table

Figure: TypeAlias = Callable[..., dict[str, list[float]]]
"""What is read off an evaluation: scores, or shares solved."""
_COLUMNS = ("held-out tasks of", "seed", "before", "after GRPO", "difference", "after control", "control's difference")
_GROUPS = {False: "families trained on", True: "families never seen"}


def learning_tables(runs: Sequence[LearningResult]) -> list[Table]:
    """For each seed and for all together: scores before and after, shares that solve and that harm, and the time."""
    seeds: dict[str, Sequence[LearningResult]] = {str(run.seed): [run] for run in runs}
    if len(runs) > 1:
        seeds["pooled"] = runs
    rows = {
        what: tuple(
            (_GROUPS[unseen], name, *_cells(group, what, unseen=unseen))
            for unseen in _groups(runs)
            for name, group in seeds.items()
        )
        for what in (Evaluation.points, Evaluation.solved, Evaluation.harmed)
    }
    first = runs[0].before.evaluation
    samples = max((len(result.points) for result in first.tasks.values()), default=0)
    tasks = {unseen: len(first.points(unseen=unseen)) for unseen in _GROUPS}
    return [
        Table(
            title="Mean score on held-out tasks, before and after GRPO",
            columns=_COLUMNS,
            rows=rows[Evaluation.points],
            note=f"Points of 100, less what harm takes; {tasks[False]} tasks of families trained on, {tasks[True]} of "
            f"families never seen, {samples} episodes of each at temperature 1. In brackets 95 % intervals, by a "
            "bootstrap that resamples tasks; differences are paired by task. The control is the warm-up, continued "
            "for as long as GRPO took.",
        ),
        Table(
            title="Share of held-out episodes that solve their task, in percent",
            columns=_COLUMNS,
            rows=rows[Evaluation.solved],
            note="Solved is every expectation met, nothing forbidden done, and finished.",
        ),
        Table(
            title="Share of held-out episodes that do something forbidden, in percent",
            columns=_COLUMNS,
            rows=rows[Evaluation.harmed],
        ),
        _cost_table(runs),
    ]


def _groups(runs: Sequence[LearningResult]) -> list[bool]:
    """Whether families are unseen: of the two kinds those that the held-out tasks have."""
    return [unseen for unseen in _GROUPS if runs[0].before.evaluation.points(unseen=unseen)]


def _cells(runs: Sequence[LearningResult], what: Figure, *, unseen: bool) -> tuple[str, ...]:
    values = [
        pooled([what(part.evaluation, unseen=unseen) for part in parts])
        for parts in zip(*(run.parts().values() for run in runs), strict=True)
    ]
    shared = set(values[0]).intersection(*values)  # a task whose world always failed on one side has no partner
    before, after, control = ({task: own for task, own in part.items() if task in shared} for part in values)
    return (
        f"{clustered_mean(before).mean:.1f}",
        f"{clustered_mean(after).mean:.1f}",
        paired_difference(before, after).text(signed=True),
        f"{clustered_mean(control).mean:.1f}",
        paired_difference(before, control).text(signed=True),
    )


def _cost_table(runs: Sequence[LearningResult]) -> Table:
    """Steps and seconds of each stage."""
    stages = [[(part.progress.step, part.progress.seconds) for part in run.parts().values()] for run in runs]
    return Table(
        title="What the training took",
        columns=("seed", *(f"{stage} {what}" for stage in ("warm-up", "GRPO", "control") for what in ("steps", "s"))),
        rows=tuple(
            (str(run.seed), *(cell for steps, seconds in own for cell in (str(steps), f"{seconds:.0f}")))
            for run, own in zip(runs, stages, strict=True)
        ),
        note="Seconds are those of the steps alone, on a machine that others may share.",
    )


def learning_panels(runs: Sequence[LearningResult]) -> list[Panel]:
    """The curves of training, and the held-out scores."""
    losses = [
        Curve(label=f"seed {run.seed}", x=_column(run.before, "step"), y=_column(run.before, "loss")) for run in runs
    ]
    scores = [
        Curve(label=f"seed {run.seed}", x=_column(run.after, "step"), y=_column(run.after, "reward/mean"))
        for run in runs
    ]
    estimates = [
        _estimate(name, _GROUPS[unseen], [run.parts()[name].evaluation for run in runs], unseen=unseen)
        for unseen in _groups(runs)
        for name in runs[0].parts()
    ]
    return [
        Panel(
            title="Warm-up: loss on demonstrations",
            x_label="step",
            y_label="nats a token",
            curves=losses,
            log_y=True,
            average_over=20,
        ),
        Panel(
            title="GRPO: mean score of rollouts",
            x_label="step",
            y_label="points of 100",
            curves=scores,
            average_over=5,
        ),
        Panel(title="Held-out tasks: mean score", x_label="", y_label="points of 100", estimates=estimates),
    ]


def _column(part: MeasuredPolicy, name: str) -> list[float]:
    return [row[name] for row in part.progress.history]


def _estimate(label: str, group: str, evaluations: Sequence[Evaluation], *, unseen: bool) -> Estimate:
    interval = clustered_mean(pooled([e.points(unseen=unseen) for e in evaluations]))
    return Estimate(label=label, group=group, mean=interval.mean, low=interval.low, high=interval.high)


def learning_document(runs: Sequence[LearningResult]) -> list[dict[str, object]]:
    """Every number of the runs, as plain data: settings aside, all that the tables and pictures are made of."""
    return [
        {
            "seed": run.seed,
            "policies": {name: part.policy.digest() for name, part in run.parts().items()},
            "history": {name: part.progress.history for name, part in run.parts().items()},
            "evaluation": {name: part.evaluation for name, part in run.parts().items()},
        }
        for run in runs
    ]
