"""A run's settings from a TOML file, and back to the document that its folder keeps.

A section of the file changes the settings that it names and leaves the stage's other defaults as they are. A section
whose name is a kind of stage, alone or before a hyphen, is a stage: `[grpo]`, `[grpo-late]`.
"""

import re
import reprlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import ErrorDetails

from palaestra.errors import ConfigError, UnknownNameError
from palaestra.trainers.loops.config import STAGE_CLASSES, StageConfig, TrainConfig
from palaestra.trainers.monitors import tracker_named
from palaestra.trainers.stage_kinds import ORDER, STAGE_KINDS, default_order, kind_of
from palaestra.validation import plain_rule
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


_STAGE_FILES: Mapping[str, type[BaseModel]] = {
    kind: create_model(f"_{kind}", __config__=ConfigDict(extra="forbid"), stage=(settings, ...))
    for kind, settings in STAGE_CLASSES.items()
}
"""The same for a stage of each kind."""


@dataclass(frozen=True, slots=True, eq=False)
class _Fault:
    """What pydantic found wrong, and where the settings have it."""

    loc: tuple[int | str, ...]
    details: ErrorDetails

    @property
    def place(self) -> str:
        return ".".join(map(str, self.loc))

    @property
    def is_rule_of_section(self) -> bool:
        """Whether a section's own rule is broken, whose message names the values, or a setting is missing."""
        return self.details["type"] in ("value_error", "missing")


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
    names = [_set(table, setting) for setting in settings]
    return read_config(table, where=str(path), set_names=names)


def read_config(table: Mapping[str, Any], *, where: str = "the settings", set_names: Sequence[str] = ()) -> TrainConfig:
    """The run settings in a table; raises as `load_config` does.

    Args:
        table: The settings.
        where: The source of the settings, as named in messages.
        set_names: Names of settings that come from the command line, such as `grpo.steps`.
    """
    single = isinstance(table.get("world"), dict)
    if single:
        table = {**table, "world": [table["world"]]}
    sections = {name: value for name, value in table.items() if kind_of(name) and value is not None}
    order = _order(table.get(ORDER), sections, where)
    rest = {name: value for name, value in table.items() if not kind_of(name) and name != ORDER}
    stages: dict[str, StageConfig] = {}
    faults: list[_Fault] = []
    for name in order:
        try:
            stages[name] = _read_stage(name, sections[name])
        except ValidationError as error:
            faults += [_Fault((name, *fault["loc"][1:]), fault) for fault in error.errors()]
    try:
        laid = _lay_over_defaults(TrainConfig, rest)
        config = _File.model_validate({"run": {**laid, "stages": stages}}).run
    except ValidationError as error:
        faults += [_Fault(_place(fault["loc"][1:], single), fault) for fault in error.errors()]
        raise ConfigError(_describe_all(faults, where, set_names)) from error
    if faults:
        raise ConfigError(_describe_all(faults, where, set_names))
    if not config.world:
        raise ConfigError(f"{where}: there is no world to learn in; add a section [world]")
    for name in config.trackers:
        tracker_named(name)
    if not config.stages:
        listed = ", ".join(f"[{kind}]" for kind in STAGE_KINDS)
        raise ConfigError(f"{where}: there is nothing to do; add a section of a stage, or several: {listed}")
    return config


def _read_stage(name: str, section: object) -> StageConfig:
    kind = kind_of(name)
    assert kind is not None, "stages are found by their kinds"
    laid = (
        _lay_over_defaults(STAGE_CLASSES[kind], cast("Mapping[str, Any]", section))
        if isinstance(section, Mapping)
        else section
    )
    read: Any = _STAGE_FILES[kind].model_validate({"stage": laid})  # Any: the model is made of the stage's class
    stage: StageConfig = read.stage
    return stage


def _order(stated: object, sections: Mapping[str, object], where: str) -> tuple[str, ...]:
    """The names of the stages in the order of the run.

    Raises:
        ConfigError: the order names a stage without a section, names one twice or leaves one out; or there is no order
            and a kind occurs more than once.
    """
    if stated is None:
        order = default_order(sections)
        kinds = [kind_of(name) for name in order]
        if len(set(kinds)) < len(kinds):
            raise ConfigError(
                f"{where}: a kind of stage occurs more than once, and nothing says in which order stages come; add "
                f"{ORDER} = {orjson.dumps(order).decode()}, in the order that you mean"
            )
        return order
    names: Any = stated  # Any: the file's value; checked below
    if not isinstance(stated, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"{where}: {ORDER}={stated!r}: a list of names of stages")
    order = tuple(names)
    for name in order:
        if name not in sections:
            raise ConfigError(f"{where}: {ORDER}: {UnknownNameError.of('stage', name, sections, 'add its section')}")
        if order.count(name) > 1:
            raise ConfigError(
                f"{where}: {ORDER}: {name!r} comes {order.count(name)} times; give each its own section, such as "
                f"[{name}] and [{kind_of(name)}-2]"
            )
    if left := [name for name in sections if name not in order]:
        raise ConfigError(f"{where}: {ORDER} leaves out {', '.join(left)}, which would have no effect; name or remove")
    return order


def config_document(config: TrainConfig) -> bytes:
    """The complete settings with all defaults, as the run's folder stores them."""
    document = _File(run=config).model_dump(mode="json")["run"]
    stages = document.pop(ORDER)
    return orjson.dumps({**document, ORDER: list(stages), **stages}, option=orjson.OPT_INDENT_2)


def _set(table: dict[str, Any], setting: str) -> str:
    """Set `section.name=VALUE` in the table; returns `section.name`."""
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
    return ".".join((*path, last))


def _lay_over_defaults(kind: type, table: Mapping[str, Any], default: object = None) -> dict[str, Any]:
    """The table, completed from a section's default if that differs from the default of the section's own class.

    Args:
        kind: The dataclass that the table describes.
        table: The given settings.
        default: The values for settings that are not given; `None` for the class's own defaults.
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
    """The dataclass of a setting that is a section; `None` if it is a value or a list."""
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
    """The place of a fault as the file names it: a single `[world]` has no number."""
    return (loc[0], *loc[2:]) if single and len(loc) > 1 and loc[0] == "world" else loc


def _describe_all(faults: Sequence[_Fault], where: str, set_names: Sequence[str]) -> str:
    """Every fault, after its source: the file, or an option `--set`."""
    origins = {fault: _find_set_name(fault, set_names) for fault in faults}
    of_file = [_describe(fault) for fault, name in origins.items() if name is None]
    of_command = [
        f"--set {_describe(fault)}" if fault.place.startswith(name) else f"--set {name}: {_rule(fault)}"
        for fault, name in origins.items()
        if name is not None
    ]
    return "; ".join(([f"{where}: {'; '.join(of_file)}"] if of_file else []) + of_command)


def _find_set_name(fault: _Fault, set_names: Sequence[str]) -> str | None:
    """The name given with `--set` that a fault concerns; `None` without one.

    A fault of a section's own rule is reported at the section and names settings as in `steps=0`.
    """
    for name in set_names:
        if f"{fault.place}.".startswith(f"{name}."):
            return name
        if fault.is_rule_of_section and name.startswith(f"{fault.place}." if fault.place else ""):
            inner = name.removeprefix(f"{fault.place}.").rpartition(".")[2]
            if re.search(rf"\b{re.escape(inner)} ?=", fault.details["msg"]):
                return name
    return None


def _describe(fault: _Fault) -> str:
    loc, place = fault.loc, fault.place
    kind_of_stage = kind_of(str(loc[0])) if loc else None
    former = place if kind_of_stage is None else ".".join((kind_of_stage, *map(str, loc[1:])))
    if former in RENAMED:
        return f"{place}: in version {__version__} it is called {RENAMED[former]!r}; rename it"
    if fault.details["type"] != "unexpected_keyword_argument":
        given = "" if fault.is_rule_of_section else f"={reprlib.repr(fault.details['input'])}"
        return f"{place}{given}: {_rule(fault)}"
    known = _list_known(loc[:-1])
    near = get_close_matches(str(loc[-1]), known, n=1)
    return f"{place}: unknown; " + (f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}")


def _rule(fault: _Fault) -> str:
    rule = plain_rule(fault.details["msg"])
    return f"{rule[:1].lower()}{rule[1:]}"


def _list_known(loc: Sequence[int | str]) -> list[str]:
    """The names of the settings of a section."""
    kind: Any = TrainConfig
    first = kind_of(str(loc[0])) if loc else None
    if first is not None:
        kind, loc = STAGE_CLASSES[first], loc[1:]
    for part in (one for one in loc if isinstance(one, str)):
        hint = get_type_hints(kind)[part]
        kind = next((one for one in (hint, *get_args(hint)) if is_dataclass(one)), hint)
    names = [one.name for one in fields(kind)]
    return [*names, *STAGE_KINDS] if kind is TrainConfig else names
