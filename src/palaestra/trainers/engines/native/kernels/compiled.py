"""The kernels as functions of tensors.

Axes: T tokens, C hidden, H heads, G key-value heads, D head dimension, P pages, W places of a page, R sequences,
N width of the feed-forward layer, or numbers of a held key or value, B turns, V vocabulary.
"""

import ctypes
from pathlib import Path

import torch
from torch import Tensor

HEAD_DIMS = (16, 32, 64, 80, 96, 128, 256)
"""The head sizes that `attend` supports; torch computes decoders with other sizes."""
BLOCK_PLACES = 64
"""The number of places that attention reads at once; a page of keys and values has as many."""
_DTYPES = (torch.float32, torch.bfloat16)


class Kernels:
    """A decoder's operations between matrix products, one call each. Tensors are contiguous, in fp32 or bf16.

    Args:
        library: The library that `build` compiled.
    """

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        whole, number, at = ctypes.c_int, ctypes.c_float, ctypes.c_void_p
        for name, types in {
            "norm": [whole] * 4 + [number] + [at] * 3,
            "turn": [whole] * 6 + [number] + [at] * 4,
            "attend": [whole] * 8 + [at] * 3 + [ctypes.c_int64] + [at] * 5,
            "gate": [whole] * 4 + [at] * 2,
            "draw": [whole] * 4 + [at] * 4,
        }.items():
            function = getattr(self._library, f"palaestra_{name}")
            function.argtypes = types
            function.restype = whole if name == "attend" else None

    def norm(self, x_TC: Tensor, weight_C: Tensor, epsilon: float) -> Tensor:
        """Each token's states divided by the root of their mean square, times the weight (Zhang and Sennrich 2019)."""
        out_TC = torch.empty_like(x_TC)
        self._library.palaestra_norm(
            *_first(x_TC), x_TC.shape[-1], epsilon, x_TC.data_ptr(), weight_C.data_ptr(), out_TC.data_ptr()
        )
        return out_TC

    def turn(
        self, x_THD: Tensor, cos_TD: Tensor, sin_TD: Tensor, *, heads: int, norm_HD: Tensor | None, epsilon: float
    ) -> None:
        """Normalise the first `heads` heads if there is a weight, and rotate them by each token's angles; in place."""
        _, all_heads, D = x_THD.shape
        self._library.palaestra_turn(
            *_first(x_THD),
            all_heads,
            heads,
            D,
            epsilon,
            None if norm_HD is None else norm_HD.data_ptr(),
            cos_TD.data_ptr(),
            sin_TD.data_ptr(),
            x_THD.data_ptr(),
        )

    def attend(
        self,
        q_THD: Tensor,
        k_TGD: Tensor,
        v_TGD: Tensor,
        kv_PGW2N: Tensor,
        *,
        table_RP: Tensor,
        row_T: Tensor,
        place_T: Tensor,
    ) -> Tensor:
        """Store the keys and values of tokens, and compute each token's attention over its sequence up to itself.

        Args:
            q_THD: Queries; like keys and values, they may be a view of a tensor in which each token's numbers are
                contiguous.
            k_TGD: Keys.
            v_TGD: Values.
            kv_PGW2N: Stored keys and values, in the type of the queries or encoded by `encode_vectors`; updated in
                place.
                Pages have `BLOCK_PLACES` places.
            table_RP: The pages of each sequence.
            row_T: The sequence of each token.
            place_T: The place of each token in its sequence.
        """
        half, threads, T = _first(q_THD)
        _, H, D = q_THD.shape
        G, coded = k_TGD.shape[1], kv_PGW2N.dtype == torch.uint8
        out_THD = torch.empty((T, H, D), dtype=q_THD.dtype)
        assert q_THD.stride() == k_TGD.stride() == v_TGD.stride(), "parts of one tensor"
        assert kv_PGW2N.shape[2] == BLOCK_PLACES, "a page is a block of the kernel"
        unknown = self._library.palaestra_attend(
            half, coded, threads, T, H, G, D, table_RP.shape[1],
            q_THD.data_ptr(), k_TGD.data_ptr(), v_TGD.data_ptr(), q_THD.stride(0),
            kv_PGW2N.data_ptr(), table_RP.data_ptr(), row_T.data_ptr(), place_T.data_ptr(), out_THD.data_ptr(),
        )  # fmt: skip
        assert not unknown, f"head_dim {D} has no code"
        return out_THD

    def gate(self, x_TN: Tensor) -> Tensor:
        """SwiGLU (Shazeer 2020): the first half of each token's numbers through SiLU, times the second, [T, N / 2]."""
        T, N = x_TN.shape
        out_TN = torch.empty((T, N // 2), dtype=x_TN.dtype)
        self._library.palaestra_gate(*_first(x_TN), N // 2, x_TN.data_ptr(), out_TN.data_ptr())
        return out_TN

    def draw(self, logits_BV: Tensor, noise_B: Tensor, temperature_B: Tensor | None) -> Tensor:
        """See `draw.draw`; noise and temperatures in double precision."""
        out_2B = torch.empty((2, len(logits_BV)), dtype=torch.float64)
        self._library.palaestra_draw(
            *_first(logits_BV),
            logits_BV.shape[1],
            logits_BV.data_ptr(),
            noise_B.data_ptr(),
            None if temperature_B is None else temperature_B.data_ptr(),
            out_2B.data_ptr(),
        )
        return out_2B


def _first(x: Tensor) -> tuple[int, int, int]:
    """Whether it is in half precision, with how many threads, how many tokens."""
    return _DTYPES.index(x.dtype), torch.get_num_threads(), len(x)
