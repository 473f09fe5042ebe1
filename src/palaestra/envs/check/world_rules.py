"""Rules that a handbook can change and no task would show."""

from collections.abc import Iterator
from typing import Any

from palaestra.envs.check.world_report import WorldFinding
from palaestra.envs.check.world_subject import WorldSubject
from palaestra.envs.instance import instantiate
from palaestra.envs.kit.rules import HandbookVariants
from palaestra.envs.world import World


def changeable_rules(world: World) -> HandbookVariants[Any] | None:
    """The variants of a world's handbook; `None` where it does not say what can be changed."""
    rules: Any = world.rules
    return rules if isinstance(rules, HandbookVariants) else None  # pyright: ignore[reportUnknownVariableType]


def rules_without_effect(subject: WorldSubject) -> Iterator[WorldFinding]:
    """Every rule that a handbook can change, changed alone, changes a first task of at least one family."""
    variants = changeable_rules(subject.world)
    if variants is None:
        return
    own = subject.world.under(variants.own)
    for name in variants.changes:
        try:
            effect = _differs(subject, own, subject.world.under(variants.one_changed(name)))
        except Exception as error:
            yield WorldFinding(
                what=f"changing the rule {name!r} alone raised {type(error).__name__}: {error}",
                rule="tasks can be made under every handbook",
                way_out="Correct what goes by the rule, or take it out of the changes",
            )
            continue
        if not effect:
            yield WorldFinding(
                what=f"changing the rule {name!r} alone changes no first task",
                rule="a rule that a handbook can change changes messages, rows, rubric or solution of some task",
                way_out="State it in the handbook and go by it, or take it out of the changes",
            )


def _differs(subject: WorldSubject, own: World, changed: World) -> bool:
    """Whether any first task differs between two worlds."""
    return any(_fingerprint(subject, own, task) != _fingerprint(subject, changed, task) for task in subject.first_tasks)


def _fingerprint(subject: WorldSubject, world: World, task: str) -> str:
    family_id, _, index = task.rpartition("/")
    return instantiate(world, subject.tasks.families[family_id], int(index)).fingerprint()
