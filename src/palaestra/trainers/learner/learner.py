"""The learner: log-probabilities under the current weights, and steps that change them.

A step processes its batch in micro-batches, so that memory does not grow with the batch. It changes no weight before
the whole gradient is known to be finite.

Axes: T tokens, N trained tokens.
"""

import math
import time
from collections.abc import Collection, Generator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh

from palaestra.errors import CheckpointError, ConfigError, DivergedError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.layouts import LAYOUTS
from palaestra.trainers.device import resolve_device, resolve_precision, wait_for
from palaestra.trainers.engines.engine import Weights
from palaestra.trainers.engines.native.invariant import kernels_for
from palaestra.trainers.engines.native.kernels import InvariantKernels
from palaestra.trainers.flow import flow_of
from palaestra.trainers.learner.checkpointing import checkpoint_blocks
from palaestra.trainers.learner.config import LearnerConfig, LoraConfig
from palaestra.trainers.learner.figures import StepFigures
from palaestra.trainers.learner.invariant import InvariantAttention, TrainedFunctions, score_invariantly
from palaestra.trainers.learner.logprobs import TokenScores, score_tokens
from palaestra.trainers.learner.norms import quicken_norms
from palaestra.trainers.learner.optimiser import Optimiser, check_fit
from palaestra.trainers.learner.precision import PrecisionCopy, check_quantised
from palaestra.trainers.learner.processes import Processes
from palaestra.trainers.learner.rounded_attention import RoundedAttention
from palaestra.trainers.learner.sharding import drop_gathered, like, shard, whole
from palaestra.trainers.learner.statistics import TokenStatistic, statistics
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.model.temperature import ChoiceDistribution, TemperatureHead
from palaestra.trainers.objectives.objective import Metrics, PreparedStep
from palaestra.trainers.products import Nvfp4Products, QuantisedProducts

if TYPE_CHECKING:
    from palaestra.trainers.learner.lora import Adapters


class Learner:
    """A decoder under training.

    Args:
        model: The decoder. Its weights are trained in place, unless they get adapters or are spread over processes. Its
            modules stay unchanged.
        config: The settings.
        mesh: Processes to spread over, in one dimension. Each makes a learner of the same model. All get the same
            batches, call the same methods in the same order, and get the same results.

    Raises:
        UnknownNameError: an adapter's target is not a linear module.
        ConfigError: adapters need peft, which is not installed; or the invariant mode is not possible here.
    """

    def __init__(self, model: Decoder, config: LearnerConfig, *, mesh: DeviceMesh | None = None) -> None:
        self.config = config
        if mesh is None and config.device is not None:
            model.to(resolve_device(config.device))
        self.in_place = mesh is None and config.lora is None
        """Whether the weights of `model` themselves are trained."""
        self.steps = 0
        """Steps taken."""
        # The same weights in separate modules, which adapters, checkpoints and shards may change.
        frozen = config.lora is not None  # then the same memory with separate parameters, since others may train theirs
        shared = {
            id(weight): nn.Parameter(weight.detach(), requires_grad=False) if frozen else weight
            for weight in model.parameters()
        }
        self._model = deepcopy(model, shared)
        precision = resolve_precision(config.precision, model.lm_head.weight.device.type)
        flow = flow_of(precision, invariant=config.invariant, keys_and_values=config.keys_and_values)
        check_quantised(model, flow, several=mesh is not None)
        self._frozen = flow.frozen
        if flow.frozen:
            self._model.freeze(Nvfp4Products())
        self.adapters = None if config.lora is None else _adapt(self._model, config.lora)
        """In place of the weights; `None` where those are trained themselves."""
        self._quantises = flow.operands is not None
        self._rounds_keys_and_values = flow.rounds_keys_and_values
        half = flow.weights == torch.bfloat16
        self._shadow = PrecisionCopy(self._model, flow) if half and mesh is None else None
        self._working = self._model if self._shadow is None else self._shadow.model
        self._invariant = _kernels_for(model, mesh) if flow.fixed_order else None
        if self._invariant is not None:
            self._working.use(TrainedFunctions(self._invariant, flow.operands))
        else:
            if flow.operands is not None:
                self._working.multiply_with(QuantisedProducts(flow.operands))
            if model.lm_head.weight.device.type == "cpu":
                quicken_norms(self._working)
        if config.checkpointing:
            checkpoint_blocks(self._working)
        if mesh is not None:
            shard(self._model, self._model.model.layers, mesh, half=half)
        self._processes = Processes(mesh)
        self._trained = {name: weight for name, weight in self._model.named_parameters() if weight.requires_grad}
        self._optimiser = Optimiser(self._trained, config)

    def step(self, prepared: PreparedStep, *, lr: float | None = None, temperature: float = 1.0) -> Metrics:
        """One step of the optimiser towards an objective.

        Args:
            prepared: The result of `Objective.prepare` for the step's batch.
            lr: The learning rate. Default: that of the config.
            temperature: The temperature at which the tokens were drawn, if the batch has none (`temperature_T`).

        Returns:
            `loss`, `gradient_norm` (before scaling), `tokens` (trained), `seconds`, the objective's own figures, those
            of `StepFigures.metrics`, and bytes and time of quantised weights.

        Raises:
            ValueError: the batch has no trajectory.
            DivergedError: loss or gradient is not a finite number. Weights and optimiser are unchanged.
        """
        begun = time.perf_counter()
        figures = StepFigures()
        self._optimiser.forget()  # the remains of an interrupted step
        weights = self._refresh()
        for micro in self._micro_batches(prepared.batch):
            scores = self._scores(micro, temperature)
            loss, shares = prepared.loss(*scores, micro)
            loss.backward()
            if self._shadow is not None:
                self._shadow.give_gradients()
            figures.add(micro, scores, loss, shares)
        metrics = figures.metrics(self._processes) | {"gradient_norm": self._optimiser.clip()}
        self._check_finite(metrics)
        self._optimiser.step((self.config.lr if lr is None else lr) * prepared.rate)
        self.steps += 1
        return prepared.metrics | metrics | weights | {"seconds": time.perf_counter() - begun}

    def logprobs(self, batch: TokenBatch, *, temperature: float = 1.0) -> TokenScores:
        """Log-probability and entropy of each trained token under the current weights, [T] each; 0 elsewhere."""
        found = self.columns(batch, ("logp", "entropy"), temperature=temperature)
        return TokenScores(found["logp"], found["entropy"])

    def columns(
        self, batch: TokenBatch, wanted: Collection[TokenStatistic], *, temperature: float = 1.0
    ) -> dict[TokenStatistic, Tensor]:
        """Statistics of each trained token under the current weights, [T] each; 0 elsewhere.

        Args:
            batch: Whole trajectories.
            wanted: The statistics; one pass computes all of them.
            temperature: The temperature at which the tokens were drawn, if the batch has none (`temperature_T`).
        """
        # Each micro-batch carries indices into the batch, because micro-batches have another order.
        placed = replace(batch, version_T=torch.arange(len(batch.ids_T), device=batch.ids_T.device))
        head = self._model.lm_head.weight
        dtype = torch.promote_types(head.dtype, torch.float32)
        found: dict[TokenStatistic, Tensor] = {
            name: torch.zeros(len(batch.ids_T), device=head.device, dtype=dtype) for name in sorted(wanted)
        }
        self._refresh()
        with torch.no_grad():
            for micro in self._micro_batches(placed):
                own_T = micro.trained_T
                said = self._statistics(micro, found, temperature)
                for name, whole_T in found.items():
                    whole_T[micro.version_T[own_T]] = said[name]
        drop_gathered(self._model)
        return {name: self._processes.sum(x_T).to(batch.ids_T.device) for name, x_T in found.items()}

    def _statistics(
        self, batch: TokenBatch, wanted: Collection[TokenStatistic], temperature: float
    ) -> dict[TokenStatistic, Tensor]:
        """Of each trained token, [N]."""
        hidden_NC = self._hidden(batch)
        exact: dict[TokenStatistic, Tensor] = {}
        if self._invariant is not None:
            scores = self._score(hidden_NC, batch, temperature)
            own: dict[TokenStatistic, Tensor] = {"logp": scores.logp, "entropy": scores.entropy}
            exact = {name: x_N for name, x_N in own.items() if name in wanted}
            if len(exact) == len(wanted):
                return exact
        said = statistics(
            hidden_NC,
            self._model.lm_head.weight,  # gathered only now, if it is spread over processes
            batch.ids_T[batch.trained_T],
            wanted=wanted,
            temperature=_temperatures(batch, temperature),
            chunk=self.config.logits_chunk,
        )
        return said | exact

    def gradient_norms(self, batch: TokenBatch, *, temperature: float = 1.0) -> Tensor:
        """The squared norm of the gradient of each trajectory's log-probability, [R]; a backward pass for each.

        Raises:
            ConfigError: the weights are spread over processes, which see different trajectories.
        """
        self.check_norms()
        norm_R = torch.zeros(batch.trajectories, dtype=torch.float64)
        self._refresh()
        for trajectory in range(batch.trajectories):
            self._optimiser.forget()
            micro = batch.select([trajectory]).to(self._model.lm_head.weight.device)
            self._scores(micro, temperature).logp.sum().backward()
            if self._shadow is not None:
                self._shadow.give_gradients()
            grads = [weight.grad for weight in self._trained.values() if weight.grad is not None]
            norm_R[trajectory] = sum(float(grad.double().square().sum()) for grad in grads)
        self._optimiser.forget()
        return norm_R.to(device=batch.return_R.device, dtype=batch.return_R.dtype)

    def check_norms(self) -> None:
        """Check that `gradient_norms` is available; raises as it does."""
        if self._processes.several:
            raise ConfigError(
                "the norms of single trajectories' gradients need all weights in one process; take the advantage "
                "`opob-proxy`, or train in one process"
            )

    def step_head(self, prepared: PreparedStep, *, lr: float) -> Metrics:
        """One step of the optimiser on the temperature head alone; the states that it reads do not change.

        Args:
            prepared: The result of `Objective.prepare` for a batch whose log-probabilities are those of temperature
                choices.
            lr: The learning rate.

        Returns:
            As `step`, without the entropy; figures of ratios are those of choices.

        Raises:
            ConfigError: see `check_head`.
            DivergedError: as in `step`.
        """
        begun = time.perf_counter()
        figures = StepFigures()
        self._optimiser.forget()
        self._refresh()
        for micro in self._micro_batches(prepared.batch):
            own_T = micro.trained_T
            logp_N = self._choice_logprobs(micro)
            logp_T = logp_N.new_zeros(len(own_T)).masked_scatter(own_T, logp_N)
            scores = TokenScores(logp_T, torch.zeros_like(logp_T))
            loss, shares = prepared.loss(*scores, micro)
            loss.backward()
            figures.add(micro, scores, loss, shares)
        metrics = figures.metrics(self._processes) | {"gradient_norm": self._optimiser.clip()}
        metrics.pop("policy/entropy", None)
        self._check_finite(metrics)
        self._optimiser.step(lr * prepared.rate)
        self.steps += 1
        return prepared.metrics | metrics | {"seconds": time.perf_counter() - begun}

    def choice_logprobs(self, batch: TokenBatch) -> Tensor:
        """The log-probability of the head's choice at each trained token, under the current weights, [T].

        It is 0 elsewhere.

        Raises:
            ConfigError: see `check_head`.
        """
        head = self.check_head()
        placed = replace(batch, version_T=torch.arange(len(batch.ids_T), device=batch.ids_T.device))
        found_T = torch.zeros(len(batch.ids_T), device=head.inner.weight.device, dtype=self._model.lm_head.weight.dtype)
        self._refresh()
        with torch.no_grad():
            for micro in self._micro_batches(placed):
                found_T[micro.version_T[micro.trained_T]] = self._choice_logprobs(micro)
        return found_T.to(batch.ids_T.device)

    def check_head(self) -> TemperatureHead:
        """The temperature head, if it can be trained.

        Raises:
            ConfigError: there is no head, adapters are trained, or the weights are spread over processes.
        """
        head, way_out = self._model.temperature_head, "or take an objective without `temperature`"
        if head is None:
            raise ConfigError(f"the policy has no temperature head to train; add one to its model, {way_out}")
        if self.adapters is not None:
            raise ConfigError(
                "a temperature head is trained with the weights of its policy, and adapters leave those alone; leave "
                f"learner.lora out, {way_out}"
            )
        if self._processes.several:
            raise ConfigError(
                f"a temperature head is trained in one process, and the weights are spread over several; train in one, "
                f"{way_out}"
            )
        return head

    def weights(self) -> Weights:
        """The current weights, by the names of Hugging Face's files; a tied output layer is left out.

        Adapters are merged in. The tensors may be the learner's own: copy them to use them after the next step.
        """
        if self.adapters is not None:
            return self.adapters.merged()
        return {name: whole(weight.detach()) for name, weight in self._model.named_parameters()}

    def rollout_weights(self) -> Weights:
        """The weights for an engine of the same precision; if weights are frozen, the result of `Adapters.apart`.

        Merging adapters into weights in 4 bits would round away what they learn.
        """
        if self._frozen:
            assert self.adapters is not None
            return self.adapters.apart()
        return self.weights()

    def state(self, *, copy: bool = True) -> dict[str, Any]:
        """Everything that the next step depends on, as dictionaries of tensors.

        Args:
            copy: Whether to copy the tensors to CPU memory, so that they outlast the next step. Otherwise they may be
                the learner's own.
        """
        weights = {name: whole(weight.detach()) for name, weight in self._trained.items()}
        if copy:
            weights = {name: weight.to("cpu", copy=True) for name, weight in weights.items()}
        return {"steps": self.steps, "weights": weights, "optimiser": self._optimiser.state(copy=copy)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the result of `state`.

        Raises:
            CheckpointError: it belongs to another model, or to other settings.
        """
        weights: Mapping[str, Tensor] = state["weights"]
        for name, weight in weights.items():
            check_fit(name, weight, self._trained)
        if missing := sorted(self._trained.keys() - weights.keys()):
            raise CheckpointError(
                f"the learner's state lacks {missing[0]}; restore it with the model it was saved with"
            )
        self._optimiser.restore(state["optimiser"])
        with torch.no_grad():
            for name, weight in weights.items():
                self._trained[name].copy_(like(weight, self._trained[name]))
        self.steps = int(state["steps"])

    @property
    def optimiser(self) -> torch.optim.Optimizer:
        """The optimiser itself."""
        return self._optimiser.adamw

    def _refresh(self) -> Metrics:
        """Copy the current weights; return bytes and time of the quantised ones."""
        if self._shadow is not None:
            self._shadow.refresh()
        device, begun = self._model.lm_head.weight.device, time.perf_counter()
        self._working.refresh()
        if not (self._quantises or self._frozen):
            return {}
        wait_for(device)
        packed = [part for one in self._working.projections() for part in one.packed or ()]
        held = {"memory/learner_quantised": float(sum(part.nbytes for part in packed))}
        return held if self._frozen else {**held, "speed/learner_quantise_ms": 1e3 * (time.perf_counter() - begun)}

    def _micro_batches(self, batch: TokenBatch) -> Generator[TokenBatch]:
        """This process's share of the batch, on the device of the weights; see `Processes.micro_batches`."""
        if not batch.trajectories:
            raise ValueError("the batch has no trajectory, and a step takes one at least; leave the step out")
        for micro in self._processes.micro_batches(batch, self.config.micro_tokens, self.config.layout):
            yield micro.to(self._model.lm_head.weight.device)

    def _hidden(self, batch: TokenBatch) -> Tensor:
        """The states that predict each trained token, [N, C]."""
        layout = LAYOUTS[self.config.layout](batch)
        attend = layout.attend
        if self._invariant is not None:
            attend = InvariantAttention(self._invariant, layout.paths, layout.attend)
        if self._rounds_keys_and_values:
            attend = RoundedAttention(attend)
        hidden_PC: Tensor = self._working(layout.ids_N, layout.position_N, attend)
        return hidden_PC[layout.before_T[batch.trained_T]]

    def _scores(self, batch: TokenBatch, temperature: float) -> TokenScores:
        """Scores of each trained token, [T]; 0 elsewhere."""
        own_T = batch.trained_T
        found = self._score(self._hidden(batch), batch, temperature)
        return TokenScores(*(x_N.new_zeros(len(own_T)).masked_scatter(own_T, x_N) for x_N in found))

    def _score(self, hidden_NC: Tensor, batch: TokenBatch, temperature: float) -> TokenScores:
        """Of each trained token, [N]."""
        token_N, own, chunk = batch.ids_T[batch.trained_T], _temperatures(batch, temperature), self.config.logits_chunk
        weight_VC = self._model.lm_head.weight
        if self._invariant is None:
            return score_tokens(hidden_NC, weight_VC, token_N, temperature=own, chunk=chunk)
        packed = self._working.lm_head.packed
        assert packed is not None
        return score_invariantly(hidden_NC, weight_VC, packed, token_N, self._invariant, temperature=own, chunk=chunk)

    def _choice_logprobs(self, batch: TokenBatch) -> Tensor:
        """Log-probability of the choice at each trained token, [N]; gradients flow only into the head."""
        head = self.check_head()
        with torch.no_grad():
            hidden_NC = self._hidden(batch)
        found: ChoiceDistribution = head(hidden_NC)
        return found.logprobs(batch.column("latent_T")[batch.trained_T])

    def _check_finite(self, metrics: Metrics) -> None:
        loss, norm = metrics["loss"], metrics["gradient_norm"]
        if not (math.isfinite(loss) and math.isfinite(norm)):
            self._optimiser.forget()
            raise DivergedError(
                f"step {self.steps}: loss {loss}, gradient norm {norm}; both must be finite, and the weights of the "
                "step before stand. Go on from there with a lower learning rate, or without the trajectories at fault"
            )


def _temperatures(batch: TokenBatch, otherwise: float) -> float | Tensor:
    """The temperature of the trained tokens: one for each if a head chose, [N], otherwise one for all.

    Tokens that no head chose for, such as those of a prompt, are scored at `otherwise`.
    """
    if "temperature_T" not in batch.columns:
        return otherwise
    own_N = batch.column("temperature_T")[batch.trained_T]
    return torch.where(own_N > 0, own_N, otherwise)


def _kernels_for(model: Decoder, mesh: DeviceMesh | None) -> InvariantKernels:
    if mesh is not None:
        raise ConfigError(
            "invariant=True: weights that are spread over processes are put together by torch, and the mode works on "
            "whole ones; train in one process, or leave invariant out"
        )
    return kernels_for(model.shape, model.lm_head.weight.device)


def _adapt(model: Decoder, config: LoraConfig) -> "Adapters":
    try:
        from palaestra.trainers.learner.lora import Adapters  # noqa: PLC0415  peft is optional
    except ModuleNotFoundError as error:
        raise ConfigError("adapters need peft, which is not installed; install palaestra[lora]") from error
    return Adapters(model, config)
