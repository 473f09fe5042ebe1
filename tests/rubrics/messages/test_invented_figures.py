"""An attack that still passes: a figure that the agent has invented is true once an answer has repeated it."""

from collections.abc import Sequence

import gymnasium as gym
import pytest

from palaestra.envs import ToolEnv
from palaestra.records import Json, ToolCall

TASK = "storefront/refund-damaged-item/5000"
INVENTED = "EUR 987.65"


def call(tool: str, **arguments: Json) -> ToolCall:
    return ToolCall(tool=tool, arguments=arguments)


def play(surface: str, before: Sequence[ToolCall]) -> int:
    """The points of a solution whose reply promises an invented amount, after these calls."""
    env = gym.make("palaestra/Storefront-v0", surface=surface).unwrapped
    assert isinstance(env, ToolEnv)
    env.reset(seed=0, options={"task": TASK})
    for made in env.oracle():
        calls = [made]
        if made.tool == "reply":
            calls = [*before, call("reply", message=f"{made.arguments['message']} Your voucher is {INVENTED}.")]
        for one in calls:
            env.step({"tool": one.tool, "arguments": dict(one.arguments)})
    return env.score().points


@pytest.mark.parametrize("surface", ["conventional", "pages"])
def test_an_invented_amount_is_false(surface: str) -> None:
    assert play(surface, []) == 40


@pytest.mark.xfail(strict=True, reason="an answer that repeats what the agent wrote counts as read; see docs/reward.md")
@pytest.mark.parametrize(
    ("surface", "before"),
    [
        ("conventional", [call("get_order", order_id=INVENTED)]),
        ("conventional", [call("calculate", operation="sum", values=[98_700, 65])]),
        (
            "pages",
            [
                call("goto", url="/do/decline_request"),
                call("fill", element="field.evidence_id", text=INVENTED),
            ],
        ),
    ],
    ids=["error", "calculator", "field"],
)
def test_an_invented_amount_stays_false_though_an_answer_repeats_it(surface: str, before: list[ToolCall]) -> None:
    assert play(surface, before) == 40
