"""Conversion of episode records into the arrays that training reads.

Nothing is left out and nothing is tokenised again: the arrays hold every token of every segment, as recorded. A layout
decides which tokens a pass through a model can skip.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from palaestra.errors import RecordError
from palaestra.record import record
from palaestra.trainers.data.batch import NO_TURN, PARTS, TokenBatch
from palaestra.trainers.data.columns import rollout_columns
from palaestra.trajectory import Episode, TemperatureChoices, Tokens, Turn

_PART = {kind: number for number, kind in enumerate(PARTS)}
_Ints: TypeAlias = npt.NDArray[np.int64]
_Segments: TypeAlias = Sequence[tuple[Tokens, str]]
"""Each segment's tokens, and the name of its trajectory."""


def flatten(episodes: Sequence[Episode]) -> TokenBatch:
    """Flatten the trajectories of `episodes`, in their order; advantages are 0 until an objective fills them in.

    Groups are numbered by `Episode.group`, in the order of first occurrence; an episode without a group is its own
    group. A last turn that the world failed to answer has reward 0. A turn that another trajectory sampled, and from
    which this one continues, has reward 0 too; returns exclude its reward. The batch has the columns that records
    alone determine; see `rollout_columns`.

    Args:
        episodes: Episodes with tokens in every segment. The caller leaves out those that do not count for a baseline.

    Raises:
        RecordError: there are no episodes, or a record breaks a rule: a segment without tokens, tuples of different
            lengths, a span that does not fit, a sampled token outside all turns, temperatures that a head chose for
            some trajectories and not for others. The message names the episode.
    """
    numbers: dict[str, int] = {}
    sources = [_source(episode, place) for place, episode in enumerate(episodes)]
    batch = _flat(
        sources,
        groups=[numbers.setdefault(e.group or f"\0{place}", len(numbers)) for place, e in enumerate(episodes)],
        returns=[_own_return(episode) for episode in episodes],
    )
    turns = [sum(len(paid) for _, paid in source.segments) for source in sources]
    return batch.with_columns({**rollout_columns(episodes, turns), **_choices(sources, batch.trained_T)})


def _choices(sources: Sequence["_Source"], trained_T: Tensor) -> dict[str, Tensor]:
    """The columns of temperatures that a head chose; none if no head chose any."""
    segments = [(tokens, source.name) for source in sources for tokens, _ in source.segments]
    if not any(tokens.choices for tokens, _ in segments):
        return {}
    for tokens, name in segments:
        _check_choices(tokens, name)
    chosen = [tokens.choices or _no_choices(tokens) for tokens, _ in segments]
    trained, count = trained_T.numpy(), len(trained_T)
    return {
        "temperature_T": _where(trained, _join((one.temperatures for one in chosen), count, np.float32)),
        "latent_T": _where(trained, _join((one.latents for one in chosen), count, np.float32)),
        "choice_T": _where(trained, _join((one.logprobs for one in chosen), count, np.float32)),
    }


def _no_choices(tokens: Tokens) -> TemperatureChoices:
    """The choices for a segment in which nothing was sampled."""
    nothing = (0.0,) * len(tokens.ids)
    return TemperatureChoices(temperatures=nothing, latents=nothing, logprobs=nothing)


def _check_choices(tokens: Tokens, name: str) -> None:
    """Refuse a segment that lacks choices which others have, and choices that do not fit the segment's tokens."""
    choices = tokens.choices
    if choices is None and not any(tokens.sampled):
        return
    if choices is None:
        raise RecordError(
            f"{name}: a temperature head chose in other trajectories and not in this one; flatten them apart, or play "
            "all of them with the head"
        )
    for field in ("temperatures", "latents", "logprobs"):
        if (other := len(getattr(choices, field))) != len(tokens.ids):
            raise RecordError(
                f"{name}: a segment has {len(tokens.ids)} ids and {other} {field} of choices; there is one for each "
                "token"
            )
    for place, (own, temperature) in enumerate(zip(tokens.sampled, choices.temperatures, strict=True)):
        if own and not temperature > 0:
            raise RecordError(
                f"{name}: token {place} was sampled at temperature {temperature}; a temperature is above 0"
            )


def flatten_tokens(demonstrations: Sequence[Tokens]) -> TokenBatch:
    """Flatten demonstrations to imitate: trajectories of one segment, each in its own group, with reward 0.

    The batch has no columns, since there are no episodes.

    Raises:
        RecordError: as `flatten` does; the message names the place among `demonstrations`.
    """
    return _flat(
        [
            _Source(name=f"demonstration {place}", segments=((tokens, (0.0,) * _count_turns(tokens)),))
            for place, tokens in enumerate(demonstrations)
        ],
        groups=list(range(len(demonstrations))),
        returns=[0.0] * len(demonstrations),
    )


@record
class _Source:
    """A trajectory: the tokens of each segment, and the rewards of its turns."""

    name: str
    segments: tuple[tuple[Tokens, tuple[float, ...]], ...]


def _source(episode: Episode, place: int) -> _Source:
    name = f"episode {place} ({episode.id or episode.task.id})"
    if not episode.segments:
        raise RecordError(f"{name} has no segments, so there is nothing to train on; leave it out")
    segments: list[tuple[Tokens, tuple[float, ...]]] = []
    for number, segment in enumerate(episode.segments):
        if segment.tokens is None:
            raise RecordError(
                f"{name}: segment {number} has no tokens, so no policy of ours acted in it; "
                "make them with `demonstration`, or leave the episode out"
            )
        last = number == len(episode.segments) - 1
        segments.append((segment.tokens, _rewards(segment.tokens, segment.turns, last=last, name=name)))
    return _Source(name=name, segments=tuple(segments))


def _rewards(tokens: Tokens, turns: Sequence[Turn], *, last: bool, name: str) -> tuple[float, ...]:
    """The reward of each written turn; the world may have failed to answer the last turn of an episode."""
    written = _count_turns(tokens)
    unanswered = written - len(turns)
    if unanswered not in ((0, 1) if last else (0,)):
        raise RecordError(
            f"{name}: a segment's tokens mark {written} turns and its record has {len(turns)}; each turn has one span, "
            "and only the last of the episode may be without an answer"
        )
    shared = tokens.shared_turns
    return (*(0.0,) * shared, *(turn.reward for turn in turns[shared:]), *(0.0,) * unanswered)


def _own_return(episode: Episode) -> float:
    """The sum of rewards after the turns that another trajectory sampled."""
    tokens = episode.segments[0].tokens
    shared = 0 if tokens is None else tokens.shared_turns
    return episode.episode_return if not shared else sum(turn.reward for turn in list(episode.turns)[shared:])


def _count_turns(tokens: Tokens) -> int:
    return sum(span.kind == "turn" for span in tokens.spans)


def _flat(sources: Sequence[_Source], *, groups: list[int], returns: list[float]) -> TokenBatch:
    if not sources:
        raise RecordError("there are no trajectories to flatten; give at least one")
    segments = [(tokens, source.name) for source in sources for tokens, _ in source.segments]
    for tokens, name in segments:
        _check(tokens, name)
    lengths = np.array([len(tokens.ids) for tokens, _ in segments])
    starts = np.cumsum(lengths) - lengths
    count = int(lengths.sum())
    position = np.arange(count) - np.repeat(starts, lengths)
    sampled = np.frombuffer(b"".join(bytes(tokens.sampled) for tokens, _ in segments), dtype=np.bool_)
    trained = sampled & (position > 0)
    turn, part, segment_of_turn = _mark(segments, starts.tolist(), count)
    lost = np.flatnonzero(sampled & (turn == NO_TURN))
    segment = np.repeat(np.arange(len(segments)), lengths)
    if len(lost):
        raise RecordError(
            f"{segments[segment[lost[0]]][1]}: token {position[lost[0]]} was sampled and no turn holds it; "
            'give each turn a span of kind "turn"'
        )
    trajectory_of_segment = np.repeat(np.arange(len(sources)), [len(source.segments) for source in sources])
    return TokenBatch(
        ids_T=torch.from_numpy(_join((tokens.ids for tokens, _ in segments), count, np.int64)),
        position_T=torch.from_numpy(position),
        trained_T=torch.from_numpy(trained),
        logprob_T=_where(trained, _join((tokens.logprobs for tokens, _ in segments), count, np.float32)),
        version_T=_where(trained, _join((tokens.versions for tokens, _ in segments), count, np.int64)),
        part_T=torch.from_numpy(part),
        advantage_T=torch.zeros(count),
        weight_T=torch.zeros(count),
        segment_T=torch.from_numpy(segment),
        turn_T=torch.from_numpy(turn),
        trajectory_S=torch.from_numpy(trajectory_of_segment),
        trajectory_U=torch.from_numpy(trajectory_of_segment[segment_of_turn]),
        reward_U=_floats(reward for source in sources for _, paid in source.segments for reward in paid),
        group_R=torch.tensor(groups),
        return_R=_floats(returns),
    )


def _join(tuples: Iterable[Sequence[float]], count: int, kind: type[np.int64 | np.float32]) -> npt.NDArray[Any]:
    return np.fromiter(chain.from_iterable(tuples), dtype=kind, count=count)


def _where(trained: npt.NDArray[np.bool_], values: npt.NDArray[Any]) -> Tensor:
    return torch.from_numpy(np.where(trained, values, values.dtype.type(0)))


def _floats(values: Iterable[float]) -> Tensor:
    return torch.tensor(list(values), dtype=torch.float32)


def _mark(segments: _Segments, starts: Sequence[int], count: int) -> tuple[_Ints, _Ints, _Ints]:
    """The turn and the part of each token, and the segment of each turn."""
    turn = np.full(count, NO_TURN, dtype=np.int64)
    part = np.full(count, _PART[""], dtype=np.int64)
    segment_of_turn: list[int] = []
    for number, ((tokens, _), start) in enumerate(zip(segments, starts, strict=True)):
        whole: slice | None = None
        """The current turn, while no part of it has been marked."""
        for span in tokens.spans:
            place = slice(start + span.start, start + span.end)
            if span.kind == "turn":
                turn[place] = len(segment_of_turn)
                part[place] = _PART["action"]
                segment_of_turn.append(number)
                whole = place
                continue
            if whole is not None:
                part[whole] = _PART[""]
                whole = None
            part[place] = _PART[span.kind]
    return turn, part, np.array(segment_of_turn, dtype=np.int64)


def _check(tokens: Tokens, name: str) -> None:
    """Refuse tuples of unequal length, and spans that are out of range, out of order or outside their turn."""
    count = len(tokens.ids)
    for field in ("sampled", "logprobs", "versions"):
        if (other := len(getattr(tokens, field))) != count:
            raise RecordError(f"{name}: a segment has {count} ids and {other} {field}; there is one for each token")
    if not count:
        raise RecordError(f"{name}: a segment has no token; one that was read has its prompt's at least")
    turn_end = reached = 0
    for span in tokens.spans:
        of_turn = span.kind == "turn"
        low, high = (turn_end, count) if of_turn else (reached, turn_end)
        if not low <= span.start <= span.end <= high:
            raise RecordError(
                f"{name}: the span {span.kind} [{span.start}, {span.end}) does not lie within [{low}, {high}); turns "
                "follow each other within their segment, parts follow each other within their turn"
            )
        if of_turn:
            turn_end, reached = span.end, span.start
        else:
            reached = span.end
