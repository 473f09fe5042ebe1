"""A running turn, and how it ends."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from palaestra.errors import EngineError
from palaestra.record import record
from palaestra.trainers.engines.engine import Completion, TurnRequest
from palaestra.trainers.engines.native.choices import TemperatureChoice
from palaestra.trainers.engines.native.drafts import Drafter
from palaestra.trainers.engines.native.prefixes import Holding


@dataclass(slots=True, eq=False)
class Drawing:
    """A running turn."""

    request: TurnRequest
    holding: Holding
    """The holding; its tokens are the context and the sampled tokens."""
    last: int
    """The maximum number of tokens of the trajectory in this turn."""
    noise: Iterator[float]
    drafter: Drafter
    stop: frozenset[int]
    kept: bool = True
    """Whether its keys and values are kept when it ends."""
    ids: list[int] = field(default_factory=list[int])
    logprobs: list[float] = field(default_factory=list[float])
    versions: list[int] = field(default_factory=list[int])
    choices: list[TemperatureChoice] = field(default_factory=list[TemperatureChoice])
    """The choices of its tokens, if there is a temperature head."""
    guess: list[int] = field(default_factory=list[int])
    """Draft tokens that pass through the model after the last token."""
    ahead: list[float] = field(default_factory=list[float])
    """Numbers taken from `noise` and not used yet."""

    def noise_for(self, tokens: int) -> list[float]:
        """The noise of the next tokens; the numbers of sampled tokens are removed one by one."""
        while len(self.ahead) < tokens:
            self.ahead.append(next(self.noise))
        return self.ahead[:tokens]

    @property
    def temperature(self) -> float:
        """The temperature of the last token; before the first, that of the request."""
        return self.choices[-1].temperature if self.choices else self.request.sampling.temperature

    @property
    def pending(self) -> int:
        """The number of tokens that have not passed through the model; at least 1."""
        return len(self.holding.tokens) - self.holding.held


@record
class EndedTurn:
    """A turn that has ended, with its result."""

    drawing: Drawing
    result: Completion | EngineError
