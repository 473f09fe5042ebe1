"""The results of training runs as tables, plots and a document."""

from collections.abc import Mapping, Sequence

from palaestra.benchmarks.curves import Curve, Estimate, Panel
from palaestra.benchmarks.learning.evaluation import FEW_UNITS, Measure, difference, estimate
from palaestra.benchmarks.learning.material import HeldoutGroup, LearningMaterial
from palaestra.benchmarks.learning.run import STAGES, LearningResult, MeasuredPolicy
from palaestra.benchmarks.statistics import Observation, Unit
from palaestra.table import Table

_WARM, _EXPERT, _GRADIENT = STAGES.values()
_FURTHER: Mapping[Measure, str] = {
    "solved-once": "solved by one of the samples, %",
    "points": "points of 100",
    "harmed": "does harm, %",
    "unfinished": "unfinished, %",
}


def learning_tables(runs: Sequence[LearningResult], material: LearningMaterial) -> list[Table]:
    """Make tables of solved tasks and pairs, further measures, single seeds, and the training costs."""
    tables = [_solved_table(runs, material)]
    if any(_pairs(runs, name, temperature, material) for name in _names(runs) for temperature in _temperatures(runs)):
        tables.append(_pair_table(runs, material))
    tables.append(_further_table(runs, material))
    if len(runs) > 1:
        tables.append(_seed_table(runs, material))
    return [*tables, _cost_table(runs)]


_UPRIGHT = 4
"""Maximum number of policies whose names fit side by side below a panel."""


def _names(runs: Sequence[LearningResult]) -> list[str]:
    return list(runs[0].parts)


def _first_policy(runs: Sequence[LearningResult]) -> str:
    """The policy that others are compared with: the base, or the warm start of fresh weights."""
    return _names(runs)[0]


def _temperatures(runs: Sequence[LearningResult]) -> list[float]:
    return list(runs[0].parts[_WARM].evaluations)


def _observations(
    runs: Sequence[LearningResult], name: str, temperature: float, measure: Measure, group: HeldoutGroup
) -> list[Observation]:
    """The values of one policy in all runs."""
    tasks = frozenset(group.tasks)
    return [
        one
        for run in runs
        for one in run.parts[name].evaluations[temperature].observations(measure, tasks=tasks, seed=run.seed)
    ]


def _pairs(
    runs: Sequence[LearningResult], name: str, temperature: float, material: LearningMaterial
) -> list[Observation]:
    return [
        one for run in runs for one in run.parts[name].evaluations[temperature].pairs(material.twins, seed=run.seed)
    ]


def _solved_table(runs: Sequence[LearningResult], material: LearningMaterial) -> Table:
    temperatures, first = _temperatures(runs), _first_policy(runs)
    rows: list[tuple[str, ...]] = []
    for group in material.heldout:
        for name in _names(runs):
            cells: list[str] = []
            for temperature in temperatures:
                own = _observations(runs, name, temperature, "solved", group)
                before = _observations(runs, first, temperature, "solved", group)
                cells.append(estimate(own, "solved", group.unit).text())
                cells.append("" if name == first else difference(before, own, "solved", group.unit).text(signed=True))
            rows.append((group.name, name, *cells))
    return Table(
        title="Share of held-out episodes that solve their task, in percent",
        columns=("held-out tasks", "policy", *_headings(runs)),
        rows=tuple(rows),
        note=f"{_describe_counts(runs, material)} {_units(runs, material)}",
    )


def _headings(runs: Sequence[LearningResult]) -> list[str]:
    first = _first_policy(runs).replace("-", " ")
    return [
        text for t in _temperatures(runs) for text in (f"solved at temperature {t:g}", f"over the {first} at {t:g}")
    ]


def _pair_table(runs: Sequence[LearningResult], material: LearningMaterial) -> Table:
    first = _first_policy(runs)
    rows: list[tuple[str, ...]] = []
    for name in _names(runs):
        cells: list[str] = []
        for temperature in _temperatures(runs):
            own, before = (_pairs(runs, one, temperature, material) for one in (name, first))
            cells.append(estimate(own, "solved", Unit.FAMILY).text())
            cells.append("" if name == first else difference(before, own, "solved", Unit.FAMILY).text(signed=True))
        rows.append((name, *cells))
    return Table(
        title="Pairs of a task and its refusal twin that are both solved, in percent",
        columns=("policy", *_headings(runs)),
        rows=tuple(rows),
        note=f"{len(material.twins)} pairs: the same request, once to be granted and once to be refused. {FEW_UNITS}",
    )


def _further_table(runs: Sequence[LearningResult], material: LearningMaterial) -> Table:
    first = _temperatures(runs)[0]
    rows = [
        (
            group.name,
            name,
            *(
                estimate(_observations(runs, name, first, measure, group), measure, group.unit).text()
                for measure in _FURTHER
            ),
        )
        for group in material.heldout
        for name in _names(runs)
    ]
    return Table(
        title=f"What else held-out episodes come to, at temperature {first:g}",
        columns=("held-out tasks", "policy", *_FURTHER.values()),
        rows=tuple(rows),
        note="Unfinished episodes were ended by a budget or by turns that could not be read. Harm takes points away.",
    )


def _seed_table(runs: Sequence[LearningResult], material: LearningMaterial) -> Table:
    temperatures, group = _temperatures(runs), material.heldout[0]
    rows: list[tuple[str, ...]] = []
    for run in runs:
        for name in _names(runs):
            cells = [
                f"{estimate(_observations([run], name, t, 'solved', group), 'solved', group.unit).mean:.1f}"
                for t in temperatures
            ]
            rows.append((str(run.seed), name, *cells))
    return Table(
        title=f"Share solved seed by seed, in percent: {group.name}",
        columns=("seed", "policy", *(f"at temperature {t:g}" for t in temperatures)),
        rows=tuple(rows),
        note="",
    )


def _describe_counts(runs: Sequence[LearningResult], material: LearningMaterial) -> str:
    """Describe the number of tasks and families in each group, and the number of episodes of each task."""
    evaluations = runs[0].parts[_WARM].evaluations
    counts: list[str] = []
    for group in material.heldout:
        played = {
            f"{temperature:g}": max(
                (len(one.tasks[task].solved) for task in group.tasks if task in one.tasks), default=0
            )
            for temperature, one in evaluations.items()
        }
        most = max(played.values())
        fewer = "".join(f", {count} at temperature {at}" for at, count in played.items() if count < most)
        families = len({task.rpartition("/")[0] for task in group.tasks})
        counts.append(
            f"{group.name}: {Unit.TASK.format_count(len(group.tasks))} of {Unit.FAMILY.format_count(families)}, "
            f"{most} {'episode' if most == 1 else 'episodes'} of each{fewer}"
        )
    return f"{'; '.join(counts)}."


def _units(runs: Sequence[LearningResult], material: LearningMaterial) -> str:
    """Describe the units over which the intervals generalise, and those over which they do not."""
    units = " or ".join(dict.fromkeys(group.unit.format_count(2).partition(" ")[2] for group in material.heldout))
    seeds = ", ".join(str(run.seed) for run in runs)
    of = f"the policy of training seed {seeds}" if len(runs) == 1 else f"the mean over training seeds {seeds}"
    return (
        f"In brackets 95 % intervals over {units}, for {of}; they say nothing of other seeds. Differences are paired. "
        f"{FEW_UNITS}"
    )


def _cost_table(runs: Sequence[LearningResult]) -> Table:
    """The table of steps and processor time of the stage that trained each policy."""
    return Table(
        title="What the training took",
        columns=("seed", *(f"{name} {what}" for name in _names(runs) for what in ("steps", "CPU s"))),
        rows=tuple(
            (
                str(run.seed),
                *(
                    cell
                    for part in run.parts.values()
                    for cell in (str(part.progress.step), f"{part.progress.cpu_seconds:.0f}")
                ),
            )
            for run in runs
        ),
        note="Processor time of the steps alone, all threads together. Expert iteration's steps are rounds.",
    )


def learning_panels(runs: Sequence[LearningResult], material: LearningMaterial) -> list[Panel]:
    """The curves of training, and the held-out shares solved."""
    first = _temperatures(runs)[0]
    return [
        _curves(runs, _WARM, "loss", title="Warm start: loss on demonstrations", y_label="nats a token", log_y=True),
        _curves(runs, _EXPERT, "solved", title="Expert iteration: rollouts solved", y_label="share", average_over=3),
        _curves(runs, _GRADIENT, "solved", title="Policy gradient: rollouts solved", y_label="share", average_over=3),
        *(
            Panel(
                title=f"Solved: {group.name}",
                x_label="percent" if len(_names(runs)) > _UPRIGHT else "",
                y_label="" if len(_names(runs)) > _UPRIGHT else "percent",
                sideways=len(_names(runs)) > _UPRIGHT,
                estimates=[
                    Estimate.of(
                        name,
                        group.name,
                        estimate(_observations(runs, name, first, "solved", group), "solved", group.unit),
                    )
                    for name in _names(runs)
                ],
            )
            for group in material.heldout
        ),
    ]


def _curves(
    runs: Sequence[LearningResult],
    name: str,
    column: str,
    *,
    title: str,
    y_label: str,
    log_y: bool = False,
    average_over: int = 20,
) -> Panel:
    return Panel(
        title=title,
        x_label="step" if name != _EXPERT else "round",
        y_label=y_label,
        curves=[
            Curve(label=f"seed {run.seed}", x=_column(run.parts[name], "step"), y=_column(run.parts[name], column))
            for run in runs
        ],
        log_y=log_y,
        average_over=average_over,
    )


def _column(part: MeasuredPolicy, name: str) -> list[float]:
    return [row[name] for row in part.progress.history]


def learning_document(runs: Sequence[LearningResult]) -> list[dict[str, object]]:
    """All numbers of the runs as plain data: everything in the tables and plots, except the settings."""
    return [
        {
            "seed": run.seed,
            "policies": {name: part.policy.digest() for name, part in run.parts.items()},
            "history": {name: part.progress.history for name, part in run.parts.items()},
            "evaluation": {
                name: {f"{temperature:g}": found for temperature, found in part.evaluations.items()}
                for name, part in run.parts.items()
            },
        }
        for run in runs
    ]
