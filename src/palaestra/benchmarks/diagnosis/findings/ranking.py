"""The order of findings, and the sentence above them."""

from palaestra.benchmarks.diagnosis.diagnosis import Diagnosis, StageDiagnosis
from palaestra.benchmarks.diagnosis.findings.finding import TrainingFinding, percent
from palaestra.benchmarks.diagnosis.findings.pay import find_in_pay
from palaestra.benchmarks.diagnosis.findings.rollouts import find_in_rollouts
from palaestra.benchmarks.diagnosis.findings.training import find_in_training

MOST = 6
"""Findings that stand above all tables; with the sentences about the run they fit a screen."""
_EARLIER = 0.5
"""What a finding of a stage before the last weighs, of one of the last."""


def find_causes(diagnosis: Diagnosis) -> list[TrainingFinding]:
    """All findings, the most important first; of several stages with the same finding, the weightiest comes first.

    Findings of stages before the last weigh half, since the policy left them.
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
    """What the last stage with rollouts came to, and how far the run is, in a sentence or two."""
    said = [_outcome(diagnosis.stages[-1])] if diagnosis.stages else [_nothing(diagnosis)]
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
