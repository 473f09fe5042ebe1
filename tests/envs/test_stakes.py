"""The briefing that tells what an episode is worth: the same task and rubric, and numbers that hold."""

import re
from typing import Any, cast

import pytest

from palaestra.envs import ToolEnv
from palaestra.errors import TaskError
from palaestra.rubrics.guards import SLIP, STANDING
from palaestra.rubrics.rubric import ADMITTED, LOOKUPS, UNFINISHED

TASK = "storefront/cancel-order/0000"


def briefing(env: ToolEnv) -> tuple[str, str]:
    messages, _ = env.reset(seed=0, options={"task": TASK})
    return messages[0]["content"], messages[1]["content"]


def test_the_stakes_are_told_after_the_briefing_and_change_nothing_else() -> None:
    plain, told = ToolEnv("storefront", split="train"), ToolEnv("storefront", split="train", stakes=True)
    (before, request), (after, same_request) = briefing(plain), briefing(told)
    assert after.startswith(before)
    assert same_request == request
    assert told.instance.rubric is plain.instance.rubric
    for env in (plain, told):
        for call in env.oracle():
            env.step({"tool": call.tool, "arguments": dict(call.arguments)})
        assert env.score().passed


def test_the_numbers_are_those_of_the_rubric_and_of_the_split() -> None:
    env = ToolEnv("storefront", split="train", stakes=True)
    stakes = briefing(env)[0].partition("What an episode is worth")[2]
    numbers = {int(number) for number in re.findall(r"\d+", stakes)}
    assert {100, LOOKUPS, UNFINISHED, ADMITTED, STANDING + SLIP, SLIP} <= numbers
    ids = env.task_set.ids("train")
    refused = sum("refusal" in env.task_set.family_of(task).traits for task in ids)
    assert f"In {round(100 * refused / len(ids))} % of these tasks" in stakes


def test_a_snapshot_fits_an_environment_with_the_same_briefing_alone() -> None:
    plain, told = ToolEnv("storefront", split="train"), ToolEnv("storefront", split="train", stakes=True)
    briefing(plain)
    briefing(told)
    assert plain.digest() != told.digest()
    told.restore(told.snapshot())
    with pytest.raises(TaskError, match="stakes=True does not fit an environment with stakes=False"):
        plain.restore(told.snapshot())


def test_stakes_are_true_or_false() -> None:
    with pytest.raises(TypeError, match="stakes='yes': write True or False"):
        ToolEnv("storefront", stakes=cast("Any", "yes"))
