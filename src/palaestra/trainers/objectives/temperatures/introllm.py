"""A head that learns sampling temperatures, with the same advantages as the policy. Axes: T tokens."""

import math
from dataclasses import dataclass, replace

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.model.shape import TemperatureRange
from palaestra.trainers.objectives.part import part

_DENSITY = "it reads probabilities, and what a temperature head chooses has a density, which may exceed 1"


@part(
    "temperature",
    "introllm",
    formula="c ~ Bernoulli(sigmoid(u0)), z ~ Beta(softplus(u1) + eps, softplus(u2) + eps); tau = low + z (high - low) "
    "if c else the last; log pi = log P(c) + c log Beta(z)",
    sources=("arXiv:2602.13035",),
    confidence="secondary",
    requires=("temperature_T", "latent_T", "choice_T"),
    conflicts={
        "schedule=turns": "the head is trained on shares of the batch, and not turn by turn",
        "advantage/history": "its memory would count a batch twice that trains both the policy and the head",
        "trust/dcpo": _DENSITY,
        "trust/dppo": _DENSITY,
        "trust/maspo": _DENSITY,
        "mask/s2t": _DENSITY,
        "trust/clip-cov": "it chooses among tokens by their log-probabilities, and choices of temperatures have others",
        "trust/kl-cov": "it chooses among tokens by their log-probabilities, and choices of temperatures have others",
        "trust/lp-reg": "it protects unlikely tokens, and a choice of a temperature is none",
        "trust/luffy": "no head chose the temperatures of what an expert wrote",
        "filter/repo": "the head chose the temperatures of a rephrased solution under another prompt",
    },
)
@dataclass(frozen=True, slots=True, kw_only=True)
class IntroLlm:
    """A learnt temperature (IntroLLM, arXiv:2602.13035), with the advantages, trust region and masks of the policy.

    Before each token, a head reads the state that predicts it and chooses whether to sample at a new temperature, and
    at which; see `model.temperature`. Policy and head are trained by coordinate ascent: each is constant while the
    other is trained, and no gradient of one loss reaches the other's weights. The token's log-probability is that at
    its own temperature. Ratios of the head are ratios of its choices, to the same anchor as the policy's. Regularisers
    cover tokens only and are no part of the head's loss. The paper's numbers are not known to us; all of them are ours.

    Raises:
        ValueError: a number is out of range.
    """

    low: float = 0.5
    """The lowest temperature."""
    high: float = 1.5
    """The highest temperature."""
    epsilon: float = 1.0
    """Added to both parameters of the Beta distribution."""
    rate: float = 1e-3
    """The learning rate of the head."""
    alternate: int = 1
    """The number of batches after which training changes between policy and head, the policy first. With 0, every batch
    trains both, the head first, so that both train on samples of the weights that they begin with."""

    def __post_init__(self) -> None:
        TemperatureRange(low=self.low, high=self.high, epsilon=self.epsilon)  # checks these three
        if self.low == self.high:
            raise ValueError(
                f"low={self.low}, high={self.high}: there is nothing to choose; give a range, or leave `temperature` "
                "out and set play.temperature"
            )
        if not 0 < self.rate < math.inf:
            raise ValueError(f"rate={self.rate}: a learning rate is a number above 0")
        if self.alternate < 0:
            raise ValueError(f"alternate={self.alternate}: a number of batches, or 0 to train both on each")

    @property
    def range(self) -> TemperatureRange:
        """The temperatures that the head chooses from."""
        return TemperatureRange(low=self.low, high=self.high, epsilon=self.epsilon)

    def trains_policy(self, step: int) -> bool:
        """Whether step number `step`, counted from 0, trains the policy."""
        return not self.alternate or step // self.alternate % 2 == 0

    def trains_head(self, step: int) -> bool:
        """Whether the step trains the head."""
        return not self.alternate or not self.trains_policy(step)

    def __call__(self, batch: TokenBatch, /) -> TokenBatch:
        """See `TemperaturePolicy`."""
        return replace(batch, logprob_T=batch.column("choice_T").to(batch.logprob_T))
