"""The budgets of a trajectory: tokens, turns and time."""

from dataclasses import dataclass
from math import isfinite

from palaestra.records import EndReason


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayConfig:
    """How a trajectory is played, and its budgets."""

    context: int
    """Maximum tokens of the trajectory; one without room for another turn ends there, truncated."""
    turn: int
    """Maximum tokens of a turn; a turn that is cut off is read as far as it goes."""
    temperature: float = 1.0
    """Temperature at which tokens are sampled; 0 takes the likeliest token."""
    top_p: float = 1.0
    turns: int | None = None
    """Maximum turns, besides the task's own budget."""
    seconds: float | None = None
    """Maximum seconds, waiting included. A turn that is being sampled at that time is dropped; an answer that the world
    is computing is awaited."""
    turn_timeout: float | None = None
    """Seconds after which a turn counts as a failure of the engine."""
    name: str = "policy"
    """The agent's name in the record."""

    def __post_init__(self) -> None:
        """Check the ranges of the numbers."""
        least = {"context": self.context, "turn": self.turn, "turns": 1 if self.turns is None else self.turns}
        for setting, value in least.items():
            if value < 1:
                raise ValueError(f"{setting}={value}: a budget is at least 1")
        if not (isfinite(self.temperature) and self.temperature >= 0):
            raise ValueError(
                f"temperature={self.temperature}: a number of 0 or more; 1 draws from the policy itself, 0 takes the "
                "likeliest token"
            )
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p={self.top_p}: above 0 and at most 1; 1 draws from the whole distribution")
        for setting, seconds in (("seconds", self.seconds), ("turn_timeout", self.turn_timeout)):
            if seconds is not None and seconds <= 0:
                raise ValueError(f"{setting}={seconds}: a time is above 0; leave it out for no limit")

    def room(self, tokens: int) -> int:
        """The maximum number of tokens of the next turn, after `tokens` tokens."""
        return min(self.turn, self.context - tokens)

    def find_spent_budget(self, *, tokens: int, turns: int, seconds: float) -> EndReason | None:
        """The budget that is used up, if any is."""
        if self.room(tokens) < 1:
            return EndReason.TOKEN_BUDGET
        if self.turns is not None and turns >= self.turns:
            return EndReason.MAX_TURNS
        if self.seconds is not None and seconds >= self.seconds:
            return EndReason.TIME_BUDGET
        return None
