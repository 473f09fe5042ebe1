"""The sizes of the checks: a model of Qwen3 0.6B's size on a GPU, a tiny model on a processor."""

from palaestra.benchmarks.speed.training.scale import QWEN3_06B
from palaestra.record import record
from palaestra.trainers.model.shape import DecoderShape

_TINY = DecoderShape(vocabulary=256, hidden=64, layers=2, heads=4, kv_heads=2, head_dim=32, mlp=96, context=256)


@record
class ContactScale:
    """The sizes of the checks."""

    shape: DecoderShape
    rows: int
    """Number of sequences that are sampled at once."""
    prompt: int
    """Tokens of a prompt."""
    new: int
    """Tokens that each sequence samples."""
    judged: int
    """Number of sequences that a processor scores as well."""
    lengths: tuple[int, ...]
    """Lengths of the sequences for attention, in tokens."""
    micro_tokens: int
    """Tokens of a training step, and of one forward pass."""
    captures: int
    """Number of CUDA graphs that are captured while another thread allocates."""
    products: tuple[int, ...]
    """Numbers of rows of the matrix products for the comparison of formats."""

    @property
    def places(self) -> int:
        """Tokens of a complete sequence."""
        return self.prompt + self.new


ON_GPU = ContactScale(
    shape=QWEN3_06B,
    rows=64,
    prompt=256,
    new=128,
    judged=2,
    lengths=(2048, 17, 900, 1500, 333, 4000, 64, 1200),
    micro_tokens=16_384,
    captures=40,
    products=(64, 1024, 16_384),
)
ON_CPU = ContactScale(
    shape=_TINY,
    rows=4,
    prompt=16,
    new=8,
    judged=2,
    lengths=(12, 5, 9),
    micro_tokens=256,
    captures=2,
    products=(16,),
)


def contact_scale(device: str) -> ContactScale:
    """The sizes for a kind of device; on a processor, just enough to test every check."""
    return ON_CPU if device == "cpu" else ON_GPU
