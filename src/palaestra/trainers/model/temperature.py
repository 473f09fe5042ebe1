"""The temperature head: it maps the state that predicts a token to the temperature at which that token is sampled.

Source: IntroLLM (arXiv:2602.13035). With h the state of the last layer:

    u = W2 ReLU(W1 h + b1) + b2                      three numbers; the hidden layer has half the width of h
    c ~ Bernoulli(sigmoid(u0))                       the gate: whether a temperature is chosen
    z ~ Beta(softplus(u1) + eps, softplus(u2) + eps) if c = 1; the temperature is then low + z (high - low)
    the temperature of the previous token stays      if c = 0
    log pi = log P(c) + c log Beta(z)

The head computes in single precision or higher, whatever the decoder's precision is.

Axes: N tokens, C hidden.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from palaestra.record import record
from palaestra.trainers.model.shape import TemperatureRange

LATENT_MARGIN = 1e-4
"""The least distance of latents from 0 and 1, where the logarithm of a Beta density may be infinite."""
NO_LATENT = 0.0
"""The value instead of a latent if the gate was closed; no latent is 0."""


@record
class ChoiceDistribution:
    """The distribution from which each token's choice is sampled."""

    gate_N: Tensor
    """The logit of the probability that a temperature is chosen."""
    alpha_N: Tensor
    """The first parameter of the latent's Beta distribution; `beta_N` is the second. Both are above 0."""
    beta_N: Tensor

    def logprobs(self, latent_N: Tensor) -> Tensor:
        """The log-probability of each choice, [N]: that of the gate, plus the latent's log-density if the gate is open.

        Args:
            latent_N: Latents in [`LATENT_MARGIN`, 1 - `LATENT_MARGIN`], or `NO_LATENT` if the gate was closed.
        """
        open_N = latent_N != NO_LATENT
        gate_N = functional.logsigmoid(torch.where(open_N, self.gate_N, -self.gate_N))
        # A closed gate has no density; a latent of one half keeps its terms and gradients finite until they are masked.
        z_N = torch.where(open_N, latent_N, 0.5).to(gate_N.dtype)
        alpha_N, beta_N = self.alpha_N, self.beta_N
        scale_N = torch.lgamma(alpha_N) + torch.lgamma(beta_N) - torch.lgamma(alpha_N + beta_N)
        density_N = (alpha_N - 1) * z_N.log() + (beta_N - 1) * torch.log1p(-z_N) - scale_N
        return gate_N + torch.where(open_N, density_N, 0.0)


class TemperatureHead(nn.Module):
    """The network that chooses temperatures; see the module.

    Initially every token has the same distribution: W2 and b2 are 0, so the gate is open half of the time.

    Args:
        hidden: The width of the states.
        range: The temperatures that the head chooses from.
        seed: The seed of the hidden layer's initial weights; without it, they stay uninitialised, to be loaded.
    """

    def __init__(self, hidden: int, range: TemperatureRange, *, seed: int | None = None) -> None:  # noqa: A002
        super().__init__()
        self.range = range
        width = max(1, hidden // 2)
        self.inner = nn.Linear(hidden, width)
        self.outer = nn.Linear(width, 3)
        if seed is not None:
            self._begin(seed)

    @torch.no_grad()
    def _begin(self, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        bound = self.inner.in_features**-0.5
        self.inner.weight.uniform_(-bound, bound, generator=generator)
        for zero in (self.inner.bias, self.outer.weight, self.outer.bias):
            zero.zero_()

    def forward(self, hidden_NC: Tensor) -> ChoiceDistribution:
        """The distribution of each token's choice.

        Args:
            hidden_NC: The states that predict the tokens.
        """
        x_NC = hidden_NC.to(torch.promote_types(hidden_NC.dtype, self.inner.weight.dtype))
        u_N3: Tensor = self.outer(self.inner(x_NC).relu())
        least = self.range.epsilon
        return ChoiceDistribution(
            gate_N=u_N3[:, 0],
            alpha_N=functional.softplus(u_N3[:, 1]) + least,
            beta_N=functional.softplus(u_N3[:, 2]) + least,
        )
