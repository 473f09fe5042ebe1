"""Figures of a step's rollouts: rewards, lengths and errors.

Names are paths, so that a page of curves groups them by their first part. A figure that is undefined for these episodes
(the standard deviation of one number, a correlation of equal lengths) is left out.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray

from palaestra.records import LAYERS, EndReason
from palaestra.trainers.objectives.objective import Metrics
from palaestra.trajectory import Episode, Turn

LENGTH_CORRELATION = "length/correlation"
DRAWN = "tokens/drawn"
"""The number of the policy's own tokens in a step's rollouts, continuations included."""
GROUPS_FLAT = "groups/flat"
SOLVED_SHARE, POINTS, UNFINISHED = "solved", "score/mean", "unfinished"
TOKEN_BUDGET = f"end/{EndReason.TOKEN_BUDGET}"


def rollout_metrics(episodes: Sequence[Episode]) -> Metrics:
    """The figures of one step's episodes.

    Episodes of failed worlds count as faults and are in no other figure. `reward/std` is the sample's standard
    deviation (n - 1). `end/...` are shares that sum to 1; `end/none` is the share of rollouts that stopped before their
    episode ended.

    Args:
        episodes: The episodes of one step.

    Returns:
        The figures by name: `reward/mean`, `reward/std`; `score/mean`, and `score/LAYER`, the share of all points that
        each layer gave, which sum to `score/mean`, in worlds that state what a solved task pays; `solved`, a share;
        `length/turns`, `length/sampled` and `length/context`, turns and tokens of an episode, `length/turn`, sampled
        tokens of a turn, and `length/correlation`, see `length_correlation`; `actions/unreadable` and
        `actions/invalid`, shares of turns; `actions/misfit` and `actions/refused`, shares of calls; `end/REASON`;
        `unfinished`, the share of episodes that a budget, unreadable turns or giving up ended; `groups/flat`, see
        `flat_groups`; `faults`, a count.
    """
    valid = [episode for episode in episodes if episode.valid_for_baseline]
    metrics: Metrics = {"faults": float(len(episodes) - len(valid))}
    if not valid:
        return metrics
    return metrics | _measure_earned(valid) | _lengths(valid) | _actions(valid) | _ends(valid) | flat_groups(valid)


def _measure_earned(episodes: Sequence[Episode]) -> Metrics:
    returns = [episode.episode_return for episode in episodes]
    metrics = {
        "reward/mean": fmean(returns),
        SOLVED_SHARE: fmean(episode.score.passed for episode in episodes),
    }
    if len(returns) > 1:
        metrics["reward/std"] = stdev(returns)
    scores = [episode.score for episode in episodes if episode.score.total]
    if scores:
        metrics[POINTS] = fmean(score.points / score.total for score in scores)
        for layer in LAYERS:
            metrics[f"score/{layer}"] = fmean(score.components.get(layer, 0) / score.total for score in scores)
    return metrics


def _lengths(episodes: Sequence[Episode]) -> Metrics:
    turns = sum(len(list(episode.turns)) for episode in episodes)
    metrics = {"length/turns": turns / len(episodes)}
    if all(segment.tokens is None for episode in episodes for segment in episode.segments):
        return metrics
    sampled = sum(map(sampled_tokens, episodes))
    metrics["length/sampled"] = sampled / len(episodes)
    metrics["length/context"] = fmean(sum(map(len, _ids(episode))) for episode in episodes)
    if turns:
        metrics["length/turn"] = sampled / turns
    return metrics | length_correlation(episodes)


def _ids(episode: Episode) -> Iterable[tuple[int, ...]]:
    return (segment.tokens.ids for segment in episode.segments if segment.tokens is not None)


def sampled_tokens(episode: Episode) -> int:
    """The number of tokens that the policy wrote."""
    return sum(sum(segment.tokens.sampled) for segment in episode.segments if segment.tokens is not None)


def length_correlation(episodes: Sequence[Episode]) -> Metrics:
    """`length/correlation`: Pearson's correlation of returns and sampled tokens, both minus their group's mean.

    Group means are subtracted since hard tasks are longer and earn less for any policy. The rest is what a gradient
    from comparisons within groups can learn: whether longer episodes of the same task have higher returns. The figure
    is left out if returns or lengths do not differ within any group.
    """
    groups: dict[str, list[Episode]] = {}
    for episode in episodes:
        groups.setdefault(episode.group, []).append(episode)
    returns = np.concatenate([_centre([e.episode_return for e in group]) for group in groups.values()])
    lengths = np.concatenate([_centre([sampled_tokens(e) for e in group]) for group in groups.values()])
    scale = float(np.linalg.norm(returns) * np.linalg.norm(lengths))
    if scale < 1e-9:
        return {}
    return {LENGTH_CORRELATION: float(np.clip(returns @ lengths / scale, -1.0, 1.0))}


def _centre(values: Sequence[float]) -> NDArray[np.float64]:
    mean = fmean(values)
    return np.array([value - mean for value in values], dtype=np.float64)


def _actions(episodes: Sequence[Episode]) -> Metrics:
    turns = list(chain.from_iterable(episode.turns for episode in episodes))
    calls = [event for turn in turns for event in turn.events]
    metrics: Metrics = {}
    if turns:
        metrics["actions/unreadable"] = fmean(not turn.calls for turn in turns)
        metrics["actions/invalid"] = fmean(map(_invalid, turns))
    if calls:
        metrics["actions/misfit"] = fmean(not event.schema_ok for event in calls)
        metrics["actions/refused"] = fmean(event.schema_ok and not event.semantic_ok for event in calls)
    return metrics


def _invalid(turn: Turn) -> bool:
    """Whether a turn had no readable call, or a call that fits no tool."""
    return not turn.calls or any(not event.schema_ok for event in turn.events)


def _ends(episodes: Sequence[Episode]) -> Metrics:
    ends = Counter(episode.end.value if episode.end is not None else "none" for episode in episodes)
    shares = {f"end/{reason}": ends[reason] / len(episodes) for reason in (*map(str, EndReason), "none")}
    return {**shares, UNFINISHED: fmean(one.end is None or one.end.is_unfinished for one in episodes)}


def flat_groups(episodes: Sequence[Episode]) -> Metrics:
    """`groups/flat`: the share of groups with equal returns, whose comparisons have no gradient.

    A group of one is flat. Episodes without a group are left out; so is the figure if no episode has a group.
    """
    groups: dict[str, set[float]] = {}
    for episode in episodes:
        if episode.group:
            groups.setdefault(episode.group, set()).add(episode.episode_return)
    if not groups:
        return {}
    return {GROUPS_FLAT: fmean(len(returns) == 1 for returns in groups.values())}
