"""How far what drew tokens was from the weights that a step starts with. Axes: T tokens, R trajectories.

Between the two stand other arithmetic, in the engine, and other weights, where rollouts are older than the step.
"""

from collections.abc import Mapping

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch

MOST = 20.0
"""No logarithm of a weight is farther from 0."""
ANCHORED = "ratio.anchor=rollout"
TWICE = "a ratio to the rollout corrects for it already, and weighing it again would count it twice"
CORRECTIONS = ("token-tis", "sequence-tis", "icepop", "decoupled", "uncorrected")


def log_mismatch(batch: TokenBatch) -> Tensor:
    """How much likelier old weights make each token, log old - log rollout, [T].

    Within +-20; 0 where nothing is trained, and where both are equal.
    """
    off_T = (batch.column("old_T") - batch.logprob_T).detach()
    return off_T.nan_to_num(nan=0.0).clamp(-MOST, MOST).masked_fill(~batch.trained_T, 0.0)


def conflicts_of(name: str) -> Mapping[str, str]:
    """What a correction cannot be together with: a ratio to the rollout, and the others of its kind."""
    others = (other for other in CORRECTIONS if other != name)
    return {ANCHORED: TWICE} | {f"correction/{other}": "both weigh the same mismatch" for other in others}
