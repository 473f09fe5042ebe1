"""Findings about training itself: movement of the weights, entropy, alarms, and batches that diverged."""

from collections import Counter
from collections.abc import Iterator

from palaestra.benchmarks.diagnosis.diagnosis import Diagnosis, StageDiagnosis
from palaestra.benchmarks.diagnosis.findings.finding import TrainingFinding, join_names, percent

LITTLE_CHANGE = 1 / 30
"""Minimum distance that a stage moves the weights, as a share of the run's longest; a stage below it hardly trains."""
LITTLE_RELATIVE = 0.001
"""The same minimum as a share of the weights' norm, where there is no other stage to compare with."""
LOW_ENTROPY, ENTROPY_FALL, ENTROPY_RISE, CALM = 0.02, 0.7, 1.0, 0.5
"""Entropy in nats per token that counts as a collapse; the shares that may be lost and gained over a stage; and the
entropy below which no rise counts."""
IGNORED_EVENTS = frozenset({"fault", "quarantine"})
"""Events that other findings cover."""


def find_in_training(diagnosis: Diagnosis) -> Iterator[TrainingFinding]:
    """Find causes in the weights, entropy and events of a run."""
    yield from _weights(diagnosis)
    yield from _entropy(diagnosis)
    yield from _alarms(diagnosis)
    for stage in diagnosis.stages:
        yield from _find_divergence(stage)


def _weights(diagnosis: Diagnosis) -> Iterator[TrainingFinding]:
    known = {
        change.stage: change.distance
        for change in diagnosis.weight_changes
        if change.distance is not None and change.is_whole_stage
    }
    with_rollouts = {stage.name: stage for stage in diagnosis.stages}
    for name, distance in known.items():
        if name not in with_rollouts:
            continue
        other, most = max(((stage, own.moved) for stage, own in known.items()), key=lambda item: item[1])
        little = distance.moved < LITTLE_CHANGE * most if other != name else distance.relative < LITTLE_RELATIVE
        if not little:
            continue
        compared = f", and {other} by {most:.3g}" if other != name else ""
        learner = with_rollouts[name].settings.get("learner")
        rate = learner.get("lr") if isinstance(learner, dict) else None
        yield TrainingFinding(
            name="weights hardly move",
            stage=name,
            importance=0.45,
            sentence=f"Training moved the weights by {distance.moved:.3g} ({percent(distance.relative)} of their "
            f"norm){compared}.",
            remedy=f"Raise learner.lr{'' if rate is None else f' (now {rate})'} or take more steps; watch solved, KL "
            "and entropy while you do.",
        )


def _entropy(diagnosis: Diagnosis) -> Iterator[TrainingFinding]:
    names = [stage.name for stage in diagnosis.stages]
    for found in diagnosis.entropies:
        if found.stage not in names or found.last is None:
            continue
        way = f"from {found.first:.2g} nats a token in the first third to {found.last:.2g} in the last"
        if found.last < LOW_ENTROPY or found.last < (1 - ENTROPY_FALL) * found.first:
            yield TrainingFinding(
                name="entropy falls",
                stage=found.stage,
                importance=0.55,
                sentence=f"Entropy fell {way}: the policy tries little that is new.",
                remedy="Go on from an earlier save with a lower learning rate, a wider upper clip or an entropy bonus.",
            )
        elif found.last > CALM and found.last > (1 + ENTROPY_RISE) * found.first:
            yield TrainingFinding(
                name="entropy rises",
                stage=found.stage,
                importance=0.8,
                sentence=f"Entropy rose {way}: the policy comes apart.",
                remedy="Go on from an earlier save with a lower learning rate or fewer updates; add a KL term or keep "
                "demonstrations in each batch.",
            )


def _alarms(diagnosis: Diagnosis) -> Iterator[TrainingFinding]:
    for stage, events in diagnosis.events.items():
        counts = Counter(event.name for event in events if event.name not in IGNORED_EVENTS)
        if not counts:
            continue
        first = {name: min(event.step for event in events if event.name == name) for name in counts}
        said = [f"{name} (step {first[name]})" for name in sorted(counts, key=lambda name: (first[name], name))]
        yield TrainingFinding(
            name="alarms",
            stage=stage,
            importance=0.3,
            sentence=f"{counts.total()} alarms and events were written down: {join_names(said, most=5)}.",
            remedy="Each states its remedy in metrics.jsonl and in the table of events.",
        )


def _find_divergence(stage: StageDiagnosis) -> Iterator[TrainingFinding]:
    if not stage.quarantined:
        return
    yield TrainingFinding(
        name="divergence",
        stage=stage.name,
        importance=0.7,
        sentence=f"Training diverged on {stage.quarantined} batches, which are in quarantine.jsonl.",
        remedy="Lower learner.lr or learner.max_norm, and look at the rewards of these batches.",
    )
