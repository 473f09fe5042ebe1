"""Tools of a world that no task needs, or that another process cannot get."""

import pickle
import sys
from collections.abc import Iterator
from typing import Any

from palaestra.envs.check.world_report import WorldFinding
from palaestra.envs.check.world_subject import WorldSubject
from palaestra.envs.task import Family
from palaestra.tools import CONTROL, Tool


def idle_tools(subject: WorldSubject) -> Iterator[WorldFinding]:
    """Every tool of the role is used by a solution of some first task, or declared in `World.optional_tools`."""
    world = subject.world
    instances = subject.instances.values()
    used = {call.tool for task in instances for calls in (task.oracle, *task.alternatives) for call in calls}
    offered = {tool.name for tool in world.toolbox.tools_for(world.role)}
    rule = "each tool that the role may call solves a task or stands in World.optional_tools, and none does both"
    for name in sorted(offered - used - {*world.optional_tools} - {tool.name for tool in CONTROL}):
        way_out = "Use it in a family, take it out, or declare it optional and say why"
        yield WorldFinding(what=f"no first task of any family uses the tool {name}", rule=rule, way_out=way_out)
    for name in sorted({*world.optional_tools} & used):
        yield WorldFinding(
            what=f"a task uses the tool {name}, which World.optional_tools declares",
            rule=rule,
            way_out="Take it out of World.optional_tools",
        )
    for name in sorted({*world.optional_tools} - offered):
        yield WorldFinding(
            what=f"World.optional_tools declares {name!r}, a tool that the role {world.role!r} has not",
            rule=rule,
            way_out="Take it out of World.optional_tools, or correct its name",
        )


def tools_that_do_not_pickle(subject: WorldSubject) -> Iterator[WorldFinding]:
    """Every tool is the same after pickling: no family of the same name took its place in its module."""
    rule = "a tool pickles as the name in its module at which it stands"
    for tool in subject.world.toolbox:
        family = _family_in_place_of(tool)
        if family is not None:
            yield WorldFinding(
                what=f"the family {family.id} ({family.source}) has taken the place of the tool {tool.name}",
                rule=rule,
                way_out=f"Give the family's function another name than {tool.name}",
            )
        elif (fault := _pickling_fault(tool)) is not None:
            yield WorldFinding(
                what=f"the tool {tool.name} cannot be sent to another process: {fault}",
                rule=rule,
                way_out="Define it at the top of a module, or give a generated tool its origin",
            )


def _family_in_place_of(tool: Tool) -> Family[Any] | None:
    if tool.origin is not None:
        return None
    found: Any = vars(sys.modules[tool.function.__module__]).get(tool.function.__qualname__)
    return found if isinstance(found, Family) else None  # pyright: ignore[reportUnknownVariableType]


def _pickling_fault(tool: Tool) -> str | None:
    try:
        again = pickle.loads(pickle.dumps(tool))  # noqa: S301 (bytes of our own)
    except (pickle.PicklingError, AttributeError, AssertionError, ImportError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
    return None if again.export() == tool.export() else "it comes back as another tool"
