"""Episodes of somebody who knows, as the policy would have read and written them.

They are made of transcripts, so nothing that an agent may not see reaches a policy's tokens.
"""

from collections.abc import Iterator

from palaestra.tools import ChatFormat
from palaestra.trainers.codec import Codec
from palaestra.trajectory import Span, Stop, Tokens
from palaestra.transcript import AgentTranscript


def demonstration(transcript: AgentTranscript, codec: Codec) -> Tokens:
    """An episode as the policy would have read and written it; its turns count as sampled, with certainty."""
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
    """An episode as pieces of text and marks: what a tokenizer is learnt from."""
    return [piece for pieces, _ in _deltas(transcript, form) for piece in pieces]


def _deltas(transcript: AgentTranscript, form: ChatFormat) -> Iterator[tuple[list[str], bool]]:
    """What is appended in turn, and whether it is the policy's own."""
    rendering = form.rendering()
    yield rendering.opening(transcript.prompt, transcript.tools), False
    for turn in transcript.turns:
        yield rendering.write_turn(turn.calls), True
        yield rendering.following(turn.observation), False
