"""The rows that a reading tool shows, as a query, from which other tool surfaces derive equivalent calls.

The tool declares this itself, since a schema does not state which rows an answer holds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from palaestra.records import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """The rows of one table that meet conditions, and the rows reached from the single row found.

    An omitted argument has its default. An argument that is `None` sets no condition.
    """

    table: str
    by: Mapping[str, str] = field(default_factory=dict[str, str])
    """The condition of each argument, a column or a column and an operator ("price_cents <=")."""
    flags: Mapping[str, tuple[str, Json]] = field(default_factory=dict[str, tuple[str, Json]])
    """The condition that applies if a boolean argument is true, such as `("stock >", 0)`."""
    search: str | None = None
    """The argument with words that the rows' text must contain."""
    cursor: str | None = None
    """The argument with the id after which a long list continues; `None`: the answer holds every row."""
    follow: tuple[str, ...] = ()
    """Paths from the row to other rows shown with it, their steps separated by "/".

    A step is a column that names a row ("customer_id"), or a table and its column that names the current row
    ("order_lines.order_id"). Only a tool that finds one row by its `id` follows paths.
    """
