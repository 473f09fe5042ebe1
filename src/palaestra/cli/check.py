"""`palaestra check`: hold an environment to its contract."""

from typing import Annotated

import typer

from palaestra.cli.target import WorldsOption, make
from palaestra.envs import check_env
from palaestra.envs.target import find_world
from palaestra.packs import BUNDLED


def check(
    env_ids: Annotated[
        list[str] | None, typer.Argument(help="Environment ids or worlds. Default: the bundled worlds.")
    ] = None,
    world: WorldsOption = None,
) -> None:
    """Check environments: determinism across processes, snapshots, isolation, purity, rewards, clean-up.

    Example: `palaestra check palaestra/Storefront-v0`
    """
    for name in [*(env_ids or ()), *(world or ())] or list(BUNDLED):
        env_id = find_world(name)
        check_env(make(env_id))
        typer.echo(f"{env_id}: holds its contract")
