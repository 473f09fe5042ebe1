"""Access to a server: keys, their scopes, the file that holds them, and rate limits."""

from palaestra.serving.access.key_file import (
    KeyFile,
    new_handle_secret,
    read_keys,
    with_keys,
    write_keys,
)
from palaestra.serving.access.keys import OWNER_PATTERN, KeyRecord, KeyRing, find_key, make_key, rotate_key
from palaestra.serving.access.rates import RateLimiter, RateLimits
from palaestra.serving.access.scopes import LOCAL, Caller, KeyScope, expand_scopes

__all__ = [
    "LOCAL",
    "OWNER_PATTERN",
    "Caller",
    "KeyFile",
    "KeyRecord",
    "KeyRing",
    "KeyScope",
    "RateLimiter",
    "RateLimits",
    "expand_scopes",
    "find_key",
    "make_key",
    "new_handle_secret",
    "read_keys",
    "rotate_key",
    "with_keys",
    "write_keys",
]
