"""Attacks on tasks: which tasks and pairs an attack solves.

A pair is a task and its refusal twin: the same request, once to grant and once to refuse. Work that ignores the records
solves at most one of the two, so the share of solved pairs measures an attack. Families without a twin are not part of
that share and are reported separately. An attack that happens to do the right work, as a program decides
(`equivalence`), does not cheat; such solutions are counted separately.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from palaestra.envs import ToolEnv, World
from palaestra.errors import PackError, UnknownNameError
from palaestra.proof.attacks import ATTACKS, UNGUARDED, Attack, run_attack, world_attacks
from palaestra.proof.each_task import each_task
from palaestra.proof.equivalence import right_after_all
from palaestra.proof.trial import Trial
from palaestra.record import record
from palaestra.table import Table


@record
class AttackedOutcome:
    """The result of one attack on one task."""

    points: float
    solved: bool
    right: bool
    """Whether the attack solved the task by the right work."""


@record
class AttackedTask:
    """The results of attacks on one task."""

    task: str
    sibling: str | None
    """The task whose refusal twin it is; `None` if it is not a twin."""
    paired: bool
    """Whether its family has a refusal twin, or is one."""
    results: dict[str, AttackedOutcome]
    """Results by attack, for attacks that found something to try."""


@record
class AttackResult:
    """The results of one attack on a set of tasks."""

    attack: Attack
    guarded: bool
    """Whether the proof runs the attack, so that no task on which it passes is released."""
    tasks: int
    """The number of tasks in which it found something to try."""
    solved: int
    right: int
    """Tasks that it solved by the right work."""
    points: float
    """The mean score; 0.0 without tasks."""
    pairs: int
    """Pairs of a task and its twin in which it found something to try in both."""
    pairs_solved: int
    """Pairs of which it solved both."""
    pairs_right: int
    """Pairs of which it solved both by the right work."""
    unpaired: int
    """Tasks of families without a twin in which it found something to try."""
    unpaired_solved: int
    unpaired_right: int
    """The unpaired tasks that it solved by the right work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackReport:
    """The results of attacks on tasks, in the order of their names as given."""

    tasks: Sequence[AttackedTask]
    results: Sequence[AttackResult]


def select_attacks(names: Iterable[str], world: World) -> tuple[Attack, ...]:
    """The attacks with these names, including the world's own; all attacks if no name is given.

    Raises:
        UnknownNameError: there is no such attack.
        PackError: the world's own attacks cannot be loaded, or one has the name of another attack.
    """
    known, own = {**ATTACKS, **UNGUARDED}, world_attacks(world)
    for name in own:
        if name in known:
            raise PackError(f"world {world.name}: its attack {name!r} has the name of one of the proof's; rename it")
    known |= own
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
    """Run attacks on tasks, and call `progress` with each finished task, in order.

    Args:
        env: An environment of the tasks' world; its state changes.
        task_ids: The tasks.
        attacks: Names of attacks. Default: all.
        jobs: The number of processes; see `each_task`.
        progress: Called with each finished task.

    Raises:
        UnknownNameError: there is no such attack.
        PackError: the world's own attacks cannot be loaded.
    """
    chosen = select_attacks(attacks, env.world)
    tasks: list[AttackedTask] = []
    for task in each_task(env, list(task_ids), partial(_attack_task, [one.name for one in chosen]), jobs=jobs):
        tasks.append(task)
        progress(task.task)
    return AttackReport(tasks=tasks, results=[count_attack(attack, tasks) for attack in chosen])


def _attack_task(names: Sequence[str], env: ToolEnv, task_id: str) -> AttackedTask:
    trial = Trial(env, task_id)
    results: dict[str, AttackedOutcome] = {}
    for attack in select_attacks(names, env.world):
        outcome = run_attack(trial, attack)
        if outcome is not None:
            right = outcome.passed and right_after_all(trial, outcome) is not None
            results[attack.name] = AttackedOutcome(points=outcome.score.points, solved=outcome.passed, right=right)
    family, families = trial.instance.spec.family, env.task_set.families
    twin_of = families[family].twin_of
    sibling = None if twin_of is None else f"{twin_of}/{task_id.rpartition('/')[2]}"
    paired = twin_of is not None or any(other.twin_of == family for other in families.values())
    return AttackedTask(task=task_id, sibling=sibling, paired=paired, results=results)


def count_attack(attack: Attack, tasks: Sequence[AttackedTask]) -> AttackResult:
    """Count the results of an attack on tasks."""
    tried = {task.task: task.results[attack.name] for task in tasks if attack.name in task.results}
    pairs = [
        (tried[task.task], tried[task.sibling])
        for task in tasks
        if task.task in tried and task.sibling is not None and task.sibling in tried
    ]
    alone = [tried[task.task] for task in tasks if task.task in tried and not task.paired]
    return AttackResult(
        attack=attack,
        guarded=attack.name in ATTACKS,
        tasks=len(tried),
        solved=sum(one.solved for one in tried.values()),
        right=sum(one.right for one in tried.values()),
        points=sum(one.points for one in tried.values()) / max(len(tried), 1),
        pairs=len(pairs),
        pairs_solved=sum(one.solved and other.solved for one, other in pairs),
        pairs_right=sum(one.right and other.right for one, other in pairs),
        unpaired=len(alone),
        unpaired_solved=sum(one.solved for one in alone),
        unpaired_right=sum(one.right for one in alone),
    )


def attack_table(report: AttackReport) -> Table:
    """A row for each attack, sorted by the share of pairs solved by wrong work, then by the share of tasks."""

    def share(result: AttackResult) -> tuple[float, float, str]:
        pairs = (result.pairs_solved - result.pairs_right) / max(result.pairs, 1)
        return -pairs, -(result.solved - result.right) / max(result.tasks, 1), result.attack.name

    rows = [
        (
            result.attack.name,
            result.attack.tries,
            "the solution" if result.attack.privileged else "tools and messages",
            "yes" if result.guarded else "no",
            _share(result.pairs_solved, result.pairs, result.pairs_right),
            _share(result.unpaired_solved, result.unpaired, result.unpaired_right),
            _share(result.solved, result.tasks, result.right),
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
            "pairs solved",
            "without twin solved",
            "tasks solved",
            "mean points",
            "at most",
        ),
        rows=tuple(rows),
        note=(
            "Tasks and pairs are those in which an attack finds something to try. A pair is a task and its refusal "
            "twin, and both have to be solved: this is the headline. Families without a twin stand in a column of "
            "their own, since in some of them an attack comes to do the right work: refusing is right in a refusal. "
            "Right: solved by the right work, as a program decides without the rubric; the rest is cheated. "
            "Points are of 100; 'at most' is the mean that an attack may have."
        ),
    )


def _share(part: int, whole: int, right: int = 0) -> str:
    if not whole:
        return "-"
    return f"{part} of {whole}" + (f", {right} right" if right else "")
