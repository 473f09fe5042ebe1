"""`palaestra worlds`: registered world packs, their declarations, and generated worlds."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from palaestra.cli.console import output
from palaestra.cli.progress import bar
from palaestra.cli.target import WorldsOption
from palaestra.durable import write_file
from palaestra.envs.target import find_world
from palaestra.envs.world import open_world
from palaestra.errors import CapabilityError, ConfigError, PackError, UnknownNameError
from palaestra.manifest import Manifest
from palaestra.packs import PACKS, Pack
from palaestra.seeding import Stream
from palaestra.table import Table, tables_markdown

if TYPE_CHECKING:
    from palaestra.envs.synthesis.diversity import WorldProfile

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


@app.command(epilog="Example: `palaestra worlds new parking-desk --out worlds`")
def new(
    name: Annotated[str, typer.Argument(help="Id of the new world, such as parking-desk.")],
    out: Annotated[Path, typer.Option("--out", help="Output folder.")] = Path(),
) -> None:
    """Write a new world as one document: complete, commented and proved, to change."""
    from palaestra.envs.blueprints import write_template  # noqa: PLC0415  it loads worlds

    if name in PACKS.ids:
        raise PackError(f"{name} is a world already (`palaestra worlds list`); choose another id")
    path = write_template(name, out)
    typer.echo(f"{path}: a world of three tables and two families, proved as it stands")
    typer.echo(f"Next: palaestra tasks prove {path}")


@app.command(epilog="Example: `palaestra worlds show storefront`")
def show(
    world: str = typer.Argument(help="World id, or folder of a world pack."),
) -> None:
    """Show a world's splits, traits, capabilities and switches of `gymnasium.make`."""
    env_id = find_world(world)
    pack = PACKS.find(env_id)
    manifest = pack.manifest() or open_world(env_id).manifest()
    console = output()
    console.print(_declare(pack, manifest).for_terminal())
    console.print("Switches")
    console.print_json(orjson.dumps(manifest.switches()).decode())


def _declare(pack: Pack, manifest: Manifest) -> Table:
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


@app.command(epilog="Example: `palaestra worlds prove --count 50 --out runs/worlds --markdown worlds.md`")
def prove(
    first: Annotated[int, typer.Option("--first", min=0, help="Number of the first generated world.")] = 0,
    count: Annotated[int, typer.Option("--count", min=1, help="Number of generated worlds to try.")] = 20,
    split: Annotated[
        list[str] | None,
        typer.Option("--split", help="Only the numbers of this split. May be given several times. Default: all."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder of records. The same command continues from it.")] = Path(
        "runs/worlds"
    ),
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Worker processes. Default: one per core.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the tables to this Markdown file.")] = None,
    release: Annotated[
        int | None,
        typer.Option("--list", min=1, help="List this number of the folder's proved worlds, from the first."),
    ] = None,
    attacks: Annotated[
        Path | None,
        typer.Option("--attacks", help="List only worlds that withstood the attacks recorded in this folder."),
    ] = None,
) -> None:
    """Prove generated worlds: every task, every rule and every tool of each.

    A world that fails is not listed; its record says why. `palaestra tasks prove FILE` proves one blueprint's tasks.
    """
    from palaestra.envs.synthesis import WORLD_SPLITS, draw_plan, save_listing  # noqa: PLC0415  it loads worlds
    from palaestra.proof.attacked_worlds import read_attacked_worlds  # noqa: PLC0415
    from palaestra.proof.world_listing import save_left_out, select_worlds  # noqa: PLC0415
    from palaestra.proof.world_tables import world_proof_tables  # noqa: PLC0415
    from palaestra.proof.worlds import prove_worlds, read_proofs  # noqa: PLC0415

    if attacks is not None and release is None:
        raise ConfigError(f"--attacks {attacks}: it says which worlds --list leaves out; give --list too")
    for name in split or ():
        if name not in WORLD_SPLITS:
            raise UnknownNameError.of("split of worlds", name, WORLD_SPLITS)
    numbers = [n for n in range(first, first + count) if not split or draw_plan(n).split in split]
    if not numbers:
        raise ConfigError(
            f"--split: none of the numbers {first} to {first + count - 1} is of {' or '.join(split or ())}"
        )
    with bar("proving worlds", len(numbers)) as shown:
        for proof in prove_worlds(numbers, out, jobs=jobs or os.cpu_count() or 1):
            shown.step(f"synth-{proof.number}{'' if proof.proved else ': ' + proof.faults[0][:60]}")
    proofs = [proof for proof in read_proofs(out) if proof.number in numbers]
    _show(world_proof_tables(proofs), markdown)
    if release is not None:
        attacked = None if attacks is None else read_attacked_worlds(attacks)
        selection = select_worlds(read_proofs(out), release, attacked=attacked)
        save_listing(selection.listed)
        save_left_out(selection.left_out, out)


@app.command(epilog="Example: `palaestra worlds attack --count 50 --out runs/attacks --markdown attacks.md`")
def attack(
    first: Annotated[int, typer.Option("--first", min=0, help="Number of the first generated world.")] = 0,
    count: Annotated[int, typer.Option("--count", min=1, help="Number of generated worlds to attack.")] = 20,
    out: Annotated[Path, typer.Option("--out", help="Folder of records. The same command continues from it.")] = Path(
        "runs/attacks"
    ),
    attacks: Annotated[
        list[str] | None, typer.Option("--attack", help="Only this attack. May be given several times. Default: all.")
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Worker processes. Default: one per core.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the tables to this Markdown file.")] = None,
) -> None:
    """Run attacks on every task of generated worlds, and count the pairs that each attack solves.

    A pair is a task and its refusal twin. `palaestra tasks attack FILE` attacks the tasks of one blueprint.
    """
    from palaestra.proof.attacked_world_tables import attacked_world_tables, exceeds  # noqa: PLC0415  it loads worlds
    from palaestra.proof.attacked_worlds import attack_worlds, read_attacked_worlds  # noqa: PLC0415

    numbers = range(first, first + count)
    with bar("attacking worlds", count) as shown:
        for world in attack_worlds(numbers, out, attacks=attacks or (), jobs=jobs or os.cpu_count() or 1):
            shown.step(f"synth-{world.number}{f': {found}' if (found := ', '.join(exceeds(world))) else ''}")
    _show(attacked_world_tables([world for world in read_attacked_worlds(out) if world.number in numbers]), markdown)


@app.command(epilog="Example: `palaestra worlds repeat --steps 1000000 --out runs/repeats`")
def repeat(
    steps: Annotated[int, typer.Option("--steps", min=1, help="Steps of each process, over all its worlds.")] = 100_000,
    processes: Annotated[int, typer.Option("--processes", min=2, help="Fresh processes, one after the other.")] = 4,
    worlds: Annotated[
        int | None, typer.Option("--worlds", min=1, help="Number of listed worlds to draw at random. Default: all.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder of records. The same command continues from it.")] = Path(
        "runs/repeats"
    ),
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the table to this Markdown file.")] = None,
) -> None:
    """Play generated worlds at random in several processes, and check that the results are equal to the byte.

    Exits with status 1 if a world's results differ.
    """
    from palaestra.envs.synthesis import listed_worlds  # noqa: PLC0415  it loads worlds
    from palaestra.proof.repeated_worlds import repeat_table, repeat_worlds, unequal_worlds  # noqa: PLC0415

    listed = [*listed_worlds()]
    numbers = sorted(Stream.root("repeated worlds").sample(listed, min(worlds or len(listed), len(listed))))
    each = -(-steps // len(numbers))
    with bar("playing worlds", processes * len(numbers)) as shown:
        played = repeat_worlds(numbers, out, steps=each, processes=processes, done=lambda one: shown.step(one.name))
    _show([repeat_table(played)], markdown)
    if unequal := unequal_worlds(played):
        typer.echo("\n".join(unequal), err=True)
        raise typer.Exit(1)


@app.command(epilog="Example: `palaestra worlds diversity --count 500 --markdown diversity.md`")
def diversity(
    first: Annotated[int, typer.Option("--first", min=0, help="Number of the first generated world.")] = 0,
    count: Annotated[
        int | None,
        typer.Option("--count", min=2, help="Number of generated worlds to compare. Default: the listed worlds."),
    ] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write the tables to this Markdown file.")] = None,
) -> None:
    """Compare generated worlds: sizes, distances, closest pairs, near-duplicates."""
    from palaestra.envs.synthesis import draw_plan, generate_blueprint, listed_worlds  # noqa: PLC0415  it loads worlds
    from palaestra.envs.synthesis.diversity import diversity_tables, profile_world  # noqa: PLC0415

    numbers = [*listed_worlds()] if count is None else [*range(first, first + count)]
    if len(numbers) < 2:
        raise CapabilityError(f"{len(numbers)} generated world(s) are listed; give --count to compare unlisted ones")
    profiles: dict[int, WorldProfile] = {}
    with bar("reading worlds", len(numbers)) as shown:
        for number in numbers:
            profiles[number] = profile_world(generate_blueprint(number))
            shown.step(f"synth-{number}")
    _show(diversity_tables({number: draw_plan(number) for number in numbers}, profiles), markdown)


def _show(tables: Sequence[Table], markdown: Path | None) -> None:
    """Print tables, and write them to a file if one is given."""
    for table in tables:
        output().print(table.for_terminal())
    if markdown is not None:
        write_file(markdown, tables_markdown(tables).encode())
