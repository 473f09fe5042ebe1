"""A turn under way, and how it ends."""

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
    """A turn under way."""

    request: TurnRequest
    holding: Holding
    """Its tokens are the context and what was drawn."""
    last: int
    """Tokens that the trajectory may come to have."""
    noise: Iterator[float]
    drafter: Drafter
    stop: frozenset[int]
    kept: bool = True
    """Whether what was worked out is held when it ends."""
    ids: list[int] = field(default_factory=list[int])
    logprobs: list[float] = field(default_factory=list[float])
    versions: list[int] = field(default_factory=list[int])
    choices: list[TemperatureChoice] = field(default_factory=list[TemperatureChoice])
    """Of its tokens, where a temperature head chooses."""
    guess: list[int] = field(default_factory=list[int])
    """Tokens that go through the model behind the last one, in case that they are drawn."""
    ahead: list[float] = field(default_factory=list[float])
    """What was taken from `noise` and not used."""

    def noise_for(self, tokens: int) -> list[float]:
        """The noise of the next tokens; those that are drawn are taken away one by one."""
        while len(self.ahead) < tokens:
            self.ahead.append(next(self.noise))
        return self.ahead[:tokens]

    @property
    def temperature(self) -> float:
        """That of the last token; of the first, the one that the request begins with."""
        return self.choices[-1].temperature if self.choices else self.request.sampling.temperature

    @property
    def pending(self) -> int:
        """Tokens that have not been put through yet; at least 1."""
        return len(self.holding.tokens) - self.holding.held


@record
class EndedTurn:
    """A turn that has ended, and how."""

    drawing: Drawing
    result: Completion | EngineError
