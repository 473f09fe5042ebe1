"""Compiled kernels for a decoder's operations between matrix products: one pass over the data instead of many.

`kernels.cpp` is the source, `build` compiles it, `compiled` wraps it as functions of tensors, and `attention` uses them
for the tokens of a pass. Without a compiler, the engine computes the same with torch, about half as fast; the tests
compare the kernels with that path.

`invariant.cpp` and `invariant` are the kernels of the invariant mode, which also compute the products.
"""

from palaestra.trainers.engines.native.kernels.attention import CompiledPass
from palaestra.trainers.engines.native.kernels.build import invariant_kernels, kernels
from palaestra.trainers.engines.native.kernels.compiled import BLOCK_PLACES, HEAD_DIMS, Kernels
from palaestra.trainers.engines.native.kernels.invariant import InvariantKernels

__all__ = ["BLOCK_PLACES", "HEAD_DIMS", "CompiledPass", "InvariantKernels", "Kernels", "invariant_kernels", "kernels"]
