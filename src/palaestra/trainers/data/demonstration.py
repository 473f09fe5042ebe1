"""Episodes of somebody who knows, as the policy would have read and written them."""

from collections.abc import Iterator

from palaestra.tools import ChatFormat
from palaestra.trainers.codec import Codec
from palaestra.trajectory import Episode, Span, Stop, Tokens


def demonstration(episode: Episode, codec: Codec) -> Tokens:
    """An episode as the policy would have read and written it; its turns count as sampled, with certainty."""
    ids: list[int] = []
    sampled: list[bool] = []
    spans: list[Span] = []
    stops: list[Stop] = []
    for pieces, own in _deltas(episode, codec.format):
        new = codec.encode(pieces)
        if own:
            spans += codec.turn(new, start=len(ids))
            stops.append("end")
        ids += new
        sampled += [own] * len(new)
    return Tokens(
        ids=tuple(ids),
        sampled=tuple(sampled),
        logprobs=(0.0,) * len(ids),
        versions=(0,) * len(ids),
        spans=tuple(spans),
        stops=tuple(stops),
    )


def rendered(episode: Episode, form: ChatFormat) -> list[str]:
    """An episode as pieces of text and marks: what a tokenizer is learnt from."""
    return [piece for pieces, _ in _deltas(episode, form) for piece in pieces]


def _deltas(episode: Episode, form: ChatFormat) -> Iterator[tuple[list[str], bool]]:
    """What is appended in turn, and whether it is the policy's own."""
    rendering = form.rendering()
    segment = episode.segments[0]
    yield rendering.opening(segment.prompt, episode.tools), False
    for turn in segment.turns:
        yield rendering.written(turn.calls), True
        yield rendering.following(turn.observation), False
