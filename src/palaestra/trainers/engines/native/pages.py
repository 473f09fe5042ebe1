"""Memory for keys and values: pages of equal size, shared by sequences with equal prefixes.

A sequence has a list of pages. Full pages are shared without a copy; the page that is written next belongs to one
sequence only, so a sequence that diverges copies at most one page. The pool never grows: the configuration sets the
maximum (Kwon et al. 2023, arXiv:2309.06180).

In E4M3, a page holds bytes: a key or value of one head, followed by the byte of its scale (`quantised_vectors`).

Axes: L layers, P pages, W places of a page, G key-value heads, D head dimension, N numbers
of a held vector (D, or in E4M3 D + 1), T tokens of a pass.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from palaestra.trainers.model.shape import DecoderShape
from palaestra.trainers.quantised_vectors import SCALE_BYTES, decode_vectors, encode_vectors

PLACES_ON_CUDA = 256
"""Places of a page on a GPU: attention over block tables needs a multiple of it (FlashAttention 2)."""
NOWHERE = 0
"""A page that belongs to no sequence; padding reads and writes it."""


class PagedMemory:
    """A pool of pages, which sequences take and return.

    Args:
        shape: The shape of the decoder.
        tokens: The maximum number of tokens of all sequences together.
        sequences: The number of sequences that may be written to at once; each may have a partly filled last page.
        places: Places of a page.
        dtype: The type in which attention reads keys and values.
        device: The device of the pages.
        quantised: Whether they are stored in E4M3.
    """

    def __init__(
        self,
        shape: DecoderShape,
        *,
        tokens: int,
        sequences: int,
        places: int,
        dtype: torch.dtype,
        device: torch.device,
        quantised: bool = False,
    ) -> None:
        self.places = places
        self.dtype = dtype
        self.quantised = quantised
        held, numbers = (torch.uint8, shape.head_dim + SCALE_BYTES) if quantised else (dtype, shape.head_dim)
        count = page_count(tokens, sequences, places)
        if device.type == "cpu":
            # A key and its value are adjacent, and the places of a head contiguous, as the kernels read them.
            pool = _lazy_zeros((shape.layers, count, shape.kv_heads, places, 2, numbers), held)
            self.layers = list(pool.unbind())
            """Keys and values of each layer, [P, G, W, 2, N], on a CPU."""
            self.keys = [layer.select(3, 0).transpose(1, 2) for layer in self.layers]
            """[P, W, G, N] each."""
            self.values = [layer.select(3, 1).transpose(1, 2) for layer in self.layers]
            self._pages = pool.movedim(1, 0)
        else:
            sizes = (shape.layers, 2, count, places, shape.kv_heads, numbers)
            pool = torch.zeros(sizes, dtype=held, device=device)
            self.layers = []
            self.keys, self.values = list(pool[:, 0].unbind()), list(pool[:, 1].unbind())
            self._pages = pool.movedim(2, 0)
        self._users = [0] * count
        """The number of sequences that share each page."""
        self._unused = list(range(count - 1, NOWHERE, -1))
        """The page returned last is taken first, so that a pool on a CPU uses no more memory than was ever needed at
        once."""
        self._unsound: set[int] = set()

    @property
    def bytes(self) -> int:
        """Bytes of all pages; on a CPU, pages that were never written use no memory."""
        return self._pages.nbytes

    @property
    def unused(self) -> int:
        """The number of free pages."""
        return len(self._unused)

    def extend(self, pages: list[int], places: int) -> None:
        """Add the pages that a sequence lacks for this many places."""
        while len(pages) * self.places < places:
            pages.append(self._take())

    def share(self, pages: Sequence[int], places: int) -> list[int]:
        """The pages of another sequence that begins with the first `places` of this one."""
        shared = list(pages[: -(-places // self.places)])
        for page in shared:
            self._users[page] += 1
        self.cut(shared, places)
        return shared

    def cut(self, pages: list[int], places: int) -> None:
        """Shorten a sequence to its first `places`; later writes reach no other sequence."""
        kept = -(-places // self.places)
        self.release(pages[kept:])
        del pages[kept:]
        if places % self.places and self._users[pages[-1]] > 1:
            own = self._take()
            self._pages[own] = self._pages[pages[-1]]
            self.release([pages[-1]])
            pages[-1] = own

    def release(self, pages: Sequence[int], *, unsound: bool = False) -> None:
        """Return the pages of a sequence.

        Args:
            pages: The pages of the sequence.
            unsound: Whether they may hold NaN. Such a page is cleared before it is used again, because NaN passes
                through any mask.
        """
        if unsound:
            self._unsound.update(pages)
        for page in pages:
            self._users[page] -= 1
            if not self._users[page]:
                if page in self._unsound:
                    self._unsound.remove(page)
                    self._pages[page] = 0
                self._unused.append(page)

    def _take(self) -> int:
        page = self._unused.pop()
        self._users[page] = 1
        return page

    def table(self, sequences: Sequence[Sequence[int]], *, pages: int = 0) -> Tensor:
        """The pages of several sequences, [sequences, pages].

        A shorter row repeats the first page of its own sequence: masked places are read too, and NaN of another
        sequence would pass through the mask.

        Args:
            sequences: The pages of each sequence, at least one.
            pages: The width, if more than the longest sequence needs.
        """
        table = np.empty((len(sequences), max(pages, *map(len, sequences))), dtype=np.int64)
        for row, own in zip(table, sequences, strict=True):
            row[: len(own)] = own
            row[len(own) :] = own[0]
        return torch.from_numpy(table)

    def write(self, layer: int, page_T: Tensor, spot_T: Tensor, k_TGD: Tensor, v_TGD: Tensor) -> None:
        """Store a layer's keys and values of the tokens of a pass.

        Args:
            layer: The layer's number.
            page_T: The page of each token.
            spot_T: Its place in the page.
            k_TGD: Keys.
            v_TGD: Values.
        """
        if self.quantised:
            k_TGD, v_TGD = encode_vectors(torch.stack((k_TGD, v_TGD))).unbind()
        held = self.keys[layer].dtype
        self.keys[layer].index_put_((page_T, spot_T), k_TGD.to(held))
        self.values[layer].index_put_((page_T, spot_T), v_TGD.to(held))

    def read(self, layer: int, table_RP: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of several sequences, [sequences, P, W, G, D] each, in the form that attention reads.

        Args:
            layer: The layer's number.
            table_RP: The result of `table`.
        """
        keys, values = self.keys[layer][table_RP], self.values[layer][table_RP]
        if not self.quantised:
            return keys, values
        return decode_vectors(keys, self.dtype), decode_vectors(values, self.dtype)

    def free(self) -> None:
        """Free all memory."""
        self.layers, self.keys, self.values = [], [], []
        self._pages = torch.empty(0)


def page_count(tokens: int, sequences: int, places: int) -> int:
    """The number of pages in a pool: for the tokens, for the last page of each sequence, for a copy, and `NOWHERE`."""
    return -(-tokens // places) + sequences + 2


def _lazy_zeros(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    # Numpy's zeros use no memory until they are written, and most pages never are.
    count = int(np.prod(shape)) * dtype.itemsize
    return torch.from_numpy(np.zeros(count, dtype=np.uint8)).view(dtype).view(shape)
