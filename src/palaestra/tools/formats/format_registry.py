"""The table of formats: a name that asks for facts where there can be none is refused with the reason."""

from typing import TypeVar

from palaestra.errors import ConfigError
from palaestra.registry import Registry
from palaestra.tools.formats.with_facts import SUFFIX, facts_refusal

T = TypeVar("T")


class FormatRegistry(Registry[T]):
    """Formats by name."""

    def get(self, name: str) -> T:
        """The format called `name`.

        Raises:
            ConfigError: the name asks for facts, `compact-facts`, and the format takes none.
            UnknownNameError: nobody registered it; near names are in the message.
        """
        base = name.removesuffix(SUFFIX)
        if name not in self and base != name and base in self:
            raise ConfigError(facts_refusal(base))
        return super().get(name)
