"""What a decoder's weights look like: the fields of Hugging Face's `config.json` that Qwen3 and Llama share."""

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
    context: int
    """Tokens that a sequence may have."""
    rope_theta: float = 10_000.0
    rope_scaling: "RopeScaling | None" = None
    norm_epsilon: float = 1e-6
    qk_norm: bool = True
    """Queries and keys are normalised for each head: Qwen3 does, Llama does not."""
    tied: bool = True
    """The output layer is the embedding."""

    def __post_init__(self) -> None:
        if self.heads % self.kv_heads:
            raise ValueError(f"{self.heads} heads cannot share {self.kv_heads} kv_heads evenly; give a divisor")
        if self.head_dim % 2:
            raise ValueError(f"head_dim is {self.head_dim}, and rotary positions turn pairs; give an even number")

    @property
    def parameters(self) -> int:
        """How many numbers the weights are."""
        attention = self.hidden * self.head_dim * (2 * self.heads + 2 * self.kv_heads)
        norms = 2 * self.hidden + 2 * self.head_dim * self.qk_norm
        block = attention + 3 * self.hidden * self.mlp + norms
        return self.layers * block + self.hidden + self.vocabulary * self.hidden * (1 if self.tied else 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class RopeScaling:
    """Llama 3.1's way to stretch the rotary positions (`rope_type` "llama3")."""

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_context: int
