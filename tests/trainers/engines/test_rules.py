from dataclasses import replace
from typing import Any

import pytest

from palaestra.trainers.engines.engine import Sampling, TurnRequest
from palaestra.trainers.engines.rules import check_request

SOUND = TurnRequest(trajectory="t", context=(1, 2, 3), sampling=Sampling(limit=4, stop=(0,)))


def check(request: TurnRequest) -> None:
    check_request(request, context=10, vocabulary=20)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"context": ()}, "its context is empty"),
        ({"context": (1,) * 10}, "10 tokens of 10, which leaves no room"),
        ({"context": (1, 20)}, "outside of 0 to 19"),
        ({"context": (-1, 2)}, "outside of 0 to 19"),
        ({"noise": b"x" * 65}, "65 bytes; a key has at most 64"),
    ],
)
def test_a_request_that_breaks_a_rule_is_refused_by_trajectory(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match="trajectory 't': .*" + says):
        check(replace(SOUND, **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"limit": 0},
        {"temperature": 0.0},
        {"temperature": -1.0},
        {"temperature": float("inf")},
        {"temperature": float("nan")},
        {"top_p": 0.0},
        {"top_p": 1.01},
        {"top_p": float("nan")},
    ],
)
def test_a_distribution_that_is_none_is_refused_by_setting_and_value(changes: dict[str, Any]) -> None:
    ((name, value),) = changes.items()
    with pytest.raises(ValueError, match=f"{name}={value}"):
        check(replace(SOUND, sampling=replace(SOUND.sampling, **changes)))


def test_a_request_at_every_edge_is_sound() -> None:
    check(SOUND)
    edge = Sampling(limit=1, stop=(), temperature=1e-3, top_p=1e-3)
    check(TurnRequest(trajectory="", context=(0, 19, *[1] * 7), sampling=edge, noise=b"x" * 64))
