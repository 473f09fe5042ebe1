"""The processes that a learner is spread over; usually there is one.

All of them are handed the same batch and ask for the same sums in the same order; each works on its share.
"""

import torch
from torch import Tensor, distributed
from torch.distributed.device_mesh import DeviceMesh

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.layouts import LayoutName


class Processes:
    """Sums and maxima over processes.

    Args:
        mesh: A mesh of one dimension; without one there is this process alone.
    """

    def __init__(self, mesh: DeviceMesh | None) -> None:
        self._mesh = mesh

    @property
    def several(self) -> bool:
        """Whether there are more than this one."""
        return self._mesh is not None

    def share(self, batch: TokenBatch, layout: LayoutName) -> TokenBatch:
        """The trajectories that are this process's to put through, perhaps none."""
        if self._mesh is None:
            return batch
        return batch.select(shares(batch, self._mesh.size(), layout)[self._mesh.get_local_rank()])

    def total(self, values: list[float]) -> list[float]:
        """The sum of each over all processes."""
        return self._reduce(torch.tensor(values, dtype=torch.float64), distributed.ReduceOp.SUM).tolist()

    def sum(self, tensor: Tensor) -> Tensor:
        """The sum over all processes, in place."""
        return self._reduce(tensor, distributed.ReduceOp.SUM)

    def most(self, value: float) -> float:
        """The greatest of all processes'."""
        return self._reduce(torch.tensor(value, dtype=torch.float64), distributed.ReduceOp.MAX).item()

    def _reduce(self, tensor: Tensor, how: distributed.ReduceOp.RedOpType) -> Tensor:
        if self._mesh is not None:
            tensor = tensor.to(self._mesh.device_type)
            distributed.all_reduce(tensor, how, group=self._mesh.get_group())
        return tensor


def shares(batch: TokenBatch, count: int, layout: LayoutName) -> list[list[int]]:
    """The trajectories of each of `count` processes: the longest first, to whoever has the fewest tokens.

    Where prefixes are shared, the trajectories of a group stay together.
    """
    tokens_R = torch.bincount(batch.trajectory_T, minlength=batch.trajectories).tolist()
    unit_R = batch.group_R.tolist() if layout == "shared" else list(range(batch.trajectories))
    units: dict[int, list[int]] = {}
    for trajectory, unit in enumerate(unit_R):
        units.setdefault(unit, []).append(trajectory)
    dealt: list[list[int]] = [[] for _ in range(count)]
    held = [0] * count
    for weight, members in sorted(((sum(tokens_R[r] for r in own), own) for own in units.values()), reverse=True):
        least = held.index(min(held))
        dealt[least] += members
        held[least] += weight
    return [sorted(own) for own in dealt]
