"""Pages made by hand: addresses of a site that somebody drew in place of the generated pages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from palaestra.envs.state import Schema
from palaestra.envs.surfaces.pages.addresses import Address
from palaestra.envs.surfaces.pages.session import ThreadMessage
from palaestra.envs.surfaces.pages.tree import PageElement
from palaestra.errors import ToolRefusal
from palaestra.protocols import StateView
from palaestra.records import Row, ToolCall

ANY_STEP = "*"
"""In a pattern: any one step of an address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """What a page is drawn from."""

    state: StateView
    schema: Schema
    address: Address
    parts: tuple[str, ...]
    """The steps of the address for which the pattern has `ANY_STEP`."""
    actions: Sequence[PageElement]
    """Links to the forms of the site: on a row's page to those that take its id, elsewhere to all."""
    per_page: int
    """Rows of a list that stand on one page."""
    thread: Sequence[ThreadMessage] = ()
    """The talk with the user, from the request on."""


def find_row(request: PageRequest, table: str) -> Row:
    """The row whose id the address has where the pattern has `ANY_STEP`.

    Raises:
        ToolRefusal: there is none.
    """
    (key,) = request.parts
    row: Row | None = request.state.peek(request.schema[table].kind, key)
    if row is None:
        raise ToolRefusal("not_found", f"{table} has no row {key!r:.60}")
    return row


DrawPage: TypeAlias = Callable[[PageRequest], tuple[str, Sequence[PageElement]]]
"""Gives title and elements of a page. It is a pure function, and raises `ToolRefusal` where there is no such page.

What was entered in a field takes the place of the value that the function gives it.
"""


LookUp: TypeAlias = Callable[[Address], ToolCall | None]
"""The look-up that opening an address makes, a call of the generic tool `query`; `None` where it makes none."""


def _look_nothing_up(_: Address) -> None:
    """Most pages show rows, and ask for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A page made by hand.

    It shows at least what the generated page of its address shows, so that solutions are translated alike.
    """

    pattern: tuple[str, ...]
    """The steps of its address, such as ("orders", ANY_STEP); none for the first page."""
    draw: DrawPage
    look_up: LookUp = _look_nothing_up

    def match(self, path: Sequence[str]) -> tuple[str, ...] | None:
        """The steps that stand for `ANY_STEP`; `None` where the address is another."""
        if len(path) != len(self.pattern):
            return None
        pairs = tuple(zip(self.pattern, path, strict=True))
        if any(wanted not in (ANY_STEP, step) for wanted, step in pairs):
            return None
        return tuple(step for wanted, step in pairs if wanted == ANY_STEP)
