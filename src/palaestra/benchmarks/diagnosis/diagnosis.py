"""The diagnosis of a run: all figures behind the findings, tables, plots and the page."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from statistics import fmean

from palaestra.benchmarks.diagnosis.amplification import GroupSolutions, group_passes, group_solutions
from palaestra.benchmarks.diagnosis.break_even import BreakEven, break_evens
from palaestra.benchmarks.diagnosis.change import FigureChange, figure_changes
from palaestra.benchmarks.diagnosis.decision_counts import DecisionCounts, decision_counts
from palaestra.benchmarks.diagnosis.ends import EndCounts, end_counts
from palaestra.benchmarks.diagnosis.episodes import flatten_groups
from palaestra.benchmarks.diagnosis.failures import FailureCounts, failed_episodes, first_broken, first_failures
from palaestra.benchmarks.diagnosis.families import FamilyFigures, compare_thirds, family_figures
from palaestra.benchmarks.diagnosis.reading import RecordedEvent, RunRecords, StageRecords, read_records
from palaestra.benchmarks.diagnosis.thirds import Thirds, divide_steps
from palaestra.benchmarks.diagnosis.variation import Variation, count_variations
from palaestra.benchmarks.diagnosis.weights import WeightChange, weight_changes
from palaestra.benchmarks.evaluation.passes import Passes
from palaestra.record import record
from palaestra.records import JsonObject
from palaestra.trajectory import Episode

ENTROPY = "policy/entropy"


@record
class StageDiagnosis:
    """The figures of a stage with rollouts."""

    name: str
    settings: JsonObject
    steps: int
    """The last step with a record."""
    planned: int | None
    """The number of steps in the settings; `None` where the settings count tokens or seconds."""
    saved: int
    """The step of the last save; 0 without a save."""
    thirds: Thirds
    whole: FamilyFigures
    """The figures of all families together."""
    changes: Mapping[str, FigureChange]
    """Changes from the first to the last third of "solved", "unfinished", "harm" and "points"; empty if a third is
    missing."""
    families: Sequence[FamilyFigures]
    decisions: Sequence[DecisionCounts]
    """Empty where no rubric states a decision."""
    failed: int
    """Number of episodes that finished without solving their task."""
    failures: Sequence[FailureCounts]
    broken: Sequence[FailureCounts]
    passes: Mapping[str, Sequence[Passes]]
    """pass@k of the first third, of the last third and of all groups."""
    solutions: Mapping[str, GroupSolutions]
    """Solutions of the first third, of the last third and of all groups."""
    break_evens: Sequence[BreakEven]
    """The break-even of all episodes, then of each family."""
    variations: Mapping[Variation, int]
    ends: Sequence[EndCounts]
    unreadable: float
    """The share of turns in the last third without a readable call."""
    lost: int
    """Number of trajectories whose world failed, or that were cut off because they were slow."""
    branched: int
    branches_solved: int
    quarantined: int
    curves: Mapping[str, Sequence[tuple[int, float]]]
    """Points (step, value) by figure, from the record of rollouts; shares are in per cent."""


@record
class SeriesThirds:
    """The means of a metric early and late in a stage."""

    stage: str
    first: float
    last: float | None
    """`None` where only one step has the metric."""


@record
class Diagnosis:
    """The figures of a run."""

    directory: Path
    stages: Sequence[StageDiagnosis]
    """Stages with recorded rollouts."""
    silent: Sequence[str]
    """Stages that recorded no rollouts, such as supervised ones."""
    missing: Sequence[str]
    """Stages of the settings that have not begun."""
    weight_changes: Sequence[WeightChange]
    entropies: Sequence[SeriesThirds]
    entropy_curves: Mapping[str, Sequence[tuple[int, float]]]
    """Points (step, nats per token) by stage."""
    events: Mapping[str, Sequence[RecordedEvent]]
    """Events by stage."""
    examples: Sequence[tuple[str, Episode]] = field(default_factory=tuple[tuple[str, Episode], ...])
    """An unsolved episode of each family, with its stage."""


def diagnose(directory: Path) -> Diagnosis:
    """Diagnose a run from its records.

    Args:
        directory: The folder of a run, or of one of its stages; the run may be unfinished.

    Raises:
        RecordError: the folder is neither, or a file in it cannot be read.
    """
    return diagnose_records(read_records(directory))


def diagnose_records(run: RunRecords) -> Diagnosis:
    """Diagnose the records of a run."""
    with_rollouts = [stage for stage in run.stages if flatten_groups(stage.groups)]
    return Diagnosis(
        directory=run.directory,
        stages=[_stage_diagnosis(stage) for stage in with_rollouts],
        silent=[stage.name for stage in run.stages if stage not in with_rollouts],
        missing=run.missing,
        weight_changes=weight_changes(run),
        entropies=[found for stage in run.stages if (found := _entropy(stage)) is not None],
        entropy_curves={stage.name: curve for stage in run.stages if (curve := _series(stage, ENTROPY))},
        events={stage.name: stage.events for stage in run.stages if stage.events},
        examples=[(stage.name, one) for stage in run.stages[-1:] for _, one in sorted(stage.examples.items())],
    )


def _stage_diagnosis(stage: StageRecords) -> StageDiagnosis:
    groups, episodes = stage.groups, flatten_groups(stage.groups)
    thirds = divide_steps(group.step for group in groups)
    latest = [episode for episode in episodes if episode.step in thirds.latest]
    parts = {part: [group for group in groups if group.step in steps] for part, steps in thirds.parts}
    compared = {"first third": parts["first third"], "last third": parts["last third"], "all": list(groups)}
    return StageDiagnosis(
        name=stage.name,
        settings=stage.settings,
        steps=stage.steps,
        planned=stage.planned,
        saved=max(stage.saves.values(), default=0),
        thirds=thirds,
        whole=compare_thirds("", episodes, thirds),
        changes=figure_changes(groups, thirds),
        families=family_figures(episodes, thirds),
        decisions=decision_counts(episodes),
        failed=len(failed_episodes(episodes)),
        failures=first_failures(episodes),
        broken=first_broken(episodes),
        passes={part: group_passes(own) for part, own in compared.items() if own},
        solutions={part: group_solutions(own) for part, own in (*parts.items(), ("all", list(groups))) if own},
        break_evens=break_evens(episodes),
        variations=count_variations(groups),
        ends=end_counts(episodes, thirds),
        unreadable=sum(one.unreadable for one in latest) / max(1, sum(one.turns for one in latest)),
        lost=sum(group.lost for group in groups),
        branched=stage.branched,
        branches_solved=stage.branches_solved,
        quarantined=stage.quarantined,
        curves=_curves(stage),
    )


def _curves(stage: StageRecords) -> dict[str, list[tuple[int, float]]]:
    found: dict[str, list[tuple[int, float]]] = {"solved": [], "harm": [], "unfinished": [], "points": []}
    for step in sorted({group.step for group in stage.groups}):
        own = flatten_groups([group for group in stage.groups if group.step == step])
        if own:
            found["solved"].append((step, 100 * fmean(one.solved for one in own)))
            found["harm"].append((step, 100 * fmean(one.harmed for one in own)))
            found["unfinished"].append((step, 100 * fmean(one.is_unfinished for one in own)))
            found["points"].append((step, fmean(one.returned for one in own)))
    return found


def _series(stage: StageRecords, figure: str) -> list[tuple[int, float]]:
    return [(int(row["step"]), row[figure]) for row in stage.history if figure in row]


def _entropy(stage: StageRecords) -> SeriesThirds | None:
    series = dict(_series(stage, ENTROPY))
    if not series:
        return None
    thirds = divide_steps(series)
    first = fmean(series[step] for step in thirds.first)
    last = fmean(series[step] for step in thirds.last) if thirds.last else None
    return SeriesThirds(stage=stage.name, first=first, last=last)
