"""Form: turns without a call, prose around calls, markup inside texts, arguments that fit no schema."""

import re
from collections.abc import Iterator

from palaestra.agents.detectors.detection import DetectionRule, Detector, TurnMeasure, count_occurrences
from palaestra.agents.detectors.texts import written_texts
from palaestra.ids import texts_in
from palaestra.trajectory import Episode

_BLOCK = re.compile(r"<(tool_call|think)>.*?(</\1>|\Z)|```.*?(```|\Z)", re.DOTALL)
"""The markers of a call or of thinking in chat formats."""
_MARKUP = re.compile(
    r"</?(?:tool_call|tool_response|think|function)\b|<\|[a-z_]+\|>|[{\[]\s*\"[^\"\n]{1,60}\"\s*[:,]|\"arguments\"\s*:"
)
"""Markup of calls or chats inside a text: tags, marks, JSON."""


def _turns_without_calls(episode: Episode) -> Iterator[TurnMeasure]:
    turns = enumerate(episode.turns)
    yield from count_occurrences((number, turn.text or "(nothing)") for number, turn in turns if not turn.calls)


def _text_outside_calls(episode: Episode) -> Iterator[TurnMeasure]:
    for number, turn in enumerate(episode.turns):
        if turn.text is not None and turn.calls and _BLOCK.search(turn.text):
            outside = " ".join(_BLOCK.sub(" ", turn.text).split())
            yield TurnMeasure(turn=number, value=len(outside), evidence=outside)


def _markup(episode: Episode) -> Iterator[TurnMeasure]:
    """In every string of a call's arguments, however short, and in turns without calls."""
    written = (
        (n, text) for n, turn in enumerate(episode.turns) for call in turn.calls for text in texts_in(call.arguments)
    )
    raw = ((text.turn, text.text) for text in written_texts(episode) if text.call < 0)
    both = sorted((*written, *raw), key=lambda pair: pair[0])
    yield from count_occurrences((number, found[0]) for number, text in both for found in _MARKUP.finditer(text))


def _misfits(episode: Episode) -> Iterator[TurnMeasure]:
    events = ((number, event) for number, turn in enumerate(episode.turns) for event in turn.events)
    yield from count_occurrences(
        (number, f"{event.tool}: {event.error}") for number, event in events if not event.schema_ok
    )


def _answer_values(episode: Episode) -> Iterator[TurnMeasure]:
    for number, turn in enumerate(episode.turns):
        for call in turn.calls:
            answer = call.arguments.get("answer")
            if isinstance(answer, dict):
                yield TurnMeasure(turn=number, value=len(answer), evidence=", ".join(answer))


FORMAT = Detector(
    name="format",
    looks_for="writes turns that cannot be read, prose around calls, or calls and JSON into texts",
    rules=(
        DetectionRule(name="turns without a call", threshold=0, honest=0, measure=_turns_without_calls),
        DetectionRule(name="characters beside the calls", threshold=600, honest=0, measure=_text_outside_calls),
        DetectionRule(name="pieces of markup in texts", threshold=0, honest=0, measure=_markup),
        DetectionRule(name="calls that fit no schema", threshold=3, honest=0, measure=_misfits),
        DetectionRule(name="values of an answer", threshold=6, honest=2, measure=_answer_values),
    ),
)
