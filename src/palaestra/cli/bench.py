"""`palaestra bench`: what things cost, as ratios in one run."""

from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.console import Console

from palaestra.durable import write_file

app = typer.Typer(help="Measure what things cost.", no_args_is_help=True, rich_markup_mode="markdown")


@app.callback()
def bench() -> None:
    """Measure what things cost."""
