"""Which server draws turns, and what it was started with."""

from typing import Literal

from palaestra.agents.remote.endpoint import EndpointConfig
from palaestra.record import record


@record
class RemoteEngineConfig:
    """A server whose completions endpoint takes and gives token ids, as vLLM's does.

    The server cannot be asked for the rest of what is said here, and a wrong answer would spoil what is trained on.
    """

    endpoint: EndpointConfig
    model: str
    """By the server's name for it."""
    context: int
    """Tokens that a trajectory may have: vLLM's `--max-model-len`."""
    vocabulary: int
    """Tokens that there are."""
    logprobs: Literal["raw", "processed"]
    """Of which distribution the server tells log-probabilities: vLLM's `--logprobs-mode`, without "_logprobs". Its
    default is raw, before temperature and top-p, so that only a temperature and top-p of 1 can be served."""
    version: int = 0
    """What the weights are marked with. They are the server's, and stay as they are."""
