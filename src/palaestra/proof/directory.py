"""The directory of a task's ids by table, from which a proof recognises ids and draws others."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from palaestra.envs import World
from palaestra.envs.state import Overlay
from palaestra.ids import ids_in
from palaestra.records import ANY_TABLE
from palaestra.tools import Tool

_TEXTS, _WORDS = 2_048, 16_384
"""How many texts and words a directory caches with their ids."""


class IdDirectory:
    """The ids of a task's rows at its beginning.

    Attributes:
        prose: The names of arguments that are free text for people in every one of the world's own tools that has them.
        money: The names of arguments that are sums of money in every one of those tools that has them.
    """

    def __init__(self, world: World, settled: Overlay) -> None:
        self._tables = {key: info.name for info in world.schema for key in settled.keys(info.name)}
        self._keys = {info.name: settled.keys(info.name) for info in world.schema}
        prefixes = {info.kind.prefix: info.name for info in world.schema if info.kind.prefix}
        self._prefixes = sorted(prefixes.items(), key=lambda pair: -len(pair[0]))
        # Many agents and attacks read the same answers.
        self._names = lru_cache(maxsize=_TEXTS)(self._find_names)
        self._names_in_word = lru_cache(maxsize=_WORDS)(self._find_in_word)
        self.prose = _always(world.toolbox, lambda tool: tool.prose)
        self.money = _always(world.toolbox, lambda tool: tool.money)

    def table_of(self, word: str) -> str | None:
        """The table that `word` is an id of, by existing rows or by the form of a new row's id."""
        if word in self._tables:
            return self._tables[word]
        if not word[-1:].isdecimal():
            return None  # the form of an id is a prefix and a number
        numbered = (t for prefix, t in self._prefixes if word.startswith(prefix) and word[len(prefix) :].isdecimal())
        return next(numbered, None)

    def ids(self, table: str) -> Sequence[str]:
        """The ids of a table's rows, or of all for `ANY_TABLE`."""
        return tuple(self._tables) if table == ANY_TABLE else self._keys[table]

    def find_ids(self, text: str, table: str = ANY_TABLE) -> list[str]:
        """The ids of a table that a text names, in order."""
        return [key for key, of in self._names(text) if table in (ANY_TABLE, of)]

    def _find_names(self, text: str) -> tuple[tuple[str, str | None], ...]:
        """The ids that a text names, in order, each with its table. White space ends an id."""
        return tuple(dict.fromkeys(found for word in text.split() for found in self._names_in_word(word)))

    def _find_in_word(self, word: str) -> tuple[tuple[str, str | None], ...]:
        named = ids_in(word, lambda part: self.table_of(part) is not None)
        return tuple((key, self.table_of(key)) for key in named)

    def stands(self, word: str) -> bool:
        """Whether a row with this id exists at the task's beginning."""
        return word in self._tables


def _always(tools: Iterable[Tool], marked: Callable[[Tool], frozenset[str]]) -> frozenset[str]:
    """The names of arguments that are marked in every tool that has them."""
    elsewhere = {name for tool in tools for name in tool.parameters["properties"] if name not in marked(tool)}
    return frozenset(name for tool in tools for name in marked(tool)) - elsewhere
