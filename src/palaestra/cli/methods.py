"""`palaestra bench methods`: which way of giving credit teaches a world best."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from palaestra.cli.console import output
from palaestra.cli.progress import bar
from palaestra.durable import write_file
from palaestra.errors import ConfigError


def methods(
    config: Annotated[Path, typer.Argument(help="TOML file of settings; its [world] is the training world.")] = Path(
        "examples/train/storefront.toml"
    ),
    out: Annotated[Path, typer.Option("--out", help="Output folder for runs and evaluations.")] = Path("runs/methods"),
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Training runs per method, with seeds 0, 1, ...")] = 3,
    tokens: Annotated[int, typer.Option("--tokens", min=1, help="Sampled tokens that each run trains on.")] = 160_000,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the tables to this Markdown file.")] = None,
) -> None:
    """Train with GRPO, GiGPO, HiPER and SeeUPO from one warm start in the planner's format, and measure them.

    All have the same world, groups, learning rate and number of tokens. Takes about forty minutes on two cores.
    Interrupt it anywhere and start it again: it goes on from its last save.

    Example: `palaestra bench methods --seeds 3 --markdown methods.md`
    """
    from palaestra.benchmarks.methods import (  # noqa: PLC0415  torch takes seconds to import
        MethodsConfig,
        compare_methods,
        material_of,
        methods_markdown,
        methods_tables,
    )
    from palaestra.trainers import load_config  # noqa: PLC0415

    console = output()
    world, *others = load_config(config).world
    if others:
        raise ConfigError(f"{config}: it has {1 + len(others)} worlds, and methods are compared in one; name one")
    usual = MethodsConfig(world=world)
    settings = replace(usual, grpo=replace(usual.grpo, tokens=tokens))
    material = material_of(settings, bar=bar)
    before, found = compare_methods(
        material,
        settings,
        seeds=seeds,
        directory=out,
        bar=bar,
        say=lambda text: console.print(text, style="dim", highlight=False),
    )
    for table in methods_tables(before, found, material.heldout):
        console.print(table.for_terminal())
    if markdown is not None:
        write_file(markdown, methods_markdown(before, found, material.heldout).encode())
