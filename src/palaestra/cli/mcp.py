"""`palaestra mcp`: serve one task to one local MCP client."""

from pathlib import Path
from typing import Annotated

import anyio
import orjson
import typer

from palaestra.cli.switches import (
    HandbookOption,
    NoiseOption,
    SurfaceOption,
    SurfaceSettingOption,
    TemperOption,
    WordingOption,
    switches,
)
from palaestra.cli.target import WorldOption
from palaestra.durable import write_file
from palaestra.envs.target import find_world
from palaestra.packs import DEFAULT, PACKS

EPILOG = """Examples:

`palaestra mcp --task storefront/cancel-order/0000`

`palaestra mcp --world itdesk --seed 7 --result result.json`
"""


def mcp(
    task: Annotated[
        str | None, typer.Option("--task", help="Task id. Default: one that the seed draws from the split.")
    ] = None,
    world: WorldOption = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed.")] = 0,
    split: Annotated[
        str | None, typer.Option("--split", help="Split that the seed draws from. Default: the world's first.")
    ] = None,
    surface: SurfaceOption = None,
    surface_setting: SurfaceSettingOption = None,
    handbook: HandbookOption = 0,
    noise: NoiseOption = None,
    wording: WordingOption = None,
    temper: TemperOption = None,
    result: Annotated[
        Path | None, typer.Option("--result", help="Write end, score and digest to this file as JSON, once it is over.")
    ] = None,
) -> None:
    """Serve one task as an MCP server over standard input and output, as local clients start it.

    The session's tools are the server's tools, and its briefing is a resource. The client sees no score.
    Needs the extra `serve`; see docs/serving.md.
    """
    from palaestra.serving.core import ServedWorld  # noqa: PLC0415  the extra `serve`
    from palaestra.serving.mcp import LocalSession  # noqa: PLC0415

    env_id = find_world(world or (DEFAULT if task is None else task.partition("/")[0]))
    chosen = {**switches(surface, handbook, noise, wording, temper, surface_setting)}
    if split is not None:
        chosen["split"] = split
    session = LocalSession(
        ServedWorld(name=PACKS.find(env_id).id, env_id=env_id, switches=chosen), seed=seed, task=task
    )
    try:
        anyio.run(session.serve)
    finally:
        if result is not None:
            write_file(result, orjson.dumps(session.result(), option=orjson.OPT_APPEND_NEWLINE))
