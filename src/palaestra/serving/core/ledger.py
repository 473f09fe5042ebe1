"""The account of episodes: each that begins is counted once, or is void.

An episode begins with a reset, a fork, or a restore into the middle of one. It counts if the environment ends it, or
its player does by `end`. It is void if the world fails, if the player leaves it before its end, or if its session ends
first.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum

from palaestra.record import record


class LedgerOutcome(StrEnum):
    """How the account records the end of an episode."""

    COUNTED = "counted"
    """The environment ended it; its score stands."""
    FAULT = "void_fault"
    """The world failed."""
    LEFT = "void_left"
    """The caller reset, restored or closed the session before the end."""
    LEASE = "void_lease"
    """Nobody called for longer than the lease."""
    STOPPED = "void_stopped"
    """The server stopped."""
    LOST = "void_lost"
    """The worker process that held the session ended."""


@record
class SessionCounts:
    """The number of sessions and snapshots of a session core, and its account of episodes."""

    sessions: int
    snapshots: int
    begun: int
    """Episodes that have begun."""
    running: int
    """Episodes that are not over."""
    outcomes: Mapping[LedgerOutcome, int]
    """Episodes that are over, by outcome."""


@record
class EpisodeEntry:
    """One episode of the account, once it is over."""

    number: int
    session: str
    owner: str
    """Who created the session."""
    world: str
    task: str
    seed: int
    turns: int
    points: int | None
    """The score; `None` if the episode is void."""
    outcome: LedgerOutcome


@record
class RunningEpisode:
    """An episode that is not over yet."""

    number: int
    session: str
    owner: str
    world: str
    task: str
    seed: int

    def close(self, outcome: LedgerOutcome, *, turns: int, points: int | None) -> EpisodeEntry:
        """The entry of this episode, now that it is over."""
        return EpisodeEntry(
            number=self.number,
            session=self.session,
            owner=self.owner,
            world=self.world,
            task=self.task,
            seed=self.seed,
            turns=turns,
            points=points,
            outcome=outcome,
        )


class EpisodeLedger:
    """The account of one server.

    Args:
        sink: Receives each episode that is over.
    """

    def __init__(self, sink: Callable[[EpisodeEntry], None] = lambda _: None) -> None:
        self._sink = sink
        self._begun = 0
        self._running: set[int] = set()
        self._outcomes: Counter[LedgerOutcome] = Counter()

    def begin(self, *, session: str, owner: str, world: str, task: str, seed: int) -> RunningEpisode:
        """Begin an episode."""
        self._begun += 1
        self._running.add(self._begun)
        return RunningEpisode(number=self._begun, session=session, owner=owner, world=world, task=task, seed=seed)

    def close(self, entry: EpisodeEntry) -> None:
        """Record an episode that is over."""
        # An episode that is closed twice would count twice. That would be a bug here, so it fails at once.
        assert entry.number in self._running, f"episode {entry.number} is over already"
        self._running.remove(entry.number)
        self._outcomes[entry.outcome] += 1
        self._sink(entry)

    @property
    def episodes_begun(self) -> int:
        """The number of episodes that have begun."""
        return self._begun

    @property
    def running(self) -> int:
        """The number of episodes that are not over."""
        return len(self._running)

    @property
    def outcomes(self) -> Mapping[LedgerOutcome, int]:
        """The number of episodes by outcome."""
        return {outcome: self._outcomes[outcome] for outcome in LedgerOutcome}
