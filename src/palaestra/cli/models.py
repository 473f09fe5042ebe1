"""`palaestra models`: list pretrained models to start from, and install them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from palaestra.cli.console import output
from palaestra.errors import ConfigError
from palaestra.table import Table

if TYPE_CHECKING:
    from palaestra.trainers.pretrained import PretrainedModel

app = typer.Typer(help="List and install pretrained models.", no_args_is_help=True, rich_markup_mode="markdown")


@app.callback()
def models() -> None:
    """List and install pretrained models."""


@app.command(name="list", epilog="Example: `palaestra models list`")
def list_() -> None:
    """List pretrained models with size, context, licence, and their folder or how to install them."""
    from palaestra.trainers.pretrained import MODELS  # noqa: PLC0415
    from palaestra.trainers.pretrained.installation import models_home  # noqa: PLC0415

    rows = [
        (one.name, one.title, f"{one.parameters:,}", f"{one.context:,}", one.format, one.licence, _state(one))
        for one in map(MODELS.get, MODELS)
    ]
    table = Table(
        title="Pretrained models",
        columns=("name", "title", "parameters", "context", "format", "licence", "state"),
        rows=tuple(rows),
        note=f"Installed below {models_home()}; set PALAESTRA_MODELS for another folder.",
    )
    output().print(table.for_terminal())


def _state(model: "PretrainedModel") -> str:
    from palaestra.trainers.pretrained import find_installed_model  # noqa: PLC0415

    found = find_installed_model(model)
    return f"palaestra models install {model.name}" if found is None else f"installed: {found}"


@app.command(
    epilog="Examples: `palaestra models install smollm2`, `palaestra models install smollm2 --out models/smollm2`"
)
def install(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Model names, such as smollm2.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Output folder of one model. Default: a folder of its name in the user's cache."),
    ] = None,
) -> None:
    """Download models, verify them and write them as checkpoints. Installed ones stay as they are.

    `train` and `eval` find a model in its default folder by its name, and in any other by the folder.
    """
    from palaestra.trainers.pretrained import MODELS, install_model  # noqa: PLC0415

    console = output()
    if out is not None and len(names) > 1:
        raise ConfigError(f"--out {out}: a folder holds one model; install {names[0]} by itself")
    for model in [MODELS.get(name) for name in names]:
        folder = install_model(
            model, folder=out, say=lambda text: console.print(text, style="dim", highlight=False, markup=False)
        )
        console.print(f"{model.name}: installed, {folder}", highlight=False, soft_wrap=True)
        console.print(
            f"measure it: palaestra eval {model.name if out is None else folder} --context {model.context}",
            highlight=False,
            soft_wrap=True,
        )
