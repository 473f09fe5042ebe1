"""The logarithm of a task's partition function, learnt beside the policy. Axes: R trajectories, K tasks, F features.

    log Z(x) = log sum_y of the unnormalised target of the policy

It is computed on the CPU in float64: it is small, its state is stored exactly in checkpoints, and its steps are the
same on any machine.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, cast

import torch
from torch import Tensor
from torch.nn.functional import gelu, layer_norm

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.whole.adam import AdamParameter

PartitionName: TypeAlias = Literal["mlp", "table"]
LossOfPartition: TypeAlias = Callable[[Tensor], Tensor]
"""A step's loss as a function of each trajectory's log Z, [R]."""


class Partition(Protocol):
    """log Z of tasks."""

    @property
    def requires(self) -> frozenset[str]:
        """The columns that it reads."""
        ...

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """The value of log Z for each trajectory's task, [R], float64, on the batch's device; without gradient."""
        ...

    def learn(self, loss: LossOfPartition, batch: TokenBatch) -> None:
        """Take one step of Adam on `loss`."""
        ...

    def state(self) -> dict[str, object]:
        """The state, as plain JSON."""
        ...

    def restore(self, state: dict[str, object]) -> None:
        """Restore the result of `state`."""
        ...


def partition(name: PartitionName, *, rate: float, width: int, seed: int) -> Partition:
    """A log Z that is 0 for every task until it learns.

    Args:
        name: `mlp` of given features of prompts, or a `table` of tasks.
        rate: Adam's learning rate.
        width: The width of the `mlp`'s hidden layers.
        seed: Random seed of its initial weights.
    """
    if rate <= 0 or width < 1:
        raise ValueError(f"rate={rate}, width={width}: a learning rate is above 0, and a layer has a unit at least")
    return TablePartition(rate=rate) if name == "table" else MlpPartition(rate=rate, width=width, seed=seed)


@dataclass(slots=True, kw_only=True)
class TablePartition:
    """A number for each task, `task_R`; for worlds with recurring tasks."""

    rate: float
    """Adam's learning rate."""
    _task_K: Tensor = field(init=False, repr=False, default_factory=lambda: torch.zeros(0, dtype=torch.long))
    _learnt: AdamParameter = field(
        init=False,
        repr=False,
        default_factory=lambda: AdamParameter.new(torch.zeros(0, dtype=torch.float64), each=True),
    )

    @property
    def requires(self) -> frozenset[str]:
        """See `Partition`."""
        return frozenset({"task_R"})

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Partition`; 0 for tasks without any step."""
        task_R = batch.column("task_R").to("cpu", torch.long)
        task_K, learnt = self._with(task_R)
        return learnt.value[torch.searchsorted(task_K, task_R)].to(batch.return_R.device)

    def learn(self, loss: LossOfPartition, batch: TokenBatch) -> None:
        """See `Partition`; tasks outside the batch do not change."""
        device = batch.return_R.device
        task_R = batch.column("task_R").to("cpu", torch.long)
        self._task_K, self._learnt = self._with(task_R)
        here_K, owner_R = task_R.unique(return_inverse=True)
        place_K = torch.searchsorted(self._task_K, here_K)
        some = self._learnt.at(place_K)
        with torch.enable_grad():
            value_K = some.value.clone().requires_grad_()
            (gradient_K,) = torch.autograd.grad(loss(value_K[owner_R].to(device)), value_K)
        self._learnt = self._learnt.put(place_K, some.step(gradient_K, rate=self.rate))

    def state(self) -> dict[str, object]:
        """See `Partition`."""
        return {"task": self._task_K.tolist(), **self._learnt.state()}

    def restore(self, state: dict[str, object]) -> None:
        """See `Partition`."""
        self._task_K = torch.tensor(state["task"], dtype=torch.long)
        self._learnt = AdamParameter.restore(state)

    def _with(self, task_R: Tensor) -> tuple[Tensor, AdamParameter]:
        """All known tasks and those given, in order, with their learnt numbers."""
        task_K = torch.cat([self._task_K, task_R]).unique()
        if len(task_K) == len(self._task_K):
            return self._task_K, self._learnt
        fresh = AdamParameter.new(torch.zeros(len(task_K), dtype=torch.float64), each=True)
        return task_K, fresh.put(torch.searchsorted(task_K, self._task_K), self._learnt)


@dataclass(slots=True, kw_only=True)
class MlpPartition:
    """Three layers on features of the prompt, `prompt_RF`: (linear, GELU, layer norm) twice, then linear.

    The last layer starts at 0, and so does log Z.
    """

    rate: float
    """Adam's learning rate."""
    width: int
    """The width of the hidden layers."""
    seed: int
    """Random seed of the initial weights."""
    _layers: list[AdamParameter] | None = field(init=False, repr=False, default=None)

    @property
    def requires(self) -> frozenset[str]:
        """See `Partition`."""
        return frozenset({"prompt_RF"})

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Partition`."""
        prompt_RF = _features(batch)
        found_R = _through([one.value for one in self._grow(prompt_RF.shape[1])], prompt_RF)
        return found_R.to(batch.return_R.device)

    def learn(self, loss: LossOfPartition, batch: TokenBatch) -> None:
        """See `Partition`."""
        prompt_RF = _features(batch)
        layers = self._grow(prompt_RF.shape[1])
        with torch.enable_grad():
            values = [one.value.clone().requires_grad_() for one in layers]
            found_R = _through(values, prompt_RF).to(batch.return_R.device)
            gradients = torch.autograd.grad(loss(found_R), values)
        pairs = zip(layers, gradients, strict=True)
        self._layers = [one.step(gradient, rate=self.rate) for one, gradient in pairs]

    def state(self) -> dict[str, object]:
        """See `Partition`."""
        return {"layers": None if self._layers is None else [one.state() for one in self._layers]}

    def restore(self, state: dict[str, object]) -> None:
        """See `Partition`."""
        layers = cast("list[dict[str, Any]] | None", state["layers"])
        self._layers = None if layers is None else [AdamParameter.restore(one) for one in layers]

    def _grow(self, features: int) -> list[AdamParameter]:
        """The weights; before the first step they follow from the seed, so that reading changes nothing."""
        if self._layers is not None:
            return self._layers
        generator = torch.Generator().manual_seed(self.seed)
        values: list[Tensor] = []
        for fan_in in (features, self.width):
            drawn = torch.rand(self.width, fan_in, generator=generator, dtype=torch.float64)
            values += [(2 * drawn - 1) / fan_in**0.5, drawn.new_zeros(self.width)]
            values += [drawn.new_ones(self.width), drawn.new_zeros(self.width)]
        values += [values[0].new_zeros(1, self.width), values[0].new_zeros(1)]
        return [AdamParameter.new(value) for value in values]


def _features(batch: TokenBatch) -> Tensor:
    return batch.column("prompt_RF").detach().to("cpu", torch.float64)


def _through(values: list[Tensor], x_RF: Tensor) -> Tensor:
    """One number for each row, [R]; the values of a hidden layer: matrix, bias, and the norm's scale and shift."""
    for first in (0, 4):
        matrix, bias, scale, shift = values[first : first + 4]
        x_RF = layer_norm(gelu(x_RF @ matrix.T + bias), scale.shape, scale, shift)
    return (x_RF @ values[8].T + values[9])[:, 0]
