"""The scopes of keys, and callers."""

from collections.abc import Iterable
from enum import StrEnum

from palaestra.errors import KeyScopeError
from palaestra.record import record


class KeyScope(StrEnum):
    """What a key may do."""

    PLAY = "play"
    """Play sessions of served worlds as a player sees them."""
    AUTHOR = "author"
    """Play, with any switches; see tasks, rubrics, solutions and digests; hand sessions to players."""
    READ = "read"
    """Read metrics, the list of sessions and the record of results."""
    ADMIN = "admin"
    """Read, close anybody's sessions, and remove runs from the record."""


_IMPLIED = {KeyScope.AUTHOR: KeyScope.PLAY, KeyScope.ADMIN: KeyScope.READ}


def expand_scopes(scopes: Iterable[KeyScope]) -> frozenset[KeyScope]:
    """Add the implied scopes: author implies play, admin implies read."""
    given = frozenset(scopes)
    return given | {_IMPLIED[scope] for scope in given if scope in _IMPLIED}


@record
class Caller:
    """The sender of a request."""

    key_id: str
    """The public part of the key; "local" without keys."""
    owner: str
    """The owner of sessions. Several keys may have one owner, so a key can be rotated."""
    scopes: frozenset[KeyScope]
    """All scopes, implied ones included."""

    def require(self, scope: KeyScope, *, wanted: str = "", without: str = "") -> None:
        """Check that the key has a scope.

        Args:
            scope: The scope.
            wanted: What needs the scope, as the caller wrote it, such as `split='heldout'`.
            without: What the caller can do without `wanted`.

        Raises:
            KeyScopeError: the key lacks it.
        """
        if scope not in self.scopes:
            make = f"make a key with `palaestra keys add FILE OWNER --scope {scope.value}`"
            if wanted:
                raise KeyScopeError(f"{wanted} needs a key of the scope {scope.value!r}; {without}, or {make}")
            raise KeyScopeError(f"the key {self.key_id} has no scope {scope.value!r}; use a key that has it, or {make}")


LOCAL = Caller(key_id="local", owner="local", scopes=frozenset(KeyScope))
"""The caller on a server without keys, which listens only on the loopback interface."""
