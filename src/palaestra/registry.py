"""Tables of named objects, loaded on first use.

An entry is a value or a lazy `"module:attribute"` string, so that importing a folder loads no world.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Generic, TypeVar, cast

from palaestra.errors import UnknownNameError

T = TypeVar("T")


class Registry(Generic[T]):
    """A table of named objects of one kind."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._entries: dict[str, T | str] = {}
        self._loaded: dict[str, T] = {}

    def register(self, name: str, entry: T | str) -> None:
        """Register `entry`, a value or `"module:attribute"`, under `name`.

        Raises:
            ValueError: the name has another entry.
        """
        if self._entries.get(name, entry) != entry:
            raise ValueError(f"{self._kind} {name!r} is registered already; choose another name")
        self._entries[name] = entry

    def get(self, name: str) -> T:
        """The object under `name`.

        Raises:
            UnknownNameError: the name is not registered; the message has near names.
        """
        try:
            entry = self._entries[name]
        except KeyError:
            raise UnknownNameError.of(self._kind, name, self._entries) from None
        if not isinstance(entry, str):
            return entry
        if name not in self._loaded:
            module, _, attribute = entry.partition(":")
            self._loaded[name] = cast("T", getattr(import_module(module), attribute))
        return self._loaded[name]

    def origin(self, name: str) -> str | None:
        """The `"module:attribute"` that `name` is loaded from; `None` if its entry is a value or does not exist."""
        entry = self._entries.get(name)
        return entry if isinstance(entry, str) else None

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._entries))

    def __contains__(self, name: object) -> bool:
        return name in self._entries
