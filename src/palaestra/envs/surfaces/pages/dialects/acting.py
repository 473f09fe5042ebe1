"""What every tool of a dialect does: it hands its call to the episode's browser."""

from palaestra.envs.surfaces.pages.dialects.browser import DialectBrowser
from palaestra.tools import ToolContext


def act(context: ToolContext, tool: str) -> object:
    """Do what the call of that tool means, which the browser has read already, and show the page."""
    browser = context.surface
    assert isinstance(browser, DialectBrowser), "tools of a dialect stand on its own surface"
    return browser.perform(context, tool)
