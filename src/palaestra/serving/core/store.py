"""The stores of sessions and snapshots: by id and owner, with leases, and the memory of those that are gone."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from palaestra.errors import LimitError, SessionError, SessionLostError
from palaestra.serving.access import Caller
from palaestra.serving.core.ledger import EpisodeLedger, LedgerOutcome
from palaestra.serving.core.limits import SessionLimits
from palaestra.serving.core.session import ServedSession, StoredSnapshot

_REASONS = {
    LedgerOutcome.LEFT: "was closed",
    LedgerOutcome.LEASE: "was closed because nobody called for longer than its lease",
    LedgerOutcome.STOPPED: "ended when the server stopped",
}


class SessionStore:
    """All sessions of a session core.

    Args:
        limits: Bounds of the store.
        ledger: The account of episodes.
        clock: Returns seconds that never decrease.

    Attributes:
        elsewhere: The number of sessions by owner in other cores of the same server; they count towards the limits.
    """

    def __init__(self, limits: SessionLimits, ledger: EpisodeLedger, *, clock: Callable[[], float]) -> None:
        self._limits = limits
        self._ledger = ledger
        self._clock = clock
        self._sessions: dict[str, ServedSession] = {}
        self._of_owner: Counter[str] = Counter()
        self.elsewhere: Mapping[str, int] = {}
        self._gone: dict[str, tuple[frozenset[str], LedgerOutcome]] = {}

    def __iter__(self) -> Iterator[ServedSession]:
        return iter(list(self._sessions.values()))

    def __len__(self) -> int:
        return len(self._sessions)

    def admit(self, owner: str) -> None:
        """Check that an owner may have another session.

        Raises:
            LimitError: the owner or the server has reached its limit.
        """
        limits = self._limits
        if self._of_owner[owner] + self.elsewhere.get(owner, 0) >= limits.owner_sessions:
            raise LimitError(f"{owner} has {limits.owner_sessions} sessions, the most for one owner; close some")
        if len(self._sessions) + sum(self.elsewhere.values()) >= limits.sessions:
            raise LimitError(f"the server has {limits.sessions} sessions, its limit; try again later", 10.0)

    @property
    def owners(self) -> Mapping[str, int]:
        """The number of sessions that each owner has created."""
        return self._of_owner

    def add(self, session: ServedSession) -> None:
        """Keep a session."""
        self._sessions[session.id] = session
        self._of_owner[session.terms.creator] += 1

    def find(self, caller: Caller, id_: str) -> ServedSession:
        """Find a session of a caller and renew its lease.

        Raises:
            SessionLostError: the session was the caller's, and is gone.
            SessionError: there is no such session, or it is not the caller's; the message is the same.
        """
        session, now = self._sessions.get(id_), self._clock()
        if session is not None and session.expires <= now:
            self.remove(session, LedgerOutcome.LEASE)
            session = None
        if session is None:
            raise self._missing(caller, id_)
        if not session.may_see(caller):
            raise _no_session(id_)
        session.expires = now + session.terms.lease
        return session

    def _missing(self, caller: Caller, id_: str) -> Exception:
        owners, outcome = self._gone.get(id_, (frozenset[str](), LedgerOutcome.LEFT))
        if caller.owner not in owners:
            return _no_session(id_)
        return SessionLostError(f"session {id_} {_REASONS[outcome]}; an episode that had not ended is void")

    def is_gone(self, caller: Caller, id_: str) -> bool:
        """Whether a session belonged to the caller and is closed."""
        return id_ not in self._sessions and caller.owner in self._gone.get(id_, (frozenset[str](), None))[0]

    def peek(self, id_: str) -> ServedSession | None:
        """The session with an id, whoever owns it; does not renew its lease."""
        return self._sessions.get(id_)

    def remove(self, session: ServedSession, outcome: LedgerOutcome) -> None:
        """Close a session; an episode that has not ended is void."""
        session.leave(self._ledger, outcome)
        del self._sessions[session.id]
        creator = session.terms.creator
        self._of_owner[creator] -= 1
        if not self._of_owner[creator]:
            del self._of_owner[creator]
        self._gone[session.id] = (frozenset({creator, session.terms.player}), outcome)
        if len(self._gone) > self._limits.remembered:
            del self._gone[next(iter(self._gone))]
        session.env.close()

    def expire(self) -> int:
        """Close the sessions whose lease has expired; return their number."""
        now = self._clock()
        late = [session for session in self._sessions.values() if session.expires <= now]
        for session in late:
            self.remove(session, LedgerOutcome.LEASE)
        return len(late)


def _no_session(id_: str) -> SessionError:
    return SessionError(f"there is no session {id_!r} of yours; create one")


class SnapshotStore:
    """All snapshots of a session core. One that nobody restores for longer than its lease is dropped.

    Args:
        limits: Bounds of the store.
        clock: Returns seconds that never decrease.

    Attributes:
        elsewhere: The number of snapshots by owner in other cores of the same server; they count towards the limits.
        carried: Copies of another core's snapshots, for the batch that is running.
    """

    def __init__(self, limits: SessionLimits, *, clock: Callable[[], float]) -> None:
        self._limits = limits
        self._clock = clock
        # In order of last use: the first is the first to expire.
        self._kept: dict[str, tuple[StoredSnapshot, float]] = {}
        self._of_owner: Counter[str] = Counter()
        self.elsewhere: Mapping[str, int] = {}
        self.carried: Mapping[str, StoredSnapshot] = {}

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def owners(self) -> Mapping[str, int]:
        """The number of snapshots of each owner."""
        return self._of_owner

    def add(self, id_: str, stored: StoredSnapshot) -> None:
        """Keep a snapshot.

        Raises:
            LimitError: its owner has reached the limit.
        """
        most = self._limits.owner_snapshots
        if self._of_owner[stored.creator] + self.elsewhere.get(stored.creator, 0) >= most:
            raise LimitError(f"{stored.creator} has {most} snapshots, the most for one owner; drop some")
        self._kept[id_] = (stored, self._clock() + self._limits.snapshot_lease)
        self._of_owner[stored.creator] += 1

    def find(self, caller: Caller, id_: str) -> StoredSnapshot:
        """Find a snapshot of a caller and renew its lease.

        Raises:
            SessionError: there is no such snapshot, it is not the caller's, or it was dropped.
        """
        self.expire()
        stored, _ = self._kept.get(id_, (self.carried.get(id_), 0.0))
        if stored is None or caller.owner not in (stored.creator, stored.player):
            raise SessionError(f"there is no snapshot {id_!r} of yours; it may have been dropped")
        if id_ in self.carried:
            return stored
        del self._kept[id_]
        self._kept[id_] = (stored, self._clock() + self._limits.snapshot_lease)
        return stored

    def drop(self, id_: str) -> None:
        """Forget a snapshot."""
        stored, _ = self._kept.pop(id_)
        self._of_owner[stored.creator] -= 1
        if not self._of_owner[stored.creator]:
            del self._of_owner[stored.creator]

    def expire(self) -> int:
        """Drop the snapshots whose lease has expired; return their number."""
        now, late = self._clock(), list[str]()
        for id_, (_, expires) in self._kept.items():
            if expires > now:
                break
            late.append(id_)
        for id_ in late:
            self.drop(id_)
        return len(late)
