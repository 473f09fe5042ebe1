"""The account of episodes: each one that begins is counted once, or is void.

An episode begins by a reset, a fork, or a restore into the middle of one. It counts when the environment ends it, or
its player by `end`. It is void when the world fails, when it is left before its end, or when its session ends first.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum

from palaestra.record import record


class LedgerOutcome(StrEnum):
    """How an episode ended for the account."""

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
    """What a session core holds, and its account of episodes."""

    sessions: int
    snapshots: int
    begun: int
    """Episodes that have begun."""
    running: int
    """Episodes that are not over."""
    outcomes: Mapping[LedgerOutcome, int]
    """Episodes that are over, by how."""


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
    """The score; `None` where the episode is void."""
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
        sink: Is given each episode that is over.
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
        """Take in an episode that is over."""
        # An episode that is closed twice would be counted twice: our own fault, and to be seen at once.
        assert entry.number in self._running, f"episode {entry.number} is over already"
        self._running.remove(entry.number)
        self._outcomes[entry.outcome] += 1
        self._sink(entry)

    @property
    def episodes_begun(self) -> int:
        """How many episodes have begun."""
        return self._begun

    @property
    def running(self) -> int:
        """How many are not over."""
        return len(self._running)

    @property
    def outcomes(self) -> Mapping[LedgerOutcome, int]:
        """How many came to each outcome."""
        return {outcome: self._outcomes[outcome] for outcome in LedgerOutcome}
