"""The critic: a separate decoder with a linear head for each kind of value. Axes: T tokens, N trained, H heads."""

import math
from collections.abc import Generator, Mapping
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.nn import functional

from palaestra.errors import CheckpointError, DivergedError
from palaestra.seeding import Stream
from palaestra.trainers.critic.config import CriticConfig
from palaestra.trainers.critic.places import ValueReading
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.layouts import LAYOUTS
from palaestra.trainers.device import resolve_device
from palaestra.trainers.learner.checkpointing import checkpoint_blocks
from palaestra.trainers.learner.optimiser import Optimiser, check_fit
from palaestra.trainers.learner.processes import Processes
from palaestra.trainers.learner.sharding import drop_gathered, like, shard, whole
from palaestra.trainers.model.decoder import Attend, Decoder
from palaestra.trainers.objectives import Metrics
from palaestra.trainers.objectives.segments import sum_over

_VALUES, _TARGETS, _READ = "values_TH", "targets_TH", "read_TH"


class Critic:
    """A model of expected returns.

    Args:
        model: The model whose weights are copied as initial weights. The heads start at 0, so initial outputs are 0.
        config: How the critic is trained.
        heads: The number of kinds of values.
        mesh: Processes to spread over, as for `Learner`.
    """

    def __init__(self, model: Decoder, config: CriticConfig, *, heads: int, mesh: DeviceMesh | None = None) -> None:
        self.config = config
        self._unit = config.unit or 1.0
        self._heads = heads
        if mesh is None and config.learner.device is not None:
            self._device = torch.device(resolve_device(config.learner.device))
        else:
            self._device = model.lm_head.weight.device
        self._model = _ValueModel(model, heads).to(self._device)
        if config.learner.checkpointing:
            checkpoint_blocks(self._model.decoder)
        if mesh is not None:
            shard(self._model, self._model.decoder.model.layers, mesh, ignored=self._model.unused)
        self._processes = Processes(mesh)
        self._trained = {
            name.removeprefix("decoder."): weight
            for name, weight in self._model.named_parameters()
            if weight.requires_grad
        }
        self._optimiser = Optimiser(self._trained, config.learner)

    def values(self, batch: TokenBatch) -> Tensor:
        """The value of each head at each trained token, in rewards, [T, H]; 0 elsewhere."""
        return self._values_in_units(batch) * self._unit

    def _values_in_units(self, batch: TokenBatch) -> Tensor:
        found_TH = torch.zeros(len(batch.ids_T), self._heads)
        placed = batch.with_columns({"place_T": torch.arange(len(batch.ids_T))})
        with torch.no_grad():
            for micro in self._micro_batches(placed):
                found_TH[micro.column("place_T")[micro.trained_T].cpu()] = self._values(micro).cpu()
        drop_gathered(self._model)
        return self._processes.sum(found_TH).to(batch.ids_T.device)

    def learn(
        self,
        batch: TokenBatch,
        reading: ValueReading,
        target: Tensor,
        *,
        stream: Stream,
        before_TH: Tensor | None = None,
    ) -> Metrics:
        """Train on a batch.

        The loss is half the squared error, in units, as a mean over each head's places and a sum over heads. With a
        clip, it is the greater of this and the loss of a value that moved at most by the clip (PPO, arXiv:1707.06347).
        `cross-entropy` uses -[q^ log q + (1 - q^) log(1 - q)] instead, with q^ the target in [0, 1] units (AgentPRM,
        arXiv:2502.10325). With `progress` beta the loss is L_Q + beta L_A. L_A is half the squared error of the
        difference between each value of a trajectory and the previous one (arXiv:2511.08325), as a mean over such
        pairs.

        Args:
            batch: Whole trajectories.
            reading: Where values are read.
            target: The target values, in rewards, in the form of the reading's column.
            stream: The random stream of the division into shares.
            before_TH: The result of `values`, if it was computed already.

        Returns:
            `critic/loss`, and `critic/explained`: the share of the targets' variance that the values before the first
            step explain (left out if all targets are equal).

        Raises:
            DivergedError: loss or gradient is not a finite number; the weights are those before that step.
        """
        value_TH = self._values_in_units(batch) if before_TH is None else before_TH / self._unit
        target_TH = reading.spread(target.to(value_TH.dtype)) / self._unit
        columns = {_VALUES: value_TH, _TARGETS: target_TH, _READ: reading.read_TH}
        placed = batch.with_columns(columns)
        shuffled = stream.permutation(range(batch.trajectories))
        losses: list[float] = []
        for update in range(self.config.updates):
            share = placed.select(sorted(shuffled[update :: self.config.updates]))
            if share.trajectories and bool(share.column(_READ).any()):
                losses.append(self._step(share))
        metrics: Metrics = {"critic/loss": losses[0]} if losses else {}
        read_TH = reading.read_TH
        spread = float(target_TH[read_TH].var(correction=0)) if read_TH.any() else 0.0
        if spread > 0:
            off = (target_TH - value_TH)[read_TH].square().mean()
            metrics["critic/explained"] = 1.0 - float(off) / spread
        return metrics

    def state(self) -> dict[str, Any]:
        """Everything that the next step depends on, as dictionaries of tensors; a copy."""
        weights = {name: whole(weight.detach()).to("cpu", copy=True) for name, weight in self._trained.items()}
        return {"weights": weights, "optimiser": self._optimiser.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a result of `state`.

        Raises:
            CheckpointError: the state belongs to another model, or to other heads.
        """
        weights: Mapping[str, Tensor] = state["weights"]
        for name, weight in weights.items():
            check_fit(name, weight, self._trained)
        if missing := sorted(self._trained.keys() - weights.keys()):
            raise CheckpointError(f"the critic's state lacks {missing[0]}; restore it with the model it was saved with")
        self._optimiser.restore(state["optimiser"])
        with torch.no_grad():
            for name, weight in weights.items():
                self._trained[name].copy_(like(weight, self._trained[name]))

    @property
    def optimiser(self) -> torch.optim.Optimizer:
        """The optimiser itself."""
        return self._optimiser.adamw

    def _micro_batches(self, batch: TokenBatch) -> Generator[TokenBatch]:
        learner = self.config.learner
        for micro in self._processes.micro_batches(batch, learner.micro_tokens, learner.layout):
            yield micro.to(self._device)

    def _values(self, batch: TokenBatch) -> Tensor:
        """The values at each trained token, in units, [N, H]."""
        layout = LAYOUTS[self.config.learner.layout](batch)
        before_N = layout.before_T[batch.trained_T]
        values_NH: Tensor = self._model(layout.ids_N, layout.position_N, layout.attend, before_N)
        return values_NH.sigmoid() if self.config.loss == "cross-entropy" else values_NH

    def _step(self, share: TokenBatch) -> float:
        count_H = share.column(_READ).sum(0).clamp_min(1)
        pairs_H = _pairs(share).clamp_min(1)
        self._optimiser.forget()
        own = 0.0
        for micro in self._micro_batches(share):
            own_T = micro.trained_T
            read_NH = micro.column(_READ)[own_T]
            value_NH, target_NH = self._values(micro), micro.column(_TARGETS)[own_T]
            error_NH = self._errors(value_NH, micro.column(_VALUES)[own_T], target_NH)
            loss = (error_NH.masked_fill(~read_NH, 0.0) / count_H.to(error_NH.device)).sum()
            if self.config.progress:
                off_H = _progress_errors(value_NH - target_NH, read_NH, micro.trajectory_T[own_T])
                loss = loss + self.config.progress * (off_H / pairs_H.to(off_H.device)).sum()
            loss.backward()
            own += float(loss.detach())
        (summed,) = self._processes.total([own])
        norm = self._optimiser.clip()
        if not (math.isfinite(summed) and math.isfinite(norm)):
            self._optimiser.forget()
            raise DivergedError(
                f"the critic's loss is {summed}, its gradient's norm {norm}; both must be finite, and the weights of "
                "the step before stand. Go on from there with a lower learning rate, or a unit of the order of returns"
            )
        self._optimiser.step(self.config.learner.lr)
        return summed

    def _errors(self, value_NH: Tensor, before_NH: Tensor, target_NH: Tensor) -> Tensor:
        if self.config.loss == "cross-entropy":
            return functional.binary_cross_entropy(value_NH, target_NH.clamp(0.0, 1.0), reduction="none")
        error_NH = (value_NH - target_NH).square()
        if self.config.clip is not None:
            near_NH = before_NH + (value_NH - before_NH).clamp(-self.config.clip, self.config.clip)
            error_NH = torch.maximum(error_NH, (near_NH - target_NH).square())
        return error_NH / 2


class _ValueModel(nn.Module):
    """A copy of a decoder in single precision, with a head of values in place of its output layer."""

    def __init__(self, model: Decoder, heads: int) -> None:
        super().__init__()
        self.decoder = deepcopy(model.unfrozen()).float()
        self.decoder.requires_grad_()
        self.unused: tuple[nn.Parameter, ...] = ()
        """Weights that nothing reads."""
        if not model.shape.tied:
            empty = self.decoder.lm_head.weight.new_empty(0, model.shape.hidden)
            self.decoder.lm_head.weight = nn.Parameter(empty, requires_grad=False)
            self.unused = (self.decoder.lm_head.weight,)
        self.head = nn.Linear(model.shape.hidden, heads)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, ids_T: Tensor, position_T: Tensor, attend: Attend, before_N: Tensor) -> Tensor:
        """The outputs of the heads at the states of `before_N`, [N, H]."""
        hidden_TC: Tensor = self.decoder(ids_T, position_T, attend)
        values_NH: Tensor = self.head(hidden_TC[before_N])
        return values_NH


def _pairs(share: TokenBatch) -> Tensor:
    """The number of values with an earlier value in their trajectory, for each head, [H]."""
    read_TH = share.column(_READ)
    count_RH = sum_over(read_TH.long(), share.trajectory_T, share.trajectories)
    return (count_RH - 1).clamp_min(0).sum(0)


def _progress_errors(off_NH: Tensor, read_NH: Tensor, trajectory_N: Tensor) -> Tensor:
    """The sum of half the squared differences between each error and the previous one in its trajectory, [H]."""
    found: list[Tensor] = []
    for head in range(off_NH.shape[1]):
        here_N = read_NH[:, head]
        off_X, owner_X = off_NH[here_N, head], trajectory_N[here_N]
        found.append(((off_X.diff().square() / 2) * (owner_X.diff() == 0).to(off_X.dtype)).sum())
    return torch.stack(found)
