"""What training runs found, as tables, pictures and a document."""

from collections.abc import Sequence

from palaestra.benchmarks.curves import Curve, Estimate, Panel
from palaestra.benchmarks.learning.evaluation import (
    FEW_UNITS,
    Evaluation,
    Measure,
    claim_unit,
    difference,
    estimate,
)
from palaestra.benchmarks.learning.run import LearningResult, MeasuredPolicy
from palaestra.benchmarks.statistics import Unit
from palaestra.table import Table

_COLUMNS = ("held-out tasks of", "seed", "before", "after GRPO", "difference", "after control", "control's difference")
_GROUPS = {False: "families trained on", True: "families never seen"}


def learning_tables(runs: Sequence[LearningResult]) -> list[Table]:
    """For each seed and for all together: scores before and after, shares that solve and that harm, and the time."""
    seeds: dict[str, Sequence[LearningResult]] = {str(run.seed): [run] for run in runs}
    if len(runs) > 1:
        seeds["all"] = runs
    first = runs[0].before.evaluation
    samples = max((len(result.points) for result in first.tasks.values()), default=0)
    titles: dict[Measure, tuple[str, str]] = {
        "points": (
            "Mean score on held-out tasks, before and after GRPO",
            (
                f"Points of 100, less what harm takes; {_counted(first)}, {samples} episodes of each at temperature 1. "
                f"The control is the warm-up, continued for as long as GRPO took. {_units(len(runs))}"
            ),
        ),
        "solved": (
            "Share of held-out episodes that solve their task, in percent",
            "Solved is every expectation met, nothing forbidden done, and finished.",
        ),
        "harmed": ("Share of held-out episodes that do something forbidden, in percent", ""),
    }
    tables = [
        Table(
            title=title,
            columns=_COLUMNS,
            rows=tuple(
                (_GROUPS[unseen], name, *_cells(group, measure, unseen=unseen))
                for unseen in _groups(runs)
                for name, group in seeds.items()
            ),
            note=note,
        )
        for measure, (title, note) in titles.items()
    ]
    return [*tables, _cost_table(runs)]


def _counted(evaluation: Evaluation) -> str:
    """How many tasks and families of either kind were played."""
    said: list[str] = []
    for unseen, name in _GROUPS.items():
        own = evaluation.observations("points", unseen=unseen)
        tasks, families = len({one.task for one in own}), len({one.family for one in own})
        if own:
            said.append(
                f"{Unit.TASK.counted(tasks)} of {Unit.FAMILY.counted(families)} {name.removeprefix('families ')}"
            )
    return ", ".join(said)


def _units(seeds: int) -> str:
    """What the intervals generalise over, and what they do not."""
    one = (
        "Differences are paired, for the policy of one training seed. In brackets 95 % intervals: over tasks, where "
        f"families were trained on, and over families, where they were never seen. {FEW_UNITS} "
    )
    if seeds == 1:
        return f"{one}One training seed says nothing of another, so there is no interval about training."
    return f"{one}Rows of all seeds are about training, and their unit is the training seed."


def _groups(runs: Sequence[LearningResult]) -> list[bool]:
    """Whether families are unseen: of the two kinds those that the held-out tasks have."""
    return [unseen for unseen in _GROUPS if runs[0].before.evaluation.observations("points", unseen=unseen)]


def _cells(runs: Sequence[LearningResult], measure: Measure, *, unseen: bool) -> tuple[str, ...]:
    parts = [
        [
            one
            for run in runs
            for one in run.parts()[name].evaluation.observations(measure, unseen=unseen, seed=run.seed)
        ]
        for name in runs[0].parts()
    ]
    unit = claim_unit(unseen=unseen) if len(runs) == 1 else Unit.TRAINING_SEED
    before, after, control = parts
    return (
        f"{estimate(before, measure, unit).mean:.1f}",
        f"{estimate(after, measure, unit).mean:.1f}",
        difference(before, after, measure, unit).text(signed=True),
        f"{estimate(control, measure, unit).mean:.1f}",
        difference(before, control, measure, unit).text(signed=True),
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
    estimates = [_plotted(runs, name, unseen=unseen) for unseen in _groups(runs) for name in runs[0].parts()]
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


def _plotted(runs: Sequence[LearningResult], name: str, *, unseen: bool) -> Estimate:
    unit = claim_unit(unseen=unseen) if len(runs) == 1 else Unit.TRAINING_SEED
    own = [
        one for run in runs for one in run.parts()[name].evaluation.observations("points", unseen=unseen, seed=run.seed)
    ]
    return Estimate.of(name, _GROUPS[unseen], estimate(own, "points", unit))


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
