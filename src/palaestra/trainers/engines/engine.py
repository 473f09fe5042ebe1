"""What draws tokens: one protocol for our own engine, vLLM and a server elsewhere.

An engine is asked for a turn at a time, with the whole context that it continues. Which part of that context it still
holds is its own business; the trajectory's id lets it find it again. It deals in token ids and tokenises nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from torch import Tensor

from palaestra.record import record
from palaestra.trajectory import Stop, TemperatureChoices

Weights: TypeAlias = Mapping[str, Tensor]
"""A decoder's state dict, by the names of Hugging Face's files; a tied output layer may be left out."""
InFlight: TypeAlias = Literal["keep", "retract", "wait"]
"""What a new version of the weights does to turns under way: they go on over the keys and values that the old one made;
or go on after those were made anew; or are finished under the old version first."""


@record
class Sampling:
    """The distribution that tokens are drawn from, and when a turn ends."""

    limit: int
    """Tokens that the turn may have; at least 1."""
    stop: tuple[int, ...]
    """Token ids that end it; the one that did is part of it."""
    temperature: float = 1.0
    """Above 0. Where a temperature head chooses: the one that stands until it first does."""
    top_p: float = 1.0
    """In (0, 1]: only the likeliest tokens that together reach this probability are drawn, in proportion."""


@record
class TurnRequest:
    """One turn to be drawn."""

    trajectory: str
    """Whose turn it is; it has one at a time."""
    context: tuple[int, ...]
    """Every token so far; at least one."""
    sampling: Sampling
    noise: bytes = b""
    """The key of the trajectory's noise. The token at place `p` of the context is drawn by inversion with uniform
    `noise_at(key, p)`, so that neither batch nor order of arrival changes what is drawn. Engines that cannot take
    noise from outside seed their own by it."""
    timeout: float | None = None
    """Seconds after which the turn is given up with a `WaitError`."""
    group: str = ""
    """Trajectories of one group begin alike, as a rule; "" where it is in none. What is drawn does not depend on it."""


@record
class Completion:
    """A turn that was drawn; its tokens are aligned."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    """Under the distribution that each was really drawn from: temperature and top-p included."""
    versions: tuple[int, ...]
    """Of the weights that drew each."""
    stop: Stop
    choices: TemperatureChoices | None = None
    """Where a temperature head chose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStats:
    """How an engine is doing; counts are since it was made."""

    running: int
    """Turns being drawn."""
    waiting: int
    """Turns that wait for a place."""
    resident: int
    """Tokens whose keys and values are held, those of trajectories that wait for their worlds included."""
    capacity: int
    """Tokens whose keys and values can be held; 0 where it does not say."""
    drawn: int
    """Tokens drawn."""
    prefilled: int
    """Tokens of contexts that were put through the model."""
    reused: int
    """Tokens of contexts whose keys and values were there already."""
    busy_seconds: float
    """Spent on the model, whatever else went on meanwhile."""
    version: int
    """Of the weights."""
    weight_bytes: int = 0
    """Bytes of the weights in each form that is held; 0 where it does not say."""
    cache_bytes: int = 0
    """Bytes of what is set aside for keys and values, on a processor taken as it is needed; 0 where it does not say."""
    update_seconds: float = 0.0
    """Spent on taking the last new weights, to quantise them included; 0 where it does not say."""


class Engine(ABC):
    """Draws turns, many at once. Every method belongs to one event loop."""

    @property
    @abstractmethod
    def context(self) -> int:
        """Tokens that a trajectory may have."""

    @abstractmethod
    async def generate(self, request: TurnRequest) -> Completion:
        """Draw one turn.

        Cancelling it frees its place and keeps nothing of it.

        Raises:
            ValueError: the request breaks a rule, such as a context that leaves no room; nothing was drawn.
            WaitError: it took longer than `timeout`.
            EngineError: the engine failed; the trajectory can be asked for again once it has recovered.
        """

    @abstractmethod
    def release(self, trajectory: str) -> None:
        """The trajectory has ended, or was given up: what is held for it can go. Unknown ids are fine."""

    @abstractmethod
    async def update_weights(self, weights: Weights, version: int, *, in_flight: InFlight = "keep") -> None:
        """Draw with new weights from now on, and mark what is drawn with `version`.

        Nothing that was worked out under other weights is used for a context that begins afterwards.

        Raises:
            CheckpointError: names or shapes do not fit the model; the old weights stay.
            EngineError: the engine failed on the way.
        """

    @abstractmethod
    async def pause(self) -> None:
        """Draw nothing more, once this returns; turns under way stay where they are."""

    @abstractmethod
    async def resume(self) -> None:
        """Go on after `pause`."""

    @abstractmethod
    def stats(self) -> EngineStats:
        """How it is doing."""

    @abstractmethod
    async def close(self) -> None:
        """Free everything; turns under way end with an `EngineError`. Closing twice is fine."""
