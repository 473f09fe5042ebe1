"""The lineage of a run: the settings that were changed, and at which step. Reading it needs no torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import orjson
from pydantic import TypeAdapter, ValidationError

from palaestra.errors import RecordError
from palaestra.log import Log, read_log
from palaestra.records import Json
from palaestra.trainers.run_folder import LINEAGE

SettingClass: TypeAlias = Literal["identity", "trajectory", "operational"]
"""See `loops.setting_classes`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageEntry:
    """A change of a setting: one line of the file."""

    stage: str
    step: int
    """The number of the stage's saved steps at the change; later steps have the new value."""
    setting: str
    """The setting's full name, such as "grpo.learner.lr"."""
    before: Json
    after: Json
    kind: SettingClass
    ends_replay: bool
    """Whether an exact replay ends at this step."""

    def sentence(self) -> str:
        """The change in words."""
        ends = "; replay to the bit ends there" if self.ends_replay else ""
        return f"{self.stage} step {self.step}: {self.setting} {self.before} -> {self.after} ({self.kind}{ends})"


_NAMES = {"before": "from", "after": "to", "kind": "class"}
"""The fields whose names in the file differ, since Python reserves some of these words."""
_ENTRY: TypeAdapter[LineageEntry] = TypeAdapter(LineageEntry)


def read_lineage(directory: Path) -> list[LineageEntry]:
    """The changes of a run's settings, in order.

    Args:
        directory: The run's folder.

    Raises:
        RecordError: a line cannot be read.
    """
    path = directory / LINEAGE
    if not path.exists():
        return []
    entries: list[LineageEntry] = []
    for number, line in enumerate(read_log(path), 1):
        try:
            table: dict[str, Json] = orjson.loads(line)
            entries.append(_ENTRY.validate_python({own: table.get(_NAMES.get(own, own)) for own in _FIELDS}))
        except (ValidationError, AttributeError) as error:
            raise RecordError(f"{path}, line {number}: no change of a setting; remove the line") from error
    return entries


def append_lineage(directory: Path, entries: Sequence[LineageEntry]) -> None:
    """Append changes to the file, and write it to the disk. A change that the file already has is not repeated.

    Raises:
        StorageError: writing to disk fails.
    """
    known = read_lineage(directory)
    missing = [entry for entry in entries if entry not in known]
    if not missing:
        return
    with Log(directory / LINEAGE) as log:
        for entry in missing:
            log.append(orjson.dumps({_NAMES.get(own, own): getattr(entry, own) for own in _FIELDS}))
        log.sync()


_FIELDS = ("stage", "step", "setting", "before", "after", "kind", "ends_replay")
