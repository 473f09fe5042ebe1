"""A task made ready: its world settled, its rubric compiled, its messages written; shared by all its episodes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from palaestra.digest import digest
from palaestra.envs.later import LaterEvent
from palaestra.envs.proofread import describe_error, line_of, proofread
from palaestra.envs.request_variation import RequestVariation
from palaestra.envs.state import Base, Overlay, overlay_on
from palaestra.envs.task import FIRST_INDEX, Deals, Draft, Family, Task, TaskDraw, split_of
from palaestra.envs.task_rubric import RubricSetting, complete_rubric, derive_criteria, list_refused_by, make_rubric
from palaestra.envs.user.persona import Persona
from palaestra.envs.world import World
from palaestra.errors import TaskError
from palaestra.ids import words
from palaestra.records import Features, Message, TaskSpec, ToolCall
from palaestra.rubrics import Allowance, Evidence, Rubric
from palaestra.rubrics.messages import Recipient
from palaestra.seeding import Stream

if TYPE_CHECKING:  # injections are planted in instances, so they come after them
    from palaestra.envs.injections.task_injection import TaskInjection


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
    later: tuple[LaterEvent, ...]
    """What happens on later days, in order."""
    recipient: Recipient | None
    """Who reads the messages; `None` where nothing is told of anybody."""
    family: "Family[Any]"
    drawing: TaskDraw
    """How it was drawn."""
    variation: RequestVariation | None = None
    """How the user speaks, where it is not as the task says."""
    stakes: bool = False
    """Whether the briefing tells what work and harm are worth."""
    injection: "TaskInjection | None" = None
    """The instruction that is planted in its content, where one is."""

    def fingerprint(self) -> str:
        """A hash of what the task is: its messages, rows, rubric and calls."""
        hashed = self.initial_state.state_hash()
        calls = (self.oracle, self.alternatives)
        made = (self.spec, self.handbook, self.start, self.messages, hashed, self.rubric.specs, self.user, *calls)
        return digest((*made, *self.later))

    def evidence(self, state: Overlay) -> Evidence:
        """The evidence of an episode that plays on `state`, a fork of `settled`."""
        return Evidence(
            initial=self.initial_state,
            state=state,
            journal=lambda: state.journal,
            net=state.changes,
            given=self.given,
            opening=tuple(message["content"] for message in self.messages),
        )

    def derived_rubric(self, *, alternatives: bool = True) -> Rubric:
        """The rubric that follows from the author's calls alone, whatever `rubric` and `permitted` say.

        Args:
            alternatives: Whether to learn from the alternatives too, or from the oracle alone.
        """
        setting = RubricSetting(
            world=self.world,
            settled=self.initial_state,
            start=self.start,
            rules=self.rules,
            user=self.user,
            later=self.later,
            given=self.given,
            routes=(self.oracle, *(self.alternatives if alternatives else ())),
            recipient=self.recipient,
            refused_by=self.rubric.refused_by,
        )
        derived = derive_criteria(setting)
        return complete_rubric(setting, derived.criteria, derived.allow)


def instantiate(world: World, family: "Family[Draft]", index: int, *, handbook: int = 0) -> Instance:
    """The instance `index` of `family` under a handbook: a pure function of its arguments.

    Raises:
        TaskError: the family's function fails or states something inconsistent; the message names file and line.
    """
    seed = seed_of(world, index)
    rules, base = world.rules(seed, handbook), world.base(seed, handbook)
    return make_instance(world, family, index, handbook=handbook, rules=rules, base=base)


def seed_of(world: World, index: int) -> int:
    """The world seed in which the instances of that index are set."""
    split = split_of(index)
    return world.seeds[split][(index - FIRST_INDEX[split]) % len(world.seeds[split])]


def make_instance(
    world: World,
    family: "Family[Draft]",
    index: int,
    *,
    handbook: int,
    rules: Any,
    base: Base,
    drawing: TaskDraw | None = None,
    shares_deals: bool = True,
    correct: Callable[[Overlay], None] | None = None,
) -> Instance:
    """The instance `index` of `family` on these rows under these rules.

    Args:
        world: The world.
        family: The family.
        index: Which of its instances.
        handbook: The number of the handbook, for the record.
        rules: What decides.
        base: The rows.
        drawing: How another instance was drawn, to be drawn alike.
        shares_deals: Whether it deals out rows with the other instances on these rows, which go by the same rules.
        correct: Changes the rows once the request is made and before it is answered; needs `drawing`.

    Raises:
        TaskError: the family's function fails or states something inconsistent; the message names file and line.
    """
    start = world.start(seed_of(world, index))
    deals: Deals = family.deals.setdefault(base, {}) if shares_deals else {}
    draft = _draft(world, family, index, rules=rules, base=base, deals=deals, drawing=drawing)
    task_id = f"{family.id}/{index:04d}"
    try:
        task = _write_task(world, family, draft, alike=drawing is not None, correct=correct)
        settled = draft.state.settle()
        messages: tuple[Message, ...] = (
            {"role": "system", "content": _briefing(world, task)(start)},
            {"role": "user", "content": task.prompt},
        )
        given = frozenset[str]().union(*(words(message["content"]) for message in messages))
        setting = RubricSetting(
            world=world,
            settled=settled,
            start=start,
            rules=rules,
            user=task.user,
            later=task.later,
            given=given,
            routes=(task.oracle, *task.alternatives),
            recipient=draft.recipient(),
            refused_by=list_refused_by(world, task),
        )
        rubric, permitted = make_rubric(setting, task)
    except Exception as error:
        raise _locate_error(error, world, family, task_id) from error
    return Instance(
        spec=_spec(world, family, index, task, given),
        world=world,
        handbook=handbook,
        rules=rules,
        initial_state=settled,
        start=start,
        messages=messages,
        given=given,
        rubric=rubric,
        permitted=tuple(permitted),
        oracle=tuple(task.oracle),
        alternatives=tuple(tuple(calls) for calls in task.alternatives),
        user=task.user,
        later=tuple(task.later),
        recipient=setting.recipient,
        family=family,
        drawing=draft.drawing,
    )


def draw_oracle(task: Instance, rules: Any) -> tuple[ToolCall, ...]:
    """The oracle of the instance that is drawn like `task` and goes by `rules`; no rubric is made for it.

    Raises:
        TaskError: as `make_instance`.
    """
    world, family, base = task.world, task.family, task.initial_state.base
    index = int(task.spec.id.rpartition("/")[2])
    deals = family.deals.setdefault(base, {})
    try:
        draft = _draft(world, family, index, rules=rules, base=base, deals=deals, drawing=task.drawing)
        return tuple(_write_task(world, family, draft, alike=True).oracle)
    except Exception as error:
        raise _locate_error(error, world, family, task.spec.id) from error


def _locate_error(error: Exception, world: World, family: "Family[Draft]", task_id: str) -> TaskError:
    """What went wrong while a task was made, with the file and the line of its family."""
    where = f"{line_of(error, family)}: {task_id}"
    if isinstance(error, TaskError):
        return type(error)(f"{where}: {error}")
    return TaskError(f"{where}: {describe_error(error, world.schema)}")


def _draft(
    world: World,
    family: "Family[Draft]",
    index: int,
    *,
    rules: Any,
    base: Base,
    deals: Deals,
    drawing: TaskDraw | None,
) -> Draft:
    """The draft in which the instance `index` of a family is set."""
    split, seed = split_of(index), seed_of(world, index)
    return world.draft(
        state=overlay_on(base),
        start=world.start(seed),
        # A twin draws what its sibling draws, so that the request is the same.
        family_stream=Stream.root("task", family.twin_of or family.id, seed),
        ordinal=(index - FIRST_INDEX[split]) // len(world.seeds[split]),
        rules=rules,
        split=split,
        twin=family.twin_of is not None,
        deals=deals,
        drawing=drawing,
        own_rules=own_rules(world),
        place=index - FIRST_INDEX[split],
    )


def _write_task(
    world: World,
    family: "Family[Draft]",
    draft: Draft,
    *,
    alike: bool,
    correct: Callable[[Overlay], None] | None = None,
) -> Task:
    """What the family's function writes, held to what it and its world declare.

    Args:
        world: The world.
        family: The family.
        draft: Where it is set.
        alike: Whether it is drawn like another instance; the family's own answer to that then replaces the oracle.
        correct: Changes the rows before that answer.
    """
    task = family.make(draft)
    if correct is not None:
        if draft.answer is None:
            raise TaskError("it states no answer for other rows; give one as `desk.answer`")
        correct(draft.state)
    if alike and draft.answer is not None:
        task = replace(task, oracle=tuple(draft.answer()), rubric=None, alternatives=())
    task = proofread(world, task)
    _check_user(world, family, task)
    _check_later(task, draft.start)
    return task


def _spec(world: World, family: "Family[Draft]", index: int, task: Task, given: frozenset[str]) -> TaskSpec:
    """What the outside may know of the instance `index`."""
    return TaskSpec(
        id=f"{family.id}/{index:04d}",
        family=family.id,
        split=split_of(index),
        level=family.level,
        traits=family.traits,
        unseen=family.unseen,
        world_seed=seed_of(world, index),
        max_turns=task.max_turns,
        oracle_calls=len(task.oracle),
        features=_features(world, family, task, given),
    )


def own_rules(world: World) -> Any:
    """The rules that the world has of its own; `None` where it does not say what can be changed."""
    return getattr(world.rules, "own", None)


def _check_user(world: World, family: "Family[Draft]", task: Task) -> None:
    """Hold the task to what its family and its world declare about users."""
    if task.user is None:
        return
    if "dialogue" not in family.traits:
        raise TaskError("its user answers; state the trait 'dialogue' in the family's traits")
    if not world.tempers:
        raise TaskError(f"its user answers, and the world {world.name!r} declares no tempers; declare `tempers = true`")


def _check_later(task: Task, start: datetime) -> None:
    """Hold the task to what happens later being in order, on days that are still to come."""
    days = [start.date(), *(event.day for event in task.later)]
    for event, before in zip(task.later, days, strict=False):
        if event.day <= start.date() or event.day < before:
            raise TaskError(f"{event.name!r} happens on {event.day}; list later events by day, all after {days[0]}")


def _briefing(world: World, task: Task) -> Callable[[datetime], str]:
    return world.briefing if task.user is None or world.talking is None else world.talking


def _features(world: World, family: "Family[Draft]", task: Task, given: frozenset[str]) -> Features:
    tools = [world.toolbox[call.tool] for call in task.oracle]
    named = {i for call, tool in zip(task.oracle, tools, strict=True) for i in tool.find_ids(call.arguments)}
    return Features(
        hops=len(named - given),
        entities=len(named),
        exceptions=family.traits.count("policy-exception"),
        writes=sum(tool.writes for tool in tools),
        messages=sum(tool.name == world.toolbox.prose_tool for tool in tools),
    )
