"""`palaestra bench suites`: what proves an adapter, and what stands beside every score."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from palaestra.cli.console import output
from palaestra.cli.progress import bar
from palaestra.cli.switches import named
from palaestra.durable import write_file
from palaestra.errors import ConfigError

if TYPE_CHECKING:
    from palaestra.benchmarks.external.floors import Floors


def suites(
    names: Annotated[list[str] | None, typer.Argument(help="Benchmarks; all that are installed, if left out.")] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Tasks of each category, spread evenly; all if not said.")
    ] = None,
    split: Annotated[str | None, typer.Option("--split", help="Of the benchmark's own; its first if not said.")] = None,
    category: Annotated[
        list[str] | None, typer.Option("--category", help="Of the benchmark's own; may be given several times.")
    ] = None,
    agent: Annotated[
        list[str] | None, typer.Option("--agent", help="gold, no-op, finish or random; all four if not said.")
    ] = None,
    option: Annotated[list[str] | None, typer.Option("--option", help="A benchmark's own, as NAME=VALUE.")] = None,
    categories: Annotated[bool, typer.Option("--categories", help="A row for each category too.")] = False,  # noqa: FBT002
    threads: Annotated[int, typer.Option("--threads", min=1, help="Episodes at once.")] = 2,
    json: Annotated[Path | None, typer.Option("--json", help="Write every figure to this file.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the table to this file.")] = None,
) -> None:
    """Prove benchmarks from outside: what their own solutions get, and what agents that know nothing get.

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
                options=named("--option", option),
            )
        floors += [*(own if categories else ()), together(own)]
    table = floors_table(floors, {each.name: each.licence for each in found}, title="Benchmarks from outside")
    output().print(table.for_terminal())
    if json is not None:
        write_file(json, orjson.dumps(floors, option=orjson.OPT_INDENT_2))
    if markdown is not None:
        write_file(markdown, f"{table.markdown()}\n\n{table.note}\n".encode())
