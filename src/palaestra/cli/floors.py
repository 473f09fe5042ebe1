"""`palaestra bench suites`: the checks of benchmark adapters, and the baselines beside every score."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from palaestra.cli.console import output
from palaestra.cli.progress import bar
from palaestra.cli.switches import parse_named_values
from palaestra.durable import write_file
from palaestra.errors import ConfigError

if TYPE_CHECKING:
    from palaestra.benchmarks.external.floors import Floors


def suites(
    names: Annotated[list[str] | None, typer.Argument(help="Benchmark names. Default: all installed ones.")] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Maximum tasks per category, spread evenly. Default: all.")
    ] = None,
    split: Annotated[str | None, typer.Option("--split", help="Split of the benchmark. Default: its first.")] = None,
    category: Annotated[
        list[str] | None, typer.Option("--category", help="Category of the benchmark. May be given several times.")
    ] = None,
    agent: Annotated[
        list[str] | None, typer.Option("--agent", help="Agent: gold, no-op, finish or random. Default: all four.")
    ] = None,
    option: Annotated[list[str] | None, typer.Option("--option", help="Option of the benchmark as NAME=VALUE.")] = None,
    categories: Annotated[bool, typer.Option("--categories", help="Also print a row per category.")] = False,  # noqa: FBT002
    threads: Annotated[int, typer.Option("--threads", min=1, help="Episodes in parallel.")] = 2,
    json: Annotated[Path | None, typer.Option("--json", help="Write all figures to this JSON file.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the table to this Markdown file.")] = None,
) -> None:
    """Check external benchmarks: scores of their reference solutions and of baselines.

    Examples: `palaestra bench suites --limit 10`, `palaestra bench suites bfcl --categories --json bfcl.json`
    """
    from palaestra.benchmarks.external import BENCHMARKS, find_installed  # noqa: PLC0415  it needs the extra `suites`
    from palaestra.benchmarks.external.floors import AGENTS, floors_of, floors_table, together  # noqa: PLC0415

    found = [BENCHMARKS.get(name) for name in names or BENCHMARKS]
    if not names:
        found = [each for each in found if find_installed(each.name, each.installation) is not None]
    if not found:
        raise ConfigError("no benchmark is installed; `palaestra suites list` says which there are and how")
    floors: list[Floors] = []
    for benchmark in found:
        with bar(benchmark.name, None) as shown:
            own = floors_of(
                benchmark,
                split=split,
                categories=category or (),
                limit=limit,
                agents=agent or AGENTS,
                threads=threads,
                progress=shown.step,
                options=parse_named_values("--option", option),
            )
        floors += [*(own if categories else ()), together(own)]
    table = floors_table(floors, {each.name: each.licence for each in found}, title="Benchmarks from outside")
    output().print(table.for_terminal())
    if json is not None:
        write_file(json, orjson.dumps(floors, option=orjson.OPT_INDENT_2))
    if markdown is not None:
        write_file(markdown, f"{table.markdown()}\n\n{table.note}\n".encode())
