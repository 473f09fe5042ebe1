"""What a decoder does between its matrix products, compiled: one pass over the data where torch makes many.

`kernels.cpp` is the work, `build` compiles it, `compiled` makes functions of tensors of it, `attention` uses them for
the tokens of a pass. Where there is no compiler the engine does the same in torch, about half as fast; that way is
also what the kernels are tested against.

`invariant.cpp` and `invariant` are the kernels of the invariant mode, which do the products too.
"""

from palaestra.trainers.engines.native.kernels.attention import CompiledPass
from palaestra.trainers.engines.native.kernels.build import invariant_kernels, kernels
from palaestra.trainers.engines.native.kernels.compiled import BLOCK_PLACES, HEAD_DIMS, Kernels
from palaestra.trainers.engines.native.kernels.invariant import InvariantKernels

__all__ = ["BLOCK_PLACES", "HEAD_DIMS", "CompiledPass", "InvariantKernels", "Kernels", "invariant_kernels", "kernels"]
