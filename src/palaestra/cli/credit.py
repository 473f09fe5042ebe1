"""`palaestra bench credit`: compare methods' credit for turns with near-exact advantages."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import orjson
import typer

from palaestra.cli.console import output
from palaestra.cli.progress import bar
from palaestra.cli.target import WorldOption, make
from palaestra.durable import write_file
from palaestra.envs.target import find_world
from palaestra.errors import CheckpointError, ConfigError


def credit(
    checkpoints: Annotated[
        list[Path], typer.Argument(help="Folders of checkpoints or runs; of a run its last stage is taken.")
    ],
    world: WorldOption = None,
    family: Annotated[
        list[str] | None,
        typer.Option("--family", help="A family; may be given several times. Default: those of the demo."),
    ] = None,
    tasks: Annotated[int, typer.Option("--tasks", min=1, help="Training tasks, one reference episode each.")] = 21,
    continuations: Annotated[
        int, typer.Option("--continuations", min=2, help="Continuations from each state, for its near-exact value.")
    ] = 16,
    groups: Annotated[int, typer.Option("--groups", min=2, help="Groups of each turn that methods estimate from.")] = 6,
    group_size: Annotated[int, typer.Option("--group-size", min=2, help="Members of a group.")] = 8,
    critic_tasks: Annotated[
        int,
        typer.Option(
            "--critic-tasks", min=1, help="Number of other tasks that critics learn from; each gives one group."
        ),
    ] = 32,
    critic_passes: Annotated[
        int, typer.Option("--critic-passes", min=1, help="Passes of critics over their episodes.")
    ] = 3,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Random seed.")] = 0,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads for arithmetic.")] = 1,
    context: Annotated[int, typer.Option("--context", min=1, help="Maximum tokens per episode.")] = 1024,
    turn: Annotated[int, typer.Option("--turn", min=1, help="Maximum tokens per turn.")] = 72,
    out: Annotated[Path, typer.Option("--out", help="Output folder. A killed measurement resumes from it.")] = Path(
        "runs/credit"
    ),
    json: Annotated[Path | None, typer.Option("--json", help="Write all figures to this JSON file.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the tables to this Markdown file.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Plot the figures to this PNG or SVG file.")] = None,
) -> None:
    """Score GRPO, GiGPO, HiPER, SeeUPO, Blockwise, MT-GRPO and AgentPRM by bias, variance and signs of their credit.

    At every turn of a reference episode, the world and the transcript are forked, and the policy plays many
    continuations. They give near-exact advantages of the turns, with which each method's estimates are compared.
    `--out` keeps finished tasks: the same command resumes a killed measurement.

    Example: `palaestra bench credit runs/demo/seed-0/policy-gradient --plot credit.png`
    """
    if plot is not None and plot.suffix not in {".png", ".svg"}:
        raise ConfigError(f"--plot {plot}: a picture is a PNG or an SVG file; give a name that ends in .png or .svg")
    import torch  # noqa: PLC0415  seconds to import

    from palaestra.benchmarks.credit import (  # noqa: PLC0415  they load torch
        CreditConfig,
        CreditDesign,
        CriticBudget,
        credit_document,
        credit_markdown,
        credit_picture,
        credit_tables,
        measure_credit,
    )
    from palaestra.trainers import PlayConfig, WorldConfig, load_policy  # noqa: PLC0415

    torch.set_num_threads(threads)
    env_id = find_world(world)
    families = tuple(family) if family else make(env_id).world.demo
    config = CreditConfig(
        world=WorldConfig(env_id=env_id, families=families),
        tasks=tasks,
        design=CreditDesign(group_size=group_size, groups=groups, continuations=continuations),
        critic=replace(CriticBudget(), tasks=critic_tasks, passes=critic_passes),
        play=PlayConfig(context=context, turn=turn),
        seed=seed,
    )
    console = output()
    readings = [
        measure_credit(
            load_policy(folder),
            config,
            out / name,
            name=name,
            bar=bar,
            say=lambda text: console.print(text, style="dim", highlight=False),
        )
        for name, folder in named_checkpoints(checkpoints).items()
    ]
    for table in credit_tables(readings, config):
        console.print(table.for_terminal())
    document = orjson.dumps(credit_document(readings, config), option=orjson.OPT_INDENT_2)
    write_file(out / "credit.json", document)
    if json is not None:
        write_file(json, document)
    if markdown is not None:
        write_file(markdown, credit_markdown(readings, config).encode())
    if plot is not None:
        write_file(plot, credit_picture(readings, kind=plot.suffix[1:]))


def named_checkpoints(folders: list[Path]) -> dict[str, Path]:
    """The checkpoint of each folder, by the folder's name.

    Args:
        folders: Checkpoints or runs. The last saved stage of a run is taken.

    Raises:
        CheckpointError: a folder is neither.
        ConfigError: two folders have the same name.
    """
    found: dict[str, Path] = {}
    for folder in folders:
        name = folder.resolve().name
        if name in found:
            raise ConfigError(
                f"{found[name]} and {folder} have the same name; measure them one by one, with --out each"
            )
        found[name] = _checkpoint_of(folder)
    return found


def _checkpoint_of(folder: Path) -> Path:
    from palaestra.trainers.run_folder import read_run  # noqa: PLC0415

    if any(
        (folder / file).is_file() for file in ("model.safetensors", "model.safetensors.index.json", "palaestra.json")
    ):
        return folder
    if not (folder / "config.json").is_file():
        raise CheckpointError(
            f"{folder} is neither a checkpoint nor a run; give the folder of one, with its config.json"
        )
    stages = read_run(folder).stages
    if not stages:
        raise CheckpointError(f"{folder} is a run without a saved stage; train it further, or give a checkpoint")
    return stages[-1].directory / "checkpoint"
