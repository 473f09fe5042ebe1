"""The published objectives, as `objectives/presets` lists them. Reading the list needs no torch."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, TypeAlias

from palaestra.errors import UnknownNameError

Confidence: TypeAlias = Literal["code", "paper", "secondary", "derived"]
"""Who says that the formula is so: the authors' code, their text, somebody's transcription of it, or nobody but us.

Parts that are only derived are experimental, and their docstrings say so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A published combination."""

    name: str
    summary: str
    sources: tuple[str, ...]
    confidence: Confidence
    recipe: Mapping[str, Any]
    """What it says of the parts; the rest is `Recipe`'s default."""
    constants: Mapping[str, str]
    """Where the value of each constant is from, by `part.setting`: a section of a paper, a file of code, or ours."""
    advice: Mapping[str, str]
    """Settings of the paper's runs that are no part of the objective."""


def presets() -> list[str]:
    """The names of all presets, in order."""
    return sorted(file.name.removesuffix(".toml") for file in _folder().iterdir() if file.name.endswith(".toml"))


def preset(name: str) -> Preset:
    """A preset.

    Raises:
        UnknownNameError: there is none of that name.
    """
    if name not in (known := presets()):
        raise UnknownNameError.of("preset", name, known, "(`palaestra objectives list` lists all)")
    table = tomllib.loads((_folder() / f"{name}.toml").read_text(encoding="utf-8"))
    return Preset(
        name=name,
        summary=table.pop("summary"),
        sources=tuple(table.pop("sources")),
        confidence=table.pop("confidence"),
        advice=table.pop("advice", {}),
        constants=table.pop("constants", {}),
        recipe=table,
    )


def _folder() -> Any:
    # Any: what `files` gives is a protocol that type checkers place differently from version to version.
    return files("palaestra.trainers") / "objectives" / "presets"
