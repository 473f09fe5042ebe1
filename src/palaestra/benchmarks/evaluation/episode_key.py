"""The key of an episode in an evaluation: its cell, task, sample and seed."""

from palaestra.record import record
from palaestra.seeding import Stream

MOST_SAMPLES = 1_000
"""Maximum samples of a task; beyond that, the seeds of two evaluations would overlap."""


@record
class EpisodeKey:
    """One episode of an evaluation, identified before it is played."""

    cell: str
    task: str
    sample: int
    seed: int
    """The evaluation's seed."""

    @property
    def id(self) -> str:
        """Its name within the evaluation."""
        return f"{self.cell}/{self.task}/{self.sample}"

    @property
    def world_seed(self) -> int:
        """The seed of the episode's world, its user and noise, equal for all agents and cells, so that they pair."""
        return MOST_SAMPLES * self.seed + self.sample

    @property
    def agent_seed(self) -> int:
        """The seed of the agent's own choices."""
        return Stream.root("evaluation", self.seed, self.cell, self.task, self.sample).below(2**31)
