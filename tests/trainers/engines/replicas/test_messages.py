"""What goes over to a replica and comes back is what it was, to the bit."""

import math

import orjson
import pytest

from palaestra.errors import CheckpointError, EngineError, ReplayError, WaitError
from palaestra.trainers.engines.engine import Completion, Sampling, TurnRequest
from palaestra.trainers.engines.replicas.messages import (
    raise_error,
    read_completion,
    read_request,
    write_completion,
    write_error,
    write_request,
)
from palaestra.trajectory import TemperatureChoices

ODD = (-1 / 3, -math.ulp(0.0), -0.1 - 2**-55, -745.133)


def test_a_request_comes_back() -> None:
    sampling = Sampling(limit=7, stop=(2, 5), temperature=0.1 + 0.2, top_p=1e-9)
    request = TurnRequest(
        trajectory="a/1", context=(1, 2, 3), sampling=sampling, noise=bytes(range(256)), timeout=0.7, group="a"
    )
    assert read_request(orjson.loads(orjson.dumps(write_request(request)))) == request


@pytest.mark.parametrize("chosen", [False, True])
def test_a_turn_comes_back(chosen: bool) -> None:
    choices = TemperatureChoices(temperatures=(0.1, 1.7, 2 / 3, 1.0), latents=(0.0, *ODD[1:]), logprobs=ODD)
    turn = Completion(
        ids=(1, 2, 3, 4), logprobs=ODD, versions=(0, 0, 1, 2), stop="end", choices=choices if chosen else None
    )
    assert read_completion(orjson.loads(orjson.dumps(write_completion(turn)))) == turn


@pytest.mark.parametrize("kind", [CheckpointError, EngineError, ReplayError, WaitError])
def test_an_error_is_raised_as_what_it_was(kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"^the reason$") as raised:
        raise_error(write_error(kind("the reason")))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert type(raised.value) is kind
    raise_error({"ids": []})
