"""A release of a world: which of its families were proved, and as which tasks.

The splits of a bundled world list only what its release lists, so a family that has not been through the gate is found
by its id and is drawn by nobody. A user's own folder has no release; everything in it is listed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson
from pydantic import TypeAdapter, ValidationError

from palaestra.durable import write_file
from palaestra.envs.task import Split
from palaestra.envs.world import World
from palaestra.errors import RecordError
from palaestra.validation import plain_rule


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvedTasks:
    """The tasks of one family in one split, as they were proved."""

    count: int
    digest: str
    """One digest over what each of them is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """What a world's splits list."""

    world: str
    proof: str
    """A digest of the proof's own code, as it was."""
    families: Mapping[str, Mapping[Split, ProvedTasks]]

    def lists(self, family_id: str, split: Split) -> bool:
        """Whether a family's tasks of a split were proved."""
        return split in self.families.get(family_id, {})

    def save(self, path: Path) -> None:
        """Write the release where a world reads it."""
        write_file(path, orjson.dumps(self, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n")


_RELEASE = TypeAdapter(Release)


def load(world: World) -> Release | None:
    """The release of a world; `None` where it has none, or none yet.

    Raises:
        RecordError: the file cannot be read as one, or is another world's.
    """
    if world.release is None or not world.release.exists():
        return None
    try:
        release = _RELEASE.validate_json(world.release.read_bytes())
    except ValidationError as error:
        raise RecordError(
            f"{world.release}: not a release: {plain_rule(error.errors()[0]['msg'])}; prove the world again"
        ) from error
    if release.world != world.name:
        raise RecordError(f"{world.release}: the release of {release.world!r}, not of {world.name!r}")
    return release
