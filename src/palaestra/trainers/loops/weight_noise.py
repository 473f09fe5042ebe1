"""Noise on the weights that sample rollouts, for exploration; the learner's weights have none.

Adaptive quantisation noise of QeRL (arXiv:2510.11696, section 3.3): normal noise is added to the gains of all norms in
the engine's copy, anew for each version of the weights, and its deviation falls in steps. Noise on the gain of a norm
equals noise on each input of the next product.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.seeding import Stream
from palaestra.trainers.limits import check_above_zero, check_at_least

_GAIN = "norm.weight"
"""The suffix of the names of all norm gains: of layers, of heads, and of the last layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightNoiseConfig:
    """The size of the noise: none on the first level, then `start`, falling geometrically to `end` on the last."""

    start: float = 1e-2
    """The standard deviation on the second level."""
    end: float = 1e-4
    """The standard deviation on the last level."""
    levels: int = 10
    """The number of levels, the first included; at least 3."""
    hold: int = 10
    """Steps of each level except the last, which lasts to the stage's end. In the paper, each has a tenth of a
    stage."""

    def __post_init__(self) -> None:
        check_above_zero(start=self.start, end=self.end)
        check_at_least(3, levels=self.levels)
        check_at_least(1, hold=self.hold)
        if self.end > self.start:
            raise ValueError(
                f"start={self.start:g}, end={self.end:g}: the noise falls; give an end that is at most the start"
            )

    def deviation(self, step: int) -> float:
        """The standard deviation of the noise in a step; steps are counted from 0."""
        level = min(step // self.hold, self.levels - 1)
        return self.start * (self.end / self.start) ** ((level - 1) / (self.levels - 2)) if level else 0.0


class WeightNoise:
    """The noise of one stage.

    Args:
        config: The size of the noise.
        names: Names of the stage and the run's seed; equal names and versions give equal noise.
    """

    def __init__(self, config: WeightNoiseConfig, *names: str | int) -> None:
        self._config = config
        self._names = names

    def deviation(self, version: int) -> float:
        """The standard deviation of the noise on a version of the weights."""
        return self._config.deviation(version)

    def add(self, weights: Mapping[str, Tensor], version: int) -> Mapping[str, Tensor]:
        """The weights with noise on the gains of norms.

        Args:
            weights: A decoder's state dict without noise; its tensors stay unchanged.
            version: The version of the weights: the step that they sample for.
        """
        deviation = self.deviation(version)
        if not deviation:
            return weights
        generator = torch.Generator().manual_seed(Stream.root("weight-noise", *self._names, version).below(1 << 63))
        gains = sorted(name for name in weights if name.endswith(_GAIN))
        return {**weights, **{name: _add_normal(weights[name], deviation, generator) for name in gains}}


def _add_normal(gain_C: Tensor, deviation: float, generator: torch.Generator) -> Tensor:
    # In single precision: bfloat16 near 1 is too coarse for a small deviation.
    noise_C = torch.randn(gain_C.shape, generator=generator) * deviation
    return gain_C.detach().float() + noise_C.to(gain_C.device)


def check_weight_noise(noise: WeightNoiseConfig, *, steps: int | None, corrects: bool, invariant: bool) -> None:
    """Refuse settings with which noise would have no effect, or the objective would not account for it.

    noise: The stage's weight noise.
        noise: Of the stage.
        steps: The stage's steps; `None` if tokens or time end it.
        corrects: Whether the objective corrects for different log-probabilities of the rollouts.
        invariant: Whether engine and learner compute one forward pass.

    Raises:
        ValueError: a check fails; the message names the setting, the rule and what to do.
    """
    if steps is not None and steps <= noise.hold:
        raise ValueError(
            f"steps={steps}, weight_noise.hold={noise.hold}: the stage ends on the first level, which has no noise; "
            "lower hold, to a tenth of the steps for instance, or leave weight_noise out"
        )
    if invariant:
        raise ValueError(
            "invariant=True, weight_noise: with noise, the weights that draw are not those that are trained, and no "
            "log-probability is equal; leave one of the two out"
        )
    if not corrects:
        raise ValueError(
            "weight_noise: rollouts have other log-probabilities than the weights that are trained, and nothing in the "
            'objective corrects for it; take objective.parts.ratio = { anchor = "rollout" } with a trust region that '
            'reads ratios, or objective.parts.corrections = ["token-tis"] with ratio.anchor = "old"'
        )
