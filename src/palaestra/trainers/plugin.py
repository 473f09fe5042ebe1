"""User-defined parts, named `module:name` in settings."""

from importlib import import_module
from typing import Any

from palaestra.errors import ConfigError


def load_plugin(place: str, *, setting: str) -> Any:
    """The object at `module:name`. Any: the setting decides its type.

    Raises:
        ConfigError: the module cannot be imported, or has no callable with this name.
    """
    module, _, name = place.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{setting}: {place!r} cannot be loaded ({error}); write module:name") from error
    if not callable(found):
        raise ConfigError(f"{setting}: {place!r} is {found!r}, and is to be called; give a function or a class")
    return found
