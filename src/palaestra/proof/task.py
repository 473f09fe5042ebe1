"""The proof of one task: that its oracle solves it, that nothing else does, and that right work always does."""

from collections import Counter
from dataclasses import dataclass, field

from palaestra.agents import rollout
from palaestra.envs import ToolEnv
from palaestra.proof.baselines import FLOORS, roster
from palaestra.proof.equivalence import Rule, right_after_all
from palaestra.proof.hacks import HACKS, try_hack
from palaestra.proof.mutants import mutants
from palaestra.proof.routes import routes
from palaestra.proof.tally import Finding, Tally
from palaestra.proof.trial import Outcome, Trial
from palaestra.proof.twins import TwinProof, prove_twin
from palaestra.proof.variants import MUTANT_KINDS, ROUTE_KINDS, Variant
from palaestra.records import Score, TaskSpec


@dataclass(slots=True, kw_only=True)
class TaskProof:
    """What the proof of one task found."""

    spec: TaskSpec
    oracle: Score
    oracle_fails: tuple[str, ...]
    """The criteria that the oracle fails."""
    criteria: tuple[str, ...]
    forbidding: frozenset[str]
    """Those of them that are prohibitions."""
    twinned: bool
    """Whether the family has an impossible twin, is one, or turns on a refusal itself."""
    repeats: bool
    """Whether making the task a second time gave the same task."""
    floors: dict[str, Tally]
    mutants: dict[str, Tally]
    """By kind: hits are mutants rejected. What is right work after all is not among them."""
    equivalents: dict[str, Counter[Rule]]
    """By kind: how many mutants are right work after all, by which rule."""
    routes: dict[str, Tally]
    """By kind: hits are right routes accepted."""
    hacks: dict[str, Tally]
    """By name: hits are hacks that passed, of those that had something to try and were not right work after all."""
    lucky: Counter[str]
    """By name: how often a hack came to do right work, as a program decides."""
    first_failures: Counter[str]
    """By criterion: of how many rejected mutants it was the first to fail, in the rubric's order."""
    twin: TwinProof | None = None
    """How it holds against its sibling, where it is an impossible twin."""
    survivors: list[Finding] = field(default_factory=list[Finding])
    """Wrong work that passed."""
    false_rejects: list[Finding] = field(default_factory=list[Finding])
    """Right work that did not get every point."""
    hacked: list[Finding] = field(default_factory=list[Finding])
    """Hacks that passed."""

    @property
    def solved(self) -> bool:
        """Whether the oracle got every point."""
        return self.oracle.passed and self.oracle.points == self.oracle.total


def prove_task(env: ToolEnv, task_id: str) -> TaskProof:
    """Prove one task; the same result each time."""
    trial = Trial(env, task_id)
    proof = _begun(env, trial)
    if not proof.solved:
        return proof  # everything else is held against the oracle's work
    for mutant in mutants(trial):
        _judge_mutant(proof, trial, mutant)
    for route in routes(trial):
        outcome = trial.vary(route.turns)
        right = _whole(outcome)
        proof.routes[route.kind].add(hit=right, points=outcome.score.points)
        if not right:
            proof.false_rejects.append(_finding(proof, route, outcome))
    for name in HACKS:
        _judge_hack(proof, trial, name)
    proof.twin = prove_twin(env, trial)
    agents = roster(env)
    for name in FLOORS:
        episode = rollout(env, agents[name], name=name, seed=0, task=task_id)
        proof.floors[name].add(hit=episode.score.passed, points=episode.score.points)
    return proof


def _begun(env: ToolEnv, trial: Trial) -> TaskProof:
    spec, criteria = trial.instance.spec, trial.instance.rubric.criteria
    families = env.task_set.families
    family = families[spec.family]
    made_again = env.task_set.rebuild(spec.id, env.handbook)
    return TaskProof(
        spec=spec,
        oracle=trial.outcome.score,
        oracle_fails=tuple(failures(trial, trial.outcome)),
        criteria=tuple(c.id for c in criteria),
        forbidding=frozenset(c.id for c in criteria if c.kind == "forbid"),
        twinned=family.twin or family.twin_of is not None or "refusal" in family.traits,
        repeats=made_again.fingerprint() == trial.instance.fingerprint(),
        floors={name: Tally() for name in FLOORS},
        mutants={kind: Tally() for kind in MUTANT_KINDS},
        equivalents={kind: Counter() for kind in MUTANT_KINDS},
        routes={kind: Tally() for kind in ROUTE_KINDS},
        hacks={name: Tally() for name in HACKS},
        lucky=Counter(),
        first_failures=Counter(),
    )


def _judge_mutant(proof: TaskProof, trial: Trial, mutant: Variant) -> None:
    outcome = trial.vary(mutant.turns)
    rule = right_after_all(trial, outcome)
    if rule == "same work" and not _whole(outcome):
        proof.false_rejects.append(_finding(proof, mutant, outcome))
    elif rule is not None and outcome.passed:
        proof.equivalents[mutant.kind][rule] += 1
    elif outcome.passed:
        proof.mutants[mutant.kind].add(hit=False, points=outcome.score.points)
        proof.survivors.append(_finding(proof, mutant, outcome))
    else:
        proof.mutants[mutant.kind].add(hit=True, points=outcome.score.points)
        proof.first_failures.update(failures(trial, outcome)[:1])


def _judge_hack(proof: TaskProof, trial: Trial, name: str) -> None:
    outcome = try_hack(trial, HACKS[name])
    if outcome is None:
        return
    if outcome.passed and right_after_all(trial, outcome):
        proof.lucky[name] += 1
        return
    points = outcome.score.points
    proof.hacks[name].add(hit=outcome.passed, points=points)
    if outcome.passed:
        proof.hacked.append(Finding(task=proof.spec.id, kind=name, what=HACKS[name].tries, points=points))


def _whole(outcome: Outcome) -> bool:
    return outcome.passed and outcome.score.points == outcome.score.total


def _finding(proof: TaskProof, work: Variant, outcome: Outcome) -> Finding:
    return Finding(task=proof.spec.id, kind=work.kind, what=work.what, points=outcome.score.points)


def failures(trial: Trial, outcome: Outcome) -> list[str]:
    """The criteria that an outcome fails, in the rubric's order; none where it just never finished."""
    return [c.id for c in trial.instance.rubric.criteria if (c.id in outcome.counting) != (c.kind == "expect")]
