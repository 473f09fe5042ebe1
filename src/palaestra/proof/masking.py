"""Masks ids and names of a transcript by numbers of first appearance, so that equal observations of two tasks agree."""

import re
from collections.abc import Mapping, Sequence

from palaestra.digest import canonical
from palaestra.proof.trial import Trial
from palaestra.records import Json, Message

_WORD = re.compile(r"[\w.@+/-]*[\w@+/]")
MOST_LETTERS = 60
"""The longest text of a column that counts as a name."""


class Masker:
    """Replaces the ids and names of one task's rows. Names in the briefing, such as sections, stay.

    Args:
        trial: The task.
    """

    def __init__(self, trial: Trial) -> None:
        self._directory = trial.directory
        briefing = " ".join(m["content"] for m in trial.instance.messages if m["role"] == "system")
        self._public = {word for word in _WORD.findall(briefing) if self._directory.table_of(word)}
        self._masks: dict[str, str] = {}
        texts = [m["content"] for m in trial.instance.messages if m["role"] != "system"]
        texts += [m["content"] for step in trial.steps for m in step.observation]
        self._names = _names_in("\n".join(texts), trial)

    def mask(self, text: str) -> str:
        """A text with its ids and names replaced."""
        if self._names is not None:
            text = self._names.sub(lambda found: self._mask(found[0], "name"), text)
        return _WORD.sub(self._mask_word, text)

    def mask_messages(self, messages: Sequence[Message]) -> list[list[str]]:
        """Messages as roles and masked texts."""
        return [[message["role"], self.mask(message["content"])] for message in messages]

    def mask_value(self, value: Json | Mapping[str, Json]) -> str:
        """A JSON value as text with its ids and names replaced."""
        return self.mask(canonical(value).decode())

    def _mask_word(self, found: re.Match[str]) -> str:
        word = found[0]
        table = None if word in self._public else self._directory.table_of(word)
        return word if table is None else self._mask(word, table)

    def _mask(self, word: str, kind: str) -> str:
        return self._masks.setdefault(word, f"<{kind}.{len(self._masks)}>")


def _names_in(text: str, trial: Trial) -> re.Pattern[str] | None:
    """The names of rows that occur in a text: short searchable texts that few rows of a table share."""
    found: set[str] = set()
    for info in trial.instance.world.schema:
        names = [name for name in info.searchable if info.columns[name].type is str and not info.columns[name].choices]
        rows = trial.instance.initial_state.find(info.kind) if names else []
        for name in names:
            values = [getattr(row, name) for row in rows]
            distinct = {value for value in values if value is not None and 3 < len(value) <= MOST_LETTERS}
            if 2 * len(distinct) >= len(values):
                found.update(value for value in distinct if value in text)
    if not found:
        return None
    longest_first = sorted(found, key=lambda value: (-len(value), value))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
