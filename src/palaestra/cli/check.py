"""`palaestra check`: check an environment's contract and its world's declarations."""

from typing import Annotated

import typer

from palaestra.cli.target import WorldsOption, make
from palaestra.envs import check_env, check_world, open_world
from palaestra.envs.target import find_world
from palaestra.packs import BUNDLED


def check(
    env_ids: Annotated[
        list[str] | None, typer.Argument(help="Environment ids or worlds. Default: the bundled worlds.")
    ] = None,
    world: WorldsOption = None,
) -> None:
    """Check environments and their worlds.

    Environments: determinism across processes, snapshots, isolation, purity, rewards, clean-up. Worlds: populations,
    invariants, the first task of every family, tools that no task needs, rules without effect.

    Example: `palaestra check --world ./my_world`
    """
    for name in [*(env_ids or ()), *(world or ())] or list(BUNDLED):
        env_id = find_world(name)
        check_env(make(env_id))
        typer.echo(f"{env_id}: holds its contract")
        report = check_world(open_world(env_id))
        report.raise_for_findings()
        typer.echo(f"world {report.world}: sound ({report.summary()})")
