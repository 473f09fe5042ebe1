"""Attacking tasks: what an attack solves, of tasks and of pairs.

A pair is a task and its refusal twin: the same request, once to be granted and once to be refused. Whoever does the
same whatever the records say solves one of the two at most, so the share of pairs solved is what an attack is worth.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from palaestra.envs import ToolEnv
from palaestra.errors import UnknownNameError
from palaestra.proof.attacks import ATTACKS, UNGUARDED, Attack, run_attack
from palaestra.proof.each_task import each_task
from palaestra.proof.trial import Trial
from palaestra.record import record
from palaestra.table import Table


@record
class AttackedTask:
    """What attacks got out of one task."""

    task: str
    sibling: str | None
    """The task that it is the refusal twin of; `None` where it is nobody's twin."""
    results: dict[str, tuple[int, bool]]
    """By attack that found something to try: its points, and whether it solved the task."""


@record
class AttackResult:
    """What one attack got out of tasks."""

    attack: Attack
    guarded: bool
    """Whether the proof runs it, so that no task on which it passes is released."""
    tasks: int
    """In how many it found something to try."""
    solved: int
    points: float
    """The mean; 0.0 without tasks."""
    pairs: int
    """Pairs of a task and its twin in which it found something to try in both."""
    pairs_solved: int
    """Those in which it solved both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackReport:
    """What attacks got out of tasks, in the order in which they were named."""

    tasks: Sequence[AttackedTask]
    results: Sequence[AttackResult]


def select_attacks(names: Iterable[str]) -> tuple[Attack, ...]:
    """The attacks of these names; all of them where there is none.

    Raises:
        UnknownNameError: there is no such attack.
    """
    known = {**ATTACKS, **UNGUARDED}
    chosen = tuple(names) or tuple(known)
    for name in chosen:
        if name not in known:
            raise UnknownNameError.of("attack", name, known)
    return tuple(known[name] for name in dict.fromkeys(chosen))


def attack_tasks(
    env: ToolEnv,
    task_ids: Iterable[str],
    attacks: Iterable[str] = (),
    *,
    jobs: int = 1,
    progress: Callable[[str], None] = lambda _: None,
) -> AttackReport:
    """Run attacks on tasks, and tell `progress` each task when it is done, in order.

    Args:
        env: An environment of the tasks' world; it is moved.
        task_ids: The tasks.
        attacks: Names of attacks; all where none is named.
        jobs: In how many processes; see `each_task`.
        progress: What to tell.

    Raises:
        UnknownNameError: there is no such attack.
    """
    chosen = select_attacks(attacks)
    tasks: list[AttackedTask] = []
    for task in each_task(env, list(task_ids), partial(_attack_task, [one.name for one in chosen]), jobs=jobs):
        tasks.append(task)
        progress(task.task)
    return AttackReport(tasks=tasks, results=[_result(attack, tasks) for attack in chosen])


def _attack_task(names: Sequence[str], env: ToolEnv, task_id: str) -> AttackedTask:
    trial = Trial(env, task_id)
    results: dict[str, tuple[int, bool]] = {}
    for attack in select_attacks(names):
        outcome = run_attack(trial, attack)
        if outcome is not None:
            results[attack.name] = outcome.score.points, outcome.passed
    twin_of = env.task_set.families[trial.instance.spec.family].twin_of
    sibling = None if twin_of is None else f"{twin_of}/{task_id.rpartition('/')[2]}"
    return AttackedTask(task=task_id, sibling=sibling, results=results)


def _result(attack: Attack, tasks: Sequence[AttackedTask]) -> AttackResult:
    tried = {task.task: task.results[attack.name] for task in tasks if attack.name in task.results}
    pairs = [
        tried[task.task][1] and tried[task.sibling][1]
        for task in tasks
        if task.task in tried and task.sibling is not None and task.sibling in tried
    ]
    return AttackResult(
        attack=attack,
        guarded=attack.name in ATTACKS,
        tasks=len(tried),
        solved=sum(solved for _, solved in tried.values()),
        points=sum(points for points, _ in tried.values()) / max(len(tried), 1),
        pairs=len(pairs),
        pairs_solved=sum(pairs),
    )


def attack_table(report: AttackReport) -> Table:
    """A row for each attack, those that solve the largest share of pairs first, then of tasks."""

    def share(result: AttackResult) -> tuple[float, float, str]:
        pairs = result.pairs_solved / max(result.pairs, 1)
        return -pairs, -result.solved / max(result.tasks, 1), result.attack.name

    rows = [
        (
            result.attack.name,
            result.attack.tries,
            "the solution" if result.attack.privileged else "tools and messages",
            "yes" if result.guarded else "no",
            _share(result.solved, result.tasks),
            _share(result.pairs_solved, result.pairs),
            f"{result.points:.1f}" if result.tasks else "-",
            str(result.attack.ceiling),
        )
        for result in sorted(report.results, key=share)
    ]
    return Table(
        title=f"Attacks: {len(report.results)}, tasks: {len(report.tasks)}",
        columns=(
            "attack",
            "what it does",
            "knows",
            "in the proof",
            "tasks solved",
            "pairs solved",
            "mean points",
            "at most",
        ),
        rows=tuple(rows),
        note=(
            "Tasks and pairs are those in which an attack finds something to try. A pair is a task and its refusal "
            "twin, and both have to be solved. In some tasks an attack comes to do the right work: refusing is right "
            "in a twin. So pairs count. Points are of 100; 'at most' is the mean that "
            "an attack may have."
        ),
    )


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" if whole else "-"
