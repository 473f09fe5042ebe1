"""How a token's temperature is chosen: the gate and the latent of a temperature head, from the noise of its place.

A Beta variate is the share of one of two gamma variates in their sum, each by the method of Marsaglia and Tsang (2000,
"A simple method for generating gamma variables"). The method rejects, so it takes noise until it accepts. Each place of
a trajectory therefore has its own stream, and its choice depends on no other place.

Axes: B turns, C hidden.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from palaestra.record import record
from palaestra.seeding import Stream
from palaestra.trainers.model.temperature import LATENT_MARGIN, NO_LATENT, ChoiceDistribution, TemperatureHead
from palaestra.trajectory import TemperatureChoices

_BITS = 52
_LARGEST_EXPONENT = 700.0


@record
class TemperatureChoice:
    """The choice for one token."""

    temperature: float
    latent: float
    """`NO_LATENT` if the previous temperature was kept."""
    logprob: float
    """The log-probability of the choice; NaN if the states or the head's weights hold NaN."""


def choice_noise(key: bytes, place: int) -> Stream:
    """The noise for the choice at `place` of a trajectory.

    Args:
        key: The key of the trajectory's noise.
        place: The place of the token that is sampled next.
    """
    return Stream(key).split("temperature", place)


@torch.inference_mode()
def choose_temperatures(
    head: TemperatureHead, hidden_BC: Tensor, *, kept: Sequence[float], noise: Sequence[Stream]
) -> list[TemperatureChoice]:
    """Sample one choice for each state.

    Args:
        head: The head that gives the distributions.
        hidden_BC: The states that predict the tokens.
        kept: The temperature of each turn if the gate is closed.
        noise: The noise of each turn.
    """
    found: ChoiceDistribution = head(hidden_BC)
    # On the CPU, wherever the head computes: numbers are chosen one by one, and equally on every device.
    parameters_3B = torch.stack((found.gate_N, found.alpha_N, found.beta_N)).cpu()
    gates, alphas, betas = parameters_3B.tolist()
    latents = [sample_latent(*one) for one in zip(gates, alphas, betas, noise, strict=True)]
    # In single precision before the density is computed, so that the learner scores exactly the recorded number.
    latent_B = torch.tensor(latents, dtype=torch.float32)
    gate_B, alpha_B, beta_B = parameters_3B
    logprob_B = ChoiceDistribution(gate_N=gate_B, alpha_N=alpha_B, beta_N=beta_B).logprobs(latent_B)
    logprob_B = logprob_B.masked_fill(~parameters_3B.isfinite().all(0), torch.nan)
    chosen_B = head.range.low + latent_B * (head.range.high - head.range.low)
    return [
        TemperatureChoice(
            temperature=before if latent == NO_LATENT else chosen,
            latent=latent,
            logprob=logprob,
        )
        for before, chosen, latent, logprob in zip(
            kept, chosen_B.tolist(), latent_B.tolist(), logprob_B.tolist(), strict=True
        )
    ]


def sample_latent(gate: float, alpha: float, beta: float, stream: Stream) -> float:
    """A latent, or `NO_LATENT` if the gate is closed or a parameter is not finite.

    Args:
        gate: The logit of the probability that the gate is open.
        alpha: The first parameter of the latent's Beta distribution; above 0.
        beta: The second parameter; above 0.
        stream: The noise; if the gate is closed, only the gate's number is taken.
    """
    if not all(map(math.isfinite, (gate, alpha, beta))) or _uniform(stream) >= _sigmoid(gate):
        return NO_LATENT
    latent = _sigmoid(_log_gamma_variate(alpha, stream) - _log_gamma_variate(beta, stream))
    return min(max(latent, LATENT_MARGIN), 1 - LATENT_MARGIN)


def aligned(choices: Sequence[TemperatureChoice]) -> TemperatureChoices:
    """The choices of a turn as aligned tuples."""
    return TemperatureChoices(
        temperatures=tuple(one.temperature for one in choices),
        latents=tuple(one.latent for one in choices),
        logprobs=tuple(one.logprob for one in choices),
    )


def _log_gamma_variate(shape: float, stream: Stream) -> float:
    """The logarithm of a gamma variate of this shape and scale 1; for small shapes the variate itself may be 0."""
    boost = 0.0
    if shape < 1:
        boost, shape = math.log(_uniform(stream)) / shape, shape + 1
    d = shape - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        x = _normal(stream)
        v = (1 + c * x) ** 3
        if v > 0 and math.log(_uniform(stream)) < x * x / 2 + d - d * v + d * math.log(v):
            return math.log(d * v) + boost


def _normal(stream: Stream) -> float:
    """A standard normal variate (Box and Muller 1958)."""
    radius = math.sqrt(-2 * math.log(_uniform(stream)))
    return radius * math.cos(2 * math.pi * _uniform(stream))


def _uniform(stream: Stream) -> float:
    """A number above 0 and below 1."""
    return ((stream.word() >> (64 - _BITS)) + 0.5) / 2.0**_BITS


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -_LARGEST_EXPONENT else 0.0
