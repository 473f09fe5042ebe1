"""`palaestra tasks new`: a family that is proved as it stands, and its test, to begin from."""

import keyword
import re
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from palaestra.durable import write_file
from palaestra.errors import TaskError, UnknownNameError

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_TEMPLATES = "palaestra.cli.templates"
_STANDS_FOR = "my-family"


class FamilyKind(StrEnum):
    """What a new family is about."""

    WRITE = "write"
    REFUSAL = "refusal"
    LOOKUP = "lookup"


def new(
    name: Annotated[str, typer.Argument(help="Name of the new family, such as move-house.")],
    world: Annotated[str, typer.Option("--world", help="World of the new family.")] = "storefront",
    out: Annotated[Path, typer.Option("--out", help="Output folder.")] = Path(),
    kind: Annotated[FamilyKind, typer.Option("--kind", help="Kind of task.")] = FamilyKind.WRITE,
) -> None:
    """Write a new task family and its test: complete, commented and proved templates to change.

    Example: `palaestra tasks new move-house --out ./tasks`
    """
    task_file, test_file = write_family(name, world=world, folder=out, kind=kind)
    typer.echo(f"{task_file}: a family of the kind {kind}, proved as it stands")
    typer.echo(f"{test_file}: its proof; run `pytest {test_file}`")
    typer.echo(f"Next: palaestra tasks prove {task_file}")


def write_family(name: str, *, world: str, folder: Path, kind: FamilyKind) -> tuple[Path, Path]:
    """Write the task file and the test of a new family.

    Returns:
        Where they stand.

    Raises:
        TaskError: the name is of another form, or a file stands there already.
        UnknownNameError: there are no templates for that world.
        StorageError: a file could not be written.
    """
    _check_name(name)
    worlds = sorted(entry.name for entry in files(_TEMPLATES).iterdir() if entry.joinpath("proof.py").is_file())
    if world not in worlds:
        raise UnknownNameError.of("world", world, worlds, "(worlds with templates)")
    module = name.replace("-", "_")
    texts = {folder / f"{module}.py": f"{kind}.py", folder / f"test_{module}.py": "proof.py"}
    for path in texts:
        if path.exists():
            raise TaskError(f"{path}: stands there already and is not written over; choose another name or --out")
    folder.mkdir(parents=True, exist_ok=True)
    for path, template in texts.items():
        text = files(_TEMPLATES).joinpath(world, template).read_text(encoding="utf-8")
        text = text.replace(_STANDS_FOR, name).replace(_STANDS_FOR.replace("-", "_"), module)
        write_file(path, text.encode())
    task_file, test_file = texts
    return task_file, test_file


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise TaskError(
            f"family name {name!r}; write lower case letters and digits with single hyphens, such as move-house"
        )
    if keyword.iskeyword(name):
        raise TaskError(f"family name {name!r} is a word of Python's own, and names a function; add a word to it")
    if name == "test" or name.startswith("test-"):
        raise TaskError(f"family name {name!r}: pytest would take its file for a test; begin it with another word")
