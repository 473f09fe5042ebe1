"""`palaestra diagnose`: find out why a training run does not learn."""

from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.padding import Padding
from rich.text import Text

from palaestra.cli.console import output
from palaestra.durable import write_file


def diagnose(
    run: Annotated[Path, typer.Argument(help="Folder of a training run, or of one of its stages.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Page to write. Default: diagnosis.html in the run's folder.")
    ] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Write all figures to this JSON file.")] = None,
) -> None:
    """Say why a training run does not learn and what to change, from its records.

    Findings come first, the most important at the top; tables and a page with plots support them. The run may still be
    going, or have been killed.

    Example: `palaestra diagnose runs/storefront`
    """
    from palaestra.benchmarks import diagnosis as found  # noqa: PLC0415  torch and matplotlib take seconds to import

    result = found.diagnose(run)
    findings = found.find_causes(result)
    console = output()
    for sentence in found.headline(result):
        console.print(sentence, markup=False, highlight=False)
    for number, finding in enumerate(findings[: found.MOST], 1):
        where = f"{finding.stage}: " if finding.stage else ""
        console.print(Text(f"\n{number}. {where}{finding.sentence}", style="bold"))
        console.print(Padding(Text(finding.remedy), (0, 0, 0, 3)))
    console.print()
    for table in found.diagnosis_tables(result):
        console.print(table.for_terminal())
    page = run / "diagnosis.html" if out is None else out
    write_file(page, found.diagnosis_page(result, findings).encode())
    if json is not None:
        write_file(json, orjson.dumps(found.diagnosis_document(result, findings), option=orjson.OPT_INDENT_2))
    more = f", {len(findings) - found.MOST} further findings" if len(findings) > found.MOST else ""
    console.print(f"page with plots and episodes{more}: {page}", markup=False, highlight=False, soft_wrap=True)
