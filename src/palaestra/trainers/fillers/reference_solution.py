"""The likelihood of the reference solution under the policy, before and after each turn.

Axes: T tokens, U turns, R trajectories, P probes.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

import torch
from torch import Tensor

from palaestra.errors import RecordError
from palaestra.records import ToolCall
from palaestra.tools import Rendering
from palaestra.trainers.codec import Codec
from palaestra.trainers.data.flatten import flatten_tokens
from palaestra.trainers.fillers.filler import column
from palaestra.trainers.fillers.inputs import FillerInput
from palaestra.trainers.objectives.segments import mean_over
from palaestra.trainers.updates.trained import TrainableModel
from palaestra.trajectory import Episode, Segment, Span, Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A text whose likelihood is measured."""

    context: tuple[int, ...]
    """All tokens before the text; at least one."""
    ids: tuple[int, ...]
    """The tokens of the text; at least one."""
    owner: int
    """The owner's number; probes of one owner share prefixes of their contexts, which a layout may process once."""


@column("gold_U", "gold_R", filler="reference-solution", needs=("policy", "demonstrations"))
@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceSolutionLogprobs:
    """The mean log-probability of the reference answer's tokens, as the policy's next turn (MIG, IGPO).

    The answer is calls of the task's demonstration, written as one turn with the handles that ids have in the
    trajectory. The context is the trajectory up to the turn, token by token as recorded. The weights are those before
    the batch's first step.
    """

    answer: Literal["work", "last"] = "work"
    """The calls of the answer: all from the first turn that changed a row (if none does, all after the last look-up),
    or only those of the last turn."""

    def __call__(self, given: FillerInput, /) -> Mapping[str, Tensor]:
        """See `FillColumn`."""
        batch, codec = given.batch, given.codec
        answers = [answer_calls(episode, last=self.answer == "last") for episode in given.demonstrations]
        probes = [
            probe
            for owner, (episode, calls) in enumerate(zip(given.episodes, answers, strict=True))
            for probe in probes_of(episode, calls, codec, owner=owner)
        ]
        mean_P = mean_logprobs(given.policy, probes, temperature=given.temperature).to(batch.return_R)
        count_R = torch.bincount(batch.trajectory_U, minlength=batch.trajectories) + 1
        first_P = torch.zeros(len(probes), dtype=torch.bool)
        first_P[list(accumulate(count_R.tolist()[:-1], initial=0))] = True
        return {"gold_R": mean_P[first_P], "gold_U": mean_P[~first_P]}


def answer_calls(episode: Episode, *, last: bool = False) -> tuple[ToolCall, ...]:
    """The calls of a demonstration that are its answer.

    Args:
        episode: The demonstration.
        last: Whether the answer is only the calls of the last turn.

    Raises:
        RecordError: the demonstration has no call.
    """
    turns = list(episode.turns)
    writes = [place for place, turn in enumerate(turns) if turn.changes]
    looks = [place for place, turn in enumerate(turns) if any(event.shown or event.columns for event in turn.events)]
    begin = writes[0] if writes else min(looks[-1] + 1 if looks else 0, len(turns) - 1)
    calls = tuple(call for turn in turns[-1 if last else begin :] for call in turn.calls)
    if not calls:
        raise RecordError(f"the demonstration of {episode.task.id} has no call; leave it out, or take another one")
    return calls


def probes_of(episode: Episode, calls: Sequence[ToolCall], codec: Codec, *, owner: int) -> Iterator[Probe]:
    """Yield probes with the answer as the next turn: at the beginning of an episode, and after each of its turns.

    Raises:
        RecordError: the episode has several segments, or no tokens.
    """
    segment, tokens = _only_segment(episode)
    spans = [span for span in tokens.spans if span.kind == "turn"]
    rendering = codec.format.rendering()
    rendering.opening(segment.prompt, episode.tools)
    ends = [*(span.start for span in spans), len(tokens.ids)]
    yield Probe(context=tokens.ids[: ends[0]], ids=_encode_calls(rendering, calls, codec), owner=owner)
    for place, (span, end) in enumerate(zip(spans, ends[1:], strict=True)):
        rendering.read(codec.decode(tokens.ids[span.start : span.end]))
        if place < len(segment.turns):  # the world may have failed to answer the last turn
            rendering.following(segment.turns[place].observation)
        yield Probe(context=tokens.ids[:end], ids=_encode_calls(rendering, calls, codec), owner=owner)


def mean_logprobs(policy: TrainableModel, probes: Sequence[Probe], *, temperature: float = 1.0) -> Tensor:
    """The mean log-probability of each probe's tokens, [P], without gradient.

    Args:
        policy: The policy.
        probes: The probes; at least one.
        temperature: The temperature by which logits are divided.
    """
    batch = flatten_tokens(list(map(_tokens, probes)))
    batch = replace(batch, group_R=torch.tensor([probe.owner for probe in probes]))
    logp_T = policy.columns(batch, ["logp"], temperature=temperature)["logp"]
    own_T = batch.trained_T
    return mean_over(logp_T[own_T], batch.trajectory_T[own_T], batch.trajectories)


def _tokens(probe: Probe) -> Tokens:
    before, count = len(probe.context), len(probe.context) + len(probe.ids)
    return Tokens(
        ids=(*probe.context, *probe.ids),
        sampled=(False,) * before + (True,) * len(probe.ids),
        logprobs=(0.0,) * count,
        versions=(0,) * count,
        spans=(Span(kind="turn", start=before, end=count),),
    )


def _encode_calls(rendering: Rendering, calls: Sequence[ToolCall], codec: Codec) -> tuple[int, ...]:
    """The calls as the tokens of the policy's next turn; the rendering is not changed."""
    return tuple(codec.encode(deepcopy(rendering).write_turn(calls)))


def _only_segment(episode: Episode) -> tuple[Segment, Tokens]:
    where = f"episode {episode.id or episode.task.id}"
    if len(episode.segments) != 1:
        raise RecordError(
            f"{where} has {len(episode.segments)} segments; the reference answer is scored only for one segment"
        )
    (segment,) = episode.segments
    if segment.tokens is None:
        raise RecordError(f"{where} has no tokens, so no policy of ours acted in it; leave it out")
    return segment, segment.tokens
