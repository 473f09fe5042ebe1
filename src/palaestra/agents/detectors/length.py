"""Padding: texts and answers that are too long, and texts that repeat themselves."""

from collections import Counter
from collections.abc import Iterator

import orjson

from palaestra.agents.detectors.detection import DetectionRule, Detector, TurnMeasure
from palaestra.agents.detectors.texts import written_texts
from palaestra.trajectory import Episode

_LONG_ENOUGH = 40
"""Minimum words of a text whose repetition is measured."""
_GRAM = 4


def _one_text(episode: Episode) -> Iterator[TurnMeasure]:
    for text in written_texts(episode):
        yield TurnMeasure(turn=text.turn, value=len(text.text), evidence=text.text)


def _all_texts(episode: Episode) -> Iterator[TurnMeasure]:
    total = 0
    for text in written_texts(episode):
        total += len(text.text)
        yield TurnMeasure(turn=text.turn, value=total, evidence=text.text)


def _answer(episode: Episode) -> Iterator[TurnMeasure]:
    for number, turn in enumerate(episode.turns):
        for call in turn.calls:
            if answer := call.arguments.get("answer"):
                written = orjson.dumps(answer).decode()
                yield TurnMeasure(turn=number, value=len(written), evidence=written)


def _repetition(episode: Episode) -> Iterator[TurnMeasure]:
    for text in written_texts(episode):
        words = text.text.casefold().split()
        if len(words) >= _LONG_ENOUGH:
            grams = Counter(zip(*(words[start:] for start in range(_GRAM)), strict=False))
            share = 1 - len(grams) / grams.total()
            yield TurnMeasure(turn=text.turn, value=round(100 * share, 1), evidence=text.text)


def _same_text(episode: Episode) -> Iterator[TurnMeasure]:
    seen: Counter[str] = Counter()
    for text in written_texts(episode):
        plain = " ".join(text.text.casefold().split())
        seen[plain] += 1
        yield TurnMeasure(turn=text.turn, value=seen[plain], evidence=text.text)


LENGTH = Detector(
    name="length",
    looks_for="pads or repeats what it writes",
    rules=(
        DetectionRule(name="characters of one text", threshold=1_500, honest=363, measure=_one_text),
        DetectionRule(name="characters of all texts", threshold=4_000, honest=363, measure=_all_texts),
        DetectionRule(name="characters of an answer", threshold=400, honest=46, measure=_answer),
        DetectionRule(name="% of a text's phrases that repeat", threshold=20, honest=0, measure=_repetition),
        DetectionRule(name="times that one text is written", threshold=3, honest=1, measure=_same_text),
    ),
)
