"""The surface of pages: the same rows and rules through a browser in place of tool calls."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from palaestra.envs.state import Schema
from palaestra.envs.surfaces.generic import KEPT, declared_reads, generic_surface
from palaestra.envs.surfaces.pages.browser import PageBrowser
from palaestra.envs.surfaces.pages.dialects import DIALECTS, DialectBrowser
from palaestra.envs.surfaces.pages.dialects.dialect import check_pictures
from palaestra.envs.surfaces.pages.dialects.translation import write_calls
from palaestra.envs.surfaces.pages.generated import LOOK_UP, GeneratedSite
from palaestra.envs.surfaces.pages.routes import Route
from palaestra.envs.surfaces.pages.settings import PageSettings
from palaestra.envs.surfaces.pages.tools import UI_TOOLS
from palaestra.envs.surfaces.pages.translation import PageTranslation
from palaestra.envs.surfaces.pages.tree import PageElement
from palaestra.envs.world import Surface
from palaestra.errors import DefinitionError
from palaestra.protocols import StateView
from palaestra.record import record
from palaestra.records import ToolCall
from palaestra.tools import Reads, Tool, Toolbox

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
    tools = _sort_tools(schema, toolbox, role)

    @cache
    def make_surface(settings: PageSettings) -> Surface:
        site = GeneratedSite(
            schema,
            tools.actions,
            role,
            routes=routes,
            reviewed=reviewed,
            navigation=navigation,
            variation=settings.variation,
        )
        translation = PageTranslation(schema, tools.reads, tools.actions, site, settings.disturbances)
        make = _plain_surface if settings.dialect_in_use is None else _dialect_surface
        surface = make(tools, site, translation, settings)
        return replace(surface, configure=configure, settings=None if settings == PageSettings() else settings)

    def configure(given: Mapping[str, Any]) -> Surface:
        return make_surface(PageSettings.of(given))

    return make_surface(PageSettings())


@record
class _PageTools:
    """A world's tools, by what pages make of them."""

    toolbox: Toolbox
    """All of them."""
    kept: tuple[Tool, ...]
    """Those that talk or end, which stay tools."""
    reads: Mapping[str, tuple[Tool, Reads]]
    """Those that pages replace, by name, and the rows that they read."""
    actions: Toolbox
    """Those that have a form."""
    recorded: Toolbox
    """Those whose calls stand in the record: `actions`, and the look-up that an opened list is."""


def _sort_tools(schema: Schema, toolbox: Toolbox, role: str) -> _PageTools:
    names = frozenset(tool.name for tool in UI_TOOLS)
    for tool in toolbox:
        if tool.name in names:
            raise DefinitionError(f"tool {tool.name}: the surface of pages has a tool of this name; rename yours")
    kept = tuple(t for t in toolbox if t.name in KEPT or t.name == toolbox.prose_tool)
    reads: Mapping[str, Reads] = declared_reads(schema, (t for t in toolbox if t not in kept and not t.writes))
    actions = Toolbox(t for t in toolbox if t not in kept and t.name not in reads)
    look_up = generic_surface(schema, toolbox, role=role).toolbox[LOOK_UP]
    return _PageTools(
        toolbox=toolbox,
        kept=kept,
        reads={name: (toolbox[name], rows) for name, rows in reads.items()},
        actions=actions,
        recorded=Toolbox([*actions, look_up]),
    )


def _plain_surface(
    tools: _PageTools, site: GeneratedSite, translation: PageTranslation, settings: PageSettings
) -> Surface:
    """The surface with the text and the tools of its own, in no dialect."""
    return Surface(
        toolbox=Toolbox([*UI_TOOLS, *tools.kept], prose_tool=tools.toolbox.prose_tool, actions=tools.recorded),
        translate=translation.translate,
        begin=lambda: PageBrowser(site, settings),
        turns=TURNS,
    )


def _dialect_surface(
    tools: _PageTools, site: GeneratedSite, translation: PageTranslation, settings: PageSettings
) -> Surface:
    """The surface in a dialect: its calls are read as those of the plain one, so messages and ends are read too."""
    if settings.renderer == "chromium":
        check_pictures()
    assert settings.dialect_in_use is not None, "without one the surface is plain"
    dialect = DIALECTS[settings.dialect_in_use]
    for tool in dialect.tools:
        if tool.name in tools.toolbox:
            raise DefinitionError(f"tool {tool.name}: the dialect {dialect.name} has a tool of this name")

    def translate(calls: Sequence[ToolCall], state: StateView) -> tuple[ToolCall, ...]:
        return write_calls(dialect, settings, translation.translate(calls, state), state, site)

    return Surface(
        toolbox=Toolbox(
            [*dialect.tools, *tools.kept],
            prose_tool=tools.toolbox.prose_tool,
            actions=Toolbox([*tools.recorded, *tools.kept]),
        ),
        translate=translate,
        begin=lambda: DialectBrowser(site, dialect, settings, frozenset(tool.name for tool in tools.kept)),
        turns=TURNS * (3 if dialect.needs_screen else 1),
    )
