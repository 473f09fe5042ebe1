"""The processes that a model is spread over; usually there is one.

All processes get the same batch and request the same sums in the same order. Each computes its share.
"""

from collections.abc import Generator
from dataclasses import replace

import torch
from torch import Tensor, distributed
from torch.distributed.device_mesh import DeviceMesh

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.layouts import LayoutName
from palaestra.trainers.data.micro import split


class Processes:
    """Sums and maxima over processes.

    Args:
        mesh: A mesh of one dimension; `None` for this process alone.
    """

    def __init__(self, mesh: DeviceMesh | None) -> None:
        self._mesh = mesh

    @property
    def several(self) -> bool:
        """Whether there is more than one."""
        return self._mesh is not None

    def micro_batches(self, batch: TokenBatch, tokens: int, layout: LayoutName) -> Generator[TokenBatch]:
        """This process's trajectories, in as many micro-batches as every process has: the last may be empty.

        Args:
            batch: Whole trajectories, the same in every process.
            tokens: Maximum number of tokens of a micro-batch of several trajectories.
            layout: The layout that the model computes.
        """
        share = self._share(batch, layout)
        found = split(share, tokens, layout) if share.trajectories else []
        missing = int(self.most(len(found))) - len(found)  # before the first pass, in which processes meet too
        yield from found
        for _ in range(missing):
            one = batch.select([0])
            yield replace(one, trained_T=torch.zeros_like(one.trained_T))

    def _share(self, batch: TokenBatch, layout: LayoutName) -> TokenBatch:
        """The trajectories that this process computes, possibly none."""
        if self._mesh is None:
            return batch
        return batch.select(shares(batch, self._mesh.size(), layout)[self._mesh.get_local_rank()])

    def total(self, values: list[float]) -> list[float]:
        """The sum of each value over all processes."""
        return self._reduce(torch.tensor(values, dtype=torch.float64), distributed.ReduceOp.SUM).tolist()

    def sum(self, tensor: Tensor) -> Tensor:
        """The sum over all processes, in place."""
        return self._reduce(tensor, distributed.ReduceOp.SUM)

    def most(self, value: float) -> float:
        """The greatest value of all processes."""
        return self._reduce(torch.tensor(value, dtype=torch.float64), distributed.ReduceOp.MAX).item()

    def _reduce(self, tensor: Tensor, how: distributed.ReduceOp.RedOpType) -> Tensor:
        if self._mesh is not None:
            tensor = tensor.to(self._mesh.device_type)
            distributed.all_reduce(tensor, how, group=self._mesh.get_group())
        return tensor


def shares(batch: TokenBatch, count: int, layout: LayoutName) -> list[list[int]]:
    """The trajectories of each of `count` processes: the longest first, each to the process with the fewest tokens.

    With the layout "shared", the trajectories of a group stay together.
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
