"""A run's settings from a TOML file, and back to the document that its folder keeps.

A section of the file changes the settings that it names and leaves the stage's other defaults as they are.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from palaestra.errors import ConfigError
from palaestra.trainers.loops.config import TrainConfig
from palaestra.trainers.monitors import tracker_named
from palaestra.version import __version__

RENAMED = {
    "contaminated": "contamination_lists",
    "policy.fresh": "policy.model",
    "policy.start": "policy.checkpoint",
    "sft.rise": "sft.warmup_steps",
    "sft.save_every": "sft.save.every",
    "grpo.save_every": "grpo.save.every",
}
"""Settings of earlier versions, and their names now."""


class _File(BaseModel):
    """Makes the reader strict about names in every section below: plain dataclasses take that from a model alone."""

    model_config = ConfigDict(extra="forbid")
    run: TrainConfig


def load_config(path: Path, *, settings: Sequence[str] = ()) -> TrainConfig:
    """Read a TOML file of settings.

    Args:
        path: The file.
        settings: Settings that go before the file's, each `section.name=VALUE` with a TOML value; text needs no quotes.

    Raises:
        ConfigError: the file cannot be read, a key is unknown or a value breaks a rule; all of them are named.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); give a TOML file of settings") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is no TOML: {error}") from error
    for setting in settings:
        _set(table, setting)
    return read_config(table, where=str(path))


def read_config(table: Mapping[str, Any], *, where: str = "the settings") -> TrainConfig:
    """The run that a table of settings describes; raises as `load_config` does."""
    single = isinstance(table.get("world"), dict)
    if single:
        table = {**table, "world": [table["world"]]}
    try:
        config = _File.model_validate({"run": _lay_over_defaults(TrainConfig, table)}).run
    except ValidationError as error:
        faults = [_told(_place(fault["loc"][1:], single), fault["msg"], fault["type"]) for fault in error.errors()]
        raise ConfigError(f"{where}: {'; '.join(faults)}") from error
    if not config.world:
        raise ConfigError(f"{where}: there is no world to learn in; add a section [world]")
    for name in config.trackers:
        tracker_named(name)
    if config.sft is None and config.grpo is None:
        raise ConfigError(f"{where}: there is nothing to do; add a section [sft], [grpo] or both")
    return config


def config_document(config: TrainConfig) -> bytes:
    """The settings, whole, with every default said: what a run's folder keeps."""
    return orjson.dumps(_File(run=config).model_dump(mode="json")["run"], option=orjson.OPT_INDENT_2)


def _set(table: dict[str, Any], setting: str) -> None:
    """Put `section.name=VALUE` into the table."""
    name, equals, text = setting.partition("=")
    *path, last = name.strip().split(".")
    if not equals or not last:
        raise ConfigError(f"{setting!r} sets nothing; write section.name=VALUE, such as grpo.steps=4")
    for part in path:
        inner: Any = table.setdefault(part, {})
        if isinstance(inner, list):
            raise ConfigError(f"{setting!r}: there are {len(inner)} sections [[{part}]]; change the file instead")
        table = inner
        if not isinstance(cast("object", table), dict):
            raise ConfigError(f"{setting!r}: {part} is a value and no section")
    try:
        table[last] = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        table[last] = text


def _lay_over_defaults(kind: type, table: Mapping[str, Any], default: object = None) -> dict[str, Any]:
    """The table, and what it leaves out of a section whose default differs from the section's own class.

    Args:
        kind: The dataclass that the table describes.
        table: What was given.
        default: What stands where nothing is given; `None` for the class's own defaults.
    """
    laid = {} if default is None else {one.name: getattr(default, one.name) for one in _settings_in(kind)}
    for name, value in table.items():
        one = next((one for one in _settings_in(kind) if one.name == name), None)
        inner = None if one is None else section_of(kind, name)
        if one is None or inner is None or not isinstance(value, Mapping):
            laid[name] = value
            continue
        under = laid[name] if name in laid else _default_of(one)
        laid[name] = _lay_over_defaults(inner, cast("Mapping[str, Any]", value), under)
    return laid


def section_of(kind: type, name: str) -> type | None:
    """The dataclass of a setting that is a section; `None` where it is a value or a list."""
    hint = get_type_hints(kind)[name]
    options = (hint, *(get_args(hint) if get_origin(hint) in (Union, UnionType) else ()))
    return next((one for one in options if is_dataclass(one) and isinstance(one, type)), None)


def _settings_in(kind: type) -> tuple[Field[Any], ...]:
    return fields(kind)


def _default_of(one: Field[Any]) -> object:
    if one.default_factory is not MISSING:
        return one.default_factory()
    return None if one.default is MISSING else one.default


def _place(loc: tuple[int | str, ...], single: bool) -> tuple[int | str, ...]:  # noqa: FBT001
    """Where a fault is, as the file has it: a single `[world]` has no number."""
    return (loc[0], *loc[2:]) if single and len(loc) > 1 and loc[0] == "world" else loc


def _told(loc: tuple[int | str, ...], message: str, kind: str) -> str:
    place = ".".join(map(str, loc))
    if place in RENAMED:
        return f"{place}: in version {__version__} it is called {RENAMED[place]!r}; rename it"
    if kind != "unexpected_keyword_argument":
        return f"{place}: {message[0].lower()}{message[1:]}"
    known = _known(loc[:-1])
    near = get_close_matches(str(loc[-1]), known, n=1)
    return f"{place}: unknown; " + (f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}")


def _known(loc: Sequence[int | str]) -> list[str]:
    """The names of the settings of a section."""
    kind: Any = TrainConfig
    for part in (one for one in loc if isinstance(one, str)):
        hint = get_type_hints(kind)[part]
        kind = next((one for one in (hint, *get_args(hint)) if is_dataclass(one)), hint)
    return [one.name for one in fields(kind)]
