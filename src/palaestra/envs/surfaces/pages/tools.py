"""What an agent does with a browser, as tools: each answers with the page that is then in front, as text."""

from typing import Annotated, Literal

from pydantic import Field

from palaestra.envs.surfaces.pages.browser import PageBrowser
from palaestra.envs.surfaces.pages.session import BrowserSession
from palaestra.envs.surfaces.pages.tree import Role
from palaestra.tools import ToolContext, tool

_LISTS: frozenset[Role] = frozenset({"combobox"})
_CHECKBOXES: frozenset[Role] = frozenset({"checkbox"})
ElementId = Annotated[str, Field(min_length=1, max_length=200)]


def _browser(context: ToolContext) -> PageBrowser:
    found = context.surface
    assert isinstance(found, PageBrowser), "the surface of pages has a browser"
    return found


def _show_page(context: ToolContext, session: BrowserSession) -> object:
    """The page after an action."""
    browser = _browser(context)
    before, browser.session = browser.session, session
    try:
        return browser.show(context)
    except Exception:
        browser.session = before
        raise


@tool(latency=1)
def click(context: ToolContext, element: ElementId) -> object:
    """Click a link or a button. The button of a form sends it.

    Args:
        element: The id of the element, such as "nav.orders".
    """
    return _show_page(context, _browser(context).activate(context, element))


@tool(latency=1)
def press(context: ToolContext, element: ElementId, key: Literal["Enter"] = "Enter") -> object:
    """Press a key in a field. Enter sends the form that the field stands in.

    Args:
        element: The id of the field.
        key: The key.
    """
    del key
    return _show_page(context, _browser(context).activate(context, element, by_key=True))


@tool(latency=1)
def fill(context: ToolContext, element: ElementId, text: str) -> object:
    """Replace what a field holds. A list is written with commas, or as JSON.

    Args:
        element: The id of the field.
        text: What it holds then.
    """
    return _show_page(context, _browser(context).enter(context.state, element, text))


@tool(latency=1)
def clear(context: ToolContext, element: ElementId) -> object:
    """Empty a field.

    Args:
        element: The id of the field.
    """
    return _show_page(context, _browser(context).enter(context.state, element, ""))


@tool(latency=1)
def select_option(context: ToolContext, element: ElementId, option: str) -> object:
    """Choose one of the options of a combobox.

    Args:
        element: The id of the combobox.
        option: The option, as the page lists it.
    """
    return _show_page(context, _browser(context).enter(context.state, element, option, roles=_LISTS))


@tool(latency=1)
def check(context: ToolContext, element: ElementId, *, checked: bool = True) -> object:
    """Check a checkbox, or uncheck it.

    Args:
        element: The id of the checkbox.
        checked: Whether it is checked then.
    """
    said = "true" if checked else "false"
    return _show_page(context, _browser(context).enter(context.state, element, said, roles=_CHECKBOXES))


@tool(latency=1)
def scroll(context: ToolContext, direction: Literal["down", "up"] = "down") -> object:
    """Scroll the page.

    Args:
        direction: Which way.
    """
    return _show_page(context, _browser(context).scroll(context, down=direction == "down"))


@tool(latency=1)
def goto(context: ToolContext, url: str) -> object:
    """Open an address of this site, such as "/orders" or "/orders/ORD-1042".

    Args:
        url: The address.
    """
    return _show_page(context, _browser(context).open(context, url, typed=True))


@tool(latency=1)
def back(context: ToolContext) -> object:
    """Go back to the page before this one."""
    return _show_page(context, _browser(context).step(context, -1))


@tool(latency=1)
def forward(context: ToolContext) -> object:
    """Go forward to the page from which you went back."""
    return _show_page(context, _browser(context).step(context, 1))


@tool(latency=1)
def tab_new(context: ToolContext) -> object:
    """Open a tab."""
    return _show_page(context, _browser(context).open_tab())


@tool(latency=1)
def tab_close(context: ToolContext) -> object:
    """Close the tab in front."""
    return _show_page(context, _browser(context).close_tab())


@tool(latency=1)
def tab_focus(context: ToolContext, number: int) -> object:
    """Bring a tab to the front.

    Args:
        number: Its number, from 1.
    """
    return _show_page(context, _browser(context).focus_tab(number))


@tool(latency=1)
def noop(context: ToolContext) -> object:
    """Do nothing, and look at the page again."""
    return _show_page(context, _browser(context).session)


UI_TOOLS = (
    click, press, fill, clear, select_option, check, scroll, goto, back, forward, tab_new, tab_close, tab_focus, noop,
)  # fmt: skip
"""What pages offer beside the tools that talk and end."""
