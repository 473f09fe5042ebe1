"""The official games of ALFWorld, where the user has them: a folder of `json_2.1.1` as alfworld-download leaves it."""

import json
from collections.abc import Iterator
from pathlib import Path

from palaestra.benchmarks.external.alfworld.rooms import TYPES

SPLITS = ("valid_unseen", "valid_seen", "train")


def root(games: str) -> Path | None:
    """The folder of the games; `None` where none was named.

    Raises:
        ValueError: it holds none.
    """
    if not games:
        return None
    for folder in (Path(games).expanduser() / "json_2.1.1", Path(games).expanduser()):
        if any((folder / split).is_dir() for split in SPLITS):
            return folder
    raise ValueError(f"games={games!r} holds no json_2.1.1/valid_unseen; name the folder that alfworld-download filled")


def games(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Split, task type and id of each game that the package itself would play, in a fixed order."""
    for split in SPLITS:
        for file in sorted((folder / split).glob("*/*/game.tw-pddl")):
            trial, setting = file.parent.name, file.parent.parent.name
            if "movable" in setting or "Sliced" in setting or not (file.parent / "traj_data.json").exists():
                continue
            job = json.loads((file.parent / "traj_data.json").read_text())["task_type"]
            if job in TYPES and json.loads(file.read_text()).get("solvable"):
                yield split, job, f"{setting}.{trial}"


def game(folder: Path, split: str, id: str) -> Path:
    """The file of a game."""
    setting, _, trial = id.rpartition(".")
    return folder / split / setting / trial / "game.tw-pddl"
