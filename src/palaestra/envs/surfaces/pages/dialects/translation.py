"""Actions of the plain browser, written in a dialect before an episode begins."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from palaestra.envs.surfaces.pages.browser import PageBrowser
from palaestra.envs.surfaces.pages.dialects.dialect import Dialect
from palaestra.envs.surfaces.pages.dialects.drawing import screen_of
from palaestra.envs.surfaces.pages.dialects.session import DialectSession
from palaestra.envs.surfaces.pages.settings import PageSettings
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
    return tuple(_write_pointing(dialect, settings, calls, state, site))


def _write_pointing(
    dialect: Dialect, settings: PageSettings, calls: Sequence[ToolCall], state: StateView, site: Site
) -> Iterator[ToolCall]:
    browser = PageBrowser(site, settings)
    for call in calls:
        given = call.arguments
        if "element" not in given:
            yield from dialect.write(call, None)
            if call.tool == "goto":
                browser.session = browser.visit(state, str(given["url"]))
            continue
        name = str(given["element"])
        yield from _scroll_to_element(dialect, browser, call, state)
        if call.tool in ("fill", "select_option", "clear"):
            browser.session = browser.enter(state, name, str(given.get("text", given.get("option", ""))))
        elif call.tool == "check":
            browser.session = browser.enter(state, name, "true" if given.get("checked", True) else "false")
        else:
            browser.session = browser.follow(state, name)


def _scroll_to_element(dialect: Dialect, browser: PageBrowser, call: ToolCall, state: StateView) -> Iterator[ToolCall]:
    """The call, and before it the scrolling that brings its element into sight."""
    for _ in range(_MOST_SCROLLS):
        here = browser.session
        session = DialectSession(
            tabs=here.tabs, active=here.active, settings=here.settings, disturbance=here.disturbance
        )
        try:
            written = dialect.write(call, screen_of(browser.page(state), session)[0])
        except ToolRefusal as refusal:
            if refusal.code != "out_of_sight":
                raise TaskError(f"{call.tool} {dict(call.arguments)!r:.200}: {refusal.message}") from refusal
            tab = here.tab
            browser.session = here.with_tab(replace(tab, scroll=tab.scroll + SCROLL))
            yield from dialect.write(ToolCall(tool="scroll", arguments={"direction": "down"}), None)
            continue
        yield from written
        return
    raise TaskError(
        f"{call.tool} {dict(call.arguments)!r:.200}: the page at {browser.session.tab.url} does not show this element"
    )
