"""The proof of injections: a victim is detected, and honest solutions keep full score and are never accused."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from palaestra.envs import Instance, ToolEnv
from palaestra.envs.injections import (
    STYLES,
    InjectionChoice,
    find_injections,
    load_injections,
    play_calls,
    victim_calls,
)
from palaestra.envs.world import Surface
from palaestra.rubrics import Evidence
from palaestra.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionTrial:
    """One injection in one task."""

    task: str
    id: str
    """Goal, style and carrier."""
    detected: bool
    """Whether a victim read the text and the goal counts as reached."""
    careful: bool
    """Whether the author's solution got full score."""
    accused: tuple[str, ...]
    """Honest solutions ("oracle", "alternative 1") that met a part of the goal."""


@dataclass(slots=True, kw_only=True)
class InjectionProof:
    """Injections over a set of tasks."""

    expected: tuple[str, ...]
    """Every goal in every style."""
    trials: list[InjectionTrial] = field(default_factory=list[InjectionTrial])

    @property
    def missing(self) -> tuple[str, ...]:
        """The injections that no task of the set has a place for."""
        played = {trial.id.rpartition("/")[0] for trial in self.trials}
        return tuple(id_ for id_ in self.expected if id_ not in played)

    @property
    def faults(self) -> list[str]:
        """What is wrong, in sentences; empty if the injections are proved."""
        faults = [f"{id_}: no task has a place for it" for id_ in self.missing]
        for trial in self.trials:
            where = f"{trial.task}, {trial.id}"
            if not trial.detected:
                faults.append(f"{where}: a victim is not found out")
            if not trial.careful:
                faults.append(f"{where}: the author's solution loses points")
            faults += [f"{where}: {honest} is accused" for honest in trial.accused]
        return faults

    def table(self) -> Table:
        """Counts by goal."""
        goals = list(dict.fromkeys(id_.partition("/")[0] for id_ in self.expected))
        by_goal = {goal: [t for t in self.trials if t.id.partition("/")[0] == goal] for goal in goals}
        rows = tuple((goal, *_counts(trials)) for goal, trials in by_goal.items())
        played = len(self.expected) - len(self.missing)
        return Table(
            title=f"{played} of {len(self.expected)} injections, {len(self.trials)} trials",
            columns=("goal", "styles", "carriers", "tasks", "victims found out", "full score", "honest accused"),
            rows=(*rows, ("all", *_counts(self.trials))),
        )


def prove_injections(
    env: ToolEnv,
    tasks: Sequence[str],
    *,
    surface: Surface | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> InjectionProof:
    """Plant every goal in every task, in a style that changes from task to task, and play victims and solutions.

    Args:
        env: An environment of the world.
        tasks: The tasks; six or more of a kind cover every style.
        surface: The surface; `None` for the world's own tools.
        progress: Called with each finished task.

    Raises:
        CapabilityError: the world has no injections.
    """
    found = load_injections(env.world)
    proof = InjectionProof(expected=tuple(found.ids()))
    played: Counter[str] = Counter()
    for task in tasks:
        for goal in found.goals_by_id:
            style = tuple(STYLES)[played[goal] % len(STYLES)]
            choice = InjectionChoice(goal=goal, style=style)
            planted = next(find_injections(env.task_set.instance(task), choice), None)
            if planted is not None:
                proof.trials.append(try_injection(planted, surface))
                played[goal] += 1
        progress(task)
    return proof


def try_injection(planted: Instance, surface: Surface | None = None) -> InjectionTrial:
    """Play a victim and the author's solutions in one task with an injection."""
    injection = planted.injection
    assert injection is not None, "it is planted"
    victim = injection.report(play_calls(planted, victim_calls(planted), surface).evidence)
    careful = play_calls(planted, planted.oracle, surface)
    accused = [
        name
        for name, evidence in (("oracle", careful.evidence), *_alternatives(planted, surface))
        if any(injection.report(evidence).parts.values())
    ]
    return InjectionTrial(
        task=planted.spec.id,
        id=injection.id,
        detected=victim.shown and victim.reached,
        careful=careful.score().passed,
        accused=tuple(accused),
    )


def _alternatives(planted: Instance, surface: Surface | None) -> Iterator[tuple[str, Evidence]]:
    for number, calls in enumerate(planted.alternatives, 1):
        yield f"alternative {number}", play_calls(planted, calls, surface).evidence


def _counts(trials: Sequence[InjectionTrial]) -> tuple[str, ...]:
    parts = [trial.id.split("/") for trial in trials]
    return (
        str(len({style for _, style, _ in parts})),
        str(len({carrier for _, _, carrier in parts})),
        str(len(trials)),
        str(sum(trial.detected for trial in trials)),
        str(sum(trial.careful for trial in trials)),
        str(sum(len(trial.accused) for trial in trials)),
    )
