"""Finds parts of a world without effect in any of its listed tasks: rules, tools, and parts of its blueprint."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from palaestra.envs import TaskSet, ToolEnv
from palaestra.envs.blueprints import Blueprint, RefusalSpec
from palaestra.envs.blueprints.rows import blueprint_of
from palaestra.envs.rule_twin import does_decide, handbook_variants, rules_that_may_decide
from palaestra.envs.task import TWIN
from palaestra.proof.fault import Fault
from palaestra.records import ToolCall

_BRACES = re.compile(r"\{[^{}]*\}")


def find_idle_parts(env: ToolEnv) -> tuple[Fault, ...]:
    """The idle parts of a world that was compiled from a blueprint; empty for other worlds.

    Args:
        env: An environment of the world, with all its tasks.
    """
    blueprint = blueprint_of(env.world)
    if blueprint is None:
        return ()
    rules = (_fault(f"rules.{name}", "let a boundary of a plant lie at it") for name in idle_rules(env.task_set))
    tools = (
        Fault(
            kind="idle",
            sentence=f"no solution uses the tool {name}",
            way_out="leave it out of `tools`, or let it decide",
        )
        for name in idle_tools(env)
    )
    return (*rules, *tools, *_idle_requests(env, blueprint))


def idle_rules(tasks: TaskSet) -> list[str]:
    """The rules that can change without changing the answer of any task."""
    variants = handbook_variants(tasks.world)
    if variants is None:
        return []
    idle = set(variants.changes)
    for task in _list_tasks(tasks):
        if not idle:
            break
        instance = tasks.instance(task)
        asked = idle & rules_that_may_decide(instance)
        idle -= {name for name in asked if does_decide(instance, name)}
    return sorted(idle)


def idle_tools(env: ToolEnv) -> Iterator[str]:
    """The tools that no solution uses, except those that may stay unused."""
    used = {call.tool for task in _list_tasks(env.task_set) for call in env.task_set.instance(task).oracle}
    free = {*env.world.optional_tools, "give_up"}
    return (tool.name for tool in env.world.toolbox if tool.name not in used | free)


def _idle_requests(env: ToolEnv, blueprint: Blueprint) -> Iterator[Fault]:
    """Requests without tasks, refusals that decide no task, and handbook sections that nothing else uses."""
    used: set[str] = set()
    for name, request in blueprint.requests.items():
        family = f"{blueprint.id}/{name}"
        if not any(task.startswith(f"{family}/") for task in _list_tasks(env.task_set)):
            yield _fault(f"requests.{name}", "give it `instances`")
            continue
        used |= set(request.sections)
        ends = list(_refusal_ends(env, family + TWIN))
        for number, refusal in enumerate(request.refusals):
            if any(_is_decided_by(end, refusal) for end in ends):
                used.add(refusal.section)
            else:
                yield _fault(
                    f"requests.{name}.refusals.{number}",
                    "let its `plant` make it the first that applies, and give each request as many instances as "
                    "refusals",
                )
    for section in (key for key in blueprint.handbook if key not in used):
        yield _fault(f"handbook.{section}", "let a refusal of it decide a task, or remove it")


@dataclass(frozen=True, slots=True)
class _RefusalEnd:
    """How a solution refuses: everything that its last calls say."""

    closing: frozenset[str]
    texts: frozenset[str]


def _refusal_ends(env: ToolEnv, family: str) -> Iterator[_RefusalEnd]:
    for task in _list_tasks(env.task_set):
        if task.startswith(f"{family}/"):
            calls: Sequence[ToolCall] = env.task_set.instance(task).oracle
            closing = [call for call in calls if env.world.toolbox[call.tool].closes is not None]
            yield _RefusalEnd(_texts(closing), _texts(calls))


def _texts(calls: Sequence[ToolCall]) -> frozenset[str]:
    return frozenset(str(value) for call in calls for value in call.arguments.values())


def _is_decided_by(end: _RefusalEnd, refusal: RefusalSpec) -> bool:
    """Whether it cites the refusal's section and gives the refusal's reply."""
    reply = re.compile(".*".join(map(re.escape, _BRACES.split(refusal.tells))), re.DOTALL)
    return refusal.section in end.closing and any(reply.fullmatch(text) for text in end.texts)


def _list_tasks(tasks: TaskSet) -> list[str]:
    return [task for split in tasks.splits for task in tasks.candidates(split)]


def _fault(place: str, way_out: str) -> Fault:
    return Fault(kind="idle", sentence=f"{place}: it decides no task", way_out=way_out)
