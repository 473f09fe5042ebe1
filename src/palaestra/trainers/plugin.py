"""Parts of one's own that settings name by their place: `module:name`."""

from importlib import import_module
from typing import Any

from palaestra.errors import ConfigError


def load_plugin(place: str, *, setting: str) -> Any:
    """What stands at a place, `module:name`. Any: the setting says what it has to be.

    Raises:
        ConfigError: the module cannot be imported, or has nothing of that name that can be called.
    """
    module, _, name = place.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{setting}: {place!r} cannot be loaded ({error}); write module:name") from error
    if not callable(found):
        raise ConfigError(f"{setting}: {place!r} is {found!r}, and is to be called; give a function or a class")
    return found
