"""Where keys and values are held: pages of equal size, shared by sequences that begin alike.

A sequence has a list of pages. Whole pages are shared without a copy; the page that is written next belongs to one
sequence alone, so a sequence that goes another way copies at most one page. The pool never grows: what the
configuration says is the most that is ever held (Kwon et al. 2023, arXiv:2309.06180).

In E4M3 a page holds bytes: a key or value of one head, and the byte of its scale behind it (`quantised_vectors`).

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
"""Of a page on a GPU: attention over block tables needs a multiple of it (FlashAttention 2)."""
NOWHERE = 0
"""A page that no sequence has: what is padded reads and writes there."""


class PagedMemory:
    """A pool of pages, of which sequences take and return some.

    Args:
        shape: Of the decoder.
        tokens: That sequences may have together.
        sequences: That may be written to at once; each may fill its last page in part.
        places: Of a page.
        dtype: In which attention reads keys and values.
        device: Where they are.
        quantised: Whether they are held in E4M3.
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
            # A key and its value side by side, the places of a head behind each other: the kernels go through them so.
            pool = _lazy_zeros((shape.layers, count, shape.kv_heads, places, 2, numbers), held)
            self.layers = list(pool.unbind())
            """Keys and values of each layer, [P, G, W, 2, N], on a processor."""
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
        """How many sequences have each page."""
        self._unused = list(range(count - 1, NOWHERE, -1))
        """The page that was returned last is taken first, so that a pool on a processor takes no more memory than it
        once needed."""
        self._unsound: set[int] = set()

    @property
    def bytes(self) -> int:
        """Of all pages; on a processor those that were never written to take no memory."""
        return self._pages.nbytes

    @property
    def unused(self) -> int:
        """Pages that no sequence has."""
        return len(self._unused)

    def extend(self, pages: list[int], places: int) -> None:
        """Give a sequence the pages that it lacks for so many places."""
        while len(pages) * self.places < places:
            pages.append(self._take())

    def share(self, pages: Sequence[int], places: int) -> list[int]:
        """The pages of a further sequence that begins with the first `places` of another."""
        shared = list(pages[: -(-places // self.places)])
        for page in shared:
            self._users[page] += 1
        self.cut(shared, places)
        return shared

    def cut(self, pages: list[int], places: int) -> None:
        """Shorten a sequence to its first `places`; what is written behind them reaches no other sequence."""
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
            pages: Of the sequence.
            unsound: Whether they may hold what is no number. Such a page is wiped before it is used again, because
                what is no number passes through any mask.
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

        A shorter row repeats the first page of its sequence: what is masked is read all the same, and what is no number
        in another sequence would pass through the mask.

        Args:
            sequences: Each of at least one page.
            pages: The width, where more than the most that a sequence has.
        """
        table = np.empty((len(sequences), max(pages, *map(len, sequences))), dtype=np.int64)
        for row, own in zip(table, sequences, strict=True):
            row[: len(own)] = own
            row[len(own) :] = own[0]
        return torch.from_numpy(table)

    def write(self, layer: int, page_T: Tensor, spot_T: Tensor, k_TGD: Tensor, v_TGD: Tensor) -> None:
        """Hold what a layer made of the tokens of a pass.

        Args:
            layer: Its number.
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
        """Keys and values of several sequences, [sequences, P, W, G, D] each, as attention reads them.

        Args:
            layer: Its number.
            table_RP: As `table` gives it.
        """
        keys, values = self.keys[layer][table_RP], self.values[layer][table_RP]
        if not self.quantised:
            return keys, values
        return decode_vectors(keys, self.dtype), decode_vectors(values, self.dtype)

    def free(self) -> None:
        """Hold nothing any more."""
        self.layers, self.keys, self.values = [], [], []
        self._pages = torch.empty(0)


def page_count(tokens: int, sequences: int, places: int) -> int:
    """Pages of a pool: for the tokens, for the last page of each sequence, for a copy, and `NOWHERE`."""
    return -(-tokens // places) + sequences + 2


def _lazy_zeros(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    # Numpy's zeros take no memory until they are written to, and most pages never are.
    count = int(np.prod(shape)) * dtype.itemsize
    return torch.from_numpy(np.zeros(count, dtype=np.uint8)).view(dtype).view(shape)
