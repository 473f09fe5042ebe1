"""The engine's own copy of the weights."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from copy import deepcopy

import torch
from torch import Tensor

from palaestra.errors import CheckpointError
from palaestra.trainers.flow import PrecisionFlow
from palaestra.trainers.model.arithmetic import ForwardFunctions, Operations
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.model.projection import ADAPTER_PART, Projection
from palaestra.trainers.products import Nvfp4Products, QuantisedProducts

_OUTPUT = "lm_head.weight"


def drawing_copy(
    model: Decoder,
    *,
    flow: PrecisionFlow,
    device: torch.device,
    operations: Operations | None = None,
    functions: ForwardFunctions | None = None,
) -> Decoder:
    """A decoder with the same weights that shares none with `model` and takes no gradients.

    It uses `functions` if given; otherwise it is joined. Weights of quantised products are held in the form that these
    read, made from the current weights of `model`; frozen weights on the same device are shared.
    """
    if flow.frozen:
        model = model.share()
        model.freeze(Nvfp4Products())
    copy = deepcopy(model).to(device=device, dtype=flow.weights).eval().requires_grad_(requires_grad=False)
    if model.temperature_head is not None:  # the head computes in single precision, as in the learner
        head = deepcopy(model.temperature_head).to(device=device, dtype=torch.float32)
        copy.temperature_head = head.requires_grad_(requires_grad=False)
    copy.tie()
    if functions is not None:
        copy.use(functions)
    elif flow.operands is not None:
        copy.multiply_with(QuantisedProducts(flow.operands))
    if flow.operands is not None:
        copy.keep_packed()
        copy.load(model.state_dict())
    if functions is None:
        copy.join(operations)
    return copy


def load_weights(model: Decoder, weights: Mapping[str, Tensor], *, version: int) -> None:
    """Overwrite the weights of `model`, all or none.

    Frozen weights of blocks cannot be given, and matrices other than those of adapters may be missing.

    Raises:
        CheckpointError: names or shapes do not fit; nothing has changed.
    """
    own = model.state_dict()
    tied = {_OUTPUT} if model.shape.tied else set[str]()
    frozen, optional = _frozen_names(model), set[str]()
    if frozen:
        optional = {name for name, weight in own.items() if weight.dim() > 1 and ADAPTER_PART not in name}
    _check_fit(
        {name: weight.shape for name, weight in own.items()},
        weights,
        version=version,
        optional=optional | tied,
        frozen=frozen,
    )
    model.load({name: weight for name, weight in weights.items() if name not in tied})


def check_weights(shapes: Mapping[str, torch.Size], weights: Mapping[str, Tensor], *, version: int, tied: bool) -> None:
    """Check that weights fit a model.

    Args:
        shapes: The shapes of the model's weights, by name; none of them is frozen.
        weights: The weights to be loaded.
        version: The version of these weights.
        tied: Whether the output layer is the embedding, and may be left out.

    Raises:
        CheckpointError: names or shapes do not fit.
    """
    _check_fit(shapes, weights, version=version, optional={_OUTPUT} if tied else set(), frozen=set())


def _check_fit(
    shapes: Mapping[str, torch.Size],
    weights: Mapping[str, Tensor],
    *,
    version: int,
    optional: AbstractSet[str],
    frozen: AbstractSet[str],
) -> None:
    faults = [
        *(f"{name} is frozen" for name in weights if name in frozen),
        *(f"{name} is missing" for name in shapes if name not in weights and name not in optional),
        *(f"{name} is unknown" for name in weights if name not in shapes),
        *(
            f"{name} is {list(weight.shape)} and should be {list(shapes[name])}"
            for name, weight in weights.items()
            if name in shapes and weight.shape != shapes[name]
        ),
    ]
    if faults:
        raise CheckpointError(
            f"version {version} of the weights does not fit the engine's model ({'; '.join(faults[:3])}); "
            "the old weights stay. Give the state dict of a decoder of the same shape"
        )


def _frozen_names(model: Decoder) -> set[str]:
    modules = model.named_modules()
    return {f"{name}.weight" for name, one in modules if isinstance(one, Projection) and one.frozen is not None}


def weight_bytes(model: Decoder) -> int:
    """Bytes of a decoder's weights, in all forms that it holds."""
    packed = [part for one in model.projections() for part in one.packed or ()]
    head = [] if model.lm_head.packed is None else [model.lm_head.packed]
    own = [weight for weight in model.parameters() if not weight.is_meta]
    return sum(one.nbytes for one in [*packed, *head, *own])
