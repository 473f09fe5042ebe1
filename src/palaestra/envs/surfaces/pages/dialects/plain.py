"""The plain dialect: the text and the tools of today, with the switches that every dialect has."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from palaestra.envs.surfaces.pages.dialects.acting import page_tool
from palaestra.envs.surfaces.pages.dialects.dialect import Dialect, DialectLine, Screen
from palaestra.envs.surfaces.pages.text import element_lines
from palaestra.envs.surfaces.pages.tools import UI_TOOLS
from palaestra.records import ToolCall
from palaestra.tools import ToolContext


@page_tool
def find(context: ToolContext, text: Annotated[str, Field(min_length=1, max_length=200)]) -> None:
    """Scroll to the first line of the page that holds a text; again, to the next one.

    Args:
        text: What is looked for; small and capital letters are the same.
    """


class PlainDialect(Dialect):
    """`[id] role "name"`, a row of a table in one line."""

    name = "plain"
    tools = (*UI_TOOLS, find)

    def draw(self, screen: Screen) -> Iterator[DialectLine]:
        """See `Dialect`."""
        yield DialectLine(text=f'page {screen.page.url} "{screen.page.title}"')
        terse = screen.page.look.density == "terse"
        for element in screen.elements:
            for line in element_lines(element, terse=terse):
                yield DialectLine(text=line.text, shows=line.shows)

    def read(self, call: ToolCall, screen: Screen) -> tuple[ToolCall, ...]:
        """See `Dialect`."""
        del screen
        return (call,)

    def write(self, call: ToolCall, screen: Screen | None) -> tuple[ToolCall, ...]:
        """See `Dialect`."""
        del screen
        return (call,)
