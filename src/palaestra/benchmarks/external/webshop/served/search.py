"""Search by words: BM25 as Lucene computes it, with Pyserini's parameters."""

import re
from collections import Counter
from collections.abc import Mapping
from math import log

_K1, _B = 0.9, 0.4
"""How soon a repeated word counts no more, and how much long texts count less."""


class Index:
    """Texts by their ids.

    Args:
        texts: What is looked through.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        counts = {id: Counter(_words(text)) for id, text in texts.items()}
        self._length = {id: sum(count.values()) for id, count in counts.items()}
        self._mean = sum(self._length.values()) / max(1, len(counts))
        self._holding: dict[str, dict[str, int]] = {}
        for id, count in counts.items():
            for word, often in count.items():
                self._holding.setdefault(word, {})[id] = often

    def find(self, query: str, most: int) -> list[str]:
        """The ids of the texts that fit best; of equals, the ones that were given first."""
        scores: dict[str, float] = {}
        for word in _words(query):
            holding = self._holding.get(word, {})
            rarity = log(1 + (len(self._length) - len(holding) + 0.5) / (len(holding) + 0.5))
            for id, often in holding.items():
                damped = often + _K1 * (1 - _B + _B * self._length[id] / self._mean)
                scores[id] = scores.get(id, 0.0) + rarity * often / damped
        place = {id: number for number, id in enumerate(self._length)}
        return sorted(scores, key=lambda id: (-scores[id], place[id]))[:most]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
