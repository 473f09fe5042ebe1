"""One episode of an evaluation, before it is played: where, which task, which sample, and with which luck."""

from palaestra.record import record
from palaestra.seeding import Stream

MOST_SAMPLES = 1_000
"""Samples that a task may have; the seeds of two evaluations would meet beyond."""


@record
class EpisodeKey:
    """One episode that is to be played."""

    cell: str
    task: str
    sample: int
    seed: int
    """Of the evaluation."""

    @property
    def id(self) -> str:
        """Its name within the evaluation."""
        return f"{self.cell}/{self.task}/{self.sample}"

    @property
    def world_seed(self) -> int:
        """Of the episode's world: its user and its noise. Agents and cells meet the same, so that they pair."""
        return MOST_SAMPLES * self.seed + self.sample

    @property
    def agent_seed(self) -> int:
        """Of the agent's own choices."""
        return Stream.root("evaluation", self.seed, self.cell, self.task, self.sample).below(2**31)
