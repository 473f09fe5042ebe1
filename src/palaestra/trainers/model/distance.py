"""The distance between a policy's weights in two checkpoints: the Euclidean distance over all weights."""

import math
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError

from palaestra.errors import CheckpointError
from palaestra.trainers.model.checkpoint import read_weights


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightDistance:
    """The distance between two sets of weights."""

    moved: float
    """The L2 norm of the difference, over all weights that both checkpoints have."""
    norm: float
    """The L2 norm of these weights in the first checkpoint."""

    @property
    def relative(self) -> float:
        """The distance as a share of the norm before; 0 if that norm is 0."""
        return self.moved / self.norm if self.norm else 0.0


def weight_distance(before: Path, after: Path) -> WeightDistance:
    """The distance between the weights of two checkpoints, in double precision.

    Args:
        before: The folder of the first checkpoint.
        after: The folder of the second checkpoint, of the same shape.

    Raises:
        CheckpointError: a checkpoint cannot be read, a weight has another shape, or they have no weight in common.
    """
    moved, norm, common = 0.0, 0.0, 0
    try:
        known = dict(read_weights(before))
        for name, weight in read_weights(after):
            if name not in known:
                continue
            old = known.pop(name).double()
            if old.shape != weight.shape:
                raise CheckpointError(
                    f"{after}: {name} is {list(weight.shape)}, and {list(old.shape)} in {before}; compare checkpoints "
                    "of one model"
                )
            moved += float((weight.double() - old).square().sum())
            norm += float(old.square().sum())
            common += 1
    except (OSError, SafetensorError) as error:
        first = str(error).strip().partition("\n")[0]
        raise CheckpointError(f"{before}, {after}: weights cannot be read ({first}); give two whole saves") from error
    if not common:
        raise CheckpointError(f"{before}, {after}: no weight in common; compare checkpoints of one model")
    return WeightDistance(moved=math.sqrt(moved), norm=math.sqrt(norm))
