"""A new world's document: the template, under another id."""

from importlib.resources import files
from pathlib import Path

from palaestra.durable import make_folder, write_file
from palaestra.envs.blueprints.checking import check_blueprint
from palaestra.envs.blueprints.document import read_blueprint
from palaestra.envs.blueprints.problems import raise_problems
from palaestra.errors import BlueprintError

_ID = "parking-desk"
"""What the template is called."""


def write_template(name: str, folder: Path) -> Path:
    """Write the document of a new world: complete, commented, and proved as it stands.

    Args:
        name: The world's id.
        folder: Where the file `NAME.yaml` goes; made if it is missing.

    Returns:
        Where the document stands.

    Raises:
        BlueprintError: the name is no id, or a file stands there already.
        StorageError: the file could not be written.
    """
    text = files("palaestra.envs.blueprints").joinpath("template.yaml").read_text("utf-8").replace(_ID, name)
    if problems := check_blueprint(*read_blueprint(text, source=name)):
        raise_problems(problems)
    path = folder / f"{name}.yaml"
    if path.exists():
        raise BlueprintError(f"{path}: stands there already and is not written over; choose another name or --out")
    make_folder(folder)
    write_file(path, text.encode())
    return path
