"""A trust region that is a divergence from a target defined by advantages. Axes: N trained tokens."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from torch import Tensor

from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.trust.region import Surrogate

Divergence: TypeAlias = Literal["kl", "rkl", "jeffreys", "tv", "hellinger", "js"]
"""Kullback-Leibler, its reverse, their sum, total variation, Hellinger, Jensen-Shannon."""
_MOST = 20.0


@part(
    "trust",
    "lad",
    formula="loss = e^a f(u), a = A / eta, u = r e^-a",
    sources=("arXiv:2602.20132",),
    confidence="secondary",
    neutral={"divergence": "kl", "eta": 1.0},
    reinforce=False,
    pulls=True,
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Lad:
    """LAD (arXiv:2602.20132): a divergence from the target anchor * exp(A / eta), after a transcription of the paper.

    The loss of a token is e^a f(u), with a = A / eta and u = ratio * e^-a; its gradient, f'(u) * ratio * grad logp, is
    0 if the ratio is e^a. At ratio 1, A is replaced as follows: `kl` a, `rkl` e^a - 1, `jeffreys` their sum,
    `hellinger` e^(a/2) - 1, `js` log((e^a + 1) / 2) / 2, `tv` sign(a) / 2. So at ratio 1, `kl` with `eta` 1 has the
    gradient of REINFORCE; for large `eta` all others except `tv` have it too, up to a factor.

    Experimental: the generators f with f(1) = f'(1) = 0, the ratio of tokens (a sequence's is the `ratio`'s
    granularity), and that log u and a stay within +-20, are derived; the paper's text leaves them open.
    """

    divergence: Divergence = "js"
    """In the paper `tv`, `hellinger` and `js` performed best; the choice among them is ours."""
    eta: float = 1.0
    """The distance of the target from the anchor: the smaller, the farther. In the paper 0.5 to 16 performed alike; 1
    is ours."""

    def __post_init__(self) -> None:
        if self.eta <= 0:
            raise ValueError(f"eta={self.eta}: advantages are divided by it; give a number above 0")

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """See `TrustRegion`."""
        asked_N = (surrogate.advantage_N / self.eta).clamp(-_MOST, _MOST)
        return asked_N.exp() * generator((surrogate.log_ratio_N - asked_N).clamp(-_MOST, _MOST), self.divergence)


def generator(log_u_N: Tensor, divergence: Divergence) -> Tensor:
    """f(u), whose value and slope are 0 at u = 1, [N].

    Args:
        log_u_N: The logarithm of u.
        divergence: The divergence.
    """
    u_N = log_u_N.exp()
    match divergence:
        case "kl":
            return u_N * log_u_N - u_N + 1
        case "rkl":
            return u_N - log_u_N - 1
        case "jeffreys":
            return (u_N - 1) * log_u_N
        case "tv":
            return (u_N - 1).abs() / 2
        case "hellinger":
            return ((log_u_N / 2).exp() - 1).square()
        case "js":
            return (u_N * log_u_N - (u_N + 1) * ((u_N + 1) / 2).log()) / 2
