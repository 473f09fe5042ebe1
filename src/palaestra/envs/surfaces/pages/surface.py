"""The surface of pages: the same rows and rules through a browser in place of tool calls."""

from collections.abc import Collection, Mapping, Sequence

from palaestra.envs.state import Schema
from palaestra.envs.surfaces.generic import KEPT, declared_reads, generic_surface
from palaestra.envs.surfaces.pages.browser import PageBrowser
from palaestra.envs.surfaces.pages.generated import LOOK_UP, GeneratedSite
from palaestra.envs.surfaces.pages.routes import Route
from palaestra.envs.surfaces.pages.tools import UI_TOOLS
from palaestra.envs.surfaces.pages.translation import PageTranslation
from palaestra.envs.surfaces.pages.tree import PageElement
from palaestra.envs.world import Surface
from palaestra.errors import DefinitionError
from palaestra.tools import Reads, Toolbox

TURNS = 8
"""How many turns in the browser stand for one of the world's own tools: a form is opened, filled in and sent."""


def pages_surface(
    schema: Schema,
    toolbox: Toolbox,
    *,
    role: str,
    routes: Sequence[Route] = (),
    reviewed: Collection[str] = (),
    navigation: Sequence[PageElement] = (),
) -> Surface:
    """The generated site of a world, with pages made by hand in place of some, and a browser to act on it.

    A tool that declares the rows it `reads`, or whose name and arguments tell them (`infer_reads`), is replaced by
    pages. Every other tool that does not talk or end has a form, whose sending is the same event as a call of the tool.

    Args:
        schema: The world's tables.
        toolbox: Its conventional tools.
        role: The role in which the agent acts. Actions of other roles have no form.
        routes: Pages made by hand.
        reviewed: The names of actions whose form is reviewed before it is sent.
        navigation: Links that stand on top of every page; to all tables if not said.

    Raises:
        DefinitionError: a tool has the name of a browser's action, or declares rows that the schema lacks; or an action
            that is to be reviewed has no form.
    """
    names = frozenset(tool.name for tool in UI_TOOLS)
    for tool in toolbox:
        if tool.name in names:
            raise DefinitionError(f"tool {tool.name}: the surface of pages has a tool of this name; rename yours")
    kept = tuple(t for t in toolbox if t.name in KEPT or t.name == toolbox.prose_tool)
    reads: Mapping[str, Reads] = declared_reads(schema, (t for t in toolbox if t not in kept and not t.writes))
    actions = Toolbox(t for t in toolbox if t not in kept and t.name not in reads)
    look_up = generic_surface(schema, toolbox, role=role).toolbox[LOOK_UP]
    site = GeneratedSite(schema, actions, role, routes=routes, reviewed=reviewed, navigation=navigation)
    translation = PageTranslation(schema, {name: (toolbox[name], rows) for name, rows in reads.items()}, actions, site)

    def begin() -> PageBrowser:
        return PageBrowser(site)

    return Surface(
        toolbox=Toolbox([*UI_TOOLS, *kept], prose_tool=toolbox.prose_tool, actions=Toolbox([*actions, look_up])),
        translate=translation.translate,
        begin=begin,
        turns=TURNS,
    )
