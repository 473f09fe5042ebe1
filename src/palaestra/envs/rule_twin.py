"""Rule twins: the same request and the same records under other rules, so that only a look at the rules tells.

A task goes by the rules of its handbook. Its rule twin has the request and every record of the task, and goes by the
rules that the world has of its own. A task is decided by its rules where following the other ones is wrong: the
twin's solution does not solve the task, nor the task's the twin.

A twin is made by the function that made the task. The rows that it picks, and the rules by which it plants rows, are
those of the task (`TaskDraw`); what is right is worked out anew. There is none where the other rules leave the function
nothing to say about these rows, or where it would ask for something else.

The text of the handbook is not part of the records, and a twin's rows keep the task's. No rubric reads it.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from palaestra.envs.episode import LiveEpisode
from palaestra.envs.instance import Instance, draw_oracle, instantiate, make_instance, seed_of
from palaestra.envs.kit.rules import HandbookVariants
from palaestra.envs.task import Family
from palaestra.envs.world import ALL_RULES_FROM, ONE_RULE_FROM, World
from palaestra.errors import TaskError
from palaestra.records import ToolCall

TRIES = 12
"""How many handbooks are tried for one that decides a task."""


def handbook_variants(world: World) -> HandbookVariants[Any] | None:
    """The variants of a world's handbook; `None` where it does not say what can be changed."""
    rules: Any = world.rules
    return rules if isinstance(rules, HandbookVariants) else None  # pyright: ignore[reportUnknownVariableType]


def rule_twin(task: Instance, rules: Any = None) -> Instance | None:
    """The rule twin of a task; `None` where it has none.

    Args:
        task: The task.
        rules: What the twin goes by; the world's own rules where left out.
    """
    if rules is None:
        variants = handbook_variants(task.world)
        if variants is None:
            return None
        rules = variants.own
    index = int(task.spec.id.rpartition("/")[2])
    try:
        twin = make_instance(
            task.world,
            task.family,
            index,
            handbook=task.handbook,
            rules=rules,
            base=task.initial_state.base,
            drawing=task.drawing,
        )
    except TaskError:
        return None
    return twin if is_same_case(task, twin) else None


def is_same_case(task: Instance, other: Instance) -> bool:
    """Whether two tasks have the same request and the same records."""
    same_rows = task.initial_state.state_hash() == other.initial_state.state_hash()
    return same_rows and task.messages == other.messages and task.user == other.user


def is_decided(task: Instance, twin: Instance | None) -> bool:
    """Whether the rules decide a task: it and its rule twin can be solved, and neither by the other's solution."""
    if twin is None or twin.oracle == task.oracle:
        return False  # the same calls cannot both solve a task and fail on it
    if not (solves(task.oracle, task) and solves(twin.oracle, twin)):
        return False
    return not solves(twin.oracle, task) and not solves(task.oracle, twin)


def solves(calls: Iterable[ToolCall], task: Instance) -> bool:
    """Whether these calls, one a turn, solve a task."""
    episode = LiveEpisode(task, seed=0, max_turns=task.spec.max_turns, toolbox=task.world.toolbox)
    for call in calls:
        episode.begin_turn()
        episode.close_turn(tuple(episode.run((call,))), readable=True)
        if episode.evidence.end is not None:
            break
    return episode.checklist.score(episode.evidence.end).passed


def does_decide(task: Instance, name: str) -> bool:
    """Whether a value of one rule, where the world's own rules have another, decides a task.

    The solution is drawn first. The twin is made in full only where its solution differs from the task's.
    """
    variants = handbook_variants(task.world)
    assert variants is not None, "it says what can be changed"
    changed = (replace(variants.own, **{name: value}) for value in variants.changes[name])
    return any(is_decided(task, rule_twin(task, rules)) for rules in changed if _draws_other_oracle(task, rules))


def _draws_other_oracle(task: Instance, rules: Any) -> bool:
    try:
        return draw_oracle(task, rules) != task.oracle
    except TaskError:
        return False  # then there is no twin


def rules_that_may_decide(task: Instance) -> frozenset[str]:
    """The rules that its function asks for when it draws a task again under the world's own rules.

    A change of any other rule leaves its solution as it is, so it decides nothing. Where the own rules lead to another
    solution, or to none, every rule may decide.
    """
    variants = handbook_variants(task.world)
    if variants is None:
        return frozenset()
    watched = _Watched(variants.own)
    try:
        asked_all = draw_oracle(task, watched) != task.oracle
    except TaskError:
        asked_all = True
    return frozenset(variants.changes) if asked_all else frozenset(watched.asked)


def deciding_rules(task: Instance) -> tuple[str, ...]:
    """The changed rules of which each decides a task: with it alone as the world has it, another answer is right.

    Where several rules would each do, such as two of which one suffices, none of them is named.
    """
    variants = handbook_variants(task.world)
    if variants is None:
        return ()
    return tuple(
        name
        for name in variants.list_changes(task.rules)
        if is_decided(task, rule_twin(task, variants.with_own(task.rules, name)))
    )


def deciding_handbook(world: World, family: Family[Any], index: int, number: int, *, tries: int = TRIES) -> int:
    """The first handbook from `number` on, among those that change as many rules, that decides a task.

    Args:
        world: The world.
        family: The family of the task.
        index: Which of its instances.
        number: The handbook to begin with.
        tries: How many handbooks are tried that change a rule which the family asks for.

    Returns:
        Its number; `number` where none of them does, or the world does not say what can be changed.
    """
    variants = handbook_variants(world)
    if variants is None:
        return number
    for other in islice(relevant_handbooks(world, family, index, number), tries):
        try:
            task = instantiate(world, family, index, handbook=other)
        except TaskError:
            continue
        if is_decided(task, rule_twin(task)):
            return other
    return number


def relevant_handbooks(world: World, family: Family[Any], index: int, number: int) -> Iterator[int]:
    """The handbooks from `number` on, of its kind, that change a rule which a family asks for under the own rules."""
    variants = handbook_variants(world)
    assert variants is not None, "it says what can be changed"
    asked = rules_asked_for(world, family, index)
    first = max(start for start in (1, ONE_RULE_FROM, ALL_RULES_FROM) if start <= number)
    count = variants.handbooks(first)
    for step in range(count):
        other = first + (number - first + step) % count
        if asked.intersection(variants.list_changes(variants(seed_of(world, index), other))):
            yield other


def rules_asked_for(world: World, family: Family[Any], index: int) -> frozenset[str]:
    """The names of the rules that the family asks for when it makes a task under the world's own rules."""
    variants = handbook_variants(world)
    if variants is None:
        return frozenset()
    watched = _Watched(variants.own)
    seed = seed_of(world, index)
    with suppress(TaskError):  # it asked before it failed
        make_instance(world, family, index, handbook=0, rules=watched, base=world.base(seed), shares_deals=False)
    return frozenset(watched.asked)


class _Watched:
    """Rules that remember which of them were asked for."""

    def __init__(self, rules: Any) -> None:
        self.rules = rules
        self.asked: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        self.asked.add(name)
        return getattr(self.rules, name)
