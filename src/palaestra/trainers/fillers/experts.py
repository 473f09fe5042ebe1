"""Columns that mark demonstrations among the rollouts of their group. Axes: T tokens, R trajectories."""

from torch import Tensor

from palaestra.trainers.fillers.filler import column
from palaestra.trainers.fillers.inputs import FillerInput


@column("chosen_R", filler="demonstrations", needs=("experts",))
def demonstration_marks(given: FillerInput) -> Tensor:
    """SPIN (arXiv:2401.01335): 1 for a demonstration, which joins the rollouts of its task, 0 for the policy's own."""
    return given.is_demonstration_R.to(given.batch.return_R.dtype)


@column("expert_T", filler="demonstrations", needs=("experts",))
def expert_tokens(given: FillerInput) -> Tensor:
    """LUFFY (arXiv:2504.14945): 1 at the trained tokens of a demonstration, which joins the rollouts of its task."""
    batch = given.batch
    marked_T = batch.trained_T & given.is_demonstration_R[batch.trajectory_T]
    return marked_T.to(batch.return_R.dtype)
