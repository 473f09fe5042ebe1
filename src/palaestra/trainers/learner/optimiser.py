"""AdamW with state by weight name, so that it can be saved beside the weights and read without pickle."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from palaestra.errors import CheckpointError
from palaestra.trainers.learner.config import LearnerConfig
from palaestra.trainers.learner.sharding import like, whole


class Optimiser:
    """AdamW (Loshchilov and Hutter 2017, arXiv:1711.05101) with the same settings for every weight, norms included.

    Args:
        weights: The trained weights, by name.
        config: The learner's settings.
    """

    def __init__(self, weights: Mapping[str, nn.Parameter], config: LearnerConfig) -> None:
        self._weights = weights
        self._max_norm = config.max_norm
        self.adamw = torch.optim.AdamW(
            weights.values(), lr=config.lr, betas=config.betas, weight_decay=config.weight_decay, fused=True
        )

    def clip(self) -> float:
        """Scale the gradient down to the maximum norm if it is larger; returns the norm before."""
        norm = nn.utils.clip_grad_norm_(self._weights.values(), self._max_norm)
        return float(whole(norm).item())

    def step(self, lr: float) -> None:
        """Update the weights with their gradients, then clear the gradients."""
        for group in self.adamw.param_groups:
            group["lr"] = lr
        self.adamw.step()
        self.forget()

    def forget(self) -> None:
        """Clear the gradients."""
        for weight in self._weights.values():
            weight.grad = None

    def state(self, *, copy: bool = True) -> dict[str, dict[str, Tensor]]:
        """The moments and step count of each weight that has been trained; copies, or the optimiser's own tensors."""
        return {
            name: {
                key: whole(value).detach().to("cpu", copy=True) if copy else whole(value).detach()
                for key, value in self.adamw.state[weight].items()
            }
            for name, weight in self._weights.items()
            if weight in self.adamw.state
        }

    def restore(self, state: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Restore the result of `state`.

        Raises:
            CheckpointError: the state belongs to other weights.
        """
        for name, moments in state.items():
            check_fit(name, moments["exp_avg"], self._weights)
        self.adamw.state.clear()
        for name, moments in state.items():
            weight = self._weights[name]
            # Counts are scalars and equal everywhere; moments are placed like their weight.
            self.adamw.state[weight] = {
                key: like(value, weight) if value.dim() else value.to(weight.device, copy=True)
                for key, value in moments.items()
            }


def check_fit(name: str, value: Tensor, weights: Mapping[str, Tensor]) -> None:
    """Refuse a saved value that matches no weight here, or has another shape.

    Raises:
        CheckpointError: the value matches no weight.
    """
    found = weights.get(name)
    if found is None or found.shape != value.shape:
        here = "is not trained here" if found is None else f"is {list(found.shape)} here"
        raise CheckpointError(
            f"the learner's state holds {name} {list(value.shape)}, which {here}; "
            "restore it with the model and the settings that it was saved with"
        )
