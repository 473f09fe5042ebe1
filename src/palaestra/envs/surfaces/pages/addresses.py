"""Addresses of a site's pages: `/orders/ORD-1`, `/orders?status=shipped&page=2`, `/do/issue_refund?line_id=LIN-7`."""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from palaestra.errors import ToolRefusal
from palaestra.record import record

MOST_LETTERS = 2_000
"""The longest address."""
ANY = "any"
"""The option of a filter that lets every row through."""


@record
class Address:
    """An address, read."""

    path: tuple[str, ...]
    """Its steps; none for the first page."""
    query: Mapping[str, str]


@lru_cache(maxsize=4_096)
def read_address(url: str) -> Address:
    """Read an address of the site.

    Raises:
        ToolRefusal: it is longer than `MOST_LETTERS`, or leads to another site.
    """
    if len(url) > MOST_LETTERS:
        raise ToolRefusal("bad_address", f"an address has at most {MOST_LETTERS} letters, this one {len(url)}")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ToolRefusal("bad_address", f"{url!r:.80} is no address ({error}); write one such as '/orders'") from None
    if parts.scheme or parts.netloc or not parts.path.startswith("/"):
        raise ToolRefusal("bad_address", f"{url!r:.80} is not on this site; its addresses begin with '/'")
    steps = tuple(unquote(step) for step in parts.path.split("/") if step)
    return Address(path=steps, query=MappingProxyType(dict(parse_qsl(parts.query, keep_blank_values=False))))


def write_address(*steps: str, query: Mapping[str, str] | None = None) -> str:
    """The address of a page."""
    path = "/" + "/".join(map(_quote_step, steps))
    return f"{path}?{_encode_query(tuple(query.items()))}" if query else path


@lru_cache(maxsize=16_384)
def _encode_query(query: tuple[tuple[str, str], ...]) -> str:
    return urlencode(query)


@lru_cache(maxsize=16_384)
def _quote_step(step: str) -> str:
    return quote(step, safe="")


def plain_address(url: str) -> str:
    """An address without conditions that ask for nothing: empty ones, and filters that let every row through.

    Raises:
        ToolRefusal: see `read_address`.
    """
    address = read_address(url)
    return write_address(*address.path, query={name: text for name, text in address.query.items() if text != ANY})
