"""Measures how often a rubric derived from an author's calls agrees with an expert's rubric to accept or reject work.

The oracle's work, wrong work and other correct work are each played once, and both rubrics judge the same log. Neither
rubric is the standard for the other: a disagreement is listed as a question to the author.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from palaestra.envs import Instance, ToolEnv
from palaestra.proof.attacks import ATTACKS, run_attack
from palaestra.proof.mutants import mutants
from palaestra.proof.routes import routes
from palaestra.proof.trial import Trial, TrialOutcome
from palaestra.proof.variants import MUTANT_KINDS, ROUTE_KINDS
from palaestra.records import EndReason, Score
from palaestra.rubrics import Rubric, TurnLog, rescore
from palaestra.table import Table

AIM = 95
"""The target percentage of work on which both rubrics agree."""
SHOWN_CRITERIA = 3

Side: TypeAlias = Literal["oracle", "right", "wrong", "attack"]
SIDES: tuple[Side, ...] = ("oracle", "right", "wrong", "attack")


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricComparison:
    """One piece of work, and the verdicts of both rubrics."""

    task: str
    side: Side
    """The intended kind of work; the expert's rubric may judge it differently."""
    kind: str
    what: str
    expert: bool
    """Whether the expert's rubric accepts the work."""
    derived: bool
    """Whether the derived rubric accepts the work."""
    expert_points: int
    derived_points: int
    why: tuple[str, ...]
    """If the rubrics disagree, the criteria for which the stricter one rejects the work."""

    @property
    def agreed(self) -> bool:
        """Whether both rubrics accept the work or both reject it."""
        return self.expert == self.derived

    @property
    def family(self) -> str:
        """The family of the task."""
        return self.task.rpartition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The verdicts of two rubrics on all the work on a set of tasks."""

    judged: tuple[RubricComparison, ...]
    tasks: int

    @property
    def percent(self) -> float:
        """The percentage of work on which both rubrics agree."""
        return _percent(self.judged)

    @property
    def disagreements(self) -> list[RubricComparison]:
        """The work on which the rubrics disagree."""
        return [j for j in self.judged if not j.agreed]


def agreement(
    env: ToolEnv,
    task_ids: Sequence[str],
    *,
    alternatives: bool = True,
    progress: Callable[[str], None] = lambda _: None,
) -> Agreement:
    """Compare the derived and the expert's rubrics of these tasks.

    Args:
        env: An environment of the tasks' world; its state changes.
        task_ids: The tasks.
        alternatives: Whether to derive rubrics also from the authors' alternatives, or only from the oracle.
        progress: Called with each finished id.
    """
    judged: list[RubricComparison] = []
    for task_id in task_ids:
        judged += agreement_on(Trial(env, task_id), alternatives=alternatives)
        progress(task_id)
    return Agreement(judged=tuple(judged), tasks=len(task_ids))


def agreement_on(trial: Trial, *, alternatives: bool = True) -> Iterator[RubricComparison]:
    """Judge each piece of work that the proof makes for a task with both rubrics."""
    rubric = trial.instance.derived_rubric(alternatives=alternatives)
    yield _judge(trial, rubric, "oracle", "oracle", "the oracle's own work", trial.outcome)
    for route in routes(trial):
        yield _judge(trial, rubric, "right", route.kind, route.what, trial.vary(route.turns))
    for mutant in mutants(trial):
        yield _judge(trial, rubric, "wrong", mutant.kind, mutant.what, trial.vary(mutant.turns))
    for name, attack in ATTACKS.items():
        outcome = run_attack(trial, attack)
        if outcome is not None:
            yield _judge(trial, rubric, "attack", name, attack.tries, outcome)


def _judge(trial: Trial, rubric: Rubric, side: Side, kind: str, what: str, outcome: TrialOutcome) -> RubricComparison:
    derived = judge(trial.instance, rubric, outcome)
    expert = outcome.score
    return RubricComparison(
        task=trial.instance.spec.id,
        side=side,
        kind=kind,
        what=what,
        expert=expert.passed,
        derived=derived.passed,
        expert_points=expert.points,
        derived_points=derived.points,
        why=_why(trial.instance.rubric, expert, rubric, derived),
    )


def judge(instance: Instance, rubric: Rubric, outcome: TrialOutcome) -> Score:
    """Judge an episode of `instance` that was already played with `rubric`, from its log."""
    last = len(outcome.turns) - 1
    turns = (
        TurnLog(
            events=turn.events,
            changes=turn.changes,
            answer=outcome.answer if number == last else {},
            # A trial judges unfinished work as if a budget had ended it.
            end=(outcome.end or EndReason.MAX_TURNS) if number == last else None,
            heard=tuple(message["content"] for message in turn.observation),
        )
        for number, turn in enumerate(outcome.turns)
    )
    state = instance.initial_state.replica()
    *_, score = rescore(rubric, instance.evidence(state), state, turns)
    return score


def _why(expert_rubric: Rubric, expert: Score, derived_rubric: Rubric, derived: Score) -> tuple[str, ...]:
    if expert.passed == derived.passed:
        return ()
    rubric, score = (derived_rubric, derived) if expert.passed else (expert_rubric, expert)
    failed = (c for c in rubric.criteria if score.verdicts[c.id].met != (c.kind == "expect"))
    return tuple(f"{c.id}: {c.text} ({score.verdicts[c.id].reason})" for c in failed)


# Tables and documents


def agreement_tables(found: Agreement) -> list[Table]:
    """The agreement by kind of work and by family."""
    return [kinds_table(found), families_table(found)]


def kinds_table(found: Agreement) -> Table:
    """The table of agreement by kind of work; attacks are one row, because each is tried once on a task."""
    words = {
        "oracle": "nothing",
        "attack": "any way to be paid for nothing",
        **_plain(ROUTE_KINDS),
        **_plain(MUTANT_KINDS),
    }
    groups: dict[tuple[Side, str], list[RubricComparison]] = {}
    for j in sorted(found.judged, key=lambda j: SIDES.index(j.side)):
        groups.setdefault((j.side, "attack" if j.side == "attack" else j.kind), []).append(j)
    rows = [(side, words[kind], *_figures(judged)) for (side, kind), judged in groups.items()]
    return Table(
        title="The derived rubric beside the expert's, by kind of work",
        columns=("work", "what differs from the oracle's", *_COLUMNS),
        rows=(*rows, ("all", "", *_figures(found.judged))),
        note=f"{found.tasks} task(s). Stricter: the expert's rubric accepts what the derived one rejects; laxer: the "
        "other way round. Points apart: the mean distance between their scores.",
    )


def families_table(found: Agreement) -> Table:
    """The table of agreement by family."""
    families = dict.fromkeys(j.family for j in found.judged)
    return Table(
        title="By family",
        columns=("family", *_COLUMNS),
        rows=tuple(
            (family.partition("/")[2], *_figures([j for j in found.judged if j.family == family]))
            for family in families
        ),
    )


def _plain(words: Mapping[Any, str]) -> dict[str, str]:
    return {str(name): text for name, text in words.items()}


_COLUMNS = ("pieces", "agree", "stricter", "laxer", "share", "points apart")


def _figures(judged: Sequence[RubricComparison]) -> tuple[str, ...]:
    apart = sum(abs(j.expert_points - j.derived_points) for j in judged) / len(judged)
    return (
        str(len(judged)),
        str(sum(j.agreed for j in judged)),
        str(sum(j.expert and not j.derived for j in judged)),
        str(sum(j.derived and not j.expert for j in judged)),
        f"{_percent(judged):.2f} %",
        f"{apart:.1f}",
    )


def _percent(judged: Sequence[RubricComparison]) -> float:
    return 100 * sum(j.agreed for j in judged) / len(judged) if judged else 100.0


def disagreement_lines(judged: Iterable[RubricComparison]) -> list[str]:
    """One line per disagreement: the work, which rubric accepts it, and why the other rejects it."""
    return [
        f"{j.task}: {j.kind}: {j.what}: "
        + (
            "the expert accepts, the derived rubric rejects: "
            if j.expert
            else "the derived rubric accepts, the expert rejects: "
        )
        + "; ".join(j.why[:SHOWN_CRITERIA])
        for j in judged
        if not j.agreed
    ]


def rubrics_table(instance: Instance, derived: Rubric) -> Table:
    """The derived rubric of a task above the expert's, one row per criterion; criteria of all tasks come last, once."""
    expert = instance.rubric
    shared = [spec for spec in derived.specs if spec in expert.specs]
    sides = [
        *(("derived", spec) for spec in derived.specs if spec not in shared),
        *(("expert", spec) for spec in expert.specs if spec not in shared),
        *(("both", spec) for spec in shared),
    ]
    return Table(
        title=f"Rubrics of {instance.spec.id}",
        columns=("rubric", "criterion", "kind", "points", "after", "sentence"),
        rows=tuple(
            (side, spec.id, spec.kind, str(spec.points), ", ".join(spec.after), spec.text) for side, spec in sides
        ),
    )


def agreement_document(found: Agreement) -> dict[str, Any]:
    """The agreement as plain data: every judgement, and the share by kind and family."""
    kinds = dict.fromkeys(j.kind for j in found.judged)
    families = dict.fromkeys(j.family for j in found.judged)
    return {
        "tasks": found.tasks,
        "pieces": len(found.judged),
        "percent": found.percent,
        "by_kind": {kind: _percent([j for j in found.judged if j.kind == kind]) for kind in kinds},
        "by_family": {family: _percent([j for j in found.judged if j.family == family]) for family in families},
        "disagreements": [asdict(j) for j in found.disagreements],
    }
