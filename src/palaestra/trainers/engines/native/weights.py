"""The engine's own copy of the weights."""

from collections.abc import Mapping
from copy import deepcopy

import torch
from torch import Tensor

from palaestra.errors import CheckpointError
from palaestra.trainers.model.decoder import Decoder, ForwardFunctions, Operations

_OUTPUT = "lm_head.weight"


def drawing_copy(
    model: Decoder,
    *,
    dtype: torch.dtype,
    device: torch.device,
    operations: Operations | None = None,
    functions: ForwardFunctions | None = None,
) -> Decoder:
    """A decoder of the same weights that shares none with `model` and takes no gradients.

    It uses the functions where there are some; otherwise it is joined.
    """
    copy = deepcopy(model).to(device=device, dtype=dtype).eval().requires_grad_(requires_grad=False)
    if model.temperature_head is not None:  # it works in single precision, as the learner's does
        head = deepcopy(model.temperature_head).to(device=device, dtype=torch.float32)
        copy.temperature_head = head.requires_grad_(requires_grad=False)
    copy.tie()
    if functions is None:
        copy.join(operations)
    else:
        copy.use(functions)
    return copy


def load_weights(model: Decoder, weights: Mapping[str, Tensor], *, version: int) -> None:
    """Overwrite the weights of `model`, all or none.

    Raises:
        CheckpointError: names or shapes do not fit; nothing was changed.
    """
    own = model.state_dict()
    optional = {_OUTPUT} if model.shape.tied else set[str]()
    faults = [
        *(f"{name} is missing" for name in own if name not in weights and name not in optional),
        *(f"{name} is unknown" for name in weights if name not in own),
        *(
            f"{name} is {list(weight.shape)} and should be {list(own[name].shape)}"
            for name, weight in weights.items()
            if name in own and weight.shape != own[name].shape
        ),
    ]
    if faults:
        raise CheckpointError(
            f"version {version} of the weights does not fit the engine's model ({'; '.join(faults[:3])}); "
            "the old weights stay. Give the state dict of a decoder of the same shape"
        )
    with torch.no_grad():
        for name, weight in weights.items():
            if name not in optional:
                own[name].copy_(weight)
    model.refresh()
