"""`palaestra compare`: two evaluations side by side."""

from pathlib import Path
from typing import Annotated

import typer

from palaestra.benchmarks.evaluation.compare import ComparedMeasure
from palaestra.benchmarks.evaluation.compare import compare as compared
from palaestra.benchmarks.evaluation.report import (
    comparison_markdown,
    comparison_page,
    comparison_sentences,
    comparison_table,
)
from palaestra.benchmarks.evaluation.results import Results, read_results
from palaestra.cli.console import output
from palaestra.durable import write_file


def compare(
    first: Annotated[Path, typer.Argument(metavar="RUN_A", help="Output folder of `palaestra eval`.")],
    second: Annotated[Path, typer.Argument(metavar="RUN_B", help="Output folder of another agent on the same suite.")],
    measure: Annotated[
        ComparedMeasure,
        typer.Option("--measure", help="Compared figure: percent of episodes solved, or points out of 100."),
    ] = "solved",
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,  # noqa: FBT002
    html: Annotated[Path | None, typer.Option("--html", help="Also write an HTML page to this file.")] = None,
) -> None:
    """Compare two agents on a suite, task by task, with a significance test.

    Example: `palaestra compare runs/eval/oracle runs/eval/random --html comparison.html`
    """
    sides = (read_results(first), read_results(second))
    comparison = compared(*sides, names=_names(sides, (first, second)), measure=measure)
    if markdown:
        typer.echo(comparison_markdown(comparison), nl=False)
    else:
        console = output()
        console.print(comparison_table(comparison).for_terminal())
        for sentence in comparison_sentences(comparison):
            console.print(sentence, markup=False, highlight=False)
    if html is not None:
        write_file(html, comparison_page(comparison, sides).encode())
        typer.echo(f"page: {html}", err=markdown)


def _names(sides: tuple[Results, Results], folders: tuple[Path, Path]) -> tuple[str, str]:
    """The agents' names, with their folders if both names are equal."""
    first, second = (results.agent for results in sides)
    if first != second:
        return first, second
    return f"{first} ({folders[0]})", f"{second} ({folders[1]})"
