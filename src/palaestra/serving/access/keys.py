"""API keys: their records, how they are made, and how they identify a caller.

A key is `pal_<id>_<secret>`. The secret has 256 random bits, too many to try, so one pass of SHA-256 is enough. Records
hold only the hash of the whole key, from which nobody can compute the key.
"""

import hmac
import re
import secrets
from collections.abc import Callable, Iterable
from dataclasses import replace
from hashlib import sha256

from palaestra.errors import AccessError, UnknownNameError
from palaestra.record import record
from palaestra.serving.access.scopes import Caller, KeyScope, expand_scopes

_TOKEN = re.compile(r"pal_([0-9a-f]{12})_[A-Za-z0-9_-]{43}")
OWNER_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}"
_NOBODY = "0" * 64


@record
class KeyRecord:
    """What a server knows about a key."""

    id: str
    owner: str
    """The owner of this key's sessions."""
    hash: str
    """SHA-256 of the key, as hex."""
    scopes: tuple[KeyScope, ...]
    created: float
    """Seconds since 1970."""
    expires: float | None
    """Seconds since 1970, after which the key is refused; `None` for never."""


def make_key(owner: str, scopes: Iterable[KeyScope], *, now: float, lifetime: float | None) -> tuple[str, KeyRecord]:
    """A new key and its record. Only the record is stored; the key is shown once.

    Args:
        owner: The owner of the key's sessions.
        scopes: What the key may do.
        now: Seconds since 1970.
        lifetime: Seconds until it expires; `None` for never.

    Raises:
        ValueError: the owner's name is invalid, there is no scope, or the lifetime is not above 0.
    """
    chosen = tuple(sorted(set(scopes)))
    if not re.fullmatch(OWNER_PATTERN, owner):
        raise ValueError(f"owner={owner!r}: a name has 1 to 64 letters, digits, '.', '_', '@' and '-'")
    if not chosen:
        raise ValueError("a key without a scope may do nothing; give at least one of play, author, read, admin")
    if lifetime is not None and not lifetime > 0:
        raise ValueError(f"lifetime={lifetime:g}: a key lives for more than 0 seconds")
    id_ = secrets.token_hex(6)
    token = f"pal_{id_}_{secrets.token_urlsafe(32)}"
    expires = None if lifetime is None else now + lifetime
    return token, KeyRecord(id=id_, owner=owner, hash=_hash(token), scopes=chosen, created=now, expires=expires)


def _hash(token: str) -> str:
    return sha256(token.encode()).hexdigest()


class KeyRing:
    """The keys that a server accepts.

    Args:
        records: Their records.
        clock: Returns the seconds since 1970.
    """

    def __init__(self, records: Iterable[KeyRecord], *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.replace(records)

    def replace(self, records: Iterable[KeyRecord]) -> None:
        """Accept these keys from now on and no others."""
        self._records = {one.id: one for one in records}

    def __len__(self) -> int:
        return len(self._records)

    def can_play(self, owner: str) -> bool:
        """Whether an owner has a valid key that may play."""
        now = self._clock()
        return any(
            one.owner == owner
            and KeyScope.PLAY in expand_scopes(one.scopes)
            and (one.expires is None or now < one.expires)
            for one in self._records.values()
        )

    def authenticate(self, token: str | None) -> Caller:
        """The caller that sent a key.

        Raises:
            AccessError: there is no key, or it is wrong, revoked or expired.
        """
        if token is None:
            raise AccessError("no key; send the header 'Authorization: Bearer pal_...'")
        match = _TOKEN.fullmatch(token)
        known = self._records.get(match[1]) if match else None
        # The same work for a known and an unknown id, so that the time reveals nothing.
        if not hmac.compare_digest(_hash(token), _NOBODY if known is None else known.hash) or known is None:
            raise AccessError("the key is wrong or was revoked; use another one")
        if known.expires is not None and self._clock() >= known.expires:
            raise AccessError(f"the key {known.id} has expired; rotate it")
        return Caller(key_id=known.id, owner=known.owner, scopes=expand_scopes(known.scopes))


def rotate_key(
    records: Iterable[KeyRecord], id_: str, *, now: float, lifetime: float | None, overlap: float
) -> tuple[str, list[KeyRecord]]:
    """Replace a key by a new one with the same owner and scopes. Its sessions stay with the owner.

    Args:
        records: All records.
        id_: The key to replace.
        now: Seconds since 1970.
        lifetime: Seconds until the new key expires; `None` for the lifetime of the old one.
        overlap: Seconds for which the old key is still accepted.

    Returns:
        The new key, and all records.

    Raises:
        UnknownNameError: no key has this id.
    """
    kept = list(records)
    old = find_key(kept, id_)
    if lifetime is None and old.expires is not None:
        lifetime = old.expires - old.created
    token, new = make_key(old.owner, old.scopes, now=now, lifetime=lifetime)
    last = now + overlap if old.expires is None else min(old.expires, now + overlap)
    return token, [*(replace(one, expires=last) if one.id == id_ else one for one in kept), new]


def find_key(records: Iterable[KeyRecord], id_: str) -> KeyRecord:
    """The record of a key.

    Raises:
        UnknownNameError: no key has this id.
    """
    known = {one.id: one for one in records}
    if id_.strip().startswith("pal_"):  # not repeated: errors are printed and logged
        raise UnknownNameError("this is a key and not the id of one; `palaestra keys list` shows the ids")
    if id_ not in known:
        raise UnknownNameError.of("key", id_, known, "`palaestra keys list` shows them")
    return known[id_]
