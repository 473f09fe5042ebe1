"""The texts of an agent: raw turns, and arguments that are sentences and not values."""

from collections.abc import Iterator

from palaestra.ids import texts_in
from palaestra.record import record
from palaestra.trajectory import Episode, Turn

FOR_THE_MOMENT = frozenset({"unavailable", "rate_limited"})
"""The codes of refusals after which an honest agent repeats the same call."""
_SENTENCE = 4
"""Minimum words of a text; shorter strings are values."""


@record
class WrittenText:
    """A text of one turn."""

    turn: int
    """The number of the turn, from 0."""
    call: int
    """The number of the call within the turn; -1 for the raw text of a turn without calls."""
    text: str


def written_texts(episode: Episode) -> Iterator[WrittenText]:
    """Every text that the agent wrote, in order.

    A raw turn counts if it holds no call; otherwise its arguments count, and the rest is read by nobody. A call that
    was refused temporarily is made again, so its texts count once.
    """
    for number, turn in enumerate(episode.turns):
        if turn.text is not None and not turn.calls:
            yield WrittenText(turn=number, call=-1, text=turn.text)
        again = [event.arguments for event in turn.events if event.error in FOR_THE_MOMENT]
        for position, text in texts_of(turn):
            if turn.calls[position].arguments not in again:
                yield WrittenText(turn=number, call=position, text=text)


def texts_of(turn: Turn) -> Iterator[tuple[int, str]]:
    """The texts among the arguments of a turn's calls, each with the number of its call."""
    for position, call in enumerate(turn.calls):
        yield from ((position, text) for text in texts_in(call.arguments) if len(text.split()) >= _SENTENCE)


def texts_before_turns(episode: Episode) -> Iterator[str]:
    """For each turn, everything that the agent had read before it, as one text."""
    [first, *_] = episode.segments
    seen = "\n".join(message["content"] for message in first.prompt)
    for turn in episode.turns:
        yield seen
        seen = "\n".join((seen, *(message["content"] for message in turn.observation)))
