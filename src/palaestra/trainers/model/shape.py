"""The shape of a decoder: the fields of Hugging Face's `config.json` that Qwen and Llama share."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderShape:
    """A pre-norm decoder: RMSNorm, rotary positions, grouped-query attention, SwiGLU."""

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    mlp: int
    """The inner width of a gated layer; with experts, that of each expert."""
    context: int
    """The maximum number of tokens in a sequence."""
    rope_theta: float = 10_000.0
    rope_scaling: "RopeScaling | None" = None
    norm_epsilon: float = 1e-6
    qk_norm: bool = True
    """Whether queries and keys are normalised for each head, as in Qwen3."""
    qkv_bias: bool = False
    """Whether the projections to queries, keys and values have a bias, as in Qwen2.5."""
    tied: bool = True
    """Whether the output layer is the embedding."""
    experts: "ExpertShape | None" = None
    """The experts of each block, if there are several gated layers, as in Qwen3-MoE."""
    temperature: "TemperatureRange | None" = None
    """The range of the temperature head; `None` without a head."""

    def __post_init__(self) -> None:
        if self.heads % self.kv_heads:
            raise ValueError(f"{self.heads} heads cannot share {self.kv_heads} kv_heads evenly; give a divisor")
        if self.qkv_bias and self.qk_norm:
            raise ValueError(
                "qkv_bias=True, qk_norm=True: no family has both, so no file could say so; take one of the two"
            )
        if self.qkv_bias and self.heads * self.head_dim != self.hidden:
            raise ValueError(
                f"qkv_bias=True, heads={self.heads}, head_dim={self.head_dim}, hidden={self.hidden}: heads of "
                "Qwen2.5 are together as wide as hidden; give such sizes"
            )
        if self.experts is not None and not self.qk_norm:
            raise ValueError("experts, qk_norm=False: the family with experts is Qwen3-MoE; write qk_norm=True")
        if self.head_dim % 2:
            raise ValueError(f"head_dim is {self.head_dim}, and rotary positions turn pairs; give an even number")

    @property
    def projections(self) -> tuple[tuple[int, int], ...]:
        """Rows and columns of each weight in a block's projections."""
        width, narrow = self.heads * self.head_dim, self.kv_heads * self.head_dim
        attention = ((width, self.hidden), (narrow, self.hidden), (narrow, self.hidden), (self.hidden, width))
        gated = ((self.mlp, self.hidden), (self.mlp, self.hidden), (self.hidden, self.mlp))
        return (*attention, *gated * (1 if self.experts is None else self.experts.count))

    @property
    def projection_parameters(self) -> int:
        """The number of parameters of all projections."""
        return self.layers * sum(rows * columns for rows, columns in self.projections)

    @property
    def parameters(self) -> int:
        """The number of all parameters."""
        norms = self.layers * (2 * self.hidden + 2 * self.head_dim * self.qk_norm)
        biases = self.layers * (self.heads + 2 * self.kv_heads) * self.head_dim * self.qkv_bias
        width = max(1, self.hidden // 2)
        head = 0 if self.temperature is None else (self.hidden + 1) * width + 3 * (width + 1)
        embeddings = self.vocabulary * self.hidden * (1 if self.tied else 2)
        routers = 0 if self.experts is None else self.layers * self.experts.count * self.hidden
        return self.projection_parameters + norms + biases + routers + self.hidden + embeddings + head


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertShape:
    """The experts of a block."""

    count: int
    chosen: int
    """The number of experts that each token passes through."""
    normalised: bool
    """Whether the shares of a token's experts add up to 1."""

    def __post_init__(self) -> None:
        if not 1 <= self.chosen <= self.count:
            raise ValueError(f"chosen={self.chosen}, count={self.count}: a token goes through 1 to count experts")


@dataclass(frozen=True, slots=True, kw_only=True)
class RopeScaling:
    """Llama 3.1's scaling of rotary positions (`rope_type` "llama3")."""

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_context: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TemperatureRange:
    """The temperatures that a temperature head chooses from (IntroLLM, arXiv:2602.13035)."""

    low: float
    """The lowest temperature, above 0."""
    high: float
    """The highest temperature, `low` or more."""
    epsilon: float
    """Added to both parameters of the Beta distribution; from 1 on, its density has one mode and is finite at the
    ends."""

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.high < math.inf:
            raise ValueError(f"low={self.low}, high={self.high}: temperatures are above 0, and high is low or more")
        if not 0 < self.epsilon < math.inf:
            raise ValueError(
                f"epsilon={self.epsilon}: parameters of a Beta distribution are above 0; give such a number"
            )
