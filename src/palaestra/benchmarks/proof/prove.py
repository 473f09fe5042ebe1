"""The proof of a task: that its oracle solves it, that nothing else does, and that right work always does."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Self

from palaestra.agents import rollout
from palaestra.benchmarks.proof.mutants import mutants
from palaestra.benchmarks.proof.routes import routes
from palaestra.benchmarks.proof.trial import Outcome, Trial
from palaestra.benchmarks.proof.variants import MUTANT_KINDS, ROUTE_KINDS, Variant
from palaestra.benchmarks.roster import CEILING, FLOORS, IDLE, roster
from palaestra.envs import ToolEnv
from palaestra.records import TaskSpec

REJECTION_FLOOR = 90
"""Percent of the mutants of each kind that a proved set of tasks rejects at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A variant that the rubric judged wrongly."""

    task: str
    kind: str
    what: str
    points: int


@dataclass(slots=True, kw_only=True)
class Tally:
    """How many of how many."""

    hits: int = 0
    of: int = 0
    points: int = 0
    """The sum of the scores."""

    def add(self, *, hit: bool, points: int) -> None:
        """Count one."""
        self.hits += hit
        self.of += 1
        self.points += points

    def __iadd__(self, other: "Tally") -> Self:
        self.hits += other.hits
        self.of += other.of
        self.points += other.points
        return self

    @property
    def percent(self) -> float:
        """The share of hits, 0 to 100; 100 of nothing."""
        return 100 * self.hits / self.of if self.of else 100.0

    @property
    def mean_points(self) -> float:
        """The mean score."""
        return self.points / self.of if self.of else 0.0


@dataclass(slots=True, kw_only=True)
class TaskProof:
    """What the proof of one task found."""

    spec: TaskSpec
    oracle: Outcome
    oracle_fails: tuple[str, ...]
    """The criteria that the oracle fails."""
    floors: dict[str, Tally]
    mutants: dict[str, Tally]
    """By kind: hits are mutants rejected."""
    routes: dict[str, Tally]
    """By kind: hits are right routes accepted."""
    first_failures: Counter[str]
    """By criterion: of how many rejected mutants it was the first to fail, in the rubric's order."""
    criteria: tuple[str, ...]
    repeats: bool
    """Whether making the task a second time gave the same task."""
    survivors: list[Finding] = field(default_factory=list[Finding])
    false_rejects: list[Finding] = field(default_factory=list[Finding])

    @property
    def solved(self) -> bool:
        """Whether the oracle got every point."""
        return self.oracle.passed and self.oracle.score.points == self.oracle.score.total


def prove_task(env: ToolEnv, task_id: str) -> TaskProof:
    """Prove one task; the same result each time."""
    trial = Trial(env, task_id)
    proof = TaskProof(
        spec=trial.instance.spec,
        oracle=trial.outcome,
        oracle_fails=tuple(failures(trial, trial.outcome)),
        floors={name: Tally() for name in FLOORS},
        mutants={kind: Tally() for kind in MUTANT_KINDS},
        routes={kind: Tally() for kind in ROUTE_KINDS},
        first_failures=Counter(),
        criteria=tuple(c.id for c in trial.instance.rubric.criteria),
        repeats=env.task_set.made_again(task_id).print() == trial.instance.print(),
    )
    if not proof.solved:
        return proof  # everything else is held against the oracle's work
    for mutant in mutants(trial):
        outcome = _played(trial, mutant)
        proof.mutants[mutant.kind].add(hit=not outcome.passed, points=outcome.score.points)
        if outcome.passed:
            proof.survivors.append(_finding(task_id, mutant, outcome))
        else:
            proof.first_failures.update(failures(trial, outcome)[:1])
    for route in routes(trial):
        outcome = _played(trial, route)
        right = outcome.passed and outcome.score.points == outcome.score.total
        proof.routes[route.kind].add(hit=right, points=outcome.score.points)
        if not right:
            proof.false_rejects.append(_finding(task_id, route, outcome))
    agents = roster(env)
    for name in FLOORS:
        episode = rollout(env, agents[name], name=name, seed=0, task=task_id)
        proof.floors[name].add(hit=episode.score.passed, points=episode.score.points)
    return proof


def _played(trial: Trial, work: Variant) -> Outcome:
    if all(len(turn) == 1 for turn in work.turns):
        return trial.play_calls([call for turn in work.turns for call in turn])
    return trial.play(work.turns)


def _finding(task_id: str, work: Variant, outcome: Outcome) -> Finding:
    return Finding(task=task_id, kind=work.kind, what=work.what, points=outcome.score.points)


def failures(trial: Trial, outcome: Outcome) -> list[str]:
    """The criteria that an outcome fails, in the rubric's order; none where it just never finished."""
    return [c.id for c in trial.instance.rubric.criteria if (c.id in outcome.counting) != (c.kind == "expect")]


@dataclass(slots=True, kw_only=True)
class Proof:
    """The proofs of a set of tasks, together."""

    tasks: list[TaskProof]

    def tally(self, part: str, kind: str, family: str | None = None) -> Tally:
        """The sum over tasks of `part` ("floors", "mutants", "routes") and `kind`."""
        total = Tally()
        for proof in self.tasks:
            if family in (None, proof.spec.family):
                total += getattr(proof, part)[kind]
        return total

    def oracle(self, family: str | None = None) -> Tally:
        """How many tasks their oracle solves with every point."""
        total = Tally()
        for proof in self.tasks:
            if family in (None, proof.spec.family):
                score = proof.oracle.score
                total.add(hit=proof.solved, points=score.points)
        return total

    @property
    def families(self) -> list[str]:
        """The families that were proved."""
        return sorted({proof.spec.family for proof in self.tasks})

    def idle_criteria(self) -> list[tuple[str, str]]:
        """(family, criterion) for criteria that are the first to fail for no mutant: they guard nothing."""
        seen: dict[str, set[str]] = {}
        first: dict[str, set[str]] = {}
        for proof in self.tasks:
            seen.setdefault(proof.spec.family, set()).update(proof.criteria)
            first.setdefault(proof.spec.family, set()).update(proof.first_failures)
        return sorted((f, c) for f, criteria in seen.items() for c in criteria - first[f])

    @property
    def survivors(self) -> list[Finding]:
        """Wrong work that passed."""
        return [finding for proof in self.tasks for finding in proof.survivors]

    @property
    def false_rejects(self) -> list[Finding]:
        """Right work that did not get every point."""
        return [finding for proof in self.tasks for finding in proof.false_rejects]

    def faults(self) -> list[str]:
        """Why these tasks are not proved, a sentence each; empty when they are."""
        found = [
            f"{p.spec.id}: the oracle gets {p.oracle.score.points} of {p.oracle.score.total} points"
            + "".join(f"; {c}: {p.oracle.score.verdicts[c].reason}" for c in p.oracle_fails)
            for p in self.tasks
            if not p.oracle.passed or p.oracle.score.points != p.oracle.score.total
        ]
        found += [
            f"{p.spec.id}: made twice, it is not the same task; draw from `desk.stream` only"
            for p in self.tasks
            if not p.repeats
        ]
        for name in IDLE:
            if solved := self.tally("floors", name).hits:
                found.append(f"the agent {name} solves {solved} task(s); a rubric must ask for work")
        for name in FLOORS:
            if (mean := self.tally("floors", name).mean_points) > CEILING:
                found.append(f"the agent {name} gets {mean:.1f} points on average, more than {CEILING} for nothing")
        for kind in MUTANT_KINDS:
            tally = self.tally("mutants", kind)
            if tally.percent < REJECTION_FLOOR:
                found.append(
                    f"{tally.percent:.1f} % of the mutants of kind {kind!r} are rejected, less than {REJECTION_FLOOR} %"
                )
        found += [f"{f.task}: right work ({f.kind}: {f.what}) gets {f.points} points" for f in self.false_rejects]
        if all(p.solved for p in self.tasks):
            found += [
                f"{family}: criterion {c!r} is the first to fail for no mutant" for family, c in self.idle_criteria()
            ]
        return found


def prove(env: ToolEnv, task_ids: Iterable[str], *, progress: Callable[[str], None] = lambda _: None) -> Proof:
    """Prove tasks, one after the other, telling `progress` each id when it is done."""
    proofs: list[TaskProof] = []
    for task_id in task_ids:
        proofs.append(prove_task(env, task_id))
        progress(task_id)
    return Proof(tasks=proofs)
