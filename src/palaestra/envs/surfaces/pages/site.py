"""A site: addresses, and for each a pure function of rows, tab and talk with the user that gives a page."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from palaestra.envs.surfaces.pages.session import Tab, ThreadMessage
from palaestra.envs.surfaces.pages.tree import Page
from palaestra.protocols import StateView
from palaestra.record import record
from palaestra.records import ToolCall


@record
class FormPage:
    """A page of a form."""

    fields: tuple[str, ...]
    """The arguments that it takes."""
    button: str
    """The id of the button that leads on, or sends the form."""


class Site(Protocol):
    """What a browser opens."""

    def page(self, state: StateView, tab: Tab, thread: Sequence[ThreadMessage] = ()) -> Page:
        """The page at the tab's address, with what was entered on it.

        Args:
            state: The rows.
            tab: The tab.
            thread: The talk with the user.

        Raises:
            ToolRefusal: there is no such page; the message says what there is.
        """
        ...

    def look_up(self, url: str) -> ToolCall | None:
        """The look-up that opening this address makes, an action of the site's toolbox; `None` where it makes none."""
        ...

    def columns(self, table: str) -> AbstractSet[str]:
        """The columns of a table: who sees them all has seen a row whole."""
        ...

    @property
    def per_page(self) -> int:
        """Rows of a list that stand on one page."""
        ...

    @property
    def actions(self) -> Sequence[str]:
        """The actions that have a form."""
        ...

    def form_pages(self, action: str) -> tuple[FormPage, ...]:
        """The pages of an action's form, in the order in which they are filled in."""
        ...

    def address_ids(self, url: str) -> tuple[str, ...]:
        """The ids that whoever types this address names."""
        ...
