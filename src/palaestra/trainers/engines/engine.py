"""The interface of engines, which sample tokens: the native engine, vLLM and a remote server.

An engine samples one turn per request, which has the whole context of the turn. The engine may still hold a part of
that context, and finds it by the trajectory's id. It works with token ids and does not tokenise.
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
"""What a new version of the weights does to running turns: "keep" continues them with the keys and values of the old
version, "retract" continues them after computing those anew, and "wait" finishes them under the old version first."""


@record
class Sampling:
    """The sampling distribution, and when a turn ends."""

    limit: int
    """Maximum tokens of the turn; at least 1."""
    stop: tuple[int, ...]
    """Token ids that end the turn, which includes the one that did."""
    temperature: float = 1.0
    """Above 0. With a temperature head: the temperature until its first choice."""
    top_p: float = 1.0
    """In (0, 1]: only the likeliest tokens that together reach this probability are sampled, in proportion."""


@record
class TurnRequest:
    """A request to sample one turn."""

    trajectory: str
    """The trajectory's id; it has one turn at a time."""
    context: tuple[int, ...]
    """Every token so far; at least one."""
    sampling: Sampling
    noise: bytes = b""
    """The key of the trajectory's noise. The token at place `p` of the context is sampled by inversion with uniform
    `noise_at(key, p)`, so that it depends neither on the batch nor on the order of arrival. Engines that cannot take
    noise from outside seed their own with it."""
    timeout: float | None = None
    """Seconds after which the turn fails with a `WaitError`."""
    group: str = ""
    """The trajectory's group, whose members usually share a prefix; "" for none. Sampling does not depend on it."""


@record
class Completion:
    """A sampled turn; its fields are aligned by token."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    """Log-probabilities under the distribution that each token was sampled from, temperature and top-p included."""
    versions: tuple[int, ...]
    """The version of the weights that sampled each token."""
    stop: Stop
    choices: TemperatureChoices | None = None
    """The choices of the temperature head, if there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStats:
    """The state of an engine; counts begin when it was made."""

    running: int
    """Turns being sampled."""
    waiting: int
    """Turns waiting for a place."""
    resident: int
    """Tokens whose keys and values are held, including those of trajectories that wait for their worlds."""
    capacity: int
    """Tokens whose keys and values can be held; 0 if unknown."""
    drawn: int
    """Tokens sampled."""
    prefilled: int
    """Context tokens that passed through the model."""
    reused: int
    """Context tokens whose keys and values were already held."""
    busy_seconds: float
    """Seconds in which the model was running."""
    version: int
    """The version of the weights."""
    weight_bytes: int = 0
    """Bytes of the weights in all held forms; 0 if unknown."""
    cache_bytes: int = 0
    """Bytes reserved for keys and values, on a CPU allocated as needed; 0 if unknown."""
    update_seconds: float = 0.0
    """Seconds to load the last new weights, quantisation included; 0 if unknown."""


class Engine(ABC):
    """Samples many turns at once. All methods belong to one event loop."""

    @property
    @abstractmethod
    def context(self) -> int:
        """Maximum tokens of a trajectory."""

    @abstractmethod
    async def generate(self, request: TurnRequest) -> Completion:
        """Sample one turn.

        Cancelling the call frees its place and discards the turn.

        Raises:
            ValueError: the request breaks a rule, such as a context that leaves no room; nothing was sampled.
            WaitError: it took longer than `timeout`.
            EngineError: the engine failed; the turn can be requested again once the engine has recovered.
        """

    @abstractmethod
    def release(self, trajectory: str) -> None:
        """Free everything held for a trajectory that has ended or was abandoned. Unknown ids are allowed."""

    @abstractmethod
    async def update_weights(self, weights: Weights, version: int, *, in_flight: InFlight = "keep") -> None:
        """Sample with new weights from now on, and mark sampled tokens with `version`.

        Contexts that begin afterwards use nothing that was computed under other weights.

        Raises:
            CheckpointError: names or shapes do not fit the model; the old weights stay.
            EngineError: the engine failed during the update.
        """

    @abstractmethod
    async def pause(self) -> None:
        """Stop sampling; running turns stay where they are."""

    @abstractmethod
    async def resume(self) -> None:
        """Continue after `pause`."""

    @abstractmethod
    def stats(self) -> EngineStats:
        """The state of the engine."""

    @abstractmethod
    async def close(self) -> None:
        """Free everything; running turns end with an `EngineError`. Closing twice is allowed."""
