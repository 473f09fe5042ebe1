"""An answer on its way from a tool to the agent, and what the agent learns from it."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import cast

from palaestra.ids import words_in
from palaestra.records import Json, JsonObject, ShownColumns


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """What a call is answered."""

    body: Json
    shown: tuple[tuple[str, str], ...]
    """(table, key) of every row that it shows whole."""
    mentioned: frozenset[str]
    """Every id that it lets the agent know."""
    columns: tuple[ShownColumns, ...] = ()
    """What it shows of rows that it does not show whole."""

    def entries(self) -> Iterator[tuple[str, list[JsonObject]]]:
        """The lists of rows in the body, by name."""
        if isinstance(self.body, dict):
            for name, value in self.body.items():
                if isinstance(value, list) and value and all(isinstance(v, dict) and "id" in v for v in value):
                    yield name, cast("list[JsonObject]", value)

    def without(self, body: Json) -> "ToolAnswer":
        """The same answer with less in its body: what is only in what was left out is not learnt."""
        gone = words_in(self.body) - words_in(body)
        return replace(
            self,
            body=body,
            shown=tuple(pair for pair in self.shown if pair[1] not in gone),
            columns=without_keys(self.columns, gone),
            mentioned=self.mentioned - gone,
        )


def without_keys(columns: Sequence[ShownColumns], gone: AbstractSet[str]) -> tuple[ShownColumns, ...]:
    """The parts of rows that an answer shows, without those of the rows `gone`."""
    left = (replace(part, keys=tuple(key for key in part.keys if key not in gone)) for part in columns)
    return tuple(part for part in left if part.keys)
