"""`palaestra worlds`: which world packs are registered, and what each declares."""

import orjson
import typer

from palaestra.cli.console import output
from palaestra.cli.target import WorldsOption
from palaestra.envs.target import find_world
from palaestra.envs.world import open_world
from palaestra.errors import PackError
from palaestra.manifest import Manifest
from palaestra.packs import PACKS, Pack
from palaestra.table import Table

app = typer.Typer(
    help="List world packs and show what they declare.", no_args_is_help=True, rich_markup_mode="markdown"
)


@app.command(name="list", epilog="Example: `palaestra worlds list --world examples/worlds/human_resources`")
def list_(world: WorldsOption = None) -> None:
    """List registered world packs from their manifests, without importing them."""
    for name in world or ():
        find_world(name)
    rows = [_row(pack) for env_id in PACKS for pack in PACKS.all_of(env_id)]
    table = Table(
        title="World packs", columns=("id", "version", "environment", "title", "registered by"), rows=tuple(rows)
    )
    output().print(table.for_terminal())


def _row(pack: Pack) -> tuple[str, ...]:
    try:
        manifest = pack.manifest()
        title = "a single file, read when it is used" if manifest is None else manifest.title
    except PackError as error:  # one broken pack must not hide the others
        title = f"broken: {error}"
    return pack.id, str(pack.version), pack.env_id, title, pack.source


@app.command(epilog="Example: `palaestra worlds show storefront`")
def show(
    world: str = typer.Argument(help="World id, or folder of a world pack."),
) -> None:
    """Show a world's splits, traits, capabilities and switches of `gymnasium.make`."""
    env_id = find_world(world)
    pack = PACKS.find(env_id)
    manifest = pack.manifest() or open_world(env_id).manifest()
    console = output()
    console.print(_declared(pack, manifest).for_terminal())
    console.print("Switches")
    console.print_json(orjson.dumps(manifest.switches()).decode())


def _declared(pack: Pack, manifest: Manifest) -> Table:
    own = manifest.capabilities
    rows = (
        ("environment", pack.env_id),
        ("found at", pack.place),
        ("splits", ", ".join(f"{split} {count}" for split, count in manifest.splits.items())),
        ("traits of its own", ", ".join(manifest.traits) or "none"),
        ("surfaces", ", ".join(("conventional", *own.surfaces))),
        ("other handbooks", "yes" if own.handbooks else "no"),
        ("noise with data", ", ".join(own.noise) or "none"),
        ("users who answer", "yes" if own.tempers else "no"),
    )
    return Table(title=f"{manifest.title} ({manifest.id}-v{manifest.version})", columns=("what", "declared"), rows=rows)
