"""What a decoder does between its matrix products, compiled: one pass over the data where torch makes many.

`kernels.cpp` is the work, `build` compiles it, `compiled` makes functions of tensors of it, `attention` uses them for
the tokens of a pass. Where there is no compiler the engine does the same in torch, about half as fast; that way is
also what the kernels are tested against.
"""

from palaestra.trainers.engines.native.kernels.attention import CompiledPass
from palaestra.trainers.engines.native.kernels.build import kernels
from palaestra.trainers.engines.native.kernels.compiled import HEAD_DIMS, Kernels

__all__ = ["HEAD_DIMS", "CompiledPass", "Kernels", "kernels"]
