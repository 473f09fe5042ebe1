"""`palaestra bench mismatch`: differences between the log-probabilities of engine and learner, by flow."""

from pathlib import Path
from typing import Annotated

import orjson
import typer

from palaestra.cli.console import output
from palaestra.cli.progress import bar
from palaestra.durable import write_file


def mismatch(
    flows: Annotated[
        list[str] | None,
        typer.Argument(metavar="flows...", help="Flows, named as in the table. Default: all.", show_default=False),
    ] = None,
    tokens: Annotated[int, typer.Option("--tokens", min=1, help="Tokens to sample for each flow.")] = 10_000,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Rounds to divide the tokens into.")] = 3,
    prompt: Annotated[int, typer.Option("--prompt", min=1, help="Tokens of each prompt.")] = 48,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads for arithmetic.")] = 1,
    json: Annotated[Path | None, typer.Option("--json", help="Write all figures to this JSON file.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the tables to this Markdown file.")] = None,
) -> None:
    """Compare log-probabilities of engine and learner, free and invariant, with equal and with lower rollout precision.

    Also measures the cost of the invariant mode, and the savings and costs of keys and values in FP8. The model has 1
    million parameters.

    Example: `palaestra bench mismatch --tokens 100000 --markdown mismatch.md`

    Example: `palaestra bench mismatch "fp32 unified, invariant" --tokens 1000000 --rounds 50`
    """
    import torch  # noqa: PLC0415  seconds to import

    from palaestra.benchmarks.mismatch import (  # noqa: PLC0415
        MismatchScale,
        find_flow_pairs,
        measure_mismatch,
        mismatch_markdown,
        mismatch_tables,
    )

    torch.set_num_threads(threads)
    scale = MismatchScale(tokens=tokens, rounds=rounds, prompt=prompt)
    pairs = find_flow_pairs(flows or ())
    with bar("measuring", rounds * len(pairs)) as progress:
        figures = measure_mismatch(pairs, scale, progress=progress.step)
    for table in mismatch_tables(figures):
        output().print(table.for_terminal())
    if json is not None:
        write_file(json, orjson.dumps([one.as_json() for one in figures], option=orjson.OPT_INDENT_2))
    if markdown is not None:
        write_file(markdown, mismatch_markdown(figures).encode())
