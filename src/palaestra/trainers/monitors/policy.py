"""The distance between the trained weights and the weights that sampled the tokens, overall and by lag and turn.

Ratios are exp(logp - logprob) of single trained tokens: the trained weights over the sampling weights.
Axes: T tokens, N trained tokens.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.objective import Metrics
from palaestra.trainers.objectives.rates import effective_share

ENTROPY = "policy/entropy"
KL = "policy/kl"
ESS = "policy/ess"


def policy_metrics(batch: TokenBatch, logp_T: Tensor, entropy_T: Tensor, *, version: int) -> Metrics:
    """The figures of a batch under the trained weights.

    `policy/kl` and `policy/kl_k1` estimate KL(sampling || trained) in nats, from tokens of the sampling weights: k3 is
    r - 1 - log r, k1 is -log r (Schulman 2020, "Approximating KL divergence"). Both are unbiased; k3 is never below 0.
    `policy/ess` is the effective sample size, see `effective_share`; `ess/lag/...` and `ess/turn/...` are the same over
    the tokens of one lag, and of one turn of their trajectories. A lag is the age in versions of the weights that
    sampled a token; `staleness/lag/...` are shares of tokens that sum to 1.

    `mismatch/...` compare the engine's arithmetic with the learner's, on the tokens with lag 0: the weights are the
    same, so every difference between log-probabilities comes from arithmetic. `mismatch/max` and `mismatch/mean` are
    the largest and mean magnitude in nats, `mismatch/zero_share` is the share of tokens without any difference, and
    `mismatch/kl` is the k3 estimate.

    Args:
        batch: The batch that was trained on.
        logp_T: The log-probability of each trained token under the trained weights; elsewhere it is not read.
        entropy_T: The entropy of the distribution from which each trained token was sampled, in nats.
        version: The version of the trained weights; no token has a later one.

    Returns:
        The figures by name; none for a batch without a trained token. Lags and turns are single up to 3, then in
        doubling ranges: `4-7`, `8-15`.
    """
    assert logp_T.shape == entropy_T.shape == batch.trained_T.shape, f"{logp_T.shape}, {entropy_T.shape}"
    trained_T = batch.trained_T
    if not bool(trained_T.any()):
        return {}
    log_ratio_N = (logp_T - batch.logprob_T)[trained_T].detach().double()
    lag_N = version - batch.version_T[trained_T]
    assert int(lag_N.min()) >= 0, f"a token of version {version - int(lag_N.min())} under weights of version {version}"
    ratio_N = log_ratio_N.exp()
    metrics = {
        ENTROPY: float(entropy_T[trained_T].detach().double().mean()),
        KL: float((log_ratio_N.expm1() - log_ratio_N).mean()),
        "policy/kl_k1": -float(log_ratio_N.mean()),
        "policy/ratio_mean": float(ratio_N.mean()),
        "policy/ratio_min": float(ratio_N.min()),
        "policy/ratio_max": float(ratio_N.max()),
        ESS: effective_share(log_ratio_N),
        "staleness/mean": float(lag_N.double().mean()),
        "staleness/max": float(lag_N.max()),
    }
    if bool((lag_N == 0).any()):
        metrics |= mismatch_metrics(log_ratio_N[lag_N == 0])
    for name, inside_N in _ranges(lag_N):
        metrics[f"ess/lag/{name}"] = effective_share(log_ratio_N[inside_N])
        metrics[f"staleness/lag/{name}"] = float(inside_N.double().mean())
    for name, inside_N in _ranges(turn_in_trajectory(batch)[trained_T]):
        metrics[f"ess/turn/{name}"] = effective_share(log_ratio_N[inside_N])
    return metrics


def mismatch_metrics(off_N: Tensor) -> Metrics:
    """The differences between two computations of the same log-probabilities.

    Args:
        off_N: The learner's log-probabilities minus the engine's, for tokens sampled by these weights; at least one.
    """
    off_N = off_N.double()
    return {
        "mismatch/max": float(off_N.abs().max()),
        "mismatch/mean": float(off_N.abs().mean()),
        "mismatch/zero_share": float((off_N == 0).double().mean()),
        "mismatch/kl": float((off_N.expm1() - off_N).mean()),
    }


def turn_in_trajectory(batch: TokenBatch) -> Tensor:
    """The index of each token's turn in its trajectory, from 0, [T]; `NO_TURN` if no turn wrote the token."""
    first_R = torch.full((batch.trajectories,), len(batch.trajectory_U), device=batch.turn_T.device)
    turns_U = torch.arange(len(batch.trajectory_U), device=batch.turn_T.device)
    first_R = first_R.scatter_reduce(0, batch.trajectory_U, turns_U, "amin")
    return torch.where(batch.turn_T >= 0, batch.turn_T - first_R[batch.trajectory_T], batch.turn_T)


def _ranges(place_N: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Yield the non-empty ranges by name, each with a mask of the places inside."""
    low, most = 0, int(place_N.max())
    while low <= most:
        high = low if low < 4 else 2 * low - 1
        inside_N = (place_N >= low) & (place_N <= high)
        if bool(inside_N.any()):
            yield (str(low) if low == high else f"{low}-{high}"), inside_N
        low = high + 1
