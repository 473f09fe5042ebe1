"""The diagnosis of a run: every figure that findings, tables, plots and the page are made of."""

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
    """What a stage with rollouts came to."""

    name: str
    settings: JsonObject
    steps: int
    """The last step of which anything is recorded."""
    planned: int | None
    """The steps that the settings ask for; `None` where they count otherwise."""
    saved: int
    """The step of the last save; 0 without one."""
    thirds: Thirds
    whole: FamilyFigures
    """Of all families."""
    changes: Mapping[str, FigureChange]
    """From the first third to the last, of "solved", "unfinished", "harm" and "points"; empty where one is missing."""
    families: Sequence[FamilyFigures]
    decisions: Sequence[DecisionCounts]
    """Empty where no rubric states a decision."""
    failed: int
    """Episodes that finished and did not solve their task."""
    failures: Sequence[FailureCounts]
    broken: Sequence[FailureCounts]
    passes: Mapping[str, Sequence[Passes]]
    """pass@k of the first third, of the last and of all."""
    solutions: Mapping[str, GroupSolutions]
    """By third, and of all."""
    break_evens: Sequence[BreakEven]
    """Of all episodes, then of each family."""
    variations: Mapping[Variation, int]
    ends: Sequence[EndCounts]
    unreadable: float
    """The share of turns in the last third that held no readable call."""
    lost: int
    """Trajectories that their world failed, or that were cut off for being slow."""
    branched: int
    branches_solved: int
    quarantined: int
    curves: Mapping[str, Sequence[tuple[int, float]]]
    """By figure: (step, value), from the record of rollouts; shares are percent."""


@record
class SeriesThirds:
    """A figure of the metrics early and late in a stage."""

    stage: str
    first: float
    last: float | None
    """`None` where one step alone has it."""


@record
class Diagnosis:
    """What a run came to."""

    directory: Path
    stages: Sequence[StageDiagnosis]
    """Those with recorded rollouts."""
    silent: Sequence[str]
    """Stages that recorded no rollouts, such as supervised ones."""
    missing: Sequence[str]
    """Stages of the settings that have not begun."""
    weight_changes: Sequence[WeightChange]
    entropies: Sequence[SeriesThirds]
    entropy_curves: Mapping[str, Sequence[tuple[int, float]]]
    """By stage: (step, nats a token)."""
    events: Mapping[str, Sequence[RecordedEvent]]
    """By stage."""
    examples: Sequence[tuple[str, Episode]] = field(default_factory=tuple[tuple[str, Episode], ...])
    """With their stage: an unsolved episode of each family."""


def diagnose(directory: Path) -> Diagnosis:
    """Diagnose a run from its records.

    Args:
        directory: The folder of a run, or of one of its stages; it may still be going on.

    Raises:
        RecordError: it is neither, or a file of it cannot be read.
    """
    return diagnose_records(read_records(directory))


def diagnose_records(run: RunRecords) -> Diagnosis:
    """Diagnose what was read of a run."""
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
