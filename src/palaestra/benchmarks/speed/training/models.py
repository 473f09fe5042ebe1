"""Makes the weights that all contestants share, and samples from them with transformers.

Axes: B sequences, T tokens, V vocabulary.
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, PreTrainedModel

from palaestra.trainers.model.checkpoint import fresh
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.model.shape import DecoderShape

_SCALE = 6.0


def make_peaked_decoder(shape: DecoderShape, *, seed: int = 0) -> Decoder:
    """Make fresh weights with a larger last norm, so that some tokens are much likelier than others, as after training.

    Under unchanged fresh weights all tokens are nearly equally likely, so that rounding errors do not show. The change
    does not affect the sampling speed.
    """
    decoder = fresh(shape, seed=seed).eval()
    with torch.no_grad():
        decoder.model.norm.weight.mul_(_SCALE)
    return decoder


def read(directory: Path, *, dtype: torch.dtype) -> PreTrainedModel:
    """Load a checkpoint as a model of transformers."""
    kind: Any = AutoModelForCausalLM  # transformers creates its classes when it reads the configuration
    model: PreTrainedModel = kind.from_pretrained(directory, dtype=dtype, local_files_only=True)
    return model


class Transformers:
    """A model that transformers runs.

    Args:
        directory: A checkpoint.
        dtype: The type of the weights.
        device: The device of the weights.
        static: Sample with a static cache, whose decode step transformers compiles on a GPU.
    """

    def __init__(self, directory: Path, *, dtype: torch.dtype, device: torch.device, static: bool = False) -> None:
        model: Any = read(directory, dtype=dtype)  # Any: its methods are put together at run time
        self._model = model.to(device).eval()
        self._device = device
        self._cache = {"cache_implementation": "static"} if static else {}

    def draw(self, ids_BT: Tensor, new: int) -> Tensor:
        """Sample `new` more tokens per sequence from the full distribution at temperature 1; [B, T + new]."""
        ids_BT = ids_BT.to(self._device)
        drawn_BT: Tensor = self._model.generate(
            ids_BT,
            attention_mask=torch.ones_like(ids_BT),
            do_sample=True,
            temperature=1.0,
            top_k=0,
            top_p=1.0,
            max_new_tokens=new,
            pad_token_id=0,
            **self._cache,
        )
        assert drawn_BT.shape[1] == ids_BT.shape[1] + new, "nothing ends a sequence early"
        return drawn_BT

    @torch.inference_mode()
    def logprobs(self, ids_BT: Tensor, new: int) -> Tensor:
        """Log-probabilities of the last `new` tokens of each sequence, in single precision, [B, new]."""
        ids_BT = ids_BT.to(self._device)
        logits_BTV: Tensor = self._model(ids_BT, use_cache=False, logits_to_keep=new + 1).logits
        logp_BTV = logits_BTV[:, :-1].float().log_softmax(-1)
        return logp_BTV.gather(-1, ids_BT[:, -new:, None])[..., 0]
