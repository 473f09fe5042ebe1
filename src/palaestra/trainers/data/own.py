"""The policy's own episodes as something to imitate, whole or up to a turn."""

from collections.abc import Sequence
from itertools import accumulate

from palaestra.record import record
from palaestra.trajectory import Episode, Tokens


def own_tokens(episode: Episode, *, turns: int | None = None) -> Tokens:
    """What a policy of ours read and wrote, with every turn of its own as sampled, with certainty.

    Args:
        episode: Of one segment, with tokens.
        turns: Ends behind so many turns; `None` for the whole.
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
    """The beginning of an episode that solved nothing and did no harm."""

    member: int
    """The place of the episode among those that it was chosen from."""
    turns: int
    """At least 1, and fewer than the episode has: the last one ended it."""
    points: float
    """The return behind them."""


def best_prefix(episodes: Sequence[Episode]) -> HarmlessPrefix | None:
    """The beginning with the best points before any harm; the shortest of equals, and of those the first.

    Returns:
        `None` where no beginning has a return above 0.
    """
    found: list[HarmlessPrefix] = []
    for member, episode in enumerate(episodes):
        for turns, points in enumerate(_harmless_returns(episode), 1):
            if points > 0:
                found.append(HarmlessPrefix(member=member, turns=turns, points=points))
    return min(found, key=lambda one: (-one.points, one.turns, one.member), default=None)


def harmless_turns(episode: Episode) -> int:
    """How many turns come before the first that violates a prohibition, and before the last, which ended it."""
    turns = list(episode.turns)[:-1]
    return next((place for place, turn in enumerate(turns) if turn.violated), len(turns))


def _harmless_returns(episode: Episode) -> list[float]:
    """The return behind each harmless turn."""
    return list(accumulate(turn.reward for turn in list(episode.turns)[: harmless_turns(episode)]))
