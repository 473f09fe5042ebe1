"""What a reading tool shows, as a query: the fact from which other tool surfaces work out a call that shows the same.

The declaration belongs to the tool, since a schema does not say which rows an answer holds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from palaestra.records import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """The rows of one table that fulfil conditions, and the rows that the one row found leads to.

    An argument that a call leaves out counts with its default. One that is `None` sets no condition.
    """

    table: str
    by: Mapping[str, str] = field(default_factory=dict[str, str])
    """By argument: the condition whose value it is, a column or a column and an operator ("price_cents <=")."""
    flags: Mapping[str, tuple[str, Json]] = field(default_factory=dict[str, tuple[str, Json]])
    """By argument that is true or false: the condition that holds where it is true, such as `("stock >", 0)`."""
    search: str | None = None
    """The argument that holds words which the rows' text must contain."""
    cursor: str | None = None
    """The argument that holds the id after which a long list goes on; `None`: the answer holds every row."""
    follow: tuple[str, ...] = ()
    """Paths from the row to other rows shown with it, their steps separated by "/".

    A step is a column that names a row ("customer_id"), or a table and its column that names the row at which the step
    begins ("order_lines.order_id"). Only a tool that finds one row by its `id` follows paths.
    """
