"""`palaestra serve`: worlds for trainers and agents in other processes and on other machines."""

from pathlib import Path
from typing import Annotated

import typer

from palaestra.cli.target import WorldsOption
from palaestra.envs.target import find_world
from palaestra.packs import DEFAULT, PACKS

EPILOG = """Examples:

`palaestra serve`: the default world, for this machine alone.

`palaestra serve --world itdesk --world ./my_world --port 9000 --show-reward`

`palaestra serve --workers 4`: sessions play on four cores.

`palaestra serve --workers 64 --ray auto`: sessions play on 64 cores of a Ray cluster.

`palaestra serve --host 0.0.0.0 --keys keys.json`: for other machines; `palaestra keys add` makes keys.
"""


def serve(
    world: WorldsOption = None,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on. Other than loopback, it needs --keys.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="Port. 0: a free one.")] = 8765,
    keys: Annotated[
        Path | None, typer.Option("--keys", help="File of keys, from `palaestra keys add`. Default: no key is needed.")
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", help="Split that sessions draw tasks from. Default: each world's first.")
    ] = None,
    show_reward: Annotated[  # noqa: FBT002
        bool, typer.Option("--show-reward", help="Show rewards to players in sessions that no author has made.")
    ] = False,
    sessions: Annotated[int, typer.Option("--sessions", min=1, help="Maximum number of concurrent sessions.")] = 20_000,
    owner_sessions: Annotated[
        int | None,
        typer.Option(
            "--owner-sessions",
            min=1,
            help="Maximum sessions of one owner of keys. Default: half of --sessions; without --keys, all.",
        ),
    ] = None,
    lease: Annotated[
        float, typer.Option("--lease", min=1, max=7_200, help="Seconds without a call after which a session is closed.")
    ] = 600.0,
    workers: Annotated[
        int,
        typer.Option(
            "--workers", min=0, max=256, help="Workers that play sessions. 0: a thread of the server's own process."
        ),
    ] = 0,
    ray: Annotated[
        str | None,
        typer.Option(
            "--ray",
            metavar="ADDRESS",
            help="Make each worker a Ray actor with one core. HOST:PORT of the cluster, `auto` for the one of this "
            "machine, `local` for a new one that ends with the server. Default: processes of this machine.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Write no log of requests.")] = False,  # noqa: FBT002
) -> None:
    """Serve worlds over HTTP until a signal stops the server. Needs the extra `serve`; see docs/serving.md.

    The first line of standard output is the address. The log goes to standard error, one JSON object a line.
    """
    from palaestra.serving.core import ServedWorld, SessionLimits  # noqa: PLC0415  the extra `serve`
    from palaestra.serving.http import make_server  # noqa: PLC0415
    from palaestra.serving.http import serve as serve_worlds  # noqa: PLC0415

    switches = {} if split is None else {"split": split}
    env_ids = dict.fromkeys(map(find_world, world or [DEFAULT]))
    served = [
        ServedWorld(name=PACKS.find(env_id).id, env_id=env_id, switches=switches, shows_reward=show_reward)
        for env_id in env_ids
    ]
    share = sessions if keys is None else max(1, sessions // 2)
    limits = SessionLimits(sessions=sessions, owner_sessions=owner_sessions or share, lease=lease)
    server = make_server(served, key_file=keys, sessions=limits, workers=workers, ray=ray)
    serve_worlds(server, host=host, port=port, announce=typer.echo, is_logged=not quiet)
