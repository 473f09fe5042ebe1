"""The order of findings, and the headline above them."""

from palaestra.benchmarks.diagnosis.diagnosis import Diagnosis, StageDiagnosis
from palaestra.benchmarks.diagnosis.findings.finding import TrainingFinding, follows_results, percent
from palaestra.benchmarks.diagnosis.findings.pay import find_in_pay
from palaestra.benchmarks.diagnosis.findings.rollouts import find_in_rollouts
from palaestra.benchmarks.diagnosis.findings.training import find_in_training

MOST = 6
"""Number of findings above all tables; together with the sentences about the run they fit on a screen."""
_EARLIER = 0.5
"""Weight of a finding of an earlier stage, relative to a finding of the last stage."""
_MIX_CHANGES = (
    "The choice of tasks follows earlier results, so the thirds hold different shares of families; the table of "
    "families compares each with itself."
)


def find_causes(diagnosis: Diagnosis) -> list[TrainingFinding]:
    """Find all causes, the most important first; repeated findings of other stages come last.

    Findings of stages before the last count half, because the policy has left those stages.
    """
    found = [
        *(finding for stage in diagnosis.stages for finding in find_in_rollouts(stage)),
        *(finding for stage in diagnosis.stages for finding in find_in_pay(stage)),
        *find_in_training(diagnosis),
    ]
    last = diagnosis.stages[-1].name if diagnosis.stages else ""
    weights = {id(one): one.importance * (1.0 if one.stage in ("", last) else _EARLIER) for one in found}
    ordered = sorted(found, key=lambda one: (-weights[id(one)], one.name, one.stage))
    first = {one.name: one for one in reversed(ordered)}
    return [
        *(one for one in ordered if first[one.name] is one),
        *(one for one in ordered if first[one.name] is not one),
    ]


def headline(diagnosis: Diagnosis) -> list[str]:
    """Summarise the last stage with rollouts and the progress of the run in one to three sentences."""
    said = [_outcome(diagnosis.stages[-1])] if diagnosis.stages else [_nothing(diagnosis)]
    if diagnosis.stages and diagnosis.stages[-1].changes and follows_results(diagnosis.stages[-1].settings):
        said.append(_MIX_CHANGES)
    unfinished = [
        f"{stage.name} has {stage.steps} of {stage.planned} steps, the last save holds {stage.saved}"
        for stage in diagnosis.stages
        if stage.planned is not None and stage.steps < stage.planned
    ]
    unfinished += [f"{name} has not begun" for name in diagnosis.missing]
    if unfinished:
        said.append(f"The run is not complete: {'; '.join(unfinished)}. The figures are of what is recorded so far.")
    return said


def _outcome(stage: StageDiagnosis) -> str:
    whole = stage.whole.whole
    steps = len(stage.thirds.first | stage.thirds.middle | stage.thirds.last)
    counted = f"{whole.episodes:,} episodes in {steps} step{'' if steps == 1 else 's'}"
    solved, points = stage.changes.get("solved"), stage.changes.get("points")
    if solved is None or points is None:
        return (
            f"{stage.name} solved {percent(whole.solved)} of {counted} and won {whole.points:.1f} points on average; "
            "one step alone shows no trend."
        )
    way = f"from {percent(solved.first)} in the first third to {percent(solved.last)} in the last"
    verdict = (
        "shows no change that stands out from its noise"
        if not solved.is_certain
        else "rose"
        if solved.difference > 0
        else "fell"
    )
    return (
        f"{stage.name}: the share solved {verdict}, {way}; points went from {points.first:.1f} to {points.last:.1f} "
        f"({counted})."
    )


def _nothing(diagnosis: Diagnosis) -> str:
    stages = ", ".join(diagnosis.silent) or "no stage"
    return (
        f"No rollouts are recorded ({stages} so far): nothing can be said of what was solved. A supervised stage "
        "records none; measure its policy with `palaestra eval`."
    )
