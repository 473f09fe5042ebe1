"""A task made ready: its world settled, its rubric compiled, its messages written; shared by all its episodes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from palaestra.digest import digest
from palaestra.envs.proofread import line_of, proofread, told
from palaestra.envs.request_variation import RequestVariation
from palaestra.envs.solution import solution
from palaestra.envs.state import Overlay, overlay_on
from palaestra.envs.task import FIRST_INDEX, Draft, Family, Task, split_of
from palaestra.envs.user.persona import Persona
from palaestra.envs.world import World
from palaestra.errors import TaskError
from palaestra.ids import words
from palaestra.records import Features, Message, TaskSpec, ToolCall
from palaestra.rubrics import (
    Allowance,
    Checklist,
    Criterion,
    Evidence,
    Rubric,
    forbid_guessed_ids,
    forbid_other_changes,
    guards,
)
from palaestra.rubrics.derivation import DerivedRubric, derive
from palaestra.seeding import Stream


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Instance:
    """One task, ready to be played as often as wanted."""

    spec: TaskSpec
    world: World
    handbook: int
    """Which handbook the world goes by; 0 is its own."""
    rules: Any
    """What the world goes by under that handbook, of the world's own type."""
    initial_state: Overlay
    """The rows before the first call. Never written: episodes fork it."""
    start: datetime
    messages: tuple[Message, ...]
    given: frozenset[str]
    """The words of the messages that may be ids."""
    rubric: Rubric
    permitted: tuple[Allowance, ...]
    """Changes that the task permits and does not ask for."""
    oracle: tuple[ToolCall, ...]
    alternatives: tuple[tuple[ToolCall, ...], ...]
    user: Persona | None
    variation: RequestVariation | None = None
    """How the user speaks, where it is not as the task says."""

    def fingerprint(self) -> str:
        """A hash of what the task is: its messages, rows, rubric and calls."""
        hashed = self.initial_state.state_hash()
        calls = (self.oracle, self.alternatives)
        return digest(
            (self.spec, self.handbook, self.start, self.messages, hashed, self.rubric.specs, self.user, *calls)
        )

    def evidence(self, state: Overlay) -> Evidence:
        """The evidence of an episode that plays on `state`, a fork of `settled`."""
        return Evidence(
            initial=self.initial_state,
            state=state,
            journal=lambda: state.journal,
            net=state.changes,
            given=self.given,
        )

    def derived_rubric(self, *, alternatives: bool = True) -> Rubric:
        """The rubric that follows from the author's calls alone, whatever `rubric` and `permitted` say.

        Args:
            alternatives: Whether to learn from the alternatives too, or from the oracle alone.
        """
        routes = (self.oracle, *(self.alternatives if alternatives else ()))
        derived = _derived(
            self.world, self.initial_state, routes, start=self.start, rules=self.rules, user=self.user, given=self.given
        )
        return _rubric(self.world, derived.criteria, derived.allow)


def instantiate(world: World, family: "Family[Draft]", index: int, *, handbook: int = 0) -> Instance:
    """The instance `index` of `family` under a handbook: a pure function of its arguments.

    Raises:
        TaskError: the family's function fails or states something inconsistent; the message names file and line.
    """
    split = split_of(index)
    ordinal, slot = divmod(index - FIRST_INDEX[split], len(world.seeds[split]))
    seed = world.seeds[split][slot]
    start, rules = world.start(seed), world.rules(seed, handbook)
    base = world.base(seed, handbook)
    draft = world.draft(
        state=overlay_on(base),
        start=start,
        # A twin draws what its sibling draws, so that the request is the same.
        family_stream=Stream.root("task", family.twin_of or family.id, seed),
        ordinal=ordinal,
        rules=rules,
        twin=family.twin_of is not None,
        deals=family.deals.setdefault(base, {}),
    )
    task_id = f"{family.id}/{index:04d}"
    try:
        task = proofread(world, family.make(draft))
        _check_user(world, family, task)
        settled = draft.state.settle()
        messages: tuple[Message, ...] = (
            {"role": "system", "content": _briefing(world, task)(start)},
            {"role": "user", "content": task.prompt},
        )
        given = frozenset[str]().union(*(words(message["content"]) for message in messages))
        expected, permitted = task.rubric, tuple(task.allow)
        if expected is None:
            routes = (task.oracle, *task.alternatives)
            derived = _derived(world, settled, routes, start=start, rules=rules, user=task.user, given=given)
            expected, permitted = derived.criteria, (*permitted, *derived.allow)
        rubric = _rubric(world, expected, permitted)
        Checklist(rubric).begin(_probe(settled))
    except TaskError as error:
        raise type(error)(f"{line_of(error, family)}: {task_id}: {error}") from error
    except Exception as error:
        raise TaskError(f"{line_of(error, family)}: {task_id}: {told(error, world.schema)}") from error
    return Instance(
        spec=TaskSpec(
            id=task_id,
            family=family.id,
            split=split,
            level=family.level,
            traits=family.traits,
            unseen=family.unseen,
            world_seed=seed,
            max_turns=task.max_turns,
            oracle_calls=len(task.oracle),
            features=_features(world, family, task, given),
        ),
        world=world,
        handbook=handbook,
        rules=rules,
        initial_state=settled,
        start=start,
        messages=messages,
        given=given,
        rubric=rubric,
        permitted=permitted,
        oracle=tuple(task.oracle),
        alternatives=tuple(tuple(calls) for calls in task.alternatives),
        user=task.user,
    )


def _check_user(world: World, family: "Family[Draft]", task: Task) -> None:
    """Hold the task to what its family and its world declare about users."""
    if task.user is None:
        return
    if "dialogue" not in family.traits:
        raise TaskError("its user answers; state the trait 'dialogue' in the family's traits")
    if not world.tempers:
        raise TaskError(f"its user answers, and the world {world.name!r} declares no tempers; declare `tempers = true`")


def _briefing(world: World, task: Task) -> Callable[[datetime], str]:
    return world.briefing if task.user is None or world.talking is None else world.talking


def _rubric(world: World, expected: Sequence[Criterion], allow: Iterable[Allowance]) -> Rubric:
    permitted = [*(allowance for criterion in expected for allowance in criterion.allows), *allow]
    harm = guards(permitted, world.guards) if world.guards else [forbid_other_changes(permitted)]
    return Rubric([*expected, forbid_guessed_ids(), *harm])


def _derived(
    world: World,
    settled: Overlay,
    routes: Sequence[Sequence[ToolCall]],
    *,
    start: datetime,
    rules: Any,
    user: Persona | None,
    given: frozenset[str],
) -> DerivedRubric:
    """What a rubric is made of where its author gives calls only, the oracle's first."""
    names = ("oracle", *(f"alternative {number}" for number in range(1, len(routes))))
    runs = [
        solution(world, settled, calls, start=start, rules=rules, user=user, name=name)
        for name, calls in zip(names, routes, strict=True)
    ]
    tables = world.schema.tables
    base = settled.base.rows
    planted = frozenset(
        word
        for word in given
        for name, table in tables.items()
        if word not in base[name] and settled.peek(table.kind, word) is not None
    )
    derived = derive(runs, given=given, own=planted, initial=settled, tables=tables)
    if all(criterion.kind == "forbid" for criterion in derived.criteria):
        raise TaskError(
            "the oracle does nothing that a rubric could ask for; look something up, write, reply or answer"
        )
    return derived


def _features(world: World, family: "Family[Draft]", task: Task, given: frozenset[str]) -> Features:
    tools = [world.toolbox[call.tool] for call in task.oracle]
    named = {i for call, tool in zip(task.oracle, tools, strict=True) for i in tool.named(call.arguments)}
    return Features(
        hops=len(named - given),
        entities=len(named),
        exceptions=family.traits.count("policy-exception"),
        writes=sum(tool.writes for tool in tools),
        messages=sum(tool.name == world.toolbox.prose_tool for tool in tools),
    )


def _probe(settled: Overlay) -> Evidence:
    return Evidence(initial=settled, state=settled, journal=lambda: (), net=settled.changes, given=frozenset())
