"""Judges for tests, made by the place of a function: one that never says the same again, and one that fails."""

import re
from collections.abc import Sequence
from itertools import count

from palaestra.records import Message

ASKED: list[str] = []
"""What they were asked, in order; tests clear it."""


class Capricious:
    """Calls every third turn that it is asked about good, counted since `ASKED` was cleared."""

    def complete(self, messages: Sequence[Message], *, seed: int) -> str:
        del seed
        text = messages[-1]["content"]
        found = re.search(r"There are (\d+) turns", text)
        assert found
        before = count(sum(int(number) for number in ASKED))
        ASKED.append(found[1])
        return "\n".join(f"{n}: {'GOOD' if next(before) % 3 == 0 else 'BAD'}" for n in range(1, int(found[1]) + 1))


class Failing:
    """Fails."""

    def complete(self, messages: Sequence[Message], *, seed: int) -> str:
        raise ConnectionError("the judge is gone")
