"""The linear modules of a decoder's blocks, and products that are not torch's own.

Axes: T tokens, C channels that are summed over, N columns of a product, R the rank of an adapter.
"""

from collections.abc import Callable
from typing import Protocol, Self, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

PackedWeight: TypeAlias = tuple[Tensor, ...]
"""A weight as a product reads it."""


ADAPTER_PART = ".adapter."
"""What stands between a projection's name and that of its adapter's weight, `down` or `up`."""


class ProjectionProducts(Protocol):
    """How the projections of blocks multiply, where it is not torch's product; what takes gradients gives them."""

    def pack(self, weight_NC: Tensor) -> PackedWeight:
        """A weight as `product` reads it."""
        ...

    def product(self, x_TC: Tensor, weight_NC: Tensor, packed: PackedWeight) -> Tensor:
        """Each row times the transpose of a weight, [T, N]."""
        ...


class FrozenProducts(ProjectionProducts, Protocol):
    """Products with weights that never change and are held as the products read them alone."""

    def unpack(self, packed: PackedWeight, columns: int) -> Tensor:
        """The weight that `product` multiplies by, [N, C], in single precision."""
        ...

    def move(self, packed: PackedWeight, device: torch.device) -> PackedWeight:
        """The same on a device."""
        ...


class LowRank(nn.Module):
    """What an adapter adds to a product: the product of two narrow weights, which are copied.

    Args:
        down_RC: The first.
        up_NR: The second, scaled.
    """

    def __init__(self, down_RC: Tensor, up_NR: Tensor) -> None:
        super().__init__()
        self.down = nn.Parameter(down_RC.detach().clone(), requires_grad=False)
        self.up = nn.Parameter(up_NR.detach().clone(), requires_grad=False)

    def forward(self, x_TC: Tensor) -> Tensor:
        """What is added, [T, N]."""
        return functional.linear(functional.linear(x_TC, self.down), self.up)


class Projection(nn.Linear):
    """A linear module of a block."""

    products: ProjectionProducts | None = None
    packed: PackedWeight | None = None
    """The weight as the products read it; as it was at the last `refresh`."""
    frozen: FrozenProducts | None = None
    """The products, where the weight is held as they read it alone and never changes."""
    adapter: LowRank | None

    def __init__(self, inputs: int, outputs: int, *, bias: bool = False) -> None:
        super().__init__(inputs, outputs, bias=bias)
        self.has_bias = bias
        self.adapter = None

    def freeze(self, products: FrozenProducts) -> None:
        """Hold the weight as these products read it alone; one that is frozen stays as it is."""
        if self.frozen is not None:
            return
        self.products = self.frozen = products
        self.packed = None
        self.pack(self.weight)
        self.weight = nn.Parameter(torch.empty_like(self.weight, device="meta"), requires_grad=False)

    def unfreeze(self) -> None:
        """Hold the weight in single precision again, as what it was rounded to."""
        if self.frozen is not None:
            self.weight = nn.Parameter(self.whole_weight())
            self.products = self.frozen = self.packed = None

    def whole_weight(self) -> Tensor:
        """The weight, [N, C]; one that is frozen as what it was rounded to."""
        if self.frozen is None:
            return self.weight.detach()
        assert self.packed is not None
        return self.frozen.unpack(self.packed, self.in_features)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:  # noqa: FBT001, FBT002  torch's own
        """Torch moves and casts parameters; a frozen weight moves along, and keeps its formats."""
        if self.frozen is None:
            super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
            return self
        weight = self._parameters["weight"]
        self._parameters["weight"] = None  # torch moves no empty one
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._parameters["weight"] = weight
        if self.packed is not None:
            self.packed = self.frozen.move(self.packed, fn(torch.empty(0, device=self.packed[0].device)).device)
        return self

    def refresh(self) -> None:
        """Take notice of a new weight."""
        if self.products is not None and not self.weight.is_meta:
            self.pack(self.weight)

    @torch.no_grad()
    def pack(self, weight_NC: Tensor) -> None:
        """Lay a weight out for the products, where the last one stood: a captured graph reads it there."""
        assert self.products is not None
        if self.packed is None:
            self.packed = self.products.pack(weight_NC)
            return
        new = self.products.pack(weight_NC.to(self.packed[0].device))
        for own, other in zip(self.packed, new, strict=True):
            own.copy_(other)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002  the name that its parent gives it
        """The product, the bias where there is one, and what an adapter adds."""
        out_TN = self._product(input)
        return out_TN if self.adapter is None else out_TN + self.adapter(input)

    def _product(self, x_TC: Tensor) -> Tensor:
        if self.products is None:
            return super().forward(x_TC)
        assert self.packed is not None
        product_TN = self.products.product(x_TC, self.weight, self.packed)
        return product_TN + self.bias if self.has_bias else product_TN


class JoinedProduct:
    """Several projections of the same states, as one product where they are torch's.

    Args:
        projections: Their weights become parts of one matrix, unless products of their own read them.
    """

    def __init__(self, *projections: Projection) -> None:
        own = any(one.products is not None for one in projections)
        self._projections = projections if own else ()
        self._weight_CN = None if own else side_by_side(*projections)
        self._bias_N = None if own else _biases_side_by_side(*projections)

    def __call__(self, x_TC: Tensor) -> Tensor:
        """What each projection gives, side by side, [T, N]."""
        if self._weight_CN is not None:
            return x_TC @ self._weight_CN if self._bias_N is None else torch.addmm(self._bias_N, x_TC, self._weight_CN)
        return torch.cat([one(x_TC) for one in self._projections], -1)


def side_by_side(*projections: nn.Linear) -> Tensor:
    """One matrix of several projections' weights, [C, N]; each weight becomes its part of it."""
    joined_CN = torch.cat([one.weight for one in projections]).T.contiguous()
    for one, part in zip(projections, joined_CN.T.split([len(one.weight) for one in projections]), strict=True):
        one.weight = nn.Parameter(part, requires_grad=False)
    return joined_CN


def _biases_side_by_side(*projections: Projection) -> Tensor | None:
    """One vector of their biases, [N], of which each becomes its part; `None` where they have none."""
    biases: list[Tensor] = [one.bias for one in projections if one.has_bias]
    if not biases:
        return None
    joined_N = torch.cat(biases)
    for one, part in zip(projections, joined_N.split([len(bias) for bias in biases]), strict=True):
        one.bias = nn.Parameter(part, requires_grad=False)
    return joined_N
