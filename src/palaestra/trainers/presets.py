"""The published objectives in `objectives/presets`, and those in users' files. Reading needs no torch."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeAlias

from palaestra.errors import ConfigError, UnknownNameError

Confidence: TypeAlias = Literal["code", "paper", "secondary", "derived"]
"""The source of a formula: the authors' code, their paper, a transcription by others, or our own derivation.

Parts that are only derived are experimental, as their docstrings state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A published combination of parts."""

    name: str
    summary: str
    sources: tuple[str, ...]
    confidence: Confidence
    recipe: Mapping[str, Any]
    """The parts that the preset sets; the others are the defaults of `Recipe`."""
    constants: Mapping[str, str]
    """The source of each constant's value, by `part.setting`: a section of a paper, a file of code, or ours."""
    advice: Mapping[str, str]
    """Settings of the paper's runs that are not part of the objective."""
    columns: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The fillers of the columns that the parts read, in the form of `[grpo.columns]`."""
    imports: tuple[str, ...] = ()
    """For a user's file: modules and paths of files that register the parts and fillers that the file names."""
    text: str = ""
    """For a user's file: the whole text of the file."""


def presets() -> list[str]:
    """The names of all presets, in order."""
    return sorted(file.name.removesuffix(".toml") for file in _folder().iterdir() if file.name.endswith(".toml"))


def preset(name: str) -> Preset:
    """A preset.

    Args:
        name: The name of a published preset, or a user's file whose name ends in .toml: its path, or `module:file` for
            a file in a package.

    Raises:
        UnknownNameError: there is no preset with this name.
        ConfigError: the file cannot be read.
    """
    if is_preset_file(name):
        return _user_preset(name)
    if name not in (known := presets()):
        raise UnknownNameError.of(
            "preset", name, known, "(`palaestra objectives list` lists all; a file's name ends in .toml)"
        )
    table = tomllib.loads((_folder() / f"{name}.toml").read_text(encoding="utf-8"))
    return Preset(
        name=name,
        summary=table.pop("summary"),
        sources=tuple(table.pop("sources")),
        confidence=table.pop("confidence"),
        advice=table.pop("advice", {}),
        columns=table.pop("columns", {}),
        constants=table.pop("constants", {}),
        recipe=table,
    )


def is_preset_file(name: str) -> bool:
    """Whether a preset's name is that of a user's file."""
    return name.endswith(".toml")


_KINDS: Mapping[str, type] = {
    "summary": str,
    "sources": list,
    "confidence": str,
    "advice": dict,
    "columns": dict,
    "constants": dict,
    "imports": list,
}
"""The keys of a preset's file besides its recipe; the recipe is checked when it is built."""
_WORDS: Mapping[type, str] = {str: "text", list: "a list of texts", dict: "a table"}


def _user_preset(name: str) -> Preset:
    module, colon, inside = name.rpartition(":")
    try:
        file: Any = files(module) / inside if colon else Path(name)  # Any: as in `_folder`
        text: str = file.read_text(encoding="utf-8")
        table = tomllib.loads(text)
    except (OSError, ImportError) as error:
        raise ConfigError(f"preset {name}: the file cannot be read ({error}); give its path, or module:file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"preset {name} is no TOML: {error}") from error
    for key, kind in _KINDS.items():
        if not isinstance(table.get(key, kind()), kind):
            raise ConfigError(f"preset {name}: {key} is {table[key]!r}; it is to be {_WORDS[kind]}")
    folder = Path(str(file)).parent
    return Preset(
        name=Path(inside).stem,
        summary=table.pop("summary", ""),
        sources=tuple(table.pop("sources", ())),
        confidence=table.pop("confidence", "derived"),
        advice=table.pop("advice", {}),
        columns=table.pop("columns", {}),
        constants=table.pop("constants", {}),
        imports=tuple(str(folder / one) if one.endswith(".py") else one for one in table.pop("imports", ())),
        text=text,
        recipe=table,
    )


def _folder() -> Any:
    # Any: `files` returns a protocol whose module differs between versions of type checkers.
    return files("palaestra.trainers") / "objectives" / "presets"
