"""The checker of worlds: what holds of a world's rows, tools, families and rules before anyone plays in it.

Each check yields findings, so that one run reports all of them; `check_env` holds the environment around the world to
its contract. It does not prove tasks (`palaestra.proof.prove` does).
"""

from collections.abc import Callable, Iterator, Mapping

from palaestra.envs.check.world_report import WorldFinding, WorldReport
from palaestra.envs.check.world_rules import changeable_rules, rules_without_effect
from palaestra.envs.check.world_subject import WorldSubject
from palaestra.envs.check.world_tools import idle_tools, tools_that_do_not_pickle
from palaestra.envs.kit.invariants import broken_rules
from palaestra.envs.world import World


def check_populations(subject: WorldSubject) -> Iterator[WorldFinding]:
    """Every world seed can be populated under every handbook, twice alike.

    A `Base` refuses an id that names no row, so what is populated has whole references.
    """
    for place in subject.places:
        try:
            hashes = {subject.populate(*place).state.state_hash() for _ in range(2)}
        except Exception as error:
            yield WorldFinding(
                what=f"{subject.name_of(place)}: populate raised {type(error).__name__}: {error}",
                rule="a world populates every seed of its declared splits under every handbook",
                way_out="Correct populate or the rules it is given",
            )
            continue
        if len(hashes) != 1:
            yield WorldFinding(
                what=f"{subject.name_of(place)}: populate made other rows the second time",
                rule="populate and rules are pure functions of the seed and the handbook",
                way_out="Draw from Stream.root(name, seed) alone, and order what is not ordered",
            )


def check_invariants(subject: WorldSubject) -> Iterator[WorldFinding]:
    """Every rule of `World.invariants` holds."""
    for place, populated in subject.populations.items():
        for sentence in broken_rules(subject.world.invariants, populated):
            yield WorldFinding(
                what=f"{subject.name_of(place)}: {sentence}",
                rule="a populated world keeps the invariants that it declares",
                way_out="Correct populate or the invariant",
            )


def check_tasks(subject: WorldSubject) -> Iterator[WorldFinding]:
    """Every listed family makes its first task of each declared split, under every handbook."""
    if not subject.first_tasks:
        yield WorldFinding(
            what="no task is listed in a declared split",
            rule="a world lists tasks in the splits that it declares",
            way_out="Name the package of the task files in World.families, and release what is proved",
        )
    for task, error in subject.failures.items():
        yield WorldFinding(
            what=f"{task} cannot be made: {error}",
            rule="a listed family makes its first task in each declared split under every handbook",
            way_out="Correct the family, or take the split out of its splits",
        )


WORLD_CHECKS: Mapping[str, Callable[[WorldSubject], Iterator[WorldFinding]]] = {
    "populations": check_populations,
    "invariants": check_invariants,
    "tasks": check_tasks,
    "tools": idle_tools,
    "pickling": tools_that_do_not_pickle,
    "rules": rules_without_effect,
}
"""Every check, in the order in which they run."""


def check_world(world: World, *, seeds_per_split: int = 1) -> WorldReport:
    """Check a world: its populations, invariants, first tasks, tools and rules.

    Args:
        world: The world.
        seeds_per_split: How many world seeds of each declared split are populated.

    Returns:
        What was looked at and what was found; `raise_for_findings` makes an error of findings.
    """
    subject = WorldSubject.of(world, seeds_per_split=seeds_per_split)
    findings: list[WorldFinding] = []
    for name, check in WORLD_CHECKS.items():
        findings += check(subject)
        if name == "populations" and findings:
            break  # nothing else can be said of rows that cannot be made, or that differ each time
    rules = changeable_rules(world)
    return WorldReport(
        world=world.name,
        seeds=tuple(dict.fromkeys(seed for seed, _ in subject.places)),
        handbooks=subject.handbooks,
        families=len({task.rpartition("/")[0] for task in subject.first_tasks}),
        tasks=len(subject.first_tasks),
        tools=len(world.toolbox.tools_for(world.role)),
        rules=None if rules is None else len(rules.changes),
        findings=tuple(findings),
    )
