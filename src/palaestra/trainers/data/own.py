"""The policy's own episodes as demonstrations to imitate, whole or up to a turn."""

from collections.abc import Sequence
from itertools import accumulate

from palaestra.record import record
from palaestra.trajectory import Episode, Tokens


def own_tokens(episode: Episode, *, turns: int | None = None) -> Tokens:
    """The tokens that a policy read and wrote; all tokens of its turns count as sampled with probability 1.

    Args:
        episode: An episode of one segment, with tokens.
        turns: The number of turns to keep; `None` for the whole episode.
    """
    (segment,) = episode.segments
    tokens = segment.tokens
    assert tokens is not None, "a policy of ours played it"
    written = [span for span in tokens.spans if span.kind == "turn"]
    if turns is None:
        turns, end = len(written), len(tokens.ids)
    else:
        end = written[turns - 1].end
    own = [False] * end
    for span in written[:turns]:
        own[span.start : span.end] = [True] * (span.end - span.start)
    return Tokens(
        ids=tokens.ids[:end],
        sampled=tuple(own),
        logprobs=(0.0,) * end,
        versions=(0,) * end,
        spans=tuple(span for span in tokens.spans if span.end <= end),
        stops=tokens.stops[:turns],
    )


@record
class HarmlessPrefix:
    """The first turns of an episode that solved nothing; these turns did no harm."""

    member: int
    """The index of the episode among those that it was chosen from."""
    turns: int
    """The number of turns: at least 1, and fewer than the episode has, since the last turn ended it."""
    points: float
    """The return after these turns."""


def best_prefix(episodes: Sequence[Episode]) -> HarmlessPrefix | None:
    """The harmless prefix with the most points; among equals the shortest, then the first.

    Returns:
        The prefix, or `None` if no prefix has a return above 0.
    """
    found: list[HarmlessPrefix] = []
    for member, episode in enumerate(episodes):
        for turns, points in enumerate(_harmless_returns(episode), 1):
            if points > 0:
                found.append(HarmlessPrefix(member=member, turns=turns, points=points))
    return min(found, key=lambda one: (-one.points, one.turns, one.member), default=None)


def harmless_turns(episode: Episode) -> int:
    """The number of turns before the first that violates a prohibition; the last turn, which ended it, never counts."""
    turns = list(episode.turns)[:-1]
    return next((place for place, turn in enumerate(turns) if turn.violated), len(turns))


def _harmless_returns(episode: Episode) -> list[float]:
    """The return after each harmless turn."""
    return list(accumulate(turn.reward for turn in list(episode.turns)[: harmless_turns(episode)]))
