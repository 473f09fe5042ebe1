"""Creates parts from settings: a function as it is, or a frozen dataclass whose fields are its settings."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from palaestra.errors import ConfigError
from palaestra.validation import plain_rule

TO_BE_SAID = "to be said"
"""Shown instead of the default of a setting without one."""


def setting_defaults(make: Callable[..., Any]) -> dict[str, str]:
    """The names of the settings of a function or class, each with its default in words; empty for a function."""
    if not isinstance(make, type):
        return {}
    found: Any = make  # Any: any dataclass, including a user's
    return {
        one.name: TO_BE_SAID if one.default is MISSING and one.default_factory is MISSING else f"{one.default}"
        for one in fields(found)
        if one.init
    }


def make_with_settings(make: Callable[..., Any], settings: Mapping[str, Any], *, where: str, hint: str) -> Any:
    """The function itself, or an object of the class with these settings. Any: of any class.

    Args:
        make: The function or class.
        settings: The settings, by name.
        where: Its name in errors.
        hint: Where its settings are listed, for errors.

    Raises:
        ConfigError: a setting is unknown, lacks a value, or has an invalid value.
    """
    known = setting_defaults(make)
    for setting in settings:
        if setting not in known:
            near = get_close_matches(setting, known, n=1)
            way_out = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known) or 'none'}"
            raise ConfigError(f"{where}: unknown setting {setting!r}; {way_out}")
    if not isinstance(make, type):
        return make
    for setting, default in known.items():
        if default == TO_BE_SAID and setting not in settings:
            raise ConfigError(f"{where}: {setting} has no default; say it ({hint})")
    hints = get_type_hints(make)
    try:
        return make(**{key: TypeAdapter(hints[key]).validate_python(value) for key, value in settings.items()})
    except ValidationError as error:
        raise ConfigError(f"{where}: {'; '.join(map(describe_fault, error.errors()))}") from error
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from error


def describe_fault(fault: ErrorDetails) -> str:
    """The message for a fault that pydantic found."""
    place = ".".join(map(str, fault["loc"]))
    return f"{place + ': ' if place else ''}{plain_rule(fault['msg'])} (it is {fault['input']!r})"
