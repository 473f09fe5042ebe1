"""`palaestra bench`: what things cost, as ratios in one run."""

import typer

app = typer.Typer(help="Measure what things cost.", no_args_is_help=True, rich_markup_mode="markdown")


@app.callback()
def bench() -> None:
    """Measure what things cost."""
