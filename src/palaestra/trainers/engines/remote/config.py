"""The settings of a remote engine: the server and the options that it was started with."""

from typing import Literal

from palaestra.agents.remote.endpoint import EndpointConfig
from palaestra.record import record


@record
class RemoteEngineConfig:
    """A server whose completions endpoint takes and returns token ids, like vLLM's.

    The server cannot confirm the other settings, and wrong values would corrupt the training data.
    """

    endpoint: EndpointConfig
    model: str
    """The model's name on the server."""
    context: int
    """Maximum tokens of a trajectory: vLLM's `--max-model-len`."""
    vocabulary: int
    """The size of the vocabulary."""
    logprobs: Literal["raw", "processed"]
    """The distribution of the server's log-probabilities: vLLM's `--logprobs-mode`, without "_logprobs". Its default is
    raw, before temperature and top-p, so that it allows only a temperature and top-p of 1."""
    version: int = 0
    """The version of the weights, which belong to the server and do not change."""
