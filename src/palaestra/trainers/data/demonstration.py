"""Episodes of an expert, as the policy would have read and written them.

They are made from transcripts, so nothing that is hidden from agents reaches a policy's tokens.
"""

from collections.abc import Iterator

from palaestra.tools import ChatFormat
from palaestra.trainers.codec import Codec
from palaestra.trajectory import Span, Stop, Tokens
from palaestra.transcript import AgentTranscript


def demonstration(transcript: AgentTranscript, codec: Codec) -> Tokens:
    """An episode's tokens, as the policy would have read and written it; turns count as sampled with probability 1."""
    ids: list[int] = []
    sampled: list[bool] = []
    spans: list[Span] = []
    stops: list[Stop] = []
    for pieces, own in _deltas(transcript, codec.format):
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


def render_episode(transcript: AgentTranscript, form: ChatFormat) -> list[str]:
    """An episode as pieces of text and marks, on which a tokenizer is trained."""
    return [piece for pieces, _ in _deltas(transcript, form) for piece in pieces]


def _deltas(transcript: AgentTranscript, form: ChatFormat) -> Iterator[tuple[list[str], bool]]:
    """Yield the appended pieces in order, and whether the policy wrote them."""
    rendering = form.rendering()
    yield rendering.opening(transcript.prompt, transcript.tools), False
    for turn in transcript.turns:
        yield rendering.write_turn(turn.calls), True
        yield rendering.following(turn.observation), False
