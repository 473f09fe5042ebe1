"""The generic surface of any world: tables to query, actions to run in turn or in bulk, from its schema and its tools.

At most six tools, beside those that talk and end, in place of the world's own. Reading knows no entity. Writing goes
through the same actions under the same rules, and each action leaves the same event in the log.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache, partial

from palaestra.envs.state import Schema
from palaestra.envs.surfaces.acting import acting_tools
from palaestra.envs.surfaces.inference import infer_reads
from palaestra.envs.surfaces.reading import reading_tools
from palaestra.envs.surfaces.translation import Translation, check_reads
from palaestra.envs.world import Surface
from palaestra.errors import DefinitionError
from palaestra.records import Row
from palaestra.tools import CONTROL, Reads, Tool, Toolbox
from palaestra.tools.tool import Origin

NAMES = frozenset({"describe", "query", "traverse", "aggregate", "run_workflow", "bulk_update"})
"""The names of the generic tools."""
KEPT = frozenset(tool.name for tool in CONTROL)
"""The names of the tools that talk and end, which stay as the world has them."""


def generic_surface(schema: Schema, toolbox: Toolbox, *, role: str) -> Surface:
    """The generic surface of a world.

    A conventional tool that declares the rows it `reads`, or whose name and arguments tell them (`infer_reads`), is
    replaced by queries. Every other tool that does not talk or end is an action, which `run_workflow` runs.

    Args:
        schema: The world's tables.
        toolbox: Its conventional tools.
        role: The role in which the agent acts. Actions of other roles are neither drawn nor described.

    Raises:
        DefinitionError: a tool has the name of a generic one, is composite, or declares rows that the schema lacks.
    """
    for tool in toolbox:
        _check_tool(tool)
    kept = tuple(t for t in toolbox if t.name in KEPT or t.name == toolbox.prose_tool)
    reads = declared_reads(schema, (t for t in toolbox if t not in kept and not t.writes))
    actions = Toolbox(t for t in toolbox if t not in kept and t.name not in reads)
    given = (tuple(info.kind for info in schema), tuple(toolbox), toolbox.prose_tool, role)
    origin = partial(_origin, given)
    made = [*reading_tools(schema, actions, origin), *acting_tools(actions, role, origin)]
    generic = Toolbox([*made, *kept], prose_tool=toolbox.prose_tool, actions=actions)
    translation = Translation(schema, {name: (toolbox[name], rows) for name, rows in reads.items()}, actions)
    return Surface(toolbox=generic, translate=translation.translate)


_Given = tuple[tuple[type[Row], ...], tuple[Tool, ...], str | None, str]
"""What a generic surface follows from, as it pickles: row classes, conventional tools, prose tool, role."""


def _origin(given: _Given, name: str) -> Origin:
    return generic_tool, (*given, name)


def generic_tool(
    kinds: tuple[type[Row], ...], tools: tuple[Tool, ...], prose: str | None, role: str, name: str
) -> Tool:
    """The generic tool of that name: how one is found again in another process."""
    return _generic_tools(kinds, tools, prose, role)[name]


@lru_cache(maxsize=16)
def _generic_tools(kinds: tuple[type[Row], ...], tools: tuple[Tool, ...], prose: str | None, role: str) -> Toolbox:
    return generic_surface(Schema(*kinds), Toolbox(tools, prose_tool=prose), role=role).toolbox


def _check_tool(tool: Tool) -> None:
    if tool.name in NAMES:
        raise DefinitionError(f"tool {tool.name}: the generic surface has a tool of this name; rename yours")
    if tool.composite:
        raise DefinitionError(f"tool {tool.name} is composite; the generic surface runs single actions only")


def declared_reads(schema: Schema, tools: Iterable[Tool]) -> Mapping[str, Reads]:
    """What the tools show, by name, as far as they declare it or it can be worked out."""
    found: dict[str, Reads] = {}
    for tool in tools:
        reads = tool.reads or infer_reads(tool, schema)
        if reads is not None:
            check_reads(tool, reads, schema)
            found[tool.name] = reads
    return found
