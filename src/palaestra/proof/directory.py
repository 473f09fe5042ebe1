"""Which ids there are, and of which tables: what a proof draws other ids from and knows ids by."""

from collections.abc import Sequence

from palaestra.envs import World
from palaestra.envs.state import Overlay
from palaestra.records import ANY_TABLE


class IdDirectory:
    """The ids of a task's rows as it begins.

    Attributes:
        prose: The names of arguments that are free text for people in every one of the world's own tools that has one.
    """

    def __init__(self, world: World, settled: Overlay) -> None:
        self._tables = {key: info.name for info in world.schema for key in settled.keys(info.name)}
        self._keys = {info.name: settled.keys(info.name) for info in world.schema}
        self._prefixes = {info.kind.prefix: info.name for info in world.schema if info.kind.prefix}
        elsewhere = {n for tool in world.toolbox for n in tool.parameters["properties"] if n not in tool.prose}
        self.prose = frozenset(n for tool in world.toolbox for n in tool.prose) - elsewhere

    def table_of(self, word: str) -> str | None:
        """The table that `word` is an id of, by the rows that stand or by the form of a new row's id."""
        if word in self._tables:
            return self._tables[word]
        head, _, number = word.rpartition("-")
        return self._prefixes.get(f"{head}-") if number.isdecimal() else None

    def ids(self, table: str) -> Sequence[str]:
        """The ids of a table's rows, or of all for `ANY_TABLE`."""
        return tuple(self._tables) if table == ANY_TABLE else self._keys[table]

    def stands(self, word: str) -> bool:
        """Whether there is a row of this id as the task begins."""
        return word in self._tables
