"""The proof of one task: its oracle and other right work solve it, and nothing else does."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from palaestra.agents import rollout
from palaestra.digest import digest
from palaestra.envs import ToolEnv
from palaestra.ids import is_readable
from palaestra.proof.attacks import ATTACKS, run_attack
from palaestra.proof.baselines import baselines, floors
from palaestra.proof.blame import guarding_criterion
from palaestra.proof.counts import CaseCounts, Finding
from palaestra.proof.decidability import Decidability, judge_decidability
from palaestra.proof.equivalence import Rule, right_after_all
from palaestra.proof.mutants import mutants
from palaestra.proof.routes import alternatives, routes
from palaestra.proof.rule_twins import RuleTwinProof, prove_rule_twin
from palaestra.proof.trial import Trial, TrialOutcome
from palaestra.proof.twins import TwinProof, prove_twin
from palaestra.proof.variants import MUTANT_KINDS, ROUTE_KINDS, SolutionVariant
from palaestra.records import ANY_TABLE, Score, TaskSpec, Verdict
from palaestra.rubrics.checklist import EARLY
from palaestra.rubrics.criterion import Criterion
from palaestra.seeding import Stream

SHOWN_IDS = 3
"""Maximum unreadable ids that a proof names."""


@dataclass(slots=True, kw_only=True)
class TaskProof:
    """The results of the proof of one task."""

    spec: TaskSpec
    oracle: Score
    oracle_fails: tuple[str, ...]
    """The criteria that the oracle fails."""
    oracle_waits: frozenset[str]
    """The failed criteria that fail only because another one does: their work was done before what they wait for."""
    criteria: tuple[str, ...]
    forbidding: frozenset[str]
    """Those of them that are prohibitions."""
    twinned: bool
    """Whether the family has a refusal twin, is one, turns on a refusal itself, or says why it has none."""
    no_twin: str
    """Why the family has no refusal twin, if its author says so."""
    unreadable: tuple[str, ...]
    """A few ids of rows that cannot be told from the words around them in a text, if there are any."""
    repeats: bool
    """Whether making the task a second time gave the same task."""
    floors: dict[str, CaseCounts]
    floor_sequences: dict[str, str]
    """A hash of each agent's calls."""
    mutants: dict[str, CaseCounts]
    """Counts by kind: hits are rejected mutants. Mutants that are right work after all are not counted."""
    equivalents: dict[str, Counter[Rule]]
    """By kind and rule: the number of mutants that are right work after all."""
    routes: dict[str, CaseCounts]
    """Counts by kind: hits are accepted right routes."""
    attacks: dict[str, CaseCounts]
    """Counts by name: hits are attacks that passed, among those that had something to try and were not right work."""
    attack_sequences: dict[str, str]
    """A hash of the calls of each attack that had something to try, by name."""
    lucky: Counter[str]
    """By name: how often an attack happened to do right work, as a program decides."""
    first_failures: Counter[str]
    """By criterion: the number of rejected mutants for which it was the first to fail, in the rubric's order."""
    decidability: Decidability | None = None
    """Whether the oracle uses only what it has read; `None` if it does not solve the task."""
    twin: TwinProof | None = None
    """The comparison with its sibling, if it is a refusal twin."""
    rule_twin: RuleTwinProof | None = None
    """The comparison with its rule twin, in the split whose tasks their handbooks decide."""
    survivors: list[Finding] = field(default_factory=list[Finding])
    """Wrong work that passed."""
    false_rejects: list[Finding] = field(default_factory=list[Finding])
    """Right work that did not get every point."""
    attacked: list[Finding] = field(default_factory=list[Finding])
    """Attacks that passed."""

    @property
    def solved(self) -> bool:
        """Whether the oracle got every point."""
        return self.oracle.passed and self.oracle.points == self.oracle.total


def prove_task(env: ToolEnv, task_id: str, *, varied: bool = True) -> TaskProof:
    """Prove one task; the same result each time.

    Args:
        env: An environment of the task's world; its state changes.
        task_id: The task.
        varied: Whether to derive mutants and other right routes from the solution. If not, only the author's
            alternatives are judged.
    """
    trial = Trial(env, task_id)
    proof = _begin(env, trial)
    if not proof.solved:
        return proof  # everything else is compared with the oracle's work
    proof.decidability = judge_decidability(trial)
    if varied:
        for mutant in mutants(trial):
            _judge_mutant(proof, trial, mutant)
    for route in routes(trial) if varied else alternatives(trial):
        outcome = trial.vary(route.turns)
        right = _whole(outcome)
        proof.routes[route.kind].add(hit=right, points=outcome.score.points)
        if not right:
            failed = next(iter(failures(trial, outcome)), None)
            proof.false_rejects.append(replace(_finding(proof, route, outcome), criterion=failed))
    for name in ATTACKS:
        _judge_attack(proof, trial, name)
    proof.twin = prove_twin(env, trial)
    proof.rule_twin = prove_rule_twin(env, trial)
    agents = baselines(env)
    seed = Stream.root("floors", task_id).below(2**31)
    for name in proof.floors:
        episode = rollout(env, agents[name], name=name, seed=seed, task=task_id)
        proof.floor_sequences[name] = _sequence(call for turn in episode.turns for call in turn.calls)
        proof.floors[name].add(hit=episode.score.passed, points=episode.score.points)
    return proof


def _begin(env: ToolEnv, trial: Trial) -> TaskProof:
    spec, criteria = trial.instance.spec, trial.instance.rubric.criteria
    families = env.task_set.families
    family = families[spec.family]
    made_again = env.task_set.rebuild(spec.id, trial.instance.handbook)
    fails = failures(trial, trial.outcome)
    return TaskProof(
        spec=spec,
        oracle=trial.outcome.score,
        oracle_fails=tuple(fails),
        oracle_waits=_list_waiting(criteria, fails, trial.outcome.score.verdicts),
        criteria=tuple(c.id for c in criteria),
        forbidding=frozenset(c.id for c in criteria if c.kind == "forbid"),
        no_twin=family.no_twin,
        unreadable=tuple(key for key in trial.directory.ids(ANY_TABLE) if not is_readable(key))[:SHOWN_IDS],
        twinned=bool(family.no_twin) or family.twin or family.twin_of is not None or "refusal" in family.traits,
        repeats=made_again.fingerprint() == trial.instance.fingerprint(),
        floors={name: CaseCounts() for name in floors(env)},
        floor_sequences={},
        mutants={kind: CaseCounts() for kind in MUTANT_KINDS},
        equivalents={kind: Counter() for kind in MUTANT_KINDS},
        routes={kind: CaseCounts() for kind in ROUTE_KINDS},
        attacks={name: CaseCounts() for name in ATTACKS},
        attack_sequences={},
        lucky=Counter(),
        first_failures=Counter(),
    )


def _judge_mutant(proof: TaskProof, trial: Trial, mutant: SolutionVariant) -> None:
    outcome = trial.vary(mutant.turns)
    # Such work differs in its messages, which the rules do not compare.
    rule = None if mutant.kind == "said" else right_after_all(trial, outcome)
    if rule == "same work" and not _whole(outcome):
        failed = next(iter(failures(trial, outcome)), None)
        proof.false_rejects.append(replace(_finding(proof, mutant, outcome), criterion=failed))
    elif rule is not None and outcome.passed:
        proof.equivalents[mutant.kind][rule] += 1
    elif outcome.passed:
        proof.mutants[mutant.kind].add(hit=False, points=outcome.score.points)
        criterion = guarding_criterion(trial, mutant)
        proof.survivors.append(replace(_finding(proof, mutant, outcome), criterion=criterion))
    else:
        proof.mutants[mutant.kind].add(hit=True, points=outcome.score.points)
        proof.first_failures.update(failures(trial, outcome)[:1])


def _judge_attack(proof: TaskProof, trial: Trial, name: str) -> None:
    outcome = run_attack(trial, ATTACKS[name])
    if outcome is None:
        return
    proof.attack_sequences[name] = _sequence((event.tool, event.arguments) for event in outcome.events)
    if outcome.passed and right_after_all(trial, outcome):
        proof.lucky[name] += 1
        return
    points = outcome.score.points
    proof.attacks[name].add(hit=outcome.passed, points=points)
    if outcome.passed:
        proof.attacked.append(Finding(task=proof.spec.id, kind=name, what=ATTACKS[name].tries, points=points))


def _sequence(calls: Iterable[object]) -> str:
    """A short hash of a sequence of calls."""
    return digest(list(calls))[:12]


def _whole(outcome: TrialOutcome) -> bool:
    return outcome.passed and outcome.score.points == outcome.score.total


def _finding(proof: TaskProof, work: SolutionVariant, outcome: TrialOutcome) -> Finding:
    return Finding(task=proof.spec.id, kind=work.kind, what=work.what, points=outcome.score.points)


def _list_waiting(
    criteria: Sequence[Criterion], fails: Sequence[str], verdicts: Mapping[str, Verdict]
) -> frozenset[str]:
    """The criteria that fail only because one that they wait for fails as well."""
    return frozenset(c.id for c in criteria if verdicts.get(c.id) == EARLY and not set(c.after).isdisjoint(fails))


def failures(trial: Trial, outcome: TrialOutcome) -> list[str]:
    """The criteria that an outcome fails, in the rubric's order; empty if it only never finished."""
    return [c.id for c in trial.instance.rubric.criteria if (c.id in outcome.counting) != (c.kind == "expect")]
