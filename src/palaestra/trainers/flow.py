"""Flows: in which formats a forward pass is computed, and how it sums. Engine and learner read the same definition.

A token has the same log-probability when it is drawn and when it is trained on where both use one flow and its sums
have a fixed order. A new flow is a new record here, and kernels for it.
"""

from typing import Literal

import torch

from palaestra.record import record


@record
class PrecisionFlow:
    """How a forward pass is computed."""

    name: str
    """Such as "fp32 invariant"."""
    weights: torch.dtype
    """Of the products; a learner holds its own in single precision beside them."""
    states: torch.dtype
    """Of what stands between products."""
    keys_and_values: torch.dtype
    fixed_order: bool
    """Whether every sum has one order, whatever a token is computed with; sums are in single precision either way."""


def flow_of(precision: Literal["fp32", "bf16"], *, invariant: bool) -> PrecisionFlow:
    """The flow of settings.

    Args:
        precision: As `resolve_precision` gives it.
        invariant: Whether sums have a fixed order.
    """
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    return PrecisionFlow(
        name=f"{precision} {'invariant' if invariant else 'free'}",
        weights=dtype,
        states=dtype,
        keys_and_values=dtype,
        fixed_order=invariant,
    )
