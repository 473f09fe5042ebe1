"""Options, messages and tables that the commands with cells of an experiment share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from palaestra.cli.console import output
from palaestra.durable import write_file
from palaestra.table import Table, tables_markdown

MinutesOption = Annotated[
    float | None, typer.Option("--minutes", min=0, help="Start no cell after this time. Default: run all cells.")
]
JobsOption = Annotated[
    int | None, typer.Option("--jobs", min=1, help="Cells at once, on one thread each. Default: one per core.")
]
CellsOption = Annotated[Path, typer.Option("--cells", help="Folder of finished cells, one small JSON file each.")]
WorkOption = Annotated[Path, typer.Option("--work", help="Folder of runs. A killed cell resumes from it.")]
MarkdownOption = Annotated[Path | None, typer.Option("--markdown", help="Write the tables to this Markdown file.")]


def say(text: str) -> None:
    """Print a message beside the progress bar."""
    output().print(text, style="dim", highlight=False)


def show_tables(tables: Sequence[Table], markdown: Path | None) -> None:
    """Print the tables of finished cells, and write them to a file if one is given."""
    for table in tables:
        output().print(table.for_terminal())
    if not tables:
        output().print("no cell is finished yet; the same command goes on")
    elif markdown is not None:
        write_file(markdown, tables_markdown(tables).encode())
