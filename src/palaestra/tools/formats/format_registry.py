"""The registry of formats, which explains why a format does not support facts."""

from typing import TypeVar

from palaestra.errors import ConfigError
from palaestra.registry import Registry
from palaestra.tools.formats.with_facts import SUFFIX, facts_refusal

T = TypeVar("T")


class FormatRegistry(Registry[T]):
    """Formats by name."""

    def get(self, name: str) -> T:
        """The format with this name.

        Raises:
            ConfigError: the name asks for facts, such as `compact-facts`, and the format does not support them.
            UnknownNameError: the name is not registered; the message has near names.
        """
        base = name.removesuffix(SUFFIX)
        if name not in self and base != name and base in self:
            raise ConfigError(facts_refusal(base))
        return super().get(name)
