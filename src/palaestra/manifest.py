"""A world pack's manifest, `world.toml`: what the world is and supports, read without importing the pack."""

import reprlib
import tomllib
from collections.abc import Mapping
from dataclasses import field, fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError

from palaestra.errors import PackError, UnknownNameError
from palaestra.record import record
from palaestra.records import JsonObject
from palaestra.validation import plain_rule

WORDINGS = ("casual", "formal", "garbled", "typos", "verbose")
TEMPERS = ("calm", "furious", "heated", "terse")
"""The tempers of `palaestra.envs`, repeated so that a manifest is read without it; a test compares them."""

Flag = Annotated[bool, Strict()]
Count = Annotated[int, Strict(), Field(ge=0)]


@record
class Capabilities:
    """What a world has in addition to its tasks. A switch that it does not declare is refused."""

    surfaces: tuple[str, ...] = ()
    """Tool surfaces in addition to "conventional"."""
    handbooks: Flag = False
    """Whether handbook numbers other than 0 change rules."""
    noise: tuple[str, ...] = ()
    """The switches of noise that need data of the world, and for which the world has the data."""
    tempers: Flag = False
    """Whether some tasks have a user who answers."""


@record
class Manifest:
    """What a pack declares."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")]
    """The prefix of the ids of its tasks."""
    version: Count
    title: str
    world: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]
    """Where the world is defined: "module:ATTRIBUTE" within the pack."""
    traits: tuple[str, ...] = ()
    """The traits that its families may state, in addition to the standard ones."""
    splits: Mapping[str, Count]
    """By split: the number of listed tasks of each family."""
    twins: Mapping[str, Count] = field(default_factory=dict[str, int])
    """By split: the number of listed tasks of each family's refusal twin. Default: as the world's code says."""
    capabilities: Capabilities = field(default_factory=Capabilities)

    def switches(self) -> JsonObject:
        """A JSON schema of the switches that `gymnasium.make` takes for this world.

        It has every axis of held-out tasks that a world may have, because a manifest does not list families.
        """
        own = self.capabilities
        properties: JsonObject = {
            "split": {"enum": [*self.splits, *_views(self)]},
            "surface": {"enum": ["conventional", *own.surfaces]},
            "handbook": {"type": "integer", "minimum": 0} if own.handbooks else {"const": 0},
            "noise": {"type": "object", "propertyNames": {"enum": [*ANY_WORLD, *own.noise]}},
            "wording": {"enum": [None, *WORDINGS]},
            "temper": {"enum": [None, *TEMPERS]} if own.tempers else {"const": None},
        }
        return {"type": "object", "properties": properties}


ANY_WORLD = ("distractors", "renames", "caps", "failures", "rate_limit", "latency", "deadline")
"""The switches of noise that need no data of a world."""


def _views(manifest: Manifest) -> list[str]:
    if "heldout" not in manifest.splits:
        return []
    return ["heldout-world", "heldout-family", *(["heldout-surface"] if manifest.capabilities.surfaces else [])]


class _File(BaseModel):
    """Makes the reader reject unknown names in every table below: plain records inherit that only from a model."""

    model_config = ConfigDict(extra="forbid")
    pack: Manifest


def read_manifest(path: Path) -> Manifest:
    """Read the manifest of a pack, a file in the pack's folder.

    Raises:
        PackError: there is no manifest, or it breaks a rule; the message names file, key and rule.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))  # some editors write a byte order mark
    except FileNotFoundError:
        raise PackError(
            f"{path.parent}: there is no {path.name} in it; a world pack is a folder with a manifest"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise PackError(f"{path}: cannot be read ({error})") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, or brackets thousands deep
        raise PackError(f"{path}: not TOML: {error}") from error
    try:
        return _File.model_validate({"pack": table}).pack
    except ValidationError as error:
        raise PackError(f"{path}: {'; '.join(map(_fault, error.errors()))}") from error


def _fault(fault: Any) -> str:
    # Any: pydantic's record of one fault.
    path = fault["loc"][1:]
    if fault["type"] != "unexpected_keyword_argument":
        given = "" if fault["type"] == "missing" else f", not {reprlib.repr(fault['input'])}"
        rule = plain_rule(fault["msg"])
        return f"{'.'.join(map(str, path))}: {rule[0].lower()}{rule[1:]}{given}"
    kind = Capabilities if len(path) > 1 else Manifest
    return str(UnknownNameError.of("key", str(path[-1]), [one.name for one in fields(kind)]))
