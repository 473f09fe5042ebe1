"""How much a run measures: enough to publish, or enough to see that everything can be measured."""

from dataclasses import dataclass

from palaestra.benchmarks.speed.aims import LIVE_WORLDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How much of each thing is measured."""

    runs: int = 5
    """How often each section is done over; the quietest counts."""
    episodes: int = 1_000
    """How many episodes the oracle plays in a run."""
    cold: int = 200
    """To how many tasks the first reset is timed."""
    places: int = 12
    """At how many tasks copies, hashes and other stores are measured."""
    copies: int = 20
    """How often a world's rows are copied."""
    served: int = 12
    """How many episodes are played through a server process each."""
    peer_tasks: int = 40
    """How many of a peer's own tasks are played."""
    played: int = 24
    """How many tasks a pass of a vector of environments plays."""
    processes: tuple[int, ...] = (1, 2, 4)
    """Over how many processes vectors run."""
    worlds: int = LIVE_WORLDS
    """How many environments live at once when they are weighed."""

    def __post_init__(self) -> None:
        for name in ("runs", "episodes", "places", "copies", "served", "peer_tasks", "played", "worlds"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: at least 1 of each is measured")


FULL = Scale()
"""What figures to publish come from: a few minutes."""

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
"""Everything, a little of each: under half a minute."""
