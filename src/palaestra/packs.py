"""World packs: the registered ones and where to find each.

A pack is a Python package with a manifest, `world.toml` (see `palaestra.manifest`). Registering a pack neither reads
nor imports it, so a broken pack fails only when it is used, and hundreds of packs hardly slow down the import.

A pack is registered if it is bundled, if an installed package offers it (entry-point group `palaestra.worlds`, name
`clinic-v0`, value the package), or if `register_world` names a folder, a file or a module.
"""

import importlib
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

from palaestra.errors import PackError, UnknownNameError

if TYPE_CHECKING:  # pydantic takes longer to import than everything here
    from palaestra.manifest import Manifest

GROUP = "palaestra.worlds"
"""The entry-point group under which installed packages offer packs."""
BUNDLED: Mapping[str, str] = {
    "insurer-v0": "palaestra.envs.worlds.insurer",
    "itdesk-v0": "palaestra.envs.worlds.itdesk",
    "shop-v0": "palaestra.envs.worlds.shop",
    "storefront-v0": "palaestra.envs.worlds.storefront",
}
"""The packs that come with Palaestra: name to package."""
DEFAULT = "storefront"
"""The world that commands use by default."""
GENERATED: Mapping[str, str] = {"synth": "palaestra.envs.synthesis.worlds:WORLD_{number}"}
"""Unlimited series of worlds: the first part of their ids, such as `synth` of `synth-17`, and the place of a number."""
MANIFEST = "world.toml"
ATTRIBUTE = "WORLD"
"""The name of the world in a pack of a single file."""
BLUEPRINTS = (".yaml", ".yml", ".json")
"""The suffixes of blueprint files."""

_CAPITALS: Mapping[str, str] = {"itdesk": "ITDesk"}
"""Parts of world ids that need more than a first capital in environment ids."""
_NUMBERED = re.compile(r"([a-z]+)-(0|[1-9]\d{0,8})")
_NAME = re.compile(r"([a-z][a-z0-9]*(?:-[a-z0-9]+)*)-v(0|[1-9]\d*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """A world and its place."""

    id: str
    """The world's id, which is the prefix of its tasks' ids, such as "human-resources"."""
    version: int
    env_id: str
    """The id for `gymnasium.make`, such as "palaestra/HumanResources-v0"."""
    place: str
    """A package, a folder, a file, or "module:ATTRIBUTE"; enough for any process to register the pack."""
    source: str
    """What registered the pack, for messages."""

    @property
    def name(self) -> str:
        """Id and version, such as "human-resources-v0"."""
        return f"{self.id}-v{self.version}"

    @property
    def folder(self) -> Path | None:
        """The folder of the manifest; `None` if the world is in a single file or module.

        Raises:
            PackError: the package is not installed.
        """
        if ":" in self.place or is_file_name(self.place):
            return None
        return Path(self.place) if "/" in self.place else _package_folder(self)

    def manifest(self) -> "Manifest | None":
        """Read what the pack declares, without importing it; `None` if it has no folder.

        Raises:
            PackError: the manifest cannot be read, breaks a rule, or belongs to another world.
        """
        from palaestra.manifest import read_manifest  # noqa: PLC0415

        folder = self.folder
        if folder is None:
            return None
        found = read_manifest(folder / MANIFEST)
        if (found.id, found.version) != (self.id, self.version):
            raise PackError(
                f"{folder / MANIFEST}: declares {found.id}-v{found.version}, but {self.source} registers it as "
                f"{self.name}; change one of them"
            )
        return found

    def load(self) -> Any:
        """Import the pack and return its world. Any: the caller that opens the world checks it.

        Raises:
            PackError: importing it failed.
        """
        try:
            return self._load()
        except PackError:
            raise
        except (Exception, SystemExit) as error:
            raise PackError(
                f"world {self.name} ({self.place}, registered by {self.source}) cannot be loaded: "
                f"{describe_failure(error)}; correct or remove the pack"
            ) from error

    def _load(self) -> Any:
        if ":" in self.place:
            return _import_attribute(self.place)
        if is_file_name(self.place):
            return _read_file(Path(self.place))
        manifest = self.manifest()
        assert manifest is not None, "a package or folder has a manifest"
        module, _, attribute = manifest.world.partition(":")
        package = _import_folder(Path(self.place)) if "/" in self.place else self.place
        return getattr(import_module(f"{package}.{module}"), attribute)


class Packs:
    """The registered packs. Names are environment ids, world ids, or ids with a version."""

    def __init__(self) -> None:
        self._packs: dict[str, list[Pack]] = {}
        self.misnamed: list[str] = []
        """The entry points that are left out, for their name or the id of a benchmark: each as a sentence."""

    def __iter__(self) -> Iterator[str]:
        """The environment ids, sorted."""
        return iter(sorted(self._packs))

    def __contains__(self, env_id: object) -> bool:
        return env_id in self._packs

    @property
    def ids(self) -> list[str]:
        """The world ids, sorted."""
        return sorted({pack.id for found in self._packs.values() for pack in found})

    def all_of(self, env_id: str) -> list[Pack]:
        """Every pack registered under an environment id: more than one if packs share an id."""
        return list(self._packs.get(env_id, ()))

    def add(self, pack: Pack) -> None:
        """Register a pack; registering it again changes nothing."""
        found = self._packs.setdefault(pack.env_id, [])
        if all(other.place != pack.place for other in found):
            found.append(pack)

    def at(self, place: str) -> Pack | None:
        """The pack registered at a place, by its package or its folder."""
        packs = [pack for found in self._packs.values() for pack in found]
        return next((pack for pack in packs if place in (pack.place, str(_existing_folder(pack)))), None)

    def find(self, name: str) -> Pack:
        """The pack of an environment id, a world id (its newest version, of one source), or an id with a version.

        Raises:
            UnknownNameError: no pack is registered under the name.
            PackError: several packs are, or packs of several sources share the world id.
        """
        if name in self._packs:
            return _only(self._packs[name])
        named = [found for found in self._packs.values() if name in (found[0].id, found[0].name)]
        if not named:
            hints = ["(or give the folder of a world pack, with world.toml in it)", *self.misnamed]
            raise UnknownNameError.of("world", name, [*self.ids, *self._packs], " ".join(hints))
        sources = sorted({found[0].source for found in named})
        if len(sources) > 1:  # otherwise an installed package could replace a bundled world
            names = " and ".join(found[0].name for found in named)
            raise PackError(f"{name!r} means {names}, of {' and '.join(sources)}; name one with its version")
        return _only(max(named, key=lambda found: found[0].version))


def _only(found: list[Pack]) -> Pack:
    if len(found) > 1:
        both = " and ".join(f"{pack.place} ({pack.source})" for pack in found)
        raise PackError(f"two packs have the id {found[0].name}: {both}; rename or uninstall one")
    return found[0]


PACKS = Packs()
"""Every registered pack."""


def env_id_of(id: str, version: int) -> str:
    """The environment id of a world: "palaestra/HumanResources-v0" for "human-resources", 0."""
    return f"palaestra/{''.join(_CAPITALS.get(part, part.capitalize()) for part in id.split('-'))}-v{version}"


def named_pack(name: str, place: str, source: str) -> Pack:
    """The pack with a name such as "clinic-v0".

    Raises:
        PackError: the name does not have this form.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise PackError(
            f"{source}: {name!r} names no world pack; write the world's id and version in lower case, as clinic-v0"
        )
    id, version = match[1], int(match[2])
    return Pack(id=id, version=version, env_id=env_id_of(id, version), place=place, source=source)


def installed_packs() -> Iterator[Pack]:
    """The bundled packs, then those of installed packages; none is read or imported."""
    for name, package in BUNDLED.items():
        yield named_pack(name, package, "Palaestra")
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        if _NAME.fullmatch(point.name) is None:  # it hides no other pack; the error for an unknown world names it
            PACKS.misnamed.append(
                f"The entry point {point.name!r} of {point.value} is left out: name it ID-vN, as clinic-v0."
            )
        else:
            # Reading the distribution's name from its metadata for each point would dominate the import with 300 packs.
            yield named_pack(point.name, point.value, f"an entry point of {point.value}")


def pack_at(place: str | Path, *, env_id: str | None = None) -> Pack:
    """The pack at a folder, file, module or package.

    Args:
        place: A folder with `world.toml`, a Python file that defines `WORLD`, a blueprint, "module:ATTRIBUTE", or a
            package.
        env_id: An environment id to use instead of the one that follows from the world's id and version.

    Raises:
        PackError: there is no pack at that place, or it cannot be read.
    """
    text = str(place)
    path = Path(text).expanduser()
    if path.is_dir():
        from palaestra.manifest import read_manifest  # noqa: PLC0415

        folder = path.resolve()
        manifest = read_manifest(folder / MANIFEST)
        return _at(manifest.id, manifest.version, str(folder), env_id)
    if is_file_name(text):
        if not path.is_file():
            raise PackError(f"{text}: there is no such file; give the file or folder of a world pack")
        if path.with_name(MANIFEST).is_file():
            raise PackError(f"{text}: the file is part of a pack, as {MANIFEST} beside it says; give the folder")
        return _pack_of(_read_file(path.resolve()), str(path.resolve()), env_id)
    if ":" in text:
        return _pack_of(_import_attribute(text), text, env_id)
    if (known := PACKS.at(text)) is not None:
        return known
    raise PackError(f"{text}: no world pack is there; give a folder with {MANIFEST}, a file, or module:ATTRIBUTE")


def generated_place(name: str) -> str | None:
    """The place of the generated world with an id such as "synth-17"; `None` for every other name."""
    match = _NUMBERED.fullmatch(name)
    if match is None or match[1] not in GENERATED:
        return None
    return GENERATED[match[1]].format(number=match[2])


def is_file_name(place: str) -> bool:
    """Whether a place is a single file: Python, or a blueprint."""
    return place.endswith((".py", *BLUEPRINTS))


def describe_failure(error: BaseException) -> str:
    """Type and message of an error in a pack's code, and its line if known."""
    own = (str(Path(__file__).parent), str(Path(importlib.__file__).parent), "<frozen")
    lines = [frame for frame in extract_tb(error.__traceback__) if not frame.filename.startswith(own)]
    where = f" ({lines[-1].filename}:{lines[-1].lineno})" if lines else ""
    return f"{type(error).__name__}: {error}{where}"


def _pack_of(world: Any, place: str, env_id: str | None) -> Pack:
    """The pack of a world without a manifest; checks its id and version. Any: the kernel imports no World."""
    id, version = getattr(world, "name", None), getattr(world, "version", None)
    if not isinstance(id, str) or not isinstance(version, int):
        raise PackError(f"{place}: {type(world).__name__} is no World; define one with palaestra.envs.World(...)")
    if _NAME.fullmatch(f"{id}-v{version}") is None:
        raise PackError(
            f"{place}: the world has the name {id!r} and the version {version}; a name is lower case letters and "
            "digits with single hyphens, such as my-inn, and a version is 0 or above"
        )
    return _at(id, version, place, env_id)


def _at(id: str, version: int, place: str, env_id: str | None) -> Pack:
    known = PACKS.at(place)
    if known is None:
        made = env_id or env_id_of(id, version)
        return Pack(id=id, version=version, env_id=made, place=place, source="register_world")
    if env_id not in (None, known.env_id):
        raise PackError(f"{place} is registered as {known.env_id}, so it cannot be {env_id} too; leave env_id out")
    return known


def _existing_folder(pack: Pack) -> Path | None:
    try:
        return pack.folder
    except PackError:  # a package that is not installed fails when it is used
        return None


def _package_folder(pack: Pack) -> Path:
    """The folder of a package, without importing the packages around it."""
    top, *inner = pack.place.split(".")
    spec = find_spec(top)
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        folder = Path(place).joinpath(*inner)
        if folder.is_dir():
            return folder
    raise PackError(f"world {pack.name}: {pack.source} names the package {pack.place}, which is not installed")


def _import_folder(folder: Path) -> str:
    """Make a folder importable as a package of its name; return the name.

    Raises:
        PackError: the name cannot be imported, or belongs to another package.
    """
    name = folder.name
    if not name.isidentifier():
        raise PackError(f"{folder}: {name!r} cannot be imported; rename the folder to letters, digits and underscores")
    if str(folder.parent) not in sys.path:
        sys.path.append(str(folder.parent))  # last, so that no folder beside the pack hides an installed package
    found = find_spec(name)
    places = list(found.submodule_search_locations or [found.origin or "?"]) if found is not None else []
    if str(folder) not in places:
        raise PackError(f"{folder}: Python finds {name!r} in {', '.join(places) or 'no place'}; rename the folder")
    return name


def _import_attribute(place: str) -> Any:
    """The object that "module:ATTRIBUTE" names. Any: the caller that opens the world checks it."""
    module, _, attribute = place.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (Exception, SystemExit) as error:
        raise PackError(
            f"{place}: cannot be loaded: {describe_failure(error)}; write module:ATTRIBUTE, or correct the module"
        ) from error


def _read_file(path: Path) -> Any:
    """The world of a single file: Python or a blueprint."""
    if path.suffix == ".py":
        return _import_file(path)
    # By name, since the kernel imports no folder.
    return import_module("palaestra.envs.blueprints").load_world(path)


def _import_file(path: Path) -> Any:
    """Import the world of a single file, under a module name that is the same in every process."""
    name = f"palaestra_world_{path.stem}"
    known = sys.modules.get(name)
    if known is not None:
        if known.__file__ != str(path):
            raise PackError(f"{path}: {known.__file__} has the same name; rename one of the files")
        return getattr(known, ATTRIBUTE)
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None, "the path ends in .py"
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise PackError(f"{path}: cannot be loaded: {describe_failure(error)}; correct the file") from error
    if not hasattr(module, ATTRIBUTE):
        del sys.modules[name]  # so that a corrected file is read
        raise PackError(f"{path}: it defines no {ATTRIBUTE}; name the world of a single file {ATTRIBUTE}")
    return getattr(module, ATTRIBUTE)
