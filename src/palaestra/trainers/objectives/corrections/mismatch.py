"""The log-ratio of a step's first weights to the sampling distribution. Axes: T tokens, R trajectories.

It differs from 0 by other arithmetic in the engine, and by other weights if rollouts are older than the step.
"""

from collections.abc import Mapping

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch

MOST = 20.0
"""The maximum magnitude of the logarithm of a weight."""
ANCHORED = "ratio.anchor=rollout"
TWICE = "a ratio to the rollout corrects for it already, and weighing it again would count it twice"
CORRECTIONS = ("token-tis", "sequence-tis", "icepop", "decoupled", "uncorrected")


def log_mismatch(batch: TokenBatch) -> Tensor:
    """The log-ratio of each token, log old - log rollout, [T].

    Within +-20; 0 for tokens that are not trained, and if both are equal.
    """
    off_T = (batch.column("old_T") - batch.logprob_T).detach()
    return off_T.nan_to_num(nan=0.0).clamp(-MOST, MOST).masked_fill(~batch.trained_T, 0.0)


def conflicts_of(name: str) -> Mapping[str, str]:
    """The conflicts of a correction: a ratio to the rollout, and other corrections."""
    others = (other for other in CORRECTIONS if other != name)
    return {ANCHORED: TWICE} | {f"correction/{other}": "both weigh the same mismatch" for other in others}
