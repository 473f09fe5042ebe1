"""`palaestra keys`: the keys that a server of worlds accepts."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from palaestra.cli.console import output
from palaestra.errors import ConfigError
from palaestra.serving.access import (
    KeyRecord,
    KeyScope,
    find_key,
    make_key,
    read_keys,
    rotate_key,
    with_keys,
    write_keys,
)
from palaestra.table import Table

app = typer.Typer(help="Make, list, rotate and revoke the keys of a server.", no_args_is_help=True)
_DAY = 86_400.0
FileArgument: TypeAlias = Annotated[Path, typer.Argument(help="File of keys. It holds hashes, never keys.")]
IdArgument: TypeAlias = Annotated[str, typer.Argument(metavar="ID", help="Id of a key, from `palaestra keys list`.")]
Days: TypeAlias = Annotated[
    float | None, typer.Option("--days", min=0.001, help="Days until the key expires. Default: never.")
]


@app.command(epilog="Example: `palaestra keys add keys.json trainer --scope author --days 30`")
def add(
    file: FileArgument,
    owner: Annotated[str, typer.Argument(help="Owner of the sessions that the key makes.")],
    scope: Annotated[
        list[KeyScope],
        typer.Option(
            "--scope", help="Right that the key grants: play, author, read or admin. May be given several times."
        ),
    ],
    days: Days = None,
) -> None:
    """Make a key and print it once. A running server accepts it within a second.

    Scopes: play (play as a player), author (play with any switches; see tasks, rubrics and solutions), read (metrics,
    the list of sessions, the record of results), admin (read, close sessions of everybody, remove runs of the record).
    """
    content = read_keys(file) if file.exists() else None
    try:
        token, record = make_key(owner, scope, now=time.time(), lifetime=None if days is None else days * _DAY)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    write_keys(file, with_keys(content, [*(() if content is None else content.keys), record]))
    typer.echo(token)


@app.command("list", epilog="Example: `palaestra keys list keys.json`")
def list_keys(file: FileArgument) -> None:
    """List keys: id, owner, scopes, dates."""
    rows = tuple(
        (
            key.id,
            key.owner,
            " ".join(key.scopes),
            _day(key.created),
            "never" if key.expires is None else _day(key.expires),
        )
        for key in read_keys(file).keys
    )
    columns = ("id", "owner", "scopes", "created", "expires")
    output().print(Table(title=f"Keys in {file}", columns=columns, rows=rows).for_terminal())


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


@app.command(epilog="Example: `palaestra keys rotate keys.json 4f1f6b1c9a02 --overlap 24`")
def rotate(
    file: FileArgument,
    id_: IdArgument,
    days: Annotated[
        float | None,
        typer.Option("--days", min=0.001, help="Days until the new key expires. Default: as many as the old key had."),
    ] = None,
    overlap: Annotated[
        float, typer.Option("--overlap", min=0, help="Hours for which the old key is still accepted.")
    ] = 1.0,
) -> None:
    """Replace a key by a new one of the same owner and scopes, and print it once. Sessions continue."""
    content = read_keys(file)
    lifetime = None if days is None else days * _DAY
    token, records = rotate_key(content.keys, id_, now=time.time(), lifetime=lifetime, overlap=overlap * 3_600)
    write_keys(file, with_keys(content, records))
    typer.echo(token)


@app.command(epilog="Example: `palaestra keys revoke keys.json 4f1f6b1c9a02`")
def revoke(file: FileArgument, id_: IdArgument) -> None:
    """Remove a key. A running server refuses it within a second."""
    content = read_keys(file)
    gone: KeyRecord = find_key(content.keys, id_)
    write_keys(file, with_keys(content, [key for key in content.keys if key is not gone]))
    typer.echo(f"revoked {gone.id} of {gone.owner}")
