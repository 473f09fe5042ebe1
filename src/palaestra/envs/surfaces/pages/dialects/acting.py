"""Tools of a dialect: a name, arguments and a description, whose call the episode's browser performs."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from palaestra.envs.surfaces.pages.dialects.browser import DialectBrowser
from palaestra.tools import Tool, ToolContext, tool

Arguments = ParamSpec("Arguments")


def page_tool(declare: Callable[Concatenate[ToolContext, Arguments], None]) -> Tool:
    """Make a tool of a function without a body: its signature and docstring are what the agent reads.

    The dialect's `read` says what a call means, and the browser performs that and shows the page.
    """

    @wraps(declare)
    def perform(context: ToolContext, *_args: Arguments.args, **_kwargs: Arguments.kwargs) -> str:
        browser = context.surface
        assert isinstance(browser, DialectBrowser), "tools of a dialect stand on its own surface"
        return browser.perform(context, declare.__name__)

    return tool(latency=1)(perform)
