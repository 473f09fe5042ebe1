"""Near-exact advantages of an episode's turns, from many continuations of every state that it visited.

The state before turn t is everything that happened until then. Its value is the mean of the rewards that the policy
still earns when it continues from there:

    V(s) = E[r_t + r_{t+1} + ... | s],    A_t = Q(s_t, a_t) - V(s_t) = r_t + V(s_{t+1}) - V(s_t).

Worlds are deterministic given task, seed and actions. So the recorded turn leads to one state, and Q needs no mean over
answers. Nothing is discounted. The state after the last turn has the value 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, sqrt


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnAdvantages:
    """Near-exact advantages of an episode's turns, in the order of turns and in the units of rewards."""

    advantages: tuple[float, ...]
    errors: tuple[float, ...]
    """The standard errors of the advantages."""
    values: tuple[float, ...]
    """The value of the state before each turn."""
    value_errors: tuple[float, ...]
    """The standard errors of the values."""


def near_exact_advantages(rewards: Sequence[float], continuations: Sequence[Sequence[float]]) -> TurnAdvantages:
    """Compute the advantage of each turn, with its standard error.

    Args:
        rewards: The rewards of the recorded turns.
        continuations: For the state before each turn, the sum of rewards of each continuation from there on.
            Continuations are independent of each other and of the recorded turns that follow; each state has at least
            two.

    Raises:
        ValueError: there is not one list for each turn, or a list holds fewer than two continuations.
    """
    if len(continuations) != len(rewards):
        raise ValueError(f"{len(continuations)} states for {len(rewards)} turns; give the state before each turn")
    if few := [place for place, paid in enumerate(continuations) if len(paid) < 2]:
        raise ValueError(
            f"the state before turn {few[0]} has {len(continuations[few[0]])} continuations; a standard error takes 2"
        )
    means = [fsum(paid) / len(paid) for paid in continuations]
    variances = [_variance_of_mean(paid, mean) for paid, mean in zip(continuations, means, strict=True)]
    following, following_variances = [*means[1:], 0.0], [*variances[1:], 0.0]
    return TurnAdvantages(
        advantages=tuple(
            reward + after - before for reward, after, before in zip(rewards, following, means, strict=True)
        ),
        errors=tuple(sqrt(after + before) for after, before in zip(following_variances, variances, strict=True)),
        values=tuple(means),
        value_errors=tuple(map(sqrt, variances)),
    )


def _variance_of_mean(values: Sequence[float], mean: float) -> float:
    return fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values)
