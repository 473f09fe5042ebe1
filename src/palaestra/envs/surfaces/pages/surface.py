"""The surface of pages: the same rows and rules through a browser in place of tool calls."""

from collections.abc import Collection, Mapping, Sequence
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
from palaestra.records import ToolCall
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
    every_action = Toolbox([*actions, look_up])
    declared = {name: (toolbox[name], rows) for name, rows in reads.items()}

    @cache
    def under(settings: PageSettings) -> Surface:
        site = GeneratedSite(
            schema,
            actions,
            role,
            routes=routes,
            reviewed=reviewed,
            navigation=navigation,
            variation=settings.variation,
        )
        translation = PageTranslation(schema, declared, actions, site, settings.disturbances)
        given = None if settings == PageSettings() else settings
        if settings.drawn_in is None:
            return Surface(
                toolbox=Toolbox([*UI_TOOLS, *kept], prose_tool=toolbox.prose_tool, actions=every_action),
                translate=translation.translate,
                begin=lambda: PageBrowser(site, settings),
                turns=TURNS,
                configure=configure,
                settings=given,
            )
        if settings.renderer == "chromium":
            check_pictures()
        dialect = DIALECTS[settings.drawn_in]
        for tool in dialect.tools:
            if tool.name in toolbox:
                raise DefinitionError(f"tool {tool.name}: the dialect {dialect.name} has a tool of this name")

        def translate(calls: Sequence[ToolCall], state: StateView) -> tuple[ToolCall, ...]:
            return write_calls(dialect, settings, translation.translate(calls, state), state, site)

        return Surface(
            toolbox=Toolbox(
                [*dialect.tools, *kept], prose_tool=toolbox.prose_tool, actions=Toolbox([*every_action, *kept])
            ),
            translate=translate,
            begin=lambda: DialectBrowser(site, dialect, settings, frozenset(tool.name for tool in kept)),
            turns=TURNS * (3 if dialect.needs_screen else 1),
            configure=configure,
            settings=given,
        )

    def configure(given: Mapping[str, Any]) -> Surface:
        return under(PageSettings.of(given))

    return under(PageSettings())
