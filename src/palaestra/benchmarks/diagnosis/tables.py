"""The tables of a diagnosis, which support its sentences."""

from collections.abc import Sequence

from palaestra.benchmarks.diagnosis.break_even import BreakEven
from palaestra.benchmarks.diagnosis.diagnosis import Diagnosis, StageDiagnosis
from palaestra.benchmarks.diagnosis.failures import FailureCounts
from palaestra.benchmarks.diagnosis.families import EpisodeFigures, FamilyFigures
from palaestra.benchmarks.diagnosis.findings.finding import join_names, percent, short_family
from palaestra.benchmarks.diagnosis.variation import Variation
from palaestra.table import Table

_CRITERIA = 12
"""Maximum number of first failures in a table."""
_EVENTS = 12
"""Maximum number of events in the table; the latest are shown."""
_NOT_STATED = "not recorded"
_VARIATIONS: dict[Variation, str] = {
    "nothing": "nothing: equal returns",
    "solved": "whether the task is solved",
    "harm": "harm alone",
    "look-ups": "look-ups alone",
    "work": "other expectations alone",
    "end": "how it ended alone",
    "several": "several of these, and not solved",
}


def diagnosis_tables(diagnosis: Diagnosis) -> list[Table]:
    """The tables of each stage with rollouts, the last stage first, and those of the run."""
    found = [table for stage in reversed(diagnosis.stages) for table in _stage_tables(stage)]
    return [*found, _weight_table(diagnosis), *_entropy_tables(diagnosis), *_event_tables(diagnosis)]


def _stage_tables(stage: StageDiagnosis) -> list[Table]:
    decisions = [_decision_table(stage)] if stage.decisions else [_no_decisions(stage)]
    return [
        _family_table(stage),
        *decisions,
        _failure_table(stage),
        _pass_table(stage),
        _solution_table(stage),
        _variation_table(stage),
        _break_even_table(stage),
        _end_table(stage),
    ]


def _family_table(stage: StageDiagnosis) -> Table:
    return Table(
        title=f"{stage.name}: families",
        columns=(
            "family",
            "episodes",
            "solved, first third",
            "solved, last third",
            "points, first third",
            "points, last third",
            "harm",
            "unfinished",
        ),
        rows=tuple(_family_row(one) for one in (*stage.families, stage.whole)),
        note="Shares of episodes and mean returns. Harm and unfinished are of the whole stage.",
    )


def _family_row(one: FamilyFigures) -> tuple[str, ...]:
    return (
        short_family(one.family) or "all",
        f"{one.whole.episodes:,}",
        _format_solved(one.first),
        _format_solved(one.last),
        _points(one.first),
        _points(one.last),
        percent(one.whole.harmed),
        percent(one.whole.unfinished),
    )


def _format_solved(figures: EpisodeFigures | None) -> str:
    return "-" if figures is None else percent(figures.solved)


def _points(figures: EpisodeFigures | None) -> str:
    return "-" if figures is None else f"{figures.points:.1f}"


def _decision_table(stage: StageDiagnosis) -> Table:
    ways = sorted({name for one in stage.decisions for name in one.closed})
    return Table(
        title=f"{stage.name}: how cases closed, against how they should have closed",
        columns=("should have closed as", "episodes", *ways, "solved"),
        rows=tuple(
            (
                one.expected,
                f"{one.episodes:,}",
                *(str(one.closed.get(way, 0)) for way in ways),
                percent(one.solved / one.episodes),
            )
            for one in stage.decisions
        ),
        note="From the rubrics' criteria and the journal of each episode. Episodes whose rubric states no decision are "
        "left out.",
    )


def _no_decisions(stage: StageDiagnosis) -> Table:
    return Table(
        title=f"{stage.name}: how cases closed, against how they should have closed",
        columns=("should have closed as", "episodes"),
        rows=((_NOT_STATED, f"{stage.whole.whole.episodes:,}"),),
        note="No rubric of this stage states how a case should close (as resolved, declined or escalated).",
    )


def _failure_table(stage: StageDiagnosis) -> Table:
    return Table(
        title=f"{stage.name}: first failing criterion of {stage.failed:,} finished and unsolved episodes",
        columns=("criterion", "what", "episodes", "share", "families"),
        rows=tuple(
            (one.criterion, what, f"{one.episodes:,}", percent(one.episodes / stage.failed), _families(one))
            for what, counts in (("first failure", stage.failures), ("first prohibition", stage.broken))
            for one in counts[:_CRITERIA]
        ),
        note="First failure: the first expectation of the rubric that was not met, or else the prohibition that was "
        "broken first. First prohibition: what was broken first, whatever else is missing.",
    )


def _families(one: FailureCounts) -> str:
    return join_names([f"{short_family(family)} {count}" for family, count in one.families.items()], most=3)


def _pass_table(stage: StageDiagnosis) -> Table:
    sizes = [one.k for one in stage.passes["all"]]
    by_part = {part: {one.k: one.any.text() for one in found} for part, found in stage.passes.items()}
    return Table(
        title=f"{stage.name}: pass@k, percent",
        columns=("k", *by_part),
        rows=tuple((str(k), *(own.get(k, "-") for own in by_part.values())) for k in sizes),
        note="The chance that one of k episodes of a group solves its task: unbiased in each group, mean over tasks "
        "with 95 % intervals.",
    )


def _solution_table(stage: StageDiagnosis) -> Table:
    never = [short_family(one.family) for one in stage.families if not one.was_solved]
    note = f"Never solved: {', '.join(never)}." if never else "Every family was solved at least once."
    branched = f" Branching: {stage.branched} groups of continuations, {stage.branches_solved} of them solved."
    return Table(
        title=f"{stage.name}: what there is to amplify",
        columns=("groups of", "groups", "no member solved", "some solved", "all solved"),
        rows=tuple(
            (part, str(one.groups), *(percent(count / one.groups) for count in (one.none, one.some, one.every)))
            for part, one in stage.solutions.items()
            if one.groups
        ),
        note=note + (branched if stage.branched else ""),
    )


def _variation_table(stage: StageDiagnosis) -> Table:
    groups = sum(stage.variations.values())
    return Table(
        title=f"{stage.name}: what varies in {groups} groups",
        columns=("members differ in", "groups", "share"),
        rows=tuple(
            (_VARIATIONS[name], str(count), percent(count / groups) if groups else "-")
            for name, count in stage.variations.items()
        ),
    )


def _break_even_table(stage: StageDiagnosis) -> Table:
    return Table(
        title=f"{stage.name}: break-even of acting",
        columns=("family", "acts", "right", "right act", "wrong act", "no act", "pays from", "measured", "pays"),
        rows=tuple(map(_break_even_row, (*stage.break_evens[1:], stage.break_evens[0]))),
        note="An act wrote a row, and a right one solved its task. Points are mean returns; (rubric): no right act "
        "is recorded, so it is what the rubric gives. Acting pays where the measured share of right acts is above the "
        "share from which it pays.",
    )


def _break_even_row(one: BreakEven) -> tuple[str, ...]:
    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:.1f}"

    return (
        short_family(one.family) or "all",
        str(one.acts),
        str(one.right),
        number(one.right_points) + ("" if one.right_recorded else " (rubric)"),
        number(one.wrong_points),
        number(one.idle_points),
        "-" if one.share is None else "never" if one.share >= 1 else percent(one.share),
        "-" if one.share_of_right_acts is None else percent(one.share_of_right_acts),
        "-" if one.pays is None else "yes" if one.pays else "no",
    )


def _end_table(stage: StageDiagnosis) -> Table:
    reasons = list(dict.fromkeys(name for one in stage.ends for name in one.ends))
    return Table(
        title=f"{stage.name}: how episodes ended",
        columns=("end reason", *(one.part for one in stage.ends)),
        rows=tuple((name, *(percent(one.share(name)) for one in stage.ends)) for name in reasons),
    )


def _weight_table(diagnosis: Diagnosis) -> Table:
    return Table(
        title="Movement of the weights",
        columns=("stage", "from", "to", "L2", "share of the norm"),
        rows=tuple(
            (
                one.stage,
                one.before,
                one.after,
                one.missing if one.distance is None else f"{one.distance.moved:.3g}",
                "-" if one.distance is None else percent(one.distance.relative),
            )
            for one in diagnosis.weight_changes
        ),
        note="Euclidean distance between saves over all weights.",
    )


def _entropy_tables(diagnosis: Diagnosis) -> list[Table]:
    if not diagnosis.entropies:
        return [
            Table(
                title="Entropy",
                columns=("stage", "nats a token"),
                rows=(("all", _NOT_STATED),),
                note="No metrics hold it.",
            )
        ]
    return [
        Table(
            title="Entropy, nats a token",
            columns=("stage", "first third", "last third"),
            rows=tuple(
                (one.stage, f"{one.first:.3f}", "-" if one.last is None else f"{one.last:.3f}")
                for one in diagnosis.entropies
            ),
        )
    ]


def _event_tables(diagnosis: Diagnosis) -> list[Table]:
    events = [(stage, event) for stage, found in diagnosis.events.items() for event in found]
    rows: Sequence[tuple[str, ...]] = [
        (stage, str(event.step), event.name, event.text) for stage, event in events[-_EVENTS:]
    ]
    title = f"Alarms and events, the last {len(rows)} of {len(events)}"
    return [Table(title=title, columns=("stage", "step", "event", "text"), rows=tuple(rows))] if rows else []
