"""The size of a run: large enough to publish, or small enough to check that every measurement works."""

from dataclasses import dataclass

from palaestra.benchmarks.speed.aims import LIVE_WORLDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The number of measurements of each kind."""

    runs: int = 5
    """Repetitions of each section; the fastest repetition counts."""
    episodes: int = 1_000
    """Episodes that the oracle plays in a run."""
    cold: int = 200
    """Tasks whose first reset is timed."""
    places: int = 12
    """Tasks at which copies, hashes and other stores are measured."""
    copies: int = 20
    """Copies of a world's rows."""
    served: int = 12
    """Episodes that are played through a server process each."""
    peer_tasks: int = 40
    """Tasks of a peer that are played."""
    played: int = 24
    """Tasks that one pass of a vector of environments plays."""
    processes: tuple[int, ...] = (1, 2, 4)
    """Numbers of processes over which vectors run."""
    worlds: int = LIVE_WORLDS
    """Environments that are alive at once while memory is measured."""

    def __post_init__(self) -> None:
        for name in ("runs", "episodes", "places", "copies", "served", "peer_tasks", "played", "worlds"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: at least 1 of each is measured")


FULL = Scale()
"""The scale of published figures; a run takes a few minutes."""

QUICK = Scale(
    runs=1,
    episodes=30,
    cold=10,
    places=2,
    copies=2,
    served=2,
    peer_tasks=2,
    played=3,
    processes=(1, 2),
    worlds=50,
)
"""A few measurements of each kind; a run takes less than half a minute."""
