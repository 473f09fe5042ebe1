"""`palaestra dashboard`: the record of results as pages."""

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Annotated

import typer

from palaestra.benchmarks.record import RecordDatabase, follow
from palaestra.cli.record import DEFAULT_DB, DbOption, open_record

EPILOG = """Examples:

`palaestra dashboard runs`: import what is in the folder `runs`, follow it, and show it, for this machine alone.

`palaestra dashboard --db postgresql://me@host/palaestra --host 0.0.0.0 --keys keys.json`: for a team; `palaestra keys
add keys.json anna --scope read` makes a key.
"""


def dashboard(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PATH...]", help="Folders and files to import and follow. Default: none."),
    ] = None,
    db: DbOption = DEFAULT_DB,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on. Other than loopback, it needs --keys.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65_535, help="Port. 0: a free one.")] = 8766,
    keys: Annotated[
        Path | None, typer.Option("--keys", help="File of keys, from `palaestra keys add`. Default: no key is needed.")
    ] = None,
) -> None:
    """Show the record of results in a browser, live. Needs the extra `serve`; see docs/record.md.

    The first line of standard output is the address.
    """
    from palaestra.benchmarks.dashboard import Dashboard, make_dashboard_app  # noqa: PLC0415  the extra `serve`
    from palaestra.serving.http import run_app  # noqa: PLC0415

    with open_record(db, is_new=bool(paths)) as database:
        app = make_dashboard_app(Dashboard(database, key_file=keys))
        with _following(database, paths or []):
            run_app(app, host=host, port=port, announce=typer.echo, has_keys=keys is not None, connections=256)


@contextmanager
def _following(database: RecordDatabase, paths: list[Path]) -> Generator[None]:
    """Import the runs at these paths, and everything added to them while the block runs."""
    stop = Event()
    say = partial(typer.echo, err=True)
    thread = Thread(target=follow, args=(database, paths), kwargs={"stop": stop, "say": say}, name="palaestra-follow")
    if paths:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        if paths:
            thread.join()
