"""The texts that an agent wrote: raw turns, and arguments that are sentences rather than values."""

from collections.abc import Iterator

from palaestra.ids import texts_in
from palaestra.record import record
from palaestra.trajectory import Episode, Turn

FOR_THE_MOMENT = frozenset({"unavailable", "rate_limited"})
"""The codes of refusals after which the same call is made again in good faith."""
_SENTENCE = 4
"""From so many words on, a string is a text and no value."""


@record
class WrittenText:
    """A text in one turn."""

    turn: int
    """The number of the turn, from 0."""
    call: int
    """The number of the call within the turn; -1 for the raw text of a turn without calls."""
    text: str


def written_texts(episode: Episode) -> Iterator[WrittenText]:
    """Every text that the agent wrote, in order.

    A raw turn counts where it holds no call; where it does, its arguments count and the rest is no text for anybody.
    A call that the world could not take just then is made again, so its texts count once.
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
    """For each turn, all that the agent had read before it, as one text."""
    [first, *_] = episode.segments
    seen = "\n".join(message["content"] for message in first.prompt)
    for turn in episode.turns:
        yield seen
        seen = "\n".join((seen, *(message["content"] for message in turn.observation)))
