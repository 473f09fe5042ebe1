"""What a target means: a world by id or folder, or a folder of task files set in one."""

import ast
from importlib import import_module
from pathlib import Path

import palaestra
from palaestra.envs.taskset import load_families
from palaestra.errors import PackError, TaskError
from palaestra.packs import (
    ATTRIBUTE,
    BLUEPRINTS,
    DEFAULT,
    MANIFEST,
    PACKS,
    describe_failure,
    generated_place,
    is_file_name,
)


def find_world(world: str | None) -> str:
    """The environment id of a world: its id, its environment id, the folder or file of its pack, or its module.

    Args:
        world: One of these. A module is named as "module:ATTRIBUTE", which is the world, or as `gymnasium.make` takes
            it, as "module:Env-v0", where importing the module registers the world.

    Raises:
        UnknownNameError: no such world is registered.
        PackError: the folder holds no pack, or one that cannot be read, or the module cannot be imported.
    """
    if world is None:
        return PACKS.find(DEFAULT).env_id
    if is_pack(world) or (is_file_name(world) and Path(world).is_file()):
        return palaestra.register_world(world)
    if _names_module(world):
        return _find_in_module(world)
    if (place := generated_place(world)) is not None:
        return palaestra.register_world(place)
    return PACKS.find(world).env_id


def _names_module(text: str) -> bool:
    """Whether a text has the form "module:NAME"."""
    module, colon, _ = text.partition(":")
    return bool(colon) and all(part.isidentifier() for part in module.split("."))


def _find_in_module(place: str) -> str:
    module, _, name = place.partition(":")
    if name.isidentifier():
        return palaestra.register_world(place)
    try:
        import_module(module)
    except (Exception, SystemExit) as error:
        raise PackError(
            f"{place}: cannot be loaded: {describe_failure(error)}; write module:ENV_ID, or correct the module"
        ) from error
    return PACKS.find(name).env_id


def is_pack(text: str) -> bool:
    """Whether a text names the folder or the file of a world pack."""
    path = Path(text)
    if path.is_dir():
        return (path / MANIFEST).is_file()
    return path.is_file() and (text.endswith(BLUEPRINTS) or (text.endswith(".py") and _defines_world(path)))


def _defines_world(path: Path) -> bool:
    try:
        body = ast.parse(path.read_bytes()).body
    except (SyntaxError, ValueError):
        return False  # a task file that does not load is reported as one
    names = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    names += [node.target for node in body if isinstance(node, ast.AnnAssign)]
    return any(isinstance(name, ast.Name) and name.id == ATTRIBUTE for name in names)


def folder_of(target: str | None) -> str | None:
    """The folder or file of task files that `target` is; `None` for a world, or where nothing is named."""
    if target is None or is_pack(target) or target in PACKS or _names_module(target):
        return None
    return target if Path(target).exists() or "/" in target or is_file_name(target) else None


def resolve_target(target: str | None, world: str | None = None) -> tuple[str, str | None]:
    """The environment id and the folder of task files that a target means; `None` for a world's own tasks.

    Args:
        target: A world, or a folder or file of task files; `None`: the world's own tasks.
        world: The world, where `target` does not name it.

    Raises:
        TaskError: the files do not load, or are set in more than one world, or two worlds are named.
        UnknownNameError: there is no such world.
        PackError: the folder holds no pack, or one that cannot be read.
    """
    folder = folder_of(target)
    if folder is None:
        if target is not None and world is not None:
            raise TaskError(f"{target} and --world {world} name two worlds; name one")
        return find_world(target or world), None
    if world is not None:
        return find_world(world), folder
    worlds = sorted({family.world for family in load_families(Path(folder))})
    if len(worlds) != 1:
        raise TaskError(
            f"{target}: families of the worlds {', '.join(worlds)}; put each world's in a folder of its own"
        )
    return find_world(worlds[0]), folder
