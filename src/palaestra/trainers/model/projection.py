"""The linear modules of a decoder's blocks, and replacements for torch's products.

Axes: T tokens, C channels (the summed axis), N columns of a product, R the rank of an adapter.
"""

from collections.abc import Callable
from typing import Protocol, Self, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

PackedWeight: TypeAlias = tuple[Tensor, ...]
"""A weight in the form that a product reads."""


ADAPTER_PART = ".adapter."
"""The separator between a projection's name and the name of its adapter's weight, `down` or `up`."""


class ProjectionProducts(Protocol):
    """A replacement for torch's product in the projections of blocks; operands that require gradients get them."""

    def pack(self, weight_NC: Tensor) -> PackedWeight:
        """A weight in the form that `product` reads."""
        ...

    def product(self, x_TC: Tensor, weight_NC: Tensor, packed: PackedWeight) -> Tensor:
        """Each row times the transpose of a weight, [T, N]."""
        ...


class FrozenProducts(ProjectionProducts, Protocol):
    """Products with weights that never change and are held only in the form that the products read."""

    def unpack(self, packed: PackedWeight, columns: int) -> Tensor:
        """The weight that `product` multiplies by, [N, C], in single precision."""
        ...

    def move(self, packed: PackedWeight, device: torch.device) -> PackedWeight:
        """The packed weight on a device."""
        ...


class LowRank(nn.Module):
    """The term that an adapter adds to a product: the product of two narrow weights, which are copied.

    Args:
        down_RC: The first weight.
        up_NR: The second weight, scaled.
    """

    def __init__(self, down_RC: Tensor, up_NR: Tensor) -> None:
        super().__init__()
        self.down = nn.Parameter(down_RC.detach().clone(), requires_grad=False)
        self.up = nn.Parameter(up_NR.detach().clone(), requires_grad=False)

    def forward(self, x_TC: Tensor) -> Tensor:
        """The added term, [T, N]."""
        return functional.linear(functional.linear(x_TC, self.down), self.up)


class Projection(nn.Linear):
    """A linear module of a block."""

    products: ProjectionProducts | None = None
    packed: PackedWeight | None = None
    """The weight in the form that the products read, as of the last `refresh`."""
    frozen: FrozenProducts | None = None
    """The products, if the weight never changes and is held only in the form that they read."""
    adapter: LowRank | None

    def __init__(self, inputs: int, outputs: int, *, bias: bool = False) -> None:
        super().__init__(inputs, outputs, bias=bias)
        self.has_bias = bias
        self.adapter = None

    def freeze(self, products: FrozenProducts) -> None:
        """Hold the weight only in the form that `products` read; a frozen weight stays as it is."""
        if self.frozen is not None:
            return
        self.products = self.frozen = products
        self.packed = None
        self.pack(self.weight)
        self.weight = nn.Parameter(torch.empty_like(self.weight, device="meta"), requires_grad=False)

    def unfreeze(self) -> None:
        """Hold the weight in single precision again, with its rounded values."""
        if self.frozen is not None:
            self.weight = nn.Parameter(self.whole_weight())
            self.products = self.frozen = self.packed = None

    def whole_weight(self) -> Tensor:
        """The weight, [N, C]; a frozen weight with its rounded values."""
        if self.frozen is None:
            return self.weight.detach()
        assert self.packed is not None
        return self.frozen.unpack(self.packed, self.in_features)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:  # noqa: FBT001, FBT002  torch's own
        """Move and cast parameters, as torch does; a frozen weight moves too, but keeps its formats."""
        if self.frozen is None:
            super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
            return self
        weight = self._parameters["weight"]
        self._parameters["weight"] = None  # torch cannot move an empty parameter
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._parameters["weight"] = weight
        if self.packed is not None:
            self.packed = self.frozen.move(self.packed, fn(torch.empty(0, device=self.packed[0].device)).device)
        return self

    def refresh(self) -> None:
        """Pack the current weight anew."""
        if self.products is not None and not self.weight.is_meta:
            self.pack(self.weight)

    @torch.no_grad()
    def pack(self, weight_NC: Tensor) -> None:
        """Pack a weight for the products, into the memory of the last one, where a captured graph reads it."""
        assert self.products is not None
        if self.packed is None:
            self.packed = self.products.pack(weight_NC)
            return
        new = self.products.pack(weight_NC.to(self.packed[0].device))
        for own, other in zip(self.packed, new, strict=True):
            own.copy_(other)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002  the name that its parent gives it
        """The product, plus the bias if there is one, plus the adapter's term, [T, N]."""
        out_TN = self._product(input)
        return out_TN if self.adapter is None else out_TN + self.adapter(input)

    def _product(self, x_TC: Tensor) -> Tensor:
        if self.products is None:
            return super().forward(x_TC)
        assert self.packed is not None
        product_TN = self.products.product(x_TC, self.weight, self.packed)
        return product_TN + self.bias if self.has_bias else product_TN


class JoinedProduct:
    """Several projections of the same states, as one product if they use torch's product.

    Args:
        projections: The projections; their weights become parts of one matrix, unless they have other products.
    """

    def __init__(self, *projections: Projection) -> None:
        own = any(one.products is not None for one in projections)
        self._projections = projections if own else ()
        self._weight_CN = None if own else side_by_side(*projections)
        self._bias_N = None if own else _biases_side_by_side(*projections)

    def __call__(self, x_TC: Tensor) -> Tensor:
        """The results of all projections, side by side, [T, N]."""
        if self._weight_CN is not None:
            return x_TC @ self._weight_CN if self._bias_N is None else torch.addmm(self._bias_N, x_TC, self._weight_CN)
        return torch.cat([one(x_TC) for one in self._projections], -1)


def side_by_side(*projections: nn.Linear) -> Tensor:
    """One matrix with the weights of several projections, [C, N]; each weight becomes a view of its part."""
    joined_CN = torch.cat([one.weight for one in projections]).T.contiguous()
    for one, part in zip(projections, joined_CN.T.split([len(one.weight) for one in projections]), strict=True):
        one.weight = nn.Parameter(part, requires_grad=False)
    return joined_CN


def _biases_side_by_side(*projections: Projection) -> Tensor | None:
    """One vector with the projections' biases, [N]; each bias becomes a view of its part. `None` without biases."""
    biases: list[Tensor] = [one.bias for one in projections if one.has_bias]
    if not biases:
        return None
    joined_N = torch.cat(biases)
    for one, part in zip(projections, joined_N.split([len(bias) for bias in biases]), strict=True):
        one.bias = nn.Parameter(part, requires_grad=False)
    return joined_N
