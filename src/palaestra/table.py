"""A table of text, which a terminal, a page and a document each render in their own way."""

from collections.abc import Iterable
from dataclasses import dataclass

import rich.table
from rich import box
from rich.console import Group
from rich.markup import escape
from rich.text import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of text under a title."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    """A sentence or two below the table: what the columns mean."""

    def is_figures(self, column: int) -> bool:
        """Whether a column, counted from 0, has only figures, which are aligned right."""
        cells = [row[column] for row in self.rows if row[column] not in ("", "-")]
        return bool(cells) and all(
            cell.lstrip("+-").rstrip(" %").replace(".", "").replace(",", "").isdigit() for cell in cells
        )

    def for_terminal(self) -> Group:
        """The table and its note as rich prints them; columns of figures are aligned right.

        If the terminal is too narrow, the widest columns shrink first. Their cells wrap and are never cut.
        """
        table = rich.table.Table(title=self.title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
        for number, column in enumerate(self.columns):
            heading = column.replace("-", " ")  # it may wrap between words
            table.add_column(heading, justify="right" if self.is_figures(number) else "left", overflow="fold")
        for row in self.rows:
            table.add_row(*map(escape, row))
        return Group(table, Text(f"  {self.note}\n" if self.note else "", style="dim"))

    def markdown(self) -> str:
        """The table as GitHub's Markdown."""
        rule = ["---:" if self.is_figures(n) else "---" for n in range(len(self.columns))]
        lines = [self.columns, rule, *self.rows]
        return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def tables_markdown(tables: Iterable[Table]) -> str:
    """Tables with their titles and notes, as GitHub's Markdown."""
    return "\n\n".join(f"### {one.title}\n\n{one.markdown()}\n\n{one.note}".rstrip() for one in tables) + "\n"
