"""`palaestra tasks new`: write a proved family and its test as a starting point."""

import keyword
import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from palaestra.durable import write_file
from palaestra.envs.target import find_world
from palaestra.errors import TaskError
from palaestra.packs import DEFAULT, PACKS

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_TEMPLATES = "templates"
_TEST = "proof.py"
_STANDS_FOR = "my-family"


class FamilyKind(StrEnum):
    """The kind of a new family's tasks."""

    WRITE = "write"
    REFUSAL = "refusal"
    LOOKUP = "lookup"


def new(
    name: Annotated[str, typer.Argument(help="Name of the new family, such as move-house.")],
    world: Annotated[
        str, typer.Option("--world", help="A world's id, or the folder of a world pack, whose code is run.")
    ] = DEFAULT,
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
        Their paths.

    Raises:
        TaskError: the name is invalid, a file exists already, or the world has no template of the kind.
        UnknownNameError: there is no such world.
        PackError: the folder has no pack.
        StorageError: a file could not be written.
    """
    _check_name(name)
    task_template, test_template = _find_templates(world, kind)
    module = name.replace("-", "_")
    texts = {folder / f"{module}.py": task_template, folder / f"test_{module}.py": test_template}
    for path in texts:
        if path.exists():
            raise TaskError(f"{path}: stands there already and is not written over; choose another name or --out")
    folder.mkdir(parents=True, exist_ok=True)
    for path, template in texts.items():
        text = template.read_text(encoding="utf-8")
        text = text.replace(_STANDS_FOR, name).replace(_STANDS_FOR.replace("-", "_"), module)
        write_file(path, text.encode())
    task_file, test_file = texts
    return task_file, test_file


def _find_templates(world: str, kind: FamilyKind) -> tuple[Path, Path]:
    """The templates in a world's pack for a family of a kind and for its test.

    They are in the pack's folder `templates`: a file for each kind and `proof.py`, with the placeholders `my-family`
    and `my_family` for the family's name. They are text, which nothing imports.

    Raises:
        TaskError: the pack does not have them.
    """
    pack = PACKS.find(find_world(world))
    if pack.folder is None:
        raise TaskError(
            f"world {pack.name} is a single file, which holds no templates; make it a folder with world.toml and "
            f"add {_TEMPLATES}/{kind}.py and {_TEMPLATES}/{_TEST}"
        )
    found = pack.folder / _TEMPLATES
    missing = [file for file in (f"{kind}.py", _TEST) if not (found / file).is_file()]
    if missing:
        offered = [other for other in FamilyKind if (found / f"{other}.py").is_file()]
        others = f" (it has the kinds {', '.join(offered)})" if offered else ""
        raise TaskError(
            f"world {pack.name} has no template of the kind {kind}{others}; add {' and '.join(missing)} to {found}, "
            "with my-family in place of the family's name"
        )
    return found / f"{kind}.py", found / _TEST


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise TaskError(
            f"family name {name!r}; write lower case letters and digits with single hyphens, such as move-house"
        )
    if keyword.iskeyword(name):
        raise TaskError(f"family name {name!r} is a word of Python's own, and names a function; add a word to it")
    if name == "test" or name.startswith("test-"):
        raise TaskError(f"family name {name!r}: pytest would take its file for a test; begin it with another word")
