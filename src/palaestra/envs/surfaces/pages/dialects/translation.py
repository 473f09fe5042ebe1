"""Actions of the plain browser, written in a dialect before an episode begins."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from palaestra.envs.surfaces.pages.dialects.dialect import Dialect
from palaestra.envs.surfaces.pages.dialects.drawing import screen_of
from palaestra.envs.surfaces.pages.dialects.session import DialectSession
from palaestra.envs.surfaces.pages.dialects.settings import PageSettings
from palaestra.envs.surfaces.pages.session import Tab
from palaestra.envs.surfaces.pages.site import Site
from palaestra.envs.surfaces.pages.text import SCROLL
from palaestra.errors import TaskError, ToolRefusal
from palaestra.protocols import StateView
from palaestra.records import ToolCall

_MOST_SCROLLS = 40


def write_calls(
    dialect: Dialect, settings: PageSettings, calls: Sequence[ToolCall], state: StateView, site: Site
) -> tuple[ToolCall, ...]:
    """The calls of a dialect that do what actions of the plain browser do.

    Elements go by the site's own ids, which every dialect takes. A dialect of coordinates needs the layout of the page
    on which an element stands: that of a form, which does not depend on the rows.

    Args:
        dialect: The dialect.
        settings: What an observation holds.
        calls: The plain actions: pages opened and scrolled, forms filled in and sent, and calls that talk or end.
        state: The rows that they begin at.
        site: The site.

    Raises:
        TaskError: an element cannot be pointed at.
    """
    if not dialect.needs_screen:
        return tuple(said for call in calls for said in dialect.write(call, None))
    return tuple(_pointed(dialect, settings, calls, state, site))


def _pointed(
    dialect: Dialect, settings: PageSettings, calls: Sequence[ToolCall], state: StateView, site: Site
) -> Iterator[ToolCall]:
    tab = Tab()
    for call in calls:
        given = call.arguments
        if call.tool == "goto":
            tab = tab.visit(str(given["url"]))
        if "element" not in given:
            yield from dialect.write(call, None)
            continue
        for _ in range(_MOST_SCROLLS):
            try:
                session = DialectSession(tabs=(tab,), settings=settings)
                written = dialect.write(call, screen_of(site.page(state, tab), session)[0])
            except ToolRefusal as refusal:
                if refusal.code != "out_of_sight":
                    raise TaskError(f"{call.tool} {dict(given)!r:.200}: {refusal.message}") from refusal
                tab = replace(tab, scroll=tab.scroll + SCROLL)
                yield from dialect.write(ToolCall(tool="scroll", arguments={"direction": "down"}), None)
                continue
            yield from written
            break
        else:
            raise TaskError(f"{call.tool} {dict(given)!r:.200}: the page at {tab.url} does not show this element")
        if call.tool in ("fill", "select_option", "clear"):
            tab = tab.enter(str(given["element"]), str(given.get("text", given.get("option", ""))))
        elif call.tool == "check":
            tab = tab.enter(str(given["element"]), "true" if given.get("checked", True) else "false")
