"""The kernels of the invariant mode as functions of tensors: a row's result depends only on that row and the weights.

Neither other rows nor the number of threads change a bit; `invariant.cpp` explains how. Tensors are contiguous, in fp32
or bf16; sums are in single precision, and stored values are rounded once.

Axes: T tokens, K numbers that are summed over, N columns of a product, P panels, W columns of a panel, C hidden,
H heads, G key-value heads, D head dimension, R sequences, N blocks of a sequence, B turns, V vocabulary.
"""

import ctypes
from pathlib import Path

import torch
from torch import Tensor

_WIDTH = 32
_DTYPES = (torch.float32, torch.bfloat16)


class InvariantKernels:
    """A decoder's forward pass with a fixed order of summation, on a CPU.

    Args:
        library: The library that `build` compiled.
    """

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        whole, long, number, at = ctypes.c_int, ctypes.c_int64, ctypes.c_float, ctypes.c_void_p
        for name, types in {
            "pack": [whole] * 4 + [at] * 2,
            "product": [whole] * 6 + [at] * 3,
            "norm": [whole] * 4 + [number] + [at] * 3,
            "rotation": [whole] * 3 + [at] * 4,
            "turn": [whole] * 5 + [at] * 4,
            "gate": [whole] * 2 + [long] + [at] * 3,
            "attend": [whole] * 7 + [at] * 3 + [long] * 2 + [at] + [whole] + [at] * 3,
            "draw": [whole] * 3 + [at] * 4,
            "score": [whole] * 3 + [at] * 5,
        }.items():
            function = getattr(self._library, f"palaestra_{name}")
            function.argtypes = types
            function.restype = whole if name == "attend" else None

    def pack(self, weight_NK: Tensor) -> Tensor:
        """Arrange weights for `product`, [P, K, W]."""
        N, K = weight_NK.shape
        panels_PKW = torch.empty((-(-N // _WIDTH), K, _WIDTH), dtype=weight_NK.dtype)
        self._library.palaestra_pack(
            *_how(weight_NK), N, K, weight_NK.contiguous().data_ptr(), panels_PKW.data_ptr()
        )  # fmt: skip
        return panels_PKW

    def product(self, x_TK: Tensor, panels_PKW: Tensor, columns: int, *, single: bool = False) -> Tensor:
        """Rows times the transpose of packed weights, [T, N].

        Args:
            x_TK: The rows, in the type of the weights or in single precision.
            panels_PKW: The result of `pack`.
            columns: N.
            single: Whether the result is in single precision, regardless of the weights' type.
        """
        half, threads = _how(panels_PKW)
        T, K = x_TK.shape
        wide_TK = x_TK.float().contiguous()
        y_TN = torch.empty((T, columns), dtype=torch.float32 if single else panels_PKW.dtype)
        self._library.palaestra_product(
            half, single, threads, T, columns, K, wide_TK.data_ptr(), panels_PKW.data_ptr(), y_TN.data_ptr()
        )
        return y_TN

    def norm(self, x: Tensor, weight_C: Tensor, epsilon: float) -> Tensor:
        """Each row divided by the root of its mean square, times the weight; rows are along the last axis."""
        own = x.contiguous()
        out = torch.empty_like(own)
        C = x.shape[-1]
        self._library.palaestra_norm(
            *_how(own), own.numel() // C, C, epsilon, own.data_ptr(), weight_C.data_ptr(), out.data_ptr()
        )
        return out

    def rotation(self, position_T: Tensor, frequency: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines of each token's angles, the sines of the first half negated, [T, 1, D] each, in fp32."""
        T, half = len(position_T), len(frequency)
        cos_T1D, sin_T1D = torch.empty((T, 1, 2 * half)), torch.empty((T, 1, 2 * half))
        self._library.palaestra_rotation(
            torch.get_num_threads(),
            T,
            half,
            position_T.contiguous().data_ptr(),
            frequency.data_ptr(),
            cos_T1D.data_ptr(),
            sin_T1D.data_ptr(),
        )
        return cos_T1D, sin_T1D

    def turn(self, x_THD: Tensor, cos_T1D: Tensor, sin_T1D: Tensor) -> Tensor:
        """Heads rotated by each token's angles."""
        own_THD = x_THD.contiguous()
        out_THD = torch.empty_like(own_THD)
        self._library.palaestra_turn(
            *_how(own_THD), *own_THD.shape, own_THD.data_ptr(), cos_T1D.data_ptr(), sin_T1D.data_ptr(),
            out_THD.data_ptr(),
        )  # fmt: skip
        return out_THD

    def gate(self, gate_TN: Tensor, up_TN: Tensor) -> Tensor:
        """SwiGLU (Shazeer 2020): SiLU of the gate, times the other operand."""
        gate_TN, up_TN = gate_TN.contiguous(), up_TN.contiguous()
        out_TN = torch.empty_like(gate_TN)
        self._library.palaestra_gate(
            *_how(gate_TN), gate_TN.numel(), gate_TN.data_ptr(), up_TN.data_ptr(), out_TN.data_ptr()
        )
        return out_TN

    def attend(
        self,
        q_THD: Tensor,
        k: Tensor,
        v: Tensor,
        *,
        groups: int,
        group_stride: int,
        place_stride: int,
        blocks_RN: Tensor,
        row_T: Tensor,
        place_T: Tensor,
    ) -> Tensor:
        """The attention output of each token over its sequence up to itself, [T, H, D]; D must be in `HEAD_DIMS`.

        Args:
            q_THD: Queries.
            k: Keys of all sequences, in the type of the queries or encoded by `encode_vectors`.
            v: Values, arranged like the keys.
            groups: G.
            group_stride: The offset between key-value heads of a sequence, in numbers.
            place_stride: The offset between places, in numbers.
            blocks_RN: The offset of each block of `BLOCK_PLACES` places of each sequence, in numbers.
            row_T: The sequence of each token.
            place_T: The place of each token in its sequence.
        """
        T, H, D = q_THD.shape
        (half, threads), coded = _how(q_THD), k.dtype == torch.uint8
        own_THD = q_THD.contiguous()
        out_THD = torch.empty_like(own_THD)
        unknown = self._library.palaestra_attend(
            half, coded, threads, T, H, groups, D, own_THD.data_ptr(), k.data_ptr(), v.data_ptr(),
            group_stride, place_stride, blocks_RN.data_ptr(), blocks_RN.shape[1], row_T.data_ptr(), place_T.data_ptr(),
            out_THD.data_ptr(),
        )  # fmt: skip
        assert not unknown, f"head_dim {D} has no code"
        return out_THD

    def draw(self, logits_BV: Tensor, noise_B: Tensor, temperature_B: Tensor | None) -> Tensor:
        """See `draw.draw`; logits in single precision, noise and temperatures in double."""
        out_2B = torch.empty((2, len(logits_BV)), dtype=torch.float64)
        self._library.palaestra_draw(
            torch.get_num_threads(),
            *logits_BV.shape,
            logits_BV.contiguous().data_ptr(),
            noise_B.data_ptr(),
            None if temperature_B is None else temperature_B.data_ptr(),
            out_2B.data_ptr(),
        )
        return out_2B

    def score(self, logits_BV: Tensor, token_B: Tensor, temperature_B: Tensor | None) -> tuple[Tensor, Tensor]:
        """The log-probability of a token of each row, equal to that of `draw`, and the entropy of the row, [B] each.

        Args:
            logits_BV: Logits, in single precision.
            token_B: Token ids.
            temperature_B: In double precision; `None` if all are 1.
        """
        logp_B, entropy_B = torch.empty(len(logits_BV)), torch.empty(len(logits_BV))
        self._library.palaestra_score(
            torch.get_num_threads(),
            *logits_BV.shape,
            logits_BV.contiguous().data_ptr(),
            token_B.contiguous().data_ptr(),
            None if temperature_B is None else temperature_B.data_ptr(),
            logp_B.data_ptr(),
            entropy_B.data_ptr(),
        )
        return logp_B, entropy_B


def _how(x: Tensor) -> tuple[int, int]:
    """Whether it is in half precision, and with how many threads."""
    return _DTYPES.index(x.dtype), torch.get_num_threads()
