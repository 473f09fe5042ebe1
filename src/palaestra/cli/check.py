"""`palaestra check`: hold an environment to its contract."""

from typing import Annotated

import typer

from palaestra import ENVIRONMENTS
from palaestra.cli.target import make
from palaestra.envs import check_env


def check(
    env_ids: Annotated[
        list[str] | None, typer.Argument(help="Environment ids; all registered ones if left out.")
    ] = None,
) -> None:
    """Check environments: determinism across processes, snapshots, isolation, purity, rewards, clean-up.

    Example: `palaestra check palaestra/Storefront-v0`
    """
    for env_id in env_ids or list(ENVIRONMENTS):
        check_env(make(env_id))
        typer.echo(f"{env_id}: holds its contract")
