"""One served session: an environment with an owner, a lease and the account of its episode."""

from palaestra.envs import Snapshot, ToolEnv
from palaestra.record import record
from palaestra.records import EndReason, Message
from palaestra.serving.access import Caller, KeyScope
from palaestra.serving.core.items import View
from palaestra.serving.core.ledger import EpisodeLedger, LedgerOutcome, RunningEpisode
from palaestra.serving.core.replies import ReplyMemory
from palaestra.serving.core.worlds import ServedWorld


@record
class SessionTerms:
    """The settings that do not change while a session lives; a fork has the same."""

    world: ServedWorld
    split: str
    creator: str
    """The owner whose key created the session."""
    player: str
    """The owner who may play it in addition to the creator."""
    view: View
    """The creator's view, if the key allows it."""
    shows_reward: bool
    """Whether a player sees rewards."""
    lease: float
    """Seconds without a call after which the session is closed."""


@record
class StoredSnapshot:
    """A snapshot on the server."""

    creator: str
    player: str
    world: str
    snapshot: Snapshot
    opening: tuple[Message, ...]


class ServedSession:
    """One environment that is played remotely.

    Attributes:
        id: Its name, which nobody can guess.
        terms: The settings that do not change.
        env: The environment.
        expires: When the lease runs out, on the clock of the core.
        turn: The number of turns of the episode.
        opening: The messages with which the episode began.
        replies: The stored answers.
        running: The ledger's record of the episode; `None` if none is running.
        void: Why the last episode is void, if its end was a fault.
        stopped: The budget for which the episode was ended from outside; `None` if it was not.
    """

    __slots__ = ("env", "expires", "id", "opening", "replies", "running", "stopped", "terms", "turn", "void")

    def __init__(self, id_: str, terms: SessionTerms, env: ToolEnv, *, expires: float) -> None:
        self.id = id_
        self.terms = terms
        self.env = env
        self.expires = expires
        self.turn = 0
        self.opening: tuple[Message, ...] = ()
        self.replies = ReplyMemory()
        self.running: RunningEpisode | None = None
        self.void: str | None = None
        self.stopped: EndReason | None = None

    def may_see(self, caller: Caller) -> bool:
        """Whether the session exists for a caller."""
        return caller.owner in (self.terms.creator, self.terms.player)

    def view(self, caller: Caller) -> View:
        """A caller's view; the author's view needs the creator and a key that allows it."""
        if self.terms.view == "author" and caller.owner == self.terms.creator and KeyScope.AUTHOR in caller.scopes:
            return "author"
        return "play"

    @property
    def has_begun(self) -> bool:
        """Whether it has an episode, running or over."""
        return bool(self.opening)

    def begin(self, ledger: EpisodeLedger) -> None:
        """Record the environment's episode in the ledger, unless it has ended already."""
        self.void = None
        self.stopped = None
        self.turn = self.env.episode.turn
        if self.env.end is not None:
            return
        terms = self.terms
        self.running = ledger.begin(
            session=self.id,
            owner=terms.creator,
            world=terms.world.name,
            task=self.env.task.id,
            seed=self.env.episode.seed,
        )

    def leave(self, ledger: EpisodeLedger, outcome: LedgerOutcome) -> None:
        """Make the running episode void, if there is one."""
        if self.running is not None:
            ledger.close(self.running.close(outcome, turns=self.turn, points=None))
            self.running = None

    def count(self, ledger: EpisodeLedger, points: int) -> None:
        """Count the running episode, which its environment or its player has ended."""
        assert self.running is not None, "an episode that ends was running"
        ledger.close(self.running.close(LedgerOutcome.COUNTED, turns=self.turn, points=points))
        self.running = None
