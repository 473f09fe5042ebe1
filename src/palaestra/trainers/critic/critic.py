"""The critic: a separate decoder with a linear head for each kind of value. Axes: T tokens, N trained, H heads."""

import math
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from palaestra.errors import CheckpointError, DivergedError
from palaestra.seeding import Stream
from palaestra.trainers.critic.config import CriticConfig
from palaestra.trainers.critic.places import ValueReading
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.layouts import LAYOUTS
from palaestra.trainers.data.micro import split
from palaestra.trainers.device import resolve_device
from palaestra.trainers.learner.checkpointing import checkpoint_blocks
from palaestra.trainers.learner.optimiser import Optimiser, check_fit
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.objectives import Metrics
from palaestra.trainers.objectives.segments import sum_over

_VALUES, _TARGETS, _READ = "values_TH", "targets_TH", "read_TH"


class Critic:
    """A model of expected returns.

    Args:
        model: The model whose weights are copied as initial weights. The heads start at 0, so initial outputs are 0.
        config: How the critic is trained.
        heads: The number of kinds of values.
    """

    def __init__(self, model: Decoder, config: CriticConfig, *, heads: int) -> None:
        self.config = config
        self._unit = config.unit or 1.0
        self._model = deepcopy(model.unfrozen()).float()
        device = model.lm_head.weight.device if config.learner.device is None else resolve_device(config.learner.device)
        self._head = nn.Linear(model.shape.hidden, heads, device=device)
        nn.init.zeros_(self._head.weight)
        nn.init.zeros_(self._head.bias)
        self._model.to(device)
        if config.learner.checkpointing:
            checkpoint_blocks(self._model)
        self._trained = {
            **{name: weight for name, weight in self._model.named_parameters() if not name.startswith("lm_head")},
            **{f"head.{name}": weight for name, weight in self._head.named_parameters()},
        }
        for weight in self._trained.values():
            weight.requires_grad_()
        self._optimiser = Optimiser(self._trained, config.learner)

    def values(self, batch: TokenBatch) -> Tensor:
        """The value of each head at each trained token, in rewards, [T, H]; 0 elsewhere."""
        found_TH = torch.zeros(len(batch.ids_T), self._head.out_features)
        placed = batch.with_columns({"place_T": torch.arange(len(batch.ids_T))})
        with torch.no_grad():
            for micro in self._micro_batches(placed):
                found_TH[micro.column("place_T")[micro.trained_T].cpu()] = self._values(micro).cpu()
        return found_TH.to(batch.ids_T.device) * self._unit

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
        value_TH = (self.values(batch) if before_TH is None else before_TH) / self._unit
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
        weights = {name: weight.detach().clone() for name, weight in self._trained.items()}
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
                self._trained[name].copy_(weight)

    def _micro_batches(self, batch: TokenBatch) -> list[TokenBatch]:
        learner = self.config.learner
        device = self._head.weight.device
        return [micro.to(device) for micro in split(batch, learner.micro_tokens, learner.layout)]

    def _values(self, batch: TokenBatch) -> Tensor:
        """The values at each trained token, in units, [N, H]."""
        layout = LAYOUTS[self.config.learner.layout](batch)
        hidden_PC: Tensor = self._model(layout.ids_N, layout.position_N, layout.attend)
        values_NH: Tensor = self._head(hidden_PC[layout.before_T[batch.trained_T]])
        return values_NH.sigmoid() if self.config.loss == "cross-entropy" else values_NH

    def _step(self, share: TokenBatch) -> float:
        count_H = share.column(_READ).sum(0).clamp_min(1)
        pairs_H = _pairs(share).clamp_min(1)
        self._optimiser.forget()
        whole = 0.0
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
            whole += float(loss.detach())
        norm = self._optimiser.clip()
        if not (math.isfinite(whole) and math.isfinite(norm)):
            self._optimiser.forget()
            raise DivergedError(
                f"the critic's loss is {whole}, its gradient's norm {norm}; both must be finite, and the weights of "
                "the step before stand. Go on from there with a lower learning rate, or a unit of the order of returns"
            )
        self._optimiser.step(self.config.learner.lr)
        return whole

    def _errors(self, value_NH: Tensor, before_NH: Tensor, target_NH: Tensor) -> Tensor:
        if self.config.loss == "cross-entropy":
            return functional.binary_cross_entropy(value_NH, target_NH.clamp(0.0, 1.0), reduction="none")
        error_NH = (value_NH - target_NH).square()
        if self.config.clip is not None:
            near_NH = before_NH + (value_NH - before_NH).clamp(-self.config.clip, self.config.clip)
            error_NH = torch.maximum(error_NH, (near_NH - target_NH).square())
        return error_NH / 2


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
