"""Requests and turns as JSON, for the sockets between a replica engine and its processes. Floats are exact."""

from dataclasses import asdict

from palaestra.errors import CheckpointError, EngineError, PalaestraError, ReplayError, WaitError
from palaestra.trainers.engines.engine import Completion, Sampling, TurnRequest
from palaestra.trainers.engines.worker_process import WorkerMessage
from palaestra.trajectory import TemperatureChoices

_ERRORS = {kind.__name__: kind for kind in (CheckpointError, EngineError, ReplayError, WaitError)}


def write_request(request: TurnRequest) -> WorkerMessage:
    """A request as JSON."""
    return {**asdict(request), "noise": request.noise.hex()}


def read_request(message: WorkerMessage) -> TurnRequest:
    """The request of a message."""
    sampling: WorkerMessage = {**message["sampling"], "stop": tuple(message["sampling"]["stop"])}
    read: WorkerMessage = {
        **message,
        "context": tuple(message["context"]),
        "sampling": Sampling(**sampling),
        "noise": bytes.fromhex(message["noise"]),
    }
    return TurnRequest(**read)


def write_completion(turn: Completion) -> WorkerMessage:
    """A turn as JSON."""
    return asdict(turn)


def read_completion(message: WorkerMessage) -> Completion:
    """The turn of a message."""
    choices = message["choices"]
    return Completion(
        ids=tuple(message["ids"]),
        logprobs=tuple(message["logprobs"]),
        versions=tuple(message["versions"]),
        stop=message["stop"],
        choices=choices and TemperatureChoices(**{name: tuple(values) for name, values in choices.items()}),
    )


def write_error(error: PalaestraError) -> WorkerMessage:
    """An error as JSON."""
    return {"raised": type(error).__name__, "why": str(error)}


def raise_error(message: WorkerMessage) -> None:
    """Raise the error of a message, if it is one from `write_error`."""
    if "raised" in message:
        raise _ERRORS.get(message["raised"], EngineError)(message["why"])
