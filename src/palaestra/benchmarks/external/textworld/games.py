"""Games of TextWorld: which there are, and how one is made. A game is made once and kept as files."""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

# Any: what is installed where this runs, and not where types are checked.
TEXTWORLD: Any = import_module("textworld")
GENERATOR: Any = import_module("textworld.generator")
CHALLENGES: Any = import_module("textworld.challenges").CHALLENGES

SEEDS = {"test": range(1_000_000, 1_000_010), "train": range(20)}


@dataclass(frozen=True)
class GameKind:
    """Games that differ in their seeds alone."""

    name: str
    challenge: str
    """The package's name of it; "custom" for the general generator."""
    settings: Mapping[str, Any]
    """As the package takes them."""
    length: int
    """Commands of a walkthrough; 0 where each game has its own."""
    max_turns: int = 50
    split_setting: str = ""
    """The setting that says which distribution of games is drawn from, where the package has several."""

    def of(self, split: str) -> dict[str, Any]:
        """The settings for a split."""
        if not self.split_setting:
            return dict(self.settings)
        chosen: Any = {"test": split == "test", "split": split}[self.split_setting]
        return {**self.settings, self.split_setting: chosen}


KINDS = {
    kind.name: kind
    for kind in (
        GameKind("custom-small", "custom", {"nb_rooms": 1, "nb_objects": 5, "quest_length": 3}, 3),
        GameKind("custom-medium", "custom", {"nb_rooms": 5, "nb_objects": 10, "quest_length": 5}, 5),
        GameKind("custom-large", "custom", {"nb_rooms": 6, "nb_objects": 14, "quest_length": 8}, 8, 100),
        GameKind("simple-detailed", "tw-simple", {"rewards": "dense", "goal": "detailed"}, 0, 100, "test"),
        GameKind("simple-brief", "tw-simple", {"rewards": "sparse", "goal": "brief"}, 0, 100, "test"),
        GameKind("coin-easy", "tw-coin_collector", {"level": 5}, 5),
        GameKind("coin-medium", "tw-coin_collector", {"level": 110}, 10, 100),
        GameKind("treasure-easy", "tw-treasure_hunter", {"level": 5}, 3),
        GameKind("treasure-medium", "tw-treasure_hunter", {"level": 15}, 6, 100),
        GameKind(
            "cooking",
            "tw-cooking",
            {"recipe": 2, "take": 2, "go": 1, "open": True, "cook": True, "cut": True, "drop": False},
            0,
            100,
            "split",
        ),
    )
}


def make_game(kind: GameKind, split: str, seed: int, folder: Path) -> Path:
    """The file of a game, which is made unless `folder` holds it.

    Args:
        kind: Of which kind.
        split: Of which split.
        seed: The seed, by which the game is fixed.
        folder: Where games are kept.
    """
    settings = kind.of(split)
    if kind.challenge == "tw-cooking":
        settings["recipe_seed"] = seed
    key = json.dumps([version("textworld"), kind.challenge, settings, seed], sort_keys=True)
    name = f"{kind.name}-{seed}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    file = folder / name / "game.z8"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _make(kind.challenge, settings, seed, file)
    return file


def _make(challenge: str, settings: Mapping[str, Any], seed: int, file: Path) -> None:
    """Make a game beside its place, and put it there whole: another process may be making it too."""
    beside = Path(tempfile.mkdtemp(dir=file.parents[1], prefix="making-"))
    try:
        options = TEXTWORLD.GameOptions()
        options.seeds, options.path, options.force_recompile = seed, str(beside / file.name), True
        if challenge == "custom":
            for name, value in settings.items():
                setattr(options, name, value)
            game = GENERATOR.make_game(options)
        else:
            game = CHALLENGES[challenge][1](dict(settings), options)
        GENERATOR.compile_game(game, options)
        try:
            beside.replace(file.parent)
        except OSError:
            if not file.exists():
                raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
